"""The conformance kit itself: what counts as a failure, what is reported, the command, and its use in a test suite.

Run as a script with the path of docs/conformance.md it writes the list of checks there anew.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from click.testing import CliRunner, Result
from specimens import Specimen

from gleg_cli.main import gleg as command
from gleg_cli.main import main
from gleg_conformance import VERSION, kit
from gleg_conformance.kit import Finding, Subject, check, not_applicable, own_checks, require
from gleg_conformance.report import report, totals
from gleg_conformance.runner import components_of, run_component
from gleg_core import __version__
from gleg_core.errors import PackError
from gleg_core.pack import CONTRACT, Tool
from gleg_core.registry import Component, Pack, Registry
from gleg_market import certificates

DOCUMENT = Path(__file__).parents[3] / "docs" / "conformance.md"
Kit = Callable[..., None]


@pytest.fixture
def small_kit() -> Iterator[Kit]:
    """Replaces all checks of integrators by the given functions, for one test."""
    saved = dict(own_checks())

    def use(*functions: Any) -> None:
        kit._CHECKS.clear()
        for function in functions:
            check("integrator", group="test")(function)

    yield use
    kit._CHECKS.clear()
    kit._CHECKS.update(saved)


def passes(subject: Subject) -> Finding:
    """Always passes."""
    return Finding(0.5, 1.0, "a number")


def fails(subject: Subject) -> Finding:
    """Always fails."""
    return Finding(2.0, 1.0, "a number")


def violates(subject: Subject) -> None:
    """Always violated."""
    require(False, "it is blue")


def finds_nothing(subject: Subject) -> None:
    """There is nothing to measure."""


def does_not_apply(subject: Subject) -> None:
    """Never applies."""
    not_applicable("there is no wheel")


def raises(subject: Subject) -> None:
    """The component raises."""
    raise ZeroDivisionError("in the\ncomponent")


def leaves(subject: Subject) -> None:
    """The component ends the program."""
    sys.exit(3)


def is_interrupted(subject: Subject) -> None:
    """Ctrl-C."""
    raise KeyboardInterrupt


def not_a_number(subject: Subject) -> Finding:
    """Measures nothing sensible."""
    return Finding(math.nan, 1.0, "a number")


def returns_a_number(subject: Subject) -> int:
    """Forgets to return a finding."""
    return 42


def measures_a_text(subject: Subject) -> Finding:
    """Measures what is no number."""
    return Finding("much", 1.0, "a text")  # type: ignore[arg-type]


def only_for_the_second(subject: Subject) -> Finding:
    """Fails for one example of two."""
    return Finding(float(subject.example.get("size", 0)), 1.0, "size")


def specimen(expected: Any = None, *examples: dict[str, Any]) -> tuple[Component, Registry]:
    capabilities = {} if expected is None else {"expected_failures": expected}
    made = Specimen("integrator", "specimens_stepping:Heun", "specimens_stepping:NoParams", capabilities=capabilities)
    component, registry = made.component()
    if examples:
        component = replace(component, entry=replace(component.entry, examples=examples))
    return component, registry


def outcome(expected: Any = None, *examples: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(check, status, detail) of everything."""
    return [(r.check, r.status, r.detail) for r in run_component(*specimen(expected, *examples))]


# --- what counts ------------------------------------------------------------------------------------------------------


def test_findings(small_kit: Kit) -> None:
    small_kit(passes, fails, violates, finds_nothing, does_not_apply)
    assert outcome() == [
        ("passes", "passed", "a number: 0.5 ≤ 1"),
        ("fails", "failed", "a number: 2 > 1"),
        ("violates", "failed", "it is blue"),
        ("finds-nothing", "passed", "There is nothing to measure"),
        ("does-not-apply", "not applicable", "there is no wheel"),
    ]


def test_what_the_component_raises_is_a_failure_with_its_message(small_kit: Kit) -> None:
    small_kit(raises, leaves)
    assert outcome() == [
        ("raises", "failed", "ZeroDivisionError: in the component"),
        ("leaves", "failed", "SystemExit: 3"),
    ]


def test_an_interrupt_passes_through(small_kit: Kit) -> None:
    small_kit(is_interrupted)
    with pytest.raises(KeyboardInterrupt):
        outcome()


def test_not_a_number_fails(small_kit: Kit) -> None:
    small_kit(not_a_number)
    assert outcome() == [("not-a-number", "failed", "a number: nan > 1")]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_not_a_number_is_the_worst_of_several(place: int) -> None:
    gaps = [(0.25, "a"), (0.5, "b")]
    assert Finding.worst(gaps, 1.0, "a number") == Finding(0.5, 1.0, "a number (b)")
    gaps.insert(place, (math.nan, "c"))
    assert not Finding.worst(gaps, 1.0, "a number").good


