"""Packs that break, each in its way: the message names pack, stage and remedy, nothing else stops working."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

import gleg as gleg_module
from gleg_cli.listing import command_summaries
from gleg_cli.main import main
from gleg_core.errors import PackError
from gleg_core.registry import Registry, default_registry
from gleg_core.spec.defaults import Question, suggested
from gleg_core.spec.problem import load_problem

PROBLEM = """\
domain: {kind: disk, radius: 0.6}
basis: {kind: fourier, K: 4}
fields:
  u:
    initial: 1 - (x^2 + y^2)/0.36
    boundary: [{kind: dirichlet}]
    equation:
      - {block: diffusion}
      - {block: BLOCK}
time: {end: 0.1, step: 0.05, integrator: etdrk4}
output: {frames: 1, grid: 11, pictures: false}
"""
WHERE = "p.yaml:9: fields.u.equation[1]"
LIGHT = """
    from gleg_core.pack import Entry, hookimpl
    CONTRACT = (3, 0)

    @hookimpl
    def gleg_blocks():
        return [Entry("sink", "−u²", params="PACKAGE.params:Params", factory="PACKAGE.block:Sink")]
"""
PARAMS = """
    from gleg_core.spec.params import PackParams

    class Params(PackParams):
        pass
"""
BLOCK = """
    from gleg_core.contracts.block import Block, Traits

    class Sink(Block):
        traits = Traits("R", order=0, degree=2)

        def __init__(self, params, binding):
            self.field = binding.target

        def reference(self, fields, at):
            u = fields[self.field].value
            return -u * u
"""
Install = Callable[..., None]


@pytest.fixture
def install(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Install]:
    """Writes a distribution that is found beside those installed here: one block ``sink``, right unless told otherwise."""
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path_factory.getbasetemp() / "spaces"))
    for name in ("GLEG_PACKS", "GLEG_STRICT", "GLEG_DEBUG", "GLEG_CATALOGUE"):
        monkeypatch.delenv(name, raising=False)
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    before = set(sys.modules)

    def write(pack: str, distribution: str = "acme-broken", version: str = "0.7", /, **modules: str) -> None:
        package = distribution.replace("-", "_")
        (site / package).mkdir()
        for name, text in {"__init__": "", "pack": LIGHT, "params": PARAMS, "block": BLOCK, **modules}.items():
            (site / package / f"{name}.py").write_text(dedent(text).replace("PACKAGE", package), encoding="utf-8")
        info = site / f"{package}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[gleg.packs]\n{pack} = {package}.pack\n")
        default_registry.cache_clear()

    yield write
    default_registry.cache_clear()
    for name in set(sys.modules) - before:
        if name.startswith("acme_"):
            del sys.modules[name]


def gleg(*arguments: str) -> tuple[int, str]:
    """Exit code of the command, and what it says on standard error."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["gleg", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = before
    return code, err.getvalue()


def solve(block: str) -> tuple[int, str]:
    Path("p.yaml").write_text(PROBLEM.replace("BLOCK", block), encoding="utf-8")
    return gleg("run", "p.yaml", "--quiet", "--out", "out")


def others_go_on() -> None:
    """A problem that uses other packs runs in the same environment, and the listing still lists them."""
    assert solve("power, p: 2, coefficient: -1") == (0, "")
    assert gleg("packs")[0] == 0


def replaced(body: str) -> str:
    """The block with another ``reference``."""
    return BLOCK.replace("return -u * u", body)


def method(name: str, body: str) -> str:
    return BLOCK.replace("def reference", f"def {name}(self, *given):\n            {body}\n\n        def reference")


