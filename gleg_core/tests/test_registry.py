"""The registry: every way a pack can be right or wrong, with packs written to a temporary folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import importlib_metadata
import pytest

from gleg_core.errors import PackError
from gleg_core.pack import CONTRACT, CONTRACTS, HOOKS, TABLE, Entry, Tool
from gleg_core.registry import Component, Failure, Pack, Registry, default_registry, installed
from gleg_core.registry.catalogue import Offer, first_party

HEADER = "from gleg_core.pack import Entry, hookimpl\nCONTRACT = (3, 0)\n"


def entry(name: str = "growth", module: str = "absent.module", **changes: str) -> str:
    """Source text of one Entry."""
    parts = {"summary": "'Growth'", "params": f"'{module}:Params'", "factory": f"'{module}:make'", **changes}
    return f"Entry({name!r}, {', '.join(f'{key}={value}' for key, value in parts.items())})"


def hook(*entries: str, name: str = "gleg_blocks") -> str:
    """Source text of a light module with one hook."""
    return f"{HEADER}\n@hookimpl\ndef {name}():\n    return [{', '.join(entries)}]\n"


def tool_with(name: str, facts: str) -> str:
    """Source text of a light module with one tool."""
    return f"{HEADER}from gleg_core.pack import Tool\n@hookimpl\ndef {name}():\n    return [Tool('a', 'A', 'a:b', facts={facts})]"


class Environment:
    """Installed distributions in temporary folders, the only ones the registry sees."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folders = [root / "site", root / "later"]
        for folder in self.folders:
            folder.mkdir()

    def install(
        self,
        pack: str,
        source: str = "",
        *,
        distribution: str | None = None,
        version: str = "1.2.3",
        entry_points: str | None = None,
        folder: int = 0,
        **modules: str,
    ) -> str:
        """Write a distribution; returns the name of its package. ``modules`` are further modules of it."""
        distribution = distribution or f"gleg-{pack}"
        package = f"{distribution.replace('-', '_').lower()}_{self.root.name.replace('-', '_')}"
        home = self.folders[folder]
        (home / package).mkdir()
        for name, text in {"__init__": "", "pack": source or hook(entry()), **modules}.items():
            (home / package / f"{name}.py").write_text(dedent(text), encoding="utf-8")
        info = home / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.4\nName: {distribution}\nVersion: {version}\nLicense-Expression: MIT\n\nText\n"
        (info / "METADATA").write_text(metadata, encoding="utf-8")
        points = entry_points or f"[gleg.packs]\n{pack} = {package}.pack\n"
        (info / "entry_points.txt").write_text(points, encoding="utf-8")
        return package


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Environment]:
    environment = Environment(tmp_path)
    before = set(sys.modules)
    paths = [str(folder) for folder in environment.folders]
    distributions = importlib_metadata.distributions
    monkeypatch.setattr(
        installed.importlib_metadata, "distributions", lambda **asked: distributions(path=paths, **asked)
    )
    for path in reversed(paths):
        monkeypatch.syspath_prepend(path)
    monkeypatch.delenv("GLEG_PACKS", raising=False)
    monkeypatch.delenv("GLEG_STRICT", raising=False)
    yield environment
    for name in set(sys.modules) - before:
        if tmp_path.name.replace("-", "_") in name:
            del sys.modules[name]


def only_failure(registry: Registry) -> Failure:
    assert len(registry.failures) == 1, registry.failures
    return registry.failures[0]


# --- packs that are right -------------------------------------------------------------------------------------------


def test_a_good_pack_is_listed_with_its_origin(site: Environment) -> None:
    package = site.install("kinetics", hook(entry("logistic"), entry("allee")))
    registry = Registry.discover()
    assert registry.failures == ()
    (pack,) = registry.packs
    assert pack == Pack("kinetics", "gleg-kinetics", "1.2.3", f"{package}.pack", (3, 0), "MIT")
    assert list(registry.entries("block")) == ["kinetics:allee", "kinetics:logistic"]
    component = registry.entries("block")["kinetics:logistic"]
    assert component == Component("kinetics:logistic", pack, "block", component.entry)
    assert isinstance(component.entry, Entry)
    assert registry.entries("domain") == {}