def test_responses_that_are_not_a_number_are_apart_from_all_others() -> None:
    torch = pytest.importorskip("torch")
    from gleg_conformance.block_states import apart

    good, bad = torch.ones(3), torch.full((3,), math.nan)
    for names in (("pointwise", "weak"), ("weak", "pointwise")):
        found, where = apart({n: bad if n == "pointwise" else good for n in names}, dict.fromkeys(names, good))
        assert math.isnan(found) and where == "pointwise"


def test_random_numbers_of_the_caller_are_left_alone(small_kit: Kit) -> None:
    torch = pytest.importorskip("torch")
    drawn: list[float] = []

    def draws(subject: Subject) -> None:
        """Draws."""
        drawn.append(float(torch.rand(())))

    small_kit(draws)
    before = torch.get_rng_state()
    outcome()
    outcome()
    assert torch.equal(torch.get_rng_state(), before)
    assert drawn[0] == drawn[1]


def test_no_check_run_is_a_failure(small_kit: Kit) -> None:
    small_kit(does_not_apply)
    assert outcome()[-1] == ("expectations", "failed", "no check was run")
    small_kit()
    assert outcome() == [("expectations", "failed", "no check was run")]


# --- expected failures ------------------------------------------------------------------------------------------------


def test_expected_failure_with_a_reason(small_kit: Kit) -> None:
    small_kit(passes, fails)
    found = outcome({"fails": "explicit methods must"})
    assert found[1] == ("fails", "expected", "explicit methods must (a number: 2 > 1)")
    assert len(found) == 2


@pytest.mark.parametrize("reason", ["", "  "])
def test_expected_failure_without_a_reason(small_kit: Kit, reason: Any) -> None:
    small_kit(fails)
    found = outcome({"fails": reason})
    assert [status for _, status, _ in found] == ["failed", "failed"]
    assert "without a reason" in found[1][2]


def test_expected_failure_of_an_unknown_check(small_kit: Kit) -> None:
    small_kit(passes, fails)
    found = outcome({"passess": "a reason"})
    assert found[-1][:2] == ("expectations", "failed")
    assert "no such check" in found[-1][2] and "'passes'" in found[-1][2]


def test_expected_failure_that_does_not_fail(small_kit: Kit) -> None:
    small_kit(passes)
    found = outcome({"passes": "a reason"})
    assert found[0][1] == "passed"
    assert found[1][1] == "failed" and "remove the declaration" in found[1][2]


def test_expected_failure_of_one_example_is_enough(small_kit: Kit) -> None:
    small_kit(only_for_the_second)
    found = outcome({"only-for-the-second": "large ones are"}, {"size": 0}, {"size": 2})
    assert [status for _, status, _ in found] == ["passed", "expected"]


# --- the kit ----------------------------------------------------------------------------------------------------------


def test_a_check_needs_a_name_of_its_own_and_a_docstring(small_kit: Kit) -> None:
    def silent(subject: Subject) -> None:
        pass

    small_kit(passes)
    for function in (silent, passes):
        with pytest.raises(ValueError, match="needs a name of its own and a docstring"):
            check("integrator", group="test")(function)


def with_checks(*tools: Tool) -> tuple[Component, Registry]:
    """The specimen beside a pack that adds checks."""
    component, registry = specimen()
    pack = Pack("extra", "gleg-extra", "1.0", "extra", CONTRACT, "MIT", tools={"gleg_checks": tools})
    return component, Registry([*registry.packs, pack])


ADDED = (
    Tool("fails", "Always fails.", f"{__name__}:fails", facts={"contracts": ["integrator"], "group": "extra"}),
    Tool("passes", "A name that is taken", f"{__name__}:passes", facts={"contracts": "integrator"}),
    Tool("elsewhere", "Of other contracts", f"{__name__}:fails", facts={"contracts": ["domain", "basis"]}),
    Tool("lost", "Of all contracts, and cannot be imported", "nowhere_at_all:check"),
)


def test_packs_add_checks(small_kit: Kit) -> None:
    small_kit(passes)
    results = run_component(*with_checks(*ADDED))
    assert {r.check: (r.group, r.status) for r in results} == {
        "passes": ("test", "passed"),
        "fails": ("extra", "failed"),
        "extra:passes": ("other", "passed"),
        "lost": ("other", "failed"),
    }
    assert "gleg-extra" in results[-1].detail and "nowhere_at_all" in results[-1].detail