AUTHOR = "Report it to the pack's author"
REINSTALL = "pip install --upgrade --force-reinstall --no-deps acme-broken"
UPGRADE = "pip install --upgrade acme-broken"
CASES: dict[str, tuple[dict[str, str], str, tuple[str, ...]]] = {
    # case: (modules, place of the message, what it says)
    "dependency of the light module": (
        {"pack": "import surely_absent"}, f"{WHERE}.block",
        ("refused at stage 'import'", "No module named 'surely_absent'", UPGRADE),
    ),
    "light module raises": (
        {"pack": "raise OSError('no licence file')"}, f"{WHERE}.block",
        ("refused at stage 'import'", "OSError: no licence file", REINSTALL),
    ),
    "contract of another major version": (
        {"pack": LIGHT.replace("(3, 0)", "(4, 0)")}, f"{WHERE}.block",
        ("refused at stage 'handshake'", "contract 4.0, this gleg-core serves 3.0", "pip install --upgrade gleg-core"),
    ),
    "contract of an old major version": (
        {"pack": LIGHT.replace("(3, 0)", "(1, 0)")}, f"{WHERE}.block", ("refused at stage 'handshake'", "1.0", UPGRADE),
    ),
    "hook raises": (
        {"pack": LIGHT.replace("return [", "return [1 / 0, ")}, f"{WHERE}.block",
        ("refused at stage 'hooks'", "ZeroDivisionError", UPGRADE),
    ),
    "dependency of the parameters": (
        {"params": "import surely_absent"}, f"{WHERE}.block",
        ("'broken:sink' cannot be used", "stage 'import'", "No module named 'surely_absent'", UPGRADE),
    ),
    "parameters are no model": (
        {"params": "class Params: ..."}, WHERE, ("failed while it checked the parameters of 'broken:sink'", AUTHOR),
    ),
    "parameters raise": (
        {"params": PARAMS + "        def __init__(self, **given): raise KeyError('rate')\n"}, WHERE,
        ("failed while it checked the parameters of 'broken:sink': KeyError: 'rate'", AUTHOR),
    ),
    "heavy module raises": (
        {"block": "raise RuntimeError('no GPU')"}, WHERE,
        ("'broken:sink' cannot be used", "stage 'import'", "RuntimeError: no GPU", REINSTALL),
    ),
    "dependency of the heavy module": (
        {"block": "import surely_absent"}, WHERE, ("stage 'import'", "No module named 'surely_absent'", UPGRADE),
    ),
    "nothing of that name in the heavy module": (
        {"block": "class Source: ..."}, WHERE, ("stage 'import'", "AttributeError", REINSTALL),
    ),
    "construction": (
        {"block": BLOCK.replace("self.field = binding.target", "raise ValueError('weights are gone')")}, WHERE,
        ("failed while constructing 'broken:sink': ValueError: weights are gone", AUTHOR),
    ),
    "abstract": ({"block": BLOCK.replace("def reference", "def referense")}, WHERE, ("while constructing", "abstract")),
    "no block": (
        {"block": "class Sink:\n    def __init__(self, *given): ..."}, WHERE, ("returned Sink instead of a Block", AUTHOR),
    ),
    "no traits": (
        {"block": BLOCK.replace("traits = ", "traits_of = ")}, WHERE, ("returned Sink without traits", AUTHOR),
    ),
    "refuses the space": (
        {"block": method("admit", "raise TypeError('odd basis')")}, WHERE, ("Sink failed", "TypeError: odd basis", AUTHOR),
    ),
    "in the middle of a rollout": (
        {"block": replaced("return -u * u if at.t < 0.04 else {}['later']")}, WHERE,
        ("Sink failed while it was evaluated: KeyError: 'later'", AUTHOR),
    ),
    "exits in the middle of a rollout": (
        {"block": replaced("return -u * u if at.t < 0.04 else exit(0)")}, "p.yaml",
        ("failed while it was running, in acme_broken.block.Sink.reference", "SystemExit: 0", AUTHOR),
    ),
    "not a number": (
        {"block": replaced("return u * float('nan')")}, WHERE, ("Sink returned values that are not finite", AUTHOR),
    ),
    "not a number later": (
        {"block": replaced("return u * (float('nan') if at.t > 0.04 else 1.0)")}, WHERE,
        ("Sink returned values that are not finite", AUTHOR),
    ),
    "shape": ({"block": replaced("return u[..., 1:]")}, WHERE, ("returned shape", "its last dimension must be", AUTHOR)),
    "precision": (
        {"block": replaced("return u.float()")}, WHERE, ("returned torch.float32 instead of torch.float64", AUTHOR),
    ),
    "not a tensor": ({"block": replaced("return u.numpy()")}, WHERE, ("returned ndarray instead of a tensor", AUTHOR)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_broken_pack_is_named_and_stops_nobody_else(install: Install, case: str) -> None:
    modules, place, says = CASES[case]
    install("broken", **modules)
    code, message = solve("broken:sink")
    assert code == 3, message
    assert message.startswith(f"{place}: "), message
    for words in ("pack 'broken' (acme-broken 0.7)", *says):
        assert words in message, message
    assert "Traceback" not in message and "internal error" not in message
    assert not Path("out").exists()
    others_go_on()


def test_the_same_pack_unbroken_runs(install: Install) -> None:
    """Otherwise the cases above would prove nothing."""
    install("broken")
    assert solve("broken:sink") == (0, "")


def test_two_packs_with_one_id(install: Install) -> None:
    install("broken")
    install("broken", "acme-twin", "2.0")
    code, message = solve("broken:sink")
    assert code == 3 and message.startswith(f"{WHERE}.block: ")
    for words in ("'broken'", "stage 'collision'", "acme-broken 0.7 and by acme-twin 2.0", "pip uninstall acme-twin"):
        assert words in message
    others_go_on()


def test_names_that_may_be_in_a_refused_pack_say_so(install: Install) -> None:
    install("broken", pack="import surely_absent")
    lost = "It may be in a pack that could not be loaded:\n    pack 'broken' (acme-broken 0.7) was refused at stage 'import'"
    code, text = with_lines("campaign: 1", "journey: 2", command="validate")
    assert code == 2 and text.count(lost) == 1 and "journey: unknown key" in text
    assert lost not in with_lines("time: 3", command="validate")[1]
    run = gleg_module.solve(yaml.safe_load(PROBLEM.replace("BLOCK", "power")))
    for thing in (run, gleg_module):
        with pytest.raises(AttributeError, match="has no attribute 'campaign'") as caught:
            _ = thing.campaign
        assert lost in str(caught.value)


def test_a_broken_pack_is_listed_with_its_stage(install: Install) -> None:
    install("broken", pack="import surely_absent")
    code, message = gleg("packs")
    assert code == 0 and "pack 'broken' (acme-broken 0.7) was refused at stage 'import'" in message
    code, message = gleg("packs", "broken")
    assert code == 0 and "surely_absent" in message and "Remedy: " in message


def test_not_a_number_with_step_control(install: Install) -> None:
    install("broken", block=replaced("return u * float('nan')"))
    text = PROBLEM.replace("BLOCK", "broken:sink").replace("step: 0.05", "step: auto")
    Path("p.yaml").write_text(text, encoding="utf-8")
    code, message = gleg("run", "p.yaml", "--quiet", "--out", "out")
    assert code == 3 and message.startswith(f"{WHERE}: pack 'broken' (acme-broken 0.7)"), message
    assert "not finite" in message


# --- tools and keys ---

TOOLS = """
    from gleg_core.pack import Keys, Tool, hookimpl
    CONTRACT = (3, 0)

    @hookimpl
    def gleg_keys():
        return [Keys("problem", ("campaign",), "PACKAGE.tools:Campaign", read="READ", check="CHECK")]

    @hookimpl
    def gleg_outputs():
        return [Tool("vtk", "V", "PACKAGE.tools:write"), Tool("needy", "N", "PACKAGE.tools:write", ("not_there.at_all",))]

    @hookimpl
    def gleg_commands():
        return [Tool("dance", "D", "PACKAGE.tools:dance")]

    @hookimpl
    def gleg_run_attributes():
        return [Tool("mood", "M", "PACKAGE.tools:fail")]
"""
FUNCTIONS = """
    import click
    from gleg_core.spec.params import PackParams

    class Campaign(PackParams):
        campaign: int = 0

    def fail(*given):
        raise KeyError("boom")

    def leave(*given):
        raise SystemExit(0)

    def nothing(*given):
        return None

    write = fail
    dance = click.command()(fail)
"""


def tools(read: str = "", check: str = "") -> str:
    return TOOLS.replace("READ", read and f"PACKAGE.tools:{read}").replace("CHECK", check and f"PACKAGE.tools:{check}")


def with_lines(*lines: str, command: str = "run") -> tuple[int, str]:
    text = PROBLEM.replace("BLOCK", "power") + "".join(f"{line}\n" for line in lines)
    Path("p.yaml").write_text(text, encoding="utf-8")
    return gleg(command, "p.yaml", *(["--quiet", "--out", "out"] if command == "run" else []))


@pytest.mark.parametrize(
    ("pack", "functions", "said"),
    [
        (tools(), "Campaign = 5", "is not a pydantic model with campaign, nothing in it required"),
        (tools(), FUNCTIONS.replace(": int = 0", ": int\n        other: int"), "nothing in it required"),
        (tools(), FUNCTIONS.replace("int = 0", "int = 0\n        def model_post_init(self, c): raise KeyError(1)"), "KeyError: 1"),
        (tools(), "import os; os._exit(5)", "os._exit(5)"),
        (tools(), "raise KeyboardInterrupt", "KeyboardInterrupt raised by the module itself"),
        (tools(read="fail"), FUNCTIONS, "failed while it read its keys: KeyError: 'boom'"),
        (tools(read="leave"), FUNCTIONS, "failed while it read its keys: SystemExit: 0"),
        (tools(read="nothing"), FUNCTIONS, "returned NoneType instead of a Reading"),
        (tools(read="absent"), FUNCTIONS, "has no attribute 'absent'"),
        (tools(check="fail"), FUNCTIONS, "in acme_broken.tools.fail"),
        (tools(check="leave"), FUNCTIONS, "SystemExit: 0"),
        (tools(check="CONTRACT"), FUNCTIONS + "    CONTRACT = 3\n", "'acme_broken.tools:CONTRACT' is not callable"),
    ],
)  # fmt: skip
def test_keys_of_a_broken_pack(install: Install, pack: str, functions: str, said: str) -> None:
    install("broken", pack=pack, tools=functions)
    for command in ("validate", "run"):
        code, text = with_lines("campaign: 1", command=command)
        assert (code, text.startswith("p.yaml"), "pack 'broken' (acme-broken 0.7)" in text, said in text) == (
            3,
            True,
            True,
            True,
        )
    assert gleg("schema")[0] == 0
    others_go_on()


FILLS = TOOLS.replace('read="READ", check="CHECK"', 'fills="PACKAGE.tools:fills"')


@pytest.mark.parametrize(
    ("filled", "code", "said"),
    [
        ("('output', 'frames'): 7", 0, ""),
        ("('space', 'rank'): 9", 0, ""),
        ("('time', 'strat'): 0.5", 3, "failed while it read its keys: ValueError: it fills 'time.strat', which is no key of core"),
        ("('tyme', 'start'): 0.5", 3, "it fills 'tyme.start', which is no key of core"),
    ],
)  # fmt: skip
def test_what_keys_fill_must_be_keys_of_core(install: Install, filled: str, code: int, said: str) -> None:
    install("broken", pack=FILLS, tools=FUNCTIONS + f"\n    def fills(stated, folder):\n        return {{{filled}}}\n")
    found, text = with_lines("campaign: 1", command="validate")
    assert found == code and said in text and ("pack 'broken'" in text) == bool(code), text
    if not code:
        section = load_problem("p.yaml").section
        assert section.output.frames == (1 if "frames" in filled else section.output.frames)
        assert section.space.rank == (9 if "rank" in filled else "auto")


def test_a_key_of_a_field_may_give_its_initial_state(install: Install) -> None:
    keys = 'Keys("field", ("seed",), "PACKAGE.tools:Seed", initial="PACKAGE.tools:state", replaces=("initial",))'
    pack = TOOLS.replace('Keys("problem", ("campaign",), "PACKAGE.tools:Campaign", read="READ", check="CHECK")', keys)
    seed = """
    class Seed(PackParams):
        seed: float = 0

    def state(problem, field):
        return lambda at: at.x[:, 0] * 0 + 0.25
    """
    install("broken", pack=pack, tools=FUNCTIONS + seed)
    spec = yaml.safe_load(PROBLEM.replace("BLOCK", "power").replace("initial: 1 - (x^2 + y^2)/0.36", "seed: 0.25"))
    spec["fields"]["u"]["boundary"] = [{"kind": "neumann"}]
    assert gleg_module.solve(spec).u(0.1, 0.2, 0.0) == pytest.approx(0.25, abs=1e-6)


def test_a_key_that_two_strangers_claim_is_nobodys(install: Install) -> None:
    install("broken", pack=tools(), tools=FUNCTIONS)
    install("other", "acme-other", pack=tools(), tools=FUNCTIONS)
    code, text = with_lines("campaign: 1", command="validate")
    assert code == 3
    assert text.startswith("p.yaml:12: campaign: claimed by pack 'broken' (acme-broken 0.7) and by pack 'other'")
    assert "Did you mean 'campaign'?" in with_lines("campain: 1", command="validate")[1]


FORMATS = PROBLEM.replace("BLOCK", "power").replace("grid: 11", "grid: 11, formats: [FORMATS]")


@pytest.mark.parametrize(
    ("function", "said"),
    [("fail", "KeyError: 'boom'"), ("leave", "SystemExit: 0"), ("nothing", "it wrote nothing"), ("absent", "absent")],
)
def test_an_output_that_fails_costs_no_results(install: Install, function: str, said: str) -> None:
    install("broken", pack=tools(), tools=FUNCTIONS.replace("write = fail", f"write = {function}"))
    Path("p.yaml").write_text(FORMATS.replace("FORMATS", "vtk"), encoding="utf-8")
    code, text = gleg("run", "p.yaml", "--quiet", "--out", "out")
    assert (code, "pack 'broken' (acme-broken 0.7)" in text, said in text) == (3, True, True)
    assert sorted(p.name for p in Path("out").iterdir()) == ["metrics.json", "result.nc", "spec.resolved.yaml"]


def test_an_output_that_is_interrupted_leaves_the_rest_and_says_so(install: Install) -> None:
    stop = FUNCTIONS.replace("write = fail", "def write(*given):\n        raise KeyboardInterrupt")
    install("broken", pack=tools(), tools=stop)
    Path("p.yaml").write_text(FORMATS.replace("FORMATS", "vtk"), encoding="utf-8")
    code, text = gleg("run", "p.yaml", "--quiet", "--out", "out")
    assert (code, text.strip()) == (130, "interrupted while vtk was written; everything else is in out")
    assert Path("out/result.nc").exists()


def test_outputs_that_cannot_be_written_are_refused_before_any_work(install: Install) -> None:
    install("broken", pack=tools(), tools=FUNCTIONS)
    for formats, code, said in (
        ("needy", 3, "needs not_there.at_all, which is not installed"),
        ("vtk, broken:vtk", 2, "p.yaml:11: output.formats[1]: 'vtk' is written already"),
    ):
        Path("p.yaml").write_text(FORMATS.replace("FORMATS", formats), encoding="utf-8")
        found, text = gleg("validate", "p.yaml")
        assert (found, said in text) == (code, True)


def test_a_command_that_fails_names_its_pack(install: Install) -> None:
    install("broken", pack=tools(), tools=FUNCTIONS)
    code, text = gleg("dance")
    assert (code, text.startswith("pack 'broken' (acme-broken 0.7) failed in its command 'dance': KeyError")) == (
        3,
        True,
    )
    install("silent", "acme-silent", pack="import sys; sys.stdout.close(); raise OSError('no licence file')")
    code, text = gleg("danse")
    assert code == 2
    assert "Did you mean 'dance'?" in text
    assert "pack 'silent' (acme-silent 0.7) was refused" in text


def test_a_run_attribute_that_fails_names_its_pack(install: Install) -> None:
    install("broken", pack=tools(), tools=FUNCTIONS)
    run = gleg_module.solve(yaml.safe_load(PROBLEM.replace("BLOCK", "power")))
    with pytest.raises(PackError, match=r"pack 'broken' .* failed while it made run.mood: KeyError: 'boom'"):
        _ = run.mood


def test_a_module_that_closes_standard_output_is_used(install: Install) -> None:
    install("silent", pack="import sys; sys.stdout.close()\n" + dedent(LIGHT))
    assert gleg("packs") == (0, "")
    others_go_on()


def test_the_help_forgets_what_a_pack_has_changed_anywhere(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLEG_CACHE", "cache")
    names = "from PACKAGE.names import NAME\n" + dedent(TOOLS).replace('"dance"', "NAME").replace("READ", "").replace(
        "CHECK", ""
    )
    install("broken", pack=names, tools=FUNCTIONS, names="NAME = 'dance'")
    assert "dance" in command_summaries()
    path = Path(str(sys.modules["acme_broken.names"].__file__))
    path.write_text("NAME = 'waltz'  # longer", encoding="utf-8")
    default_registry.cache_clear()
    for name in [n for n in sys.modules if n.startswith("acme_")]:
        del sys.modules[name]
    assert "waltz" in command_summaries()
    known = Path("cache/commands.json")
    known.write_text(known.read_text().replace('"commands": {', '"commands": [], "others": {'), encoding="utf-8")
    assert "waltz" in command_summaries()


# --- judges, defaults and strategies act without being named ---

MEDDLER = (
    dedent(LIGHT).replace("Entry, hookimpl", "Entry, Tool, hookimpl")
    + """

@hookimpl
def gleg_judges():
    return [Tool("judge", "J", "PACKAGE.acts:judge")]


@hookimpl
def gleg_defaults():
    return [Tool("basis", "B", "PACKAGE.acts:basis"), Tool("integrator", "I", "PACKAGE.acts:basis")]


@hookimpl
def gleg_strategies():
    return [Tool("accuracy", "S", "PACKAGE.acts:fail")]
"""
)
L_SHAPE = """\
domain: {kind: polygon, vertices: [[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]]}
basis: {kind: fourier, K: 4}
regions: {core: {kind: disk, radius: 0.2, centre: [0.5, 0.5]}}
fields: {u: {initial: 1, boundary: [{kind: dirichlet}], equation: [{block: diffusion}]}}
time: {end: 0.1, step: 0.05}
output: {frames: 1, grid: 11, pictures: false}
"""


def test_a_run_reads_no_pack_that_its_file_does_not_name(install: Install) -> None:
    install("idle", "acme-idle", pack=MEDDLER)
    no_basis = PROBLEM.replace("BLOCK", "power, p: 2, coefficient: -1").replace("basis: {kind: fourier, K: 4}\n", "")
    Path("p.yaml").write_text(PROBLEM.replace("BLOCK", "power, p: 2, coefficient: -1"), encoding="utf-8")
    Path("n.yaml").write_text(no_basis, encoding="utf-8")
    Path("l.yaml").write_text(L_SHAPE, encoding="utf-8")
    for arguments in (
        *(("validate", name) for name in ("p.yaml", "n.yaml", "l.yaml")),
        ("lock", "p.yaml"),
        *(("run", name, "--quiet", "--out", name[0]) for name in ("p.yaml", "n.yaml", "l.yaml")),
        ("score", "p", "--json"),
        ("verify", "p.yaml", "--within", "9"),
    ):
        code, text = gleg(*arguments)
        assert (code, "acme_idle.pack" in sys.modules) == (0, False), (arguments, text)
    assert gleg_module.open_run("p").metrics and "acme_idle.pack" not in sys.modules


JUDGE = """
    from gleg_core.estimate import Part

    def judge(run):
        BODY
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return [Part('spice', 1.0, 'x')]", "the cause of a part is 'spice', it must be one of space, time, data, start"),
        ("return [Part('space', float('nan'), 'x')]", "the error of a part is nan"),
        ("return [Part('space', None, 'x')]", "the error of a part is None"),
        ("return [Part('space', 'big', 'x')]", "the error of a part is 'big'"),
        ("return [Part('space', -1.0, 'x')]", "the error of a part is -1.0"),
        ("return [Part('space', 1.0, 'x', allowed=None)]", "TypeError"),
        ("return [Part('space', 1.0, 'x', place='ab')]", "ValueError"),
        ("return [1.0]", "it returns float among parts of an estimate"),
        ("return None", "TypeError"),
        ("import os; os._exit(0)", "os._exit(0)"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt raised by the module itself"),
    ],
)  # fmt: skip
def test_a_judge_that_is_wrong_is_named_and_left_out(install: Install, body: str, said: str) -> None:
    install("broken", pack=MEDDLER, acts=JUDGE.replace("BODY", body))
    spec = yaml.safe_load(PROBLEM.replace("BLOCK", "broken:sink"))
    with pytest.warns(UserWarning, match="pack 'broken' .* failed while it judged the run") as told:
        run = gleg_module.solve(spec)
    assert any(said in str(w.message) for w in told)
    assert run.estimate is not None and all(part.about != "x" for part in run.estimate.parts)


def test_a_judge_is_heard_where_its_pack_is_used_and_what_it_prints_is_not(
    install: Install, capfd: pytest.CaptureFixture[str]
) -> None:
    body = "print('noise'); import os; os.write(1, b'noise'); return [Part('space', 1e-3, 'x')]"
    install("broken", pack=MEDDLER, acts=JUDGE.replace("BODY", body))
    for block, heard in (("broken:sink", True), ("power", False)):
        run = gleg_module.solve(yaml.safe_load(PROBLEM.replace("BLOCK", block)))
        assert run.estimate is not None and any(part.about == "x" for part in run.estimate.parts) is heard
    assert "noise" not in capfd.readouterr().out


def test_a_default_of_a_stranger_is_no_way_round_a_refusal(install: Install) -> None:
    chosen = """
    from gleg_core.spec.defaults import Suggestion

    def basis(question):
        return Suggestion("KIND") if question.what == "basis" else None
    """
    install("broken", pack=MEDDLER, acts=chosen.replace("KIND", "elements:elements"))
    install("other", "acme-other", pack=MEDDLER, acts=chosen.replace("KIND", "fourier:fourier"))
    ids = {p.id for p in default_registry().packs}
    smooth, rough = yaml.safe_load(PROBLEM.replace("BLOCK", "power")), yaml.safe_load(L_SHAPE)
    del smooth["basis"], rough["basis"]
    without = Registry.discover(only=ids - {"fourier", "other"})
    assert load_problem(smooth, registry=without).basis.key == "elements:elements"
    with pytest.raises(PackError, match=r"suits a solution that is not smooth .* pip install gleg-basis-elements"):
        load_problem(rough, registry=Registry.discover(only=ids - {"elements"}))
    problem, alone = load_problem(smooth), Registry.discover(only=ids - {"fourier", "elements"})
    assert suggested(Question("basis", problem, problem.scope, alone, "much is left")) is None