def test_every_row_of_the_table_says_what_it_is() -> None:
    assert len(HOOKS) == len({row.name for row in TABLE}) == len(TABLE)
    assert [row.hook for row in TABLE if not row.hook.startswith("gleg_") or not row.about] == []
    assert [row.name for row in TABLE if bool(row.base) != (row.record is Entry)] == []
    assert set(HOOKS["gleg_checks"].facts["contracts"]) == set(CONTRACTS)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_hook_lists_the_components_of_its_contract(site: Environment, contract: str) -> None:
    site.install("shapes", hook(entry("moon"), name=CONTRACTS[contract].hook))
    registry = Registry.discover()
    assert [c for c in CONTRACTS if registry.entries(c)] == [contract]
    assert registry.find(contract, "moon").key == "shapes:moon"


def test_packs_are_sorted_and_one_distribution_may_bring_several(site: Environment) -> None:
    package = site.install("b")
    site.install(
        "many", distribution="gleg-many", entry_points=f"[gleg.packs]\nc = {package}.pack\na = {package}.pack\n"
    )
    assert [p.id for p in Registry.discover().packs] == ["a", "b", "c"]


def test_the_same_distribution_twice_on_the_path_is_no_collision(site: Environment) -> None:
    package = site.install("kinetics")
    copy = site.folders[1] / "Gleg.Kinetics-1.2.3.dist-info"
    copy.mkdir()
    (copy / "METADATA").write_text("Name: Gleg.Kinetics\nVersion: 1.2.3\n")
    (copy / "entry_points.txt").write_text(f"[gleg.packs]\nkinetics = {package}.pack\n")
    registry = Registry.discover()
    assert [str(p) for p in registry.packs] == ["pack 'kinetics' (gleg-kinetics 1.2.3)"]
    assert registry.failures == ()