@pytest.mark.parametrize(
    ("tool", "status", "said"),
    [
        (Tool("odd", "Returns a number", f"{__name__}:returns_a_number"), "failed", "its check 'odd' returned int instead of a Finding"),
        (Tool("text", "Measures a text", f"{__name__}:measures_a_text"), "failed", "TypeError"),
        (Tool("lost", "Is not there", f"{__name__}:not_there"), "failed", "pack 'extra' (gleg-extra 1.0)"),
        (Tool("poor", "Needs a module", f"{__name__}:fails", ("nowhere_at_all",)), "not applicable", "needs nowhere_at_all"),
    ],
)  # fmt: skip
def test_a_broken_check_of_a_pack_fails(small_kit: Kit, tool: Tool, status: str, said: str) -> None:
    small_kit(passes)
    result = next(r for r in run_component(*with_checks(tool)) if r.check == tool.name)
    assert result.status == status and said in result.detail


def test_checks_of_packs_are_listed_with_their_pack(small_kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    small_kit(passes)
    monkeypatch.setattr("gleg_conformance.kit.default_registry", lambda: with_checks(*ADDED)[1])
    told = listing()
    assert f"conformance kit {VERSION}: 1 checks, 4 more from other packs" in told
    assert re.search(r"extra +fails +Always fails \(extra\)$", told, re.M), told
    assert re.search(r"test +passes +Always passes$", told, re.M), told


def test_an_expected_failure_may_be_of_a_check_that_a_pack_adds(small_kit: Kit) -> None:
    small_kit(passes)
    component, registry = with_checks(ADDED[0])
    excused = replace(
        component, entry=replace(component.entry, capabilities={"expected_failures": {"fails": "a reason"}})
    )
    assert [r.status for r in run_component(excused, registry)] == ["passed", "expected"]


def test_paths_in_examples_start_beside_the_entry_module() -> None:
    component, registry = specimen()
    assert Subject(component, registry).folder == str(Path(__file__).parent)


def test_selection_by_pack_distribution_and_key() -> None:
    component, registry = specimen()
    for name in ("specimens", "gleg-specimens", "specimens:specimen"):
        assert components_of(name, registry) == [component]
    with pytest.raises(PackError, match=r"nothing to check.*'specimen'.*Did you mean 'specimens'"):
        components_of("specimen", registry)


# --- report, command, certificate -------------------------------------------------------------------------------------


def test_report(small_kit: Kit) -> None:
    small_kit(passes, fails, not_a_number, does_not_apply)
    component, registry = specimen({"fails": "a reason"})
    results = run_component(component, registry)
    facts = json.loads(json.dumps(report(component.pack, {component: results}), allow_nan=False))
    counts = {"passed": 1, "failed": 1, "expected": 1, "not applicable": 1}
    assert facts["kit"] == VERSION and facts["totals"] == totals(results) == counts
    assert facts["environment"]["gleg-core"] == __version__
    assert facts["pack"]["distribution"] == "gleg-specimens"
    (told,) = facts["components"]
    assert (told["key"], told["contract"]) == ("specimens:specimen", "integrator")
    assert [r["status"] for r in told["results"]] == ["passed", "expected", "failed", "not applicable"]
    assert [r["measured"] for r in told["results"]] == [0.5, 2.0, None, None]
    assert set(told["results"][0]) == {
        "check", "group", "example", "status", "detail", "measured", "limit", "seconds",
    }  # fmt: skip


@pytest.fixture
def gleg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command, in an environment with the specimens installed; certificates go to a folder of the test."""
    monkeypatch.setenv("GLEG_CHECKS", str(tmp_path / "checks"))

    def run(*arguments: str, expected: Any = None) -> Result:
        registry = specimen(expected)[1]
        for module in ("gleg_core.registry", "gleg_conformance.check_command", "gleg_conformance.kit"):
            monkeypatch.setattr(f"{module}.default_registry", lambda: registry)
        return CliRunner().invoke(command, list(arguments))

    return run


def test_command(small_kit: Kit, gleg: Callable[..., Result], tmp_path: Path) -> None:
    small_kit(passes, fails)
    done = gleg("check", "specimens", "--json", str(tmp_path / "report.json"))
    assert done.exit_code == 1
    assert "FAILED    fails [0]" in done.output and "a number: 2 > 1" in done.output
    assert f"kit {VERSION}: 1 passed, 1 failed, 0 expected failures" in done.output
    (facts,) = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert facts["totals"]["failed"] == 1
    excused = gleg("check", "specimens:specimen", expected={"fails": "a reason"})
    assert excused.exit_code == 0
    assert "a reason (a number: 2 > 1)" in excused.output and "1 expected failures" in excused.output
    assert "ok        passes [0]" in gleg("check", "-v", "gleg-specimens").output


def test_certificate(small_kit: Kit, gleg: Callable[..., Result], tmp_path: Path) -> None:
    small_kit(passes, fails)
    pack: Pack = specimen()[0].pack
    assert certificates.load(pack) is None
    gleg("check", "specimens", expected={"fails": "a reason"})
    certificate = certificates.load(pack)
    assert certificate is not None and certificate.current
    assert (certificate.kit, certificate.passed, certificate.failed, certificate.expected) == (VERSION, 1, 0, 1)
    assert [p.suffix for p in (tmp_path / "checks").iterdir()] == [".json"]


def test_names_that_are_not_there(
    small_kit: Kit, gleg: Callable[..., Result], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gleg("check").exit_code == 2
    error = gleg("check", "specimes").exception
    assert isinstance(error, PackError) and "Did you mean 'specimens'" in str(error)
    monkeypatch.setattr(sys, "argv", ["gleg", "check", "specimes"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == PackError.exit_code
    assert "Did you mean 'specimens'" in capsys.readouterr().err


def test_interrupted_command(small_kit: Kit, gleg: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    small_kit(is_interrupted)
    gleg("check", "--list")  # puts the specimens in place
    monkeypatch.setattr(sys, "argv", ["gleg", "check", "specimens"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 130
    assert certificates.load(specimen()[0].pack) is None


# --- in a test suite --------------------------------------------------------------------------------------------------

PACK = """
    from gleg_core.pack import Entry, hookimpl
    CONTRACT = (3, 0)

    @hookimpl
    def gleg_integrators():
        params, more = "gleg_core.spec.params:PackParams", "specimens_stepping:"
        return [
            Entry("heun", "Heun's method", params, more + "Heun", {"order": 2}),
            Entry("frozen", "Heun's method, forcing frozen", params, more + "ForcingFrozen", {
                "expected_failures": {"order-of-convergence": "of order 1 with forcing", "blow-up-is-not-hidden": "stale"},
            }),
        ]
"""

SUITE = """
    from gleg_conformance.testing import conformance

    @conformance("suite")
    def test_conformance(case):
        case.verify()
"""


def test_parametrisation(tmp_path: Path) -> None:
    (tmp_path / "suite_pack.py").write_text(dedent(PACK), encoding="utf-8")
    (tmp_path / "test_suite.py").write_text(dedent(SUITE), encoding="utf-8")
    info = tmp_path / "gleg_suite-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: gleg-suite\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[gleg.packs]\nsuite = suite_pack\n", encoding="utf-8")
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parent)])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")} | {"PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-q", "-p", "no:cacheprovider", "test_suite.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    told = re.findall(r"^([A-Z]+) test_suite\.py::test_conformance\[suite:(\S+)\]", done.stdout, re.M)
    words = {name: word for word, name in told}
    assert done.returncode == 1, done.stdout
    assert words["heun[0]-order-of-convergence"] == "PASSED"
    assert words["frozen[0]-order-of-convergence"] == "XFAIL"
    assert words["frozen[0]-nodes-are-those-evaluated"] == "FAILED"  # node 1 is declared and never used
    assert words["frozen-expectations"] == "FAILED"  # a declaration that is out of date
    assert "'blow-up-is-not-hidden', which does not fail" in done.stdout
    assert {word for name, word in words.items() if name.startswith("heun")} == {"PASSED"}
    assert re.search(r"SKIPPED .*the method has no error estimate", done.stdout), done.stdout


# --- the document -----------------------------------------------------------------------------------------------------

BEGIN, END = "<!-- what `gleg check --list` prints -->\n```text\n", "```\n<!-- end -->"


def listing() -> str:
    return CliRunner().invoke(command, ["check", "--list"]).output


def test_every_check_is_in_the_document() -> None:
    text = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    named = set(re.findall(r"^  \w+ +([a-z0-9-]+)  ?", text, re.M))
    remedy = "run: python plugins/gleg_conformance/tests/test_conformance_framework.py docs/conformance.md"
    assert named == set(own_checks()), remedy


def regenerate(path: Path) -> None:
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    path.write_text(before + BEGIN + listing() + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    regenerate(Path(sys.argv[1]))