def test_an_older_minor_of_the_contract_is_welcome(site: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gleg_core.registry.loading.CONTRACT", (1, 4))
    site.install("older", HEADER.replace("(3, 0)", "(1, 3)"))
    assert [p.contract for p in Registry.discover().packs] == [(1, 3)]


def test_broken_metadata_of_other_distributions_is_ignored(site: Environment) -> None:
    site.install("good")
    for name, text in (("other-1.dist-info", b"[console_scripts]\nno equals sign\n"), ("b-1.dist-info", b"\xff\xfe")):
        (site.folders[0] / name).mkdir()
        (site.folders[0] / name / "entry_points.txt").write_bytes(text)
    registry = Registry.discover()
    assert [p.id for p in registry.packs] == ["good"]
    assert registry.failures == ()


# --- packs that are wrong -------------------------------------------------------------------------------------------

NEWER = f"({CONTRACT[0]}, {CONTRACT[1] + 1})"
WRONG: dict[str, tuple[str, str, str, str]] = {
    # case: (source of the light module, stage, part of the message, part of the remedy)
    "import error": ("raise RuntimeError('no\\nlicence')", "import", "RuntimeError: no licence", "--force-reinstall"),
    "syntax error": ("def (", "import", "SyntaxError", "--force-reinstall"),
    "missing dependency": ("import not_there_at_all", "import", "'not_there_at_all'", "pip install --upgrade gleg-odd"),
    "SystemExit at import": ("raise SystemExit(3)", "import", "SystemExit: 3", "pip uninstall gleg-odd"),
    "GeneratorExit at import": ("raise GeneratorExit", "import", "GeneratorExit", "pip uninstall gleg-odd"),
    "error that cannot be printed": (
        "class Mute(Exception):\n    def __str__(self):\n        raise ValueError\nraise Mute",
        *("import", "Mute", "pip uninstall gleg-odd"),
    ),
    "no CONTRACT": ("X = 1", "handshake", "has no CONTRACT", "pip install --upgrade gleg-odd"),
    "CONTRACT not a pair": ("CONTRACT = '1.0'", "handshake", "not '1.0'", "pip install --upgrade gleg-odd"),
    "older major": ("CONTRACT = (0, 9)", "handshake", "contract 0.9", "pip install --upgrade gleg-odd"),
    "newer major": ("CONTRACT = (4, 0)", "handshake", "contract 4.0", "pip install --upgrade gleg-core"),
    "newer minor": (f"CONTRACT = {NEWER}", "handshake", "contract 3.1", "pip install 'gleg-odd<4.5'"),
    "hook raises": (hook("1 / 0"), "hooks", "ZeroDivisionError", "gleg-odd"),
    "hook exits": (hook("exit(1)"), "hooks", "SystemExit", "gleg-odd"),
    "hook returns None": (
        f"{HEADER}@hookimpl\ndef gleg_blocks():\n    pass",
        *("hooks", "gleg_blocks must return a list of Entry, not NoneType", "gleg-odd"),
    ),
    "hook returns other things": (hook("'x'"), "hooks", "gleg_blocks()[0]: must be an Entry, not str", "gleg-odd"),
    "hook with arguments": (f"{HEADER}@hookimpl\ndef gleg_blocks(u): ...", "hooks", "gleg_blocks", "gleg-odd"),
    "hook is a wrapper": (
        f"{HEADER}@hookimpl(wrapper=True)\ndef gleg_blocks():\n    return (yield)",
        *("hooks", "must not be a wrapper", "gleg-odd"),
    ),
    "unknown hook": (hook(entry(), name="gleg_block"), "hooks", "Did you mean 'gleg_blocks'?", "gleg-odd"),
    "unknown hook, not marked": (
        f"{HEADER}def gleg_domain(): ...",
        "hooks",
        "Did you mean 'gleg_domains'?",
        "gleg-odd",
    ),
    "hook not marked": (f"{HEADER}def gleg_blocks(): ...", "hooks", "is not marked with @hookimpl", "gleg-odd"),
    "name twice": (hook(entry("a"), entry("a")), "hooks", "lists the name 'a' twice", "gleg-odd"),
    "bad name": (hook(entry("Not_Good")), "hooks", "'Not_Good' must match", "gleg-odd"),
    "no summary": (hook(entry(summary="''")), "hooks", "must be one line", "gleg-odd"),
    "summary that colours the terminal": (
        hook(entry(summary=r"'a\x1b[31m'")),
        "hooks",
        "control characters",
        "gleg-odd",
    ),
    "wrong record of capabilities": (
        "from gleg_core.capabilities import BlockCapabilities as B\n" + hook(entry(capabilities="B(order='two')")),
        "hooks",
        "'order' is 'two', a whole number or nothing is needed",
        "gleg-odd",
    ),
    "params not a string": (hook(entry(params="int")), "hooks", "must be strings", "gleg-odd"),
    "params not module:attribute": (hook(entry(params="'a.b.C'")), "hooks", "params of 'growth' must have", "gleg-odd"),
    "factory not module:attribute": (hook(entry(factory="'a:b()'")), "hooks", "factory of 'growth'", "gleg-odd"),
    "capabilities of an unknown key": (
        hook(entry(capabilities="{'degre': 2}")),
        *("hooks", "capabilities of 'growth': unknown key 'degre'. Did you mean 'degree'?", "gleg-odd"),
    ),
    "capabilities of a wrong type": (
        hook(entry(capabilities="{'order': '2'}")),
        *("hooks", "capabilities of 'growth': 'order' is '2', a whole number or nothing is needed", "gleg-odd"),
    ),
    "a dimension that there is not": (
        hook(entry(capabilities="{'dim': 4}"), name="gleg_domains"),
        *("hooks", "'dim' is 4, dimensions are 1, 2 or 3", "gleg-odd"),
    ),
    "a resolution that is no name": (
        hook(entry(capabilities="{'resolution': 5}"), name="gleg_bases"),
        *("hooks", "'resolution' is 5, a text or nothing is needed", "gleg-odd"),
    ),
    "os._exit at import": ("import os; os._exit(0)", "import", "os._exit(0)", "pip uninstall gleg-odd"),
    "KeyboardInterrupt at import": (
        "raise KeyboardInterrupt",
        "import",
        "by the module itself",
        "pip uninstall gleg-odd",
    ),
    "a tool without a target": (
        f"{HEADER}from gleg_core.pack import Tool\n@hookimpl\ndef gleg_commands():\n    return [Tool('a', 'A', 'a.b')]",
        *("hooks", "target of 'a' must have the form 'module:attribute'", "gleg-odd"),
    ),
    "keys at a place there is not": (
        f"{HEADER}from gleg_core.pack import Keys\n@hookimpl\ndef gleg_keys():\n    return [Keys('time', ('a',), 'a:B')]",
        *("hooks", "keys stand at one of problem, field, output", "gleg-odd"),
    ),
    "a check of a contract there is not": (
        tool_with("gleg_checks", "{'contracts': ['blok']}"),
        *("hooks", "'contracts' of 'a' is 'blok', allowed: basis, block,", "gleg-odd"),
    ),
    "a run attribute of another kind": (
        tool_with("gleg_run_attributes", "{'kind': 'metod'}"),
        *("hooks", "'kind' of 'a' is 'metod', allowed: method, value. Did you mean 'method'?", "gleg-odd"),
    ),
    "examples not mappings": (hook(entry(examples="(1,)")), "hooks", "examples", "gleg-odd"),
    "second entry wrong": (hook(entry("fine"), entry("Bad")), "hooks", "gleg_blocks()[1]", "gleg-odd"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_pack_is_refused_as_a_whole_and_others_go_on(site: Environment, case: str) -> None:
    source, stage, message, remedy = WRONG[case]
    site.install("odd", source, version="4.5")
    site.install("alpha", hook(entry("first")))
    site.install("zeta", hook(entry("last")))
    registry = Registry.discover()
    assert [p.id for p in registry.packs] == ["alpha", "zeta"]
    assert list(registry.entries("block")) == ["alpha:first", "zeta:last"]
    failure = only_failure(registry)
    assert (failure.pack, failure.distribution, failure.version, failure.stage) == ("odd", "gleg-odd", "4.5", stage)
    assert message in failure.message
    assert "\n" not in failure.message
    assert remedy in failure.remedy
    for part in ("'odd'", "gleg-odd", "4.5", f"'{stage}'", failure.message, failure.remedy):
        assert part in str(failure)


def test_a_keyboard_interrupt_of_the_user_gets_through(site: Environment) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        site.install("odd", "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)")
        with pytest.raises(KeyboardInterrupt):
            _ = Registry.discover().packs
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_a_pack_prints_is_kept_aside(site: Environment, capfd: pytest.CaptureFixture[str]) -> None:
    site.install("loud", "import sys\nprint('hello')\nprint('there', file=sys.stderr)\n" + hook(entry()))
    assert [p.said for p in Registry.discover().packs] == ["hello there"]
    assert capfd.readouterr() == ("", "")


RAW = "import os, sys\nos.write(1, b'raw ')\nos.system('echo child; echo error >&2')\nprint('past', file=sys.__stdout__)\n"


def test_what_a_pack_writes_past_python_is_kept_aside(site: Environment) -> None:
    site.install("loud", RAW + hook(entry()))
    program = "from gleg_core.registry import Registry; print([p.said for p in Registry.discover().packs if not p.first_party])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site.folders[0]), *sys.path])}
    said = {"": ("['raw child error past']\n", ""), " 2>&-": ("['raw child past']\n", ""), " >&-": ("", "")}
    for closed, expected in said.items():
        command = f'"{sys.executable}" -c "{program}"{closed}'
        done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == expected, closed


SETTINGS = """
import os, signal, sys, threading, warnings
import torch
os.chdir("/")
warnings.simplefilter("error")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
torch.set_default_dtype(torch.float16)
torch.set_num_threads(torch.get_num_threads() + 1)
sys.stdout = sys.stderr = None
"""


@pytest.mark.parametrize("ending", ["", "raise OSError\n"])
def test_what_belongs_to_the_program_is_afterwards_as_it_was(site: Environment, ending: str) -> None:
    import torch

    def settings() -> list[object]:
        handlers = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
        of_torch = [torch.get_default_dtype(), torch.get_num_threads()]
        return [Path.cwd(), list(warnings.filters), sys.stdout, sys.stderr, *handlers, *of_torch]

    site.install("odd", SETTINGS + ending + hook(entry()))
    before = settings()
    assert len(Registry.discover().failures) == bool(ending)
    assert settings() == before


def test_the_precision_of_torch_is_its_own_if_a_pack_is_the_first_to_import_it(site: Environment) -> None:
    site.install("odd", "import torch\ntorch.set_default_dtype(torch.float64)\n" + hook(entry()))
    program = "from gleg_core.registry import Registry; Registry.discover().packs; import torch; print(torch.get_default_dtype())"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site.folders[0]), *sys.path])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "torch.float32\n"


# --- packs of this project and others -------------------------------------------------------------------------------

OURS = "gleg-blocks-diffusion"


def test_a_stranger_never_takes_the_place_of_a_first_party_pack(site: Environment) -> None:
    assert first_party()[OURS] == ("diffusion",)
    site.install("diffusion", hook(entry("diffusion")), distribution=OURS)
    site.install("diffusion", hook(entry("diffusion")), distribution="acme-diffusion", folder=1)
    site.install("acme", hook(entry("diffusion")), distribution="acme-blocks")
    registry = Registry.discover()
    assert registry.find("block", "diffusion").pack.distribution == OURS
    assert registry.find("block", "diffusion:diffusion").pack.distribution == OURS
    assert registry.find("block", "acme:diffusion").pack.distribution == "acme-blocks"
    failure = only_failure(registry)
    assert (failure.distribution, failure.stage) == ("acme-diffusion", "collision")
    assert f"belongs to {OURS}" in failure.message


def test_an_id_of_ours_belongs_to_us_even_where_we_are_not_installed(site: Environment) -> None:
    site.install("diffusion", distribution="acme-diffusion")
    assert only_failure(Registry.discover()).stage == "collision"


def test_a_stranger_is_imported_only_where_it_may_be_meant(site: Environment) -> None:
    site.install("diffusion", hook(entry("diffusion")), distribution=OURS)
    package, other = site.install("slow", hook(entry("growth"))), site.install("broken", "raise RuntimeError")
    registry = Registry.discover()
    registry.find("block", "diffusion")
    registry.find("block", "diffusion:diffusion")
    assert not {f"{package}.pack", f"{other}.pack"} & set(sys.modules)
    registry.find("block", "slow:growth")
    assert f"{package}.pack" in sys.modules and f"{other}.pack" not in sys.modules
    assert registry.find("block", "growth").key == "slow:growth"
    assert [f.pack for f in registry.failures] == ["broken"]


def test_tools_are_found_by_name_and_hooks_are_open_to_strangers(site: Environment) -> None:
    tools = f"{HEADER}from gleg_core.pack import Tool\n@hookimpl\ndef gleg_commands():\n    return [Tool('export', 'E', 'a.b:c')]\n"
    site.install("one", tools)
    site.install("two", tools + "@hookimpl\ndef gleg_weather_stations():\n    return [Tool('north', 'N', 'a.b:c')]\n")
    registry = Registry.discover()
    assert [o.key for o in registry.tools("gleg_commands")] == ["one:export", "two:export"]
    assert registry.tool("gleg_commands", "two:export").pack.id == "two"
    assert registry.tools("gleg_weather_stations")[0].tool == Tool("north", "N", "a.b:c")
    assert "Write one of: one:export, two:export" in message_of(lambda: registry.tool("gleg_commands", "export"))
    assert registry.tool("gleg_commands", "nothing") is None


def test_a_tool_that_is_not_installed_says_what_brings_it(site: Environment) -> None:
    registry = Registry.discover()
    text = message_of(lambda: registry.required("gleg_commands", "discover"))
    assert text == "the command 'discover' comes with gleg-discovery:   pip install gleg-discovery"
    assert "there is no command 'dance'" in message_of(lambda: registry.required("gleg_commands", "dance"))


def test_a_tool_says_which_module_it_lacks(site: Environment) -> None:
    tool = "Tool('vtu', 'V', 'a.b:c', ('not_there',))"
    site.install(
        "one", f"{HEADER}from gleg_core.pack import Tool\n@hookimpl\ndef gleg_outputs():\n    return [{tool}]\n"
    )
    registry = Registry.discover()
    needed = "needs not_there, which is not installed:   pip install not_there"
    found = registry.tool("gleg_outputs", "vtu")
    assert found is not None
    assert needed in message_of(lambda: registry.target(found))
    assert needed in message_of(lambda: registry.required("gleg_outputs", "vtu"))


def test_two_distributions_with_one_pack_id_are_both_refused(site: Environment) -> None:
    site.install("kinetics", distribution="gleg-kinetics", version="1.0")
    site.install("kinetics", distribution="acme-kinetics", version="2.0", folder=1)
    site.install("good")
    registry = Registry.discover()
    assert [p.id for p in registry.packs] == ["good"]
    assert [f.distribution for f in registry.failures] == ["acme-kinetics", "gleg-kinetics"]
    for failure in registry.failures:
        assert failure.stage == "collision"
        assert "acme-kinetics 2.0" in failure.message and "gleg-kinetics 1.0" in failure.message
        assert "pip uninstall acme-kinetics" in failure.remedy and "pip uninstall gleg-kinetics" in failure.remedy


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ("[gleg.packs]\nBad_Id = x.pack\n", "pack id must match"),
        ("[gleg.packs]\nodd = x.pack:thing\n", "must name a module"),
        ("[gleg.packs]\nodd = not-a-module\n", "must name a module"),
        ("[gleg.packs]\nno equals sign\n", "entry_points.txt cannot be read"),
    ],
)
def test_malformed_entry_points_are_refused(site: Environment, points: str, message: str) -> None:
    site.install("odd", entry_points=points)
    site.install("good")
    registry = Registry.discover()
    assert [p.id for p in registry.packs] == ["good"]
    failure = only_failure(registry)
    assert failure.stage == "metadata"
    assert message in failure.message
    assert "gleg-odd" in failure.remedy


def test_one_distribution_declaring_an_id_twice_is_refused(site: Environment) -> None:
    site.install("odd", entry_points="[gleg.packs]\nodd = a\nodd = b\n")
    assert {f.message for f in Registry.discover().failures} == {"gleg-odd 1.2.3 declares the pack id 'odd' 2 times"}


# --- choosing packs -------------------------------------------------------------------------------------------------


def test_the_allow_list_limits_what_is_imported(site: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install("good")
    package = site.install("odd", "raise RuntimeError")
    assert [p.id for p in Registry.discover(only=["good"]).packs] == ["good"]
    monkeypatch.setenv("GLEG_PACKS", " good ,")
    registry = Registry.discover()
    assert ([p.id for p in registry.packs], registry.failures) == (["good"], ())
    assert package not in sys.modules
    assert Registry.discover(only=[]).packs == ()
    monkeypatch.setenv("GLEG_PACKS", "")
    assert len(Registry.discover().failures) == 1


def test_a_typing_error_in_the_allow_list_is_reported(site: Environment) -> None:
    site.install("kinetics")
    failure = only_failure(Registry.discover(only=["kinetic"]))
    assert failure.stage == "allow-list"
    assert "Did you mean 'kinetics'?" in failure.message
    assert str(failure).startswith("pack 'kinetic' was refused")


def test_strict_mode_raises_every_failure_at_once(site: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install("one", "raise RuntimeError('first')")
    site.install("two", "CONTRACT = (9, 9)")
    with pytest.raises(PackError, match=r"(?s)'one'.*first.*'two'.*9\.9"):
        Registry.discover(strict=True)
    monkeypatch.setenv("GLEG_STRICT", "1")
    with pytest.raises(PackError):
        Registry.discover()
    assert len(Registry.discover(strict=False).failures) == 2
    monkeypatch.setenv("GLEG_STRICT", "0")
    assert len(Registry.discover().failures) == 2


def test_the_default_registry_is_discovered_once(site: Environment) -> None:
    site.install("kinetics")
    default_registry.cache_clear()
    try:
        assert default_registry() is default_registry()
        assert [p.id for p in default_registry().packs] == ["kinetics"]
    finally:
        default_registry.cache_clear()


# --- finding components ---------------------------------------------------------------------------------------------


def message_of(call: Callable[[], object]) -> str:
    with pytest.raises(PackError) as caught:
        call()
    return str(caught.value)


def test_full_keys_and_unique_bare_names_are_found(site: Environment) -> None:
    site.install("a", hook(entry("growth"), entry("decay")))
    site.install("b", hook(entry("growth")))
    registry = Registry.discover()
    assert registry.find("block", "decay") == registry.find("block", "a:decay")
    assert registry.find("block", "b:growth").pack.id == "b"
    assert "Write one of: a:growth, b:growth" in message_of(lambda: registry.find("block", "growth"))


def test_an_unknown_name_gets_a_suggestion_and_what_is_installed(site: Environment) -> None:
    site.install("kinetics", hook(entry("logistic"), entry("allee")))
    registry = Registry.discover()
    text = message_of(lambda: registry.find("block", "logistik"))
    assert text.startswith("no installed pack provides the block 'logistik'. Did you mean 'logistic'?")
    assert "Installed: allee, logistic" in text
    assert "Did you mean 'kinetics:logistic'?" in message_of(lambda: registry.find("block", "wrong:logistic"))
    assert "'kinetics:logistic' is a block." in message_of(lambda: registry.find("domain", "logistic"))
    assert "Did you mean 'block'?" in message_of(lambda: registry.find("blok", "logistic"))


def test_an_unknown_name_names_the_failed_pack_that_may_have_it(site: Environment) -> None:
    site.install("kinetics", "import not_there_at_all")
    site.install("other", "raise RuntimeError")
    registry = Registry.discover()
    text = message_of(lambda: registry.find("block", "kinetics:logistic"))
    assert "It may be in a pack that could not be loaded" in text
    for part in ("pack 'kinetics' (gleg-kinetics 1.2.3)", "'import'", "not_there_at_all", "pip install --upgrade"):
        assert part in text
    assert "'other'" not in text
    bare = message_of(lambda: registry.find("block", "logistic"))
    assert "'kinetics'" in bare and "'other'" in bare


def test_the_catalogue_turns_an_unknown_name_into_an_install_hint(site: Environment) -> None:
    offers = [
        Offer("kinetics:logistic", "block", "r u (1 − u/c)", "gleg-blocks-kinetics"),
        Offer("other:logistic", "domain", "of another contract", "gleg-other"),
    ]
    registry = Registry.discover(catalogue=lambda: offers)
    for name in ("kinetics:logistic", "logistic"):
        text = message_of(lambda name=name: registry.find("block", name))
        assert "  It is in gleg-blocks-kinetics:   pip install gleg-blocks-kinetics\n" in text
        assert "gleg-other" not in text


def test_a_known_pack_without_the_component_is_named(site: Environment) -> None:
    offers = [Offer(f"kinetics:{name}", "block", "growth", "gleg-blocks-kinetics") for name in ("logistic", "allee")]
    registry = Registry.discover(catalogue=lambda: offers)
    install = "It is in gleg-blocks-kinetics:   pip install gleg-blocks-kinetics\n"
    misspelt = message_of(lambda: registry.find("block", "kinetics:logistik"))
    assert f"'kinetics' has no such block. Did you mean 'logistic'? {install}" in misspelt
    other = message_of(lambda: registry.find("block", "kinetics:weather"))
    assert f"'kinetics' has no such block. It offers allee, logistic. {install}" in other
    bare = message_of(lambda: registry.find("block", "logistik"))
    assert "Perhaps 'kinetics:logistic', in gleg-blocks-kinetics:   pip install gleg-blocks-kinetics\n" in bare
    site.install("kinetics", hook(entry("logistic")))
    here = Registry.discover(catalogue=lambda: offers)
    assert "pip install" not in message_of(lambda: here.find("block", "kinetics:logistik"))


def test_a_component_of_a_later_version_is_an_upgrade(site: Environment) -> None:
    site.install("kinetics", hook(entry("allee")), distribution="gleg_blocks.Kinetics")
    offer = Offer("kinetics:logistic", "block", "growth", "gleg-blocks-kinetics")
    text = message_of(lambda: Registry.discover(catalogue=lambda: [offer]).find("block", "kinetics:logistic"))
    assert "of which 1.2.3 is installed:   pip install --upgrade gleg-blocks-kinetics\n" in text


# --- importing components -------------------------------------------------------------------------------------------


def test_only_what_is_asked_for_is_imported(site: Environment) -> None:
    package = site.install("kinetics", "", heavy="class Params: ...\ndef make(params): return 'made'\n")
    (site.folders[0] / package / "pack.py").write_text(hook(entry("growth", f"{package}.heavy")))
    registry = Registry.discover()
    component = registry.find("block", "growth")
    assert f"{package}.heavy" not in sys.modules
    assert registry.params(component).__name__ == "Params"
    assert registry.factory(component)(None) == "made"


@pytest.mark.parametrize(
    ("heavy", "message"),
    [
        ("import not_there_at_all", "ModuleNotFoundError: No module named 'not_there_at_all'"),
        ("raise SystemExit(1)", "SystemExit: 1"),
        ("x = 1", "AttributeError"),
        ("Params = make = 3", ""),
    ],
)
def test_a_component_that_cannot_be_imported_names_its_pack(site: Environment, heavy: str, message: str) -> None:
    package = site.install("kinetics", heavy=heavy)
    (site.folders[0] / package / "pack.py").write_text(hook(entry("growth", f"{package}.heavy")))
    registry = Registry.discover()
    component = registry.find("block", "growth")
    expected = {registry.params: "is not a class", registry.factory: "is not callable"}
    for method, fallback in expected.items():
        text = message_of(lambda method=method: method(component))
        for part in ("kinetics:growth", "gleg-kinetics", "1.2.3", "'import'", "pip install", message or fallback):
            assert part in text


# --- weight ---------------------------------------------------------------------------------------------------------


def test_discovery_and_listing_import_nothing_heavy() -> None:
    """In a fresh process with whatever packs are installed here."""
    program = """
        import sys
        from gleg_core.pack import CONTRACTS
        from gleg_core.registry import Registry
        registry = Registry.discover()
        for contract in CONTRACTS:
            for key, component in registry.entries(contract).items():
                assert registry.find(contract, key) == component
        heavy = ("torch", "numpy", "pydantic", "scipy", "matplotlib", "rich")
        print([name for name in heavy if name in sys.modules])
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GLEG_")}
    command = [sys.executable, "-c", dedent(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_names_of_this_project_mean_nothing_else_where_its_packs_are_missing(site: Environment) -> None:
    site.install("acme", hook(entry("diffusion")) + TOOL_HOOKS)
    registry = Registry.discover()
    text = message_of(lambda: registry.find("block", "diffusion"))
    assert "Did you mean 'acme:diffusion'?" in text
    assert "pip install gleg-blocks-diffusion" in text
    assert registry.find("block", "acme:diffusion").key == "acme:diffusion"
    assert registry.tool("gleg_commands", "discover") is None
    assert registry.tool("gleg_commands", "acme:discover") is not None
    assert registry.key("problem", "restart") is None
    assert registry.key("problem", "campaign") is not None


TOOL_HOOKS = """
from gleg_core.pack import Keys, Tool
@hookimpl
def gleg_commands():
    return [Tool("discover", "D", "a.b:c")]
@hookimpl
def gleg_keys():
    return [Keys("problem", ("restart", "campaign"), "a.b:c")]
"""


@pytest.mark.parametrize(
    "wrong",
    [
        "'plan'",
        "('plan',), 'a.b:c', replaces='initial'",
        "('plan',), 'a.b:c', replaces=('initial',)",
        "('plan',), 'a.b:c', replaces=('boundary',)",
        "('plan',), 'a.b:c', unsolved='{what}'",
        "('plan',), 'a.b:c', fills='a.b'",
        "('plan',), 'a.b:c', fills=3",
        "('plan', 'domain'), 'a.b:c'",
    ],
)
def test_keys_of_a_wrong_form_are_refused(site: Environment, wrong: str) -> None:
    given = wrong if "a.b" in wrong else f"{wrong}, 'a.b:c'"
    body = f"from gleg_core.pack import Keys\n@hookimpl\ndef gleg_keys():\n    return [Keys('problem', {given})]\n"
    site.install("acme", HEADER + body)
    assert [f.stage for f in Registry.discover().failures] == ["hooks"]
