"""Bad input: every mistake gives one clear message with its place and the documented exit code, and nothing is written."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from gleg_cli.main import main
from gleg_core.registry import Registry
from gleg_market.catalogue import Offer

BASE = """\
title: tiny
domain: {kind: disk, radius: 0.6}
basis: {kind: fourier, K: 5}
constants: {D: 0.1, k: 2}
formulas:
  bump: exp(-8*(x^2 + y^2))
fields:
  u:
    initial: bump
    boundary:
      - {kind: dirichlet, value: 0}
    equation:
      - {block: diffusion, coefficient: D}
      - {block: power, p: 3, coefficient: -1}
time: {end: 0.1, step: 0.05, integrator: etdrk4}
space: {margin: 0.3}
output: {frames: 2, grid: 21, pictures: false}
"""
FIELDS = BASE[BASE.index("fields:") : BASE.index("time:")]
EQUATION = BASE[BASE.index("    equation:") : BASE.index("time:")]
BOUNDARY = BASE[BASE.index("    boundary:") : BASE.index("    equation:")]
TIME = "time: {end: 0.1, step: 0.05, integrator: etdrk4}\n"
DIRICHLET = "- {kind: dirichlet, value: 0}"
DIFFUSION = "- {block: diffusion, coefficient: D}"
SPEC, PACK, GEOMETRY, NUMERICS, OUTPUT = 2, 3, 4, 5, 6


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def gleg(*arguments: str) -> Outcome:
    """The real command in this process: what ``main`` prints and its exit code."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["gleg", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = before
    return Outcome(code, out.getvalue(), err.getvalue())


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder below ``folder``."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def messages(text: str) -> list[str]:
    """Messages, each with the indented lines that belong to it."""
    found: list[str] = []
    for line in text.splitlines():
        if line.startswith(" ") and found:
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


def refused(outcome: Outcome, code: int, count: int = 1) -> list[str]:
    """The messages of a command that refused its input as it should."""
    assert outcome.code == code, outcome
    assert outcome.out == ""
    assert "Traceback" not in outcome.err and "internal error" not in outcome.err, outcome.err
    found = messages(outcome.err)
    assert len(found) == count, outcome.err
    return found


def edited(*edits: tuple[str, str]) -> str:
    text = BASE
    for old, new in edits:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in; the cache is elsewhere and shared, so that spaces are built once."""
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.delenv("GLEG_DEBUG", raising=False)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


# --- mistakes in a problem file -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Edits of the tiny problem, and what the message must say: the place, a text on the line it names, and words."""

    name: str
    edits: tuple[tuple[str, str], ...]
    at: str
    on: str | None
    says: tuple[str, ...]
    code: int = SPEC
    late: bool = False
    """Found by ``run`` only, not by ``validate``."""


def case(
    name: str, old: str, new: str, at: str, on: str | None, *says: str, code: int = SPEC, late: bool = False
) -> Case:
    return Case(name, ((old, new),), at, on, says, code, late)


def initial(name: str, formula: str, *says: str, code: int = SPEC, late: bool = False) -> Case:
    text = f"initial: {json.dumps(formula)}"
    return case(name, "initial: bump", text, "fields.u.initial", "initial:", *says, code=code, late=late)


NOT_ALLOWED = "is not allowed in a formula"
CASES = [
    # unknown components
    case("domain", "kind: disk", "kind: dsk", "domain.kind", "dsk", "'dsk'", "Did you mean 'disk'?", "Installed: "),
    case("basis", "kind: fourier", "kind: furier", "basis.kind", "furier", "Did you mean 'fourier'?"),
    case("block", "diffusion", "difusion", "fields.u.equation[0].block", "difusion", "Did you mean 'diffusion'?"),
    case("boundary", "dirichlet", "dirichlt", "fields.u.boundary[0].kind", "dirichlt", "Did you mean 'dirichlet'?"),
    case("integrator", "etdrk4", "etdrk5", "time.integrator", "etdrk5", "Did you mean 'etdrk4'?"),
    case("component of another contract", "kind: disk", "kind: fourier:fourier", "domain.kind", "domain:", "is a basis"),
    case(
        "pack that is not installed", "diffusion", "plasma:ionisation", "fields.u.equation[0].block", "ionisation",
        "no installed pack provides the block 'plasma:ionisation'", code=PACK,
    ),
    # typing errors in keys, at every level
    case("key at the top", "title", "titel", "titel", "titel", "unknown key", "Did you mean 'title'?"),
    case("key of the domain", "radius", "raduis", "domain.raduis", "raduis", "Allowed: centre, kind, radius", "'radius'?"),
    case("key of the basis", "K: 5", "k: 5", "basis.k", "k: 5", "Did you mean 'K'?"),
    case("key of a field", "initial:", "inital:", "fields.u.inital", "inital", "Did you mean 'initial'?"),
    case("key of a condition", "value: 0", "vale: 0", "fields.u.boundary[0].vale", "vale", "Did you mean 'value'?"),
    case("core key of a condition", "value: 0", "wher: all", "fields.u.boundary[0].wher", "wher", "Did you mean 'where'?"),
    case("key of a term", "coefficient: D", "coeficient: D", "fields.u.equation[0].coeficient", "coeficient",
         "Allowed: block, coefficient, of, realisation", "Did you mean 'coefficient'?"),
    case("key of a square", DIFFUSION, "- {square: [{block: diffusion}], coeff: 1}", "fields.u.equation[0].coeff", "square",
         "Did you mean 'coefficient'?"),
    case("key of time", "step: 0.05", "stp: 0.05", "time.stp", "stp", "Did you mean 'step'?"),
    case("key of an integrator", "etdrk4", "{kind: etdrk4, schem: krogstad}", "time.integrator.schem", "schem", "'scheme'?"),
    case("key of space", "margin", "margn", "space.margn", "margn", "Did you mean 'margin'?"),
    case("key of output", "frames", "frame", "output.frame", "frame:", "Did you mean 'frames'?"),
    # wrong types and values
    case("word for a number", "frames: 2", "frames: many", "output.frames", "many", "a number is needed", "unknown name 'many'"),
    case("truth for a number", "radius: 0.6", "radius: true", "domain.radius", "radius", "found true"),
    case("list for a number", "radius: 0.6", "radius: [1]", "domain.radius", "radius", "found [1]"),
    case("nothing for a number", "radius: 0.6", "radius: ", "domain.radius", "radius", "found nothing"),
    case("negative radius", "radius: 0.6", "radius: -1", "domain.radius", "radius", "found -1, it must be greater than 0"),
    case("half a cutoff", "K: 5", "K: 5.5", "basis.K", "K: 5.5", "a whole number is needed, found 5.5"),
    case("large exponent", "p: 3", "p: 13", "fields.u.equation[1].p", "p: 13", "found 13, it must be at most 12"),
    case("word for a truth", "pictures: false", "pictures: maybe", "output.pictures", "maybe", "true or false is needed"),
    case("number for a title", "title: tiny", "title: 3", "title", "title", "found 3, a text is needed"),
    case("word for a domain", "{kind: disk, radius: 0.6}", "disk", "domain", "domain", "found 'disk'", "mapping of keys"),
    case("list for the fields", FIELDS, "fields: [u]\n", "fields", "fields", "found ['u']", "a mapping"),
    case("nothing for the fields", FIELDS, "fields:\n", "fields", "fields", "found nothing"),
    case("word for an equation", EQUATION, "    equation: diffusion\n", "fields.u.equation", "equation", "a list is needed"),
    case("word for a term", DIFFUSION, "- diffusion", "fields.u.equation[0]", "- diffusion", "a mapping of keys is needed"),
    case("choice", "p: 3,", "p: 3, realisation: weka,", "fields.u.equation[1].realisation", "weka",
         "allowed: ambient, pointwise, weak", "Did you mean 'weak'?"),
    case("term with both", DIFFUSION, "- {block: diffusion, square: [{block: diffusion}]}", "fields.u.equation[0]", "square",
         "either 'block' or 'square', found both"),
    case("term with neither", DIFFUSION, "- {coefficient: 3}", "fields.u.equation[0]", "coefficient: 3", "found neither"),
    # missing keys
    case("no domain", "domain: {kind: disk, radius: 0.6}\n", "", "domain", None, "missing", "the shape Ω"),
    case("no kind", "kind: disk, ", "", "domain.kind", "radius: 0.6", "missing"),
    case("no fields", FIELDS, "", "fields", None, "missing"),
    case("no field", FIELDS, "fields: {}\n", "fields", "fields", "at least 1"),
    case("no time", TIME, "", "time", None, "missing"),
    case("no end", "end: 0.1, ", "", "time.end", "time:", "missing", "ends"),
    case("no equation", EQUATION, "", "fields.u.equation", "u:", "missing"),
    case("empty equation", EQUATION, "    equation: []\n", "fields.u.equation", "equation", "at least 1"),
    case("no boundary", BOUNDARY, "", "fields.u.boundary", "u:", "missing", "cover every segment"),
    case("no kappa", "kind: dirichlet", "kind: robin", "fields.u.boundary[0].kappa", "robin", "missing", "κ(x)"),
    case("no start", "    initial: bump\n", "", "fields.u", "u:", "give 'initial' or 'exact'"),
    case("empty square", DIFFUSION, "- {square: []}", "fields.u.equation[0].square", "square", "at least 1"),
    # segments
    case("two conditions on a segment", DIRICHLET, "- {kind: dirichlet}\n      - {kind: neumann, where: boundary}",
         "fields.u.boundary[1]", "neumann", "'boundary' has a condition already", "tiny.yaml:11"),
    case("segment without condition", "value: 0", "where: []", "fields.u.boundary[0].where", "where", "at least 1"),
    Case("three segments without condition",
         (("{kind: disk, radius: 0.6}", "{kind: rectangle, x: [0, 1], y: [0, 1]}"), ("value: 0", "where: left")),
         "fields.u.boundary", "boundary:", ("no condition on segment bottom, right, top", "where: rest")),
    case("unknown segment", "value: 0", "where: boundry", "fields.u.boundary[0].where", "boundry", "Did you mean 'boundary'?"),
    case("empty rest", DIRICHLET, "- {kind: dirichlet}\n      - {kind: neumann, where: rest}", "fields.u.boundary[1]", "rest",
         "'rest' is empty"),
    case("all among others", "value: 0", "where: [all, rest]", "fields.u.boundary[0].where", "where", "stands alone"),
    case("segment twice", "value: 0", "where: [boundary, boundary]", "fields.u.boundary[0].where", "where", "listed twice"),
    # the box and the space
    case("box too small", "margin: 0.3", "box: [-0.5, 0.5]", "space.box", "box", "outside the box Q", "1.2", code=GEOMETRY),
    case("domain on the edge", "margin: 0.3", "box: [-0.6, 0.6]", "space.box", "box", "touches the edge", code=GEOMETRY),
    case("no margin", "margin: 0.3", "margin: 0", "space", "margin", "touches the edge", code=GEOMETRY, late=True),
    case("unequal sides", "margin: 0.3", "box: [[-1, 1], [-2, 2]]", "space.box", "box", "equal sides, found 2, 4"),
    case("box the wrong way round", "margin: 0.3", "box: [1, -1]", "space.box", "box", "low < high"),
    case("box of another dimension", "margin: 0.3", "box: [[-1, 1]]", "space.box", "box", "2 dimensions"),
    case("ragged box", "margin: 0.3", "box: [[-1, 1], [1]]", "space.box", "box", "write [low, high]"),
    case("word for a box", "margin: 0.3", "box: big", "space.box", "box", "found 'big', a list is needed; or write auto"),
    # geometry
    case("range the wrong way round", "{kind: disk, radius: 0.6}", "{kind: rectangle, x: [1, 0], y: [0, 1]}", "domain",
         "domain", "low < high, found [1, 0]"),
    case("short pair", "radius: 0.6", "radius: 0.6, centre: [1]", "domain.centre[1]", "domain", "missing"),
    case("edges that cross", "{kind: disk, radius: 0.6}", "{kind: polygon, vertices: [[0, 0], [1, 1], [1, 0], [0, 1]]}",
         "domain", "domain", "polygon", code=GEOMETRY),
    case("outline that is not there", "{kind: disk, radius: 0.6}", "{kind: geojson, path: lake.geojson}", "domain", "domain",
         "cannot read the GeoJSON file", "lake.geojson: No such file", code=GEOMETRY),
    # formulas
    initial("import", "__import__('os').system('true')", NOT_ALLOWED),
    initial("attribute", "x.__class__", "'x.__class__'", NOT_ALLOWED),
    initial("call of a name", "bump(x)", "unknown function 'bump'", "It is a name"),
    initial("lambda", "lambda q: q", NOT_ALLOWED),
    initial("comprehension", "[q for q in x]", NOT_ALLOWED),
    initial("text", "'x'", NOT_ALLOWED),
    initial("comparison", "x == 1", NOT_ALLOWED),
    initial("keyword argument", "sin(q=x)", NOT_ALLOWED),
    initial("shift", "1 << 999999999999", NOT_ALLOWED),
    initial("tower of powers", "9^9^9^9", "has no finite value"),
    initial("tower of powers in a product", "x*9^9^9^9", "has no finite value"),
    initial("huge number", "9" * 5000, "cannot read the formula"),
    initial("large number", "9" * 400, "too large"),
    initial("long formula", "+".join(["x"] * 30_000), "at most 20000 characters"),
    initial("nested formula", "(" * 3000 + "x" + ")" * 3000, "too many nested parentheses"),
    initial("signs without end", "-" * 9000 + "x", "nested too deeply"),
    initial("unknown name", "bmp", "unknown name 'bmp'", "Known: ", "Did you mean 'bump'?"),
    initial("coordinate of another dimension", "z", "unknown name 'z'"),
    initial("unknown function", "sine(x)", "unknown function 'sine'", "Did you mean"),
    initial("function without argument", "sin", "write sin(…)"),
    initial("wrong number of arguments", "sin(x, y)", "sin(…) takes 1 argument, found 2"),
    initial("open parenthesis", "sin(x", "'(' was never closed"),
    initial("two formulas", "x y", "cannot read the formula 'x y'"),
    initial("empty formula", " ", "the formula is empty"),
    initial("comment in a formula", "x # + y", "'#' is not allowed"),
    case("moving kappa", "kind: dirichlet, value: 0", "kind: robin, kappa: t", "fields.u.boundary[0].kappa", "robin",
         "unknown name 't'"),
    Case("kappa that moves by name",
         (("bump: exp", "pulse: sin(t)\n  bump: exp"), ("kind: dirichlet, value: 0", "kind: robin, kappa: pulse")),
         "fields.u.boundary[0].kappa", "robin", ("'pulse' depends on t",)),
    # numbers that are none
    initial("logarithm of zero", "log(0)", "'log(0)' has no finite value"),
    initial("initial state", "log(x)", "the initial state is not finite at (", code=NUMERICS, late=True),
    case("exact solution", "initial: bump", "initial: bump\n    exact: log(x)", "fields.u.exact", "exact",
         "the exact solution at the start is not finite at (", code=NUMERICS, late=True),
    case("boundary data", "value: 0", "value: 1/0", "fields.u.boundary[0].value", "1/0", "'1 / 0' has no finite value"),
    case("boundary data at the start", "value: 0", "value: 1/t", "fields.u.boundary[0]", "1/t", "not finite at t = 0",
         code=NUMERICS, late=True),
    case("boundary data later", "value: 0", "value: 1/(t - 0.05)", "fields.u.boundary[0]", "1/(t", "boundary data",
         "not finite", code=NUMERICS, late=True),
    case("constant", "D: 0.1", "D: 1/0", "constants.D", "1/0", "'1 / 0' has no finite value"),
    case("zero by zero", "D: 0.1", "D: 0/0", "constants.D", "0/0", "has no finite value"),
    case("not a number", "D: 0.1", "D: .nan", "constants.D", "nan", "a finite number is needed, found nan"),
    case("infinity", "end: 0.1", "end: .inf", "time.end", "inf", "a finite number is needed, found inf"),
    case("overflow", "D: 0.1", f"D: {'9' * 400}", "constants.D", "constants", "a finite number is needed"),
    case("coefficient", "coefficient: D", "coefficient: log(x)", "fields.u.equation[0]", "log(x)", "coefficient 'log(x)'",
         code=NUMERICS, late=True),
    # names
    case("constant called e", "k: 2", "e: 2", "constants.e", "e: 2", "has a meaning in formulas"),
    case("constant called x", "k: 2", "x: 2", "constants.x", "x: 2", "has a meaning in formulas"),
    case("constant called lambda", "k: 2", "lambda: 2", "constants.lambda", "lambda", "such as 'lambda_'"),
    case("constant called 2k", "k: 2", "2k: 2", "constants.2k", "2k", "is not a name"),
    case("constant before its definition", "D: 0.1, k: 2", "D: k, k: 2", "constants.D", "D: k", "move 'k' above 'D'"),
    case("formulas in a circle", "bump: exp(-8*(x^2 + y^2))", "bump: hump\n  hump: 2*bump", "formulas.bump", "bump: hump",
         "circular: bump → hump → bump"),
    case("formula of itself", "bump: exp(", "bump: bump + exp(", "formulas.bump", "bump: bump", "refers to itself"),
    case("formula before its definition", "bump: exp(", "late: 2*bump\n  bump: exp(", "formulas.late", "late",
         "move 'bump' above 'late'"),
    case("formula and constant", "bump: exp", "D: x\n  bump: exp", "formulas.D", "D: x", "also a constant"),
    case("field and constant", "  u:\n", "  D:\n", "fields.D", "  D:", "also a constant"),
    case("field called t", "  u:\n", "  t:\n", "fields.t", "  t:", "has a meaning in formulas"),
    case("field called time", "  u:\n", "  time:\n", "fields.time", "  time:", "has a meaning in the output"),
    case("field called u-1", "  u:\n", "  u-1:\n", "fields.u-1", "  u-1:", "is not a name"),
    case("field of a product", "{block: power, p: 3,", "{block: product, powers: {w: 2},",
         "fields.u.equation[1].powers.w", "product", "no field is called 'w'. Fields: u."),
    case("field of a term", "p: 3,", "of: uu,", "fields.u.equation[1].of", "of: uu", "Did you mean 'u'?"),
    # time and output
    case("negative step", "step: 0.05", "step: -1", "time.step", "step", "found -1, it must be greater than 0; or write auto"),
    case("no step", "step: 0.05", "step: 0", "time.step", "step", "found 0, it must be greater than 0"),
    case("misspelt auto", "step: 0.05", "step: autp", "time.step", "step", "Did you mean 'auto'?"),
    case("long step", "step: 0.05", "step: 5", "time.step", "step", "longer than the whole run 0.1"),
    case("late stop", "step: 0.05", "stops: [0.05, 3]", "time.stops[1]", "stops", "between the start 0 and the end 0.1"),
    case("end before start", "end: 0.1", "end: -1", "time.end", "end", "later than the start 0"),
    case("start after end", "end: 0.1", "end: 0.1, start: 0.2", "time.end", "end", "later than the start 0.2"),
    case("no frames", "frames: 2", "frames: 0", "output.frames", "frames", "found 0, it must be at least 1"),
    case("probe outside", "frames: 2", "frames: 2, probes: [[0, 0], [0.9, 0]]", "output.probes[1]", "probes",
         "(0.9, 0) is not in the domain"),
    case("probe of another dimension", "frames: 2", "frames: 2, probes: [[0.1]]", "output.probes[0]", "probes",
         "found 1 coordinate, write [x, y]"),
    # what does not go together
    case("forcing without exact", "initial: bump", "initial: bump\n    forcing: manufactured", "fields.u.forcing", "forcing",
         "missing for u"),
    case("data without exact", "value: 0", "data: exact", "fields.u.boundary[0].data", "data", "'exact' needs an exact"),
    case("fourth order, one condition", DIFFUSION, "- {square: [{block: diffusion}], coefficient: -1}",
         "fields.u.boundary[0]", "dirichlet", "order 4 and needs 2", "clamped", late=True),
    case("second order, two conditions", "kind: dirichlet", "kind: clamped", "fields.u.boundary[0]", "clamped",
         "order 2 and needs 1", late=True),
    Case("square of a nonlinear block",
         ((DIFFUSION, "- {square: [{block: power, p: 2}]}"), ("kind: dirichlet", "kind: clamped")),
         "fields.u.equation[0]", "square", ("cannot be squared",), late=True),
    case("square with a moving coefficient", DIFFUSION, "- {square: [{block: diffusion, coefficient: x}]}",
         "fields.u.equation[0].square[0].coefficient", "square", "found 'x'"),
    case("realisation that the block lacks", "p: 3,", "p: 3, realisation: ambient,", "fields.u.equation[1]", "ambient",
         "realisation 'ambient' is not possible", "pointwise", late=True),
    case("realisation that the coefficient forbids", "coefficient: D", "coefficient: x, realisation: weak",
         "fields.u.equation[0]", "weak", "varies in space", late=True),
    # the run itself
    Case("unstable explicit step", (("etdrk4", "rk4"), ("coefficient: D", "coefficient: 100")), "time.step", "step",
         ("the largest stable one",), code=NUMERICS, late=True),
    Case("blow-up", (("coefficient: -1", "coefficient: 1"), ("initial: bump", "initial: 300*bump")), "time", "time:",
         ("the state is not finite at t = ", "blows up"), code=NUMERICS, late=True),
    Case("blow-up with controlled steps",
         (("coefficient: -1", "coefficient: 1"), ("initial: bump", "initial: 300*bump"), ("step: 0.05", "step: auto")),
         "time", "time:", ("may blow up",), code=NUMERICS, late=True),
]  # fmt: skip


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


def check_message(text: str, c: Case, message: str) -> None:
    line = "" if c.on is None else f":{line_of(text, c.on)}"
    assert message.startswith(f"tiny.yaml{line}: {c.at}: "), message
    for words in c.says:
        assert words in message, (words, message)


@pytest.mark.parametrize("c", CASES, ids=lambda c: c.name)
def test_a_mistake_in_a_problem_file(c: Case, folder: Path) -> None:
    text = edited(*c.edits)
    (folder / "tiny.yaml").write_text(text, encoding="utf-8")
    for command in (["run", "tiny.yaml", "--quiet"], ["validate", "tiny.yaml"])[: 1 if c.late else 2]:
        (message,) = refused(gleg(*command), c.code)
        check_message(text, c, message)
    left = list(contents(folder))
    assert left == ["tiny.yaml"] or (c.name.startswith("blow-up") and "tiny-run/result.nc" in left)  # what was reached


def test_the_cases_are_many_and_distinct() -> None:
    assert len({c.name for c in CASES}) == len(CASES) >= 100


def test_every_mistake_is_listed_at_once(folder: Path) -> None:
    text = edited(("K: 5", "K: 5.5"), ("block: power", "block: pover"), ("frames: 2", "frames: 2, probes: [[1]]"))
    (folder / "tiny.yaml").write_text(text)
    found = refused(gleg("run", "tiny.yaml"), SPEC, count=3)
    assert [m.split(": ")[1] for m in found] == ["basis.K", "fields.u.equation[1].block", "output.probes[0]"]


def test_a_name_that_failed_is_not_complained_about_where_it_is_used(folder: Path) -> None:
    text = edited(("bump: exp(-8*(x^2 + y^2))", "a: sin(x\n  b: 2*a\n  c: a + b\n  bump: x"))
    (folder / "tiny.yaml").write_text(text)
    (message,) = refused(gleg("validate", "tiny.yaml"), SPEC)
    assert message.startswith("tiny.yaml:6: formulas.a: ")


# --- files ----------------------------------------------------------------------------------------------------------


def bomb() -> str:
    """Nine levels of ten aliases: a billion items if they were expanded."""
    rows = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    return "\n".join(rows)


FILES: list[tuple[str, str, bytes, tuple[str, ...]]] = [
    ("empty", "tiny.yaml", b"", ("tiny.yaml: a problem file is a mapping", "found nothing")),
    ("list", "tiny.yaml", b"- a\n- b\n", ("found a list",)),
    ("text", "tiny.yaml", b"hello\n", ("found a text",)),
    ("list in JSON", "tiny.json", b"[1]", ("tiny.json: a problem file is a mapping",)),
    ("binary", "tiny.yaml", b"\x00\xff\xfe\x80", ("tiny.yaml: is not UTF-8 text",)),
    ("control character", "tiny.yaml", b"a: \x01\n", ("tiny.yaml", "not valid YAML")),
    ("invalid YAML", "tiny.yaml", b"domain: {kind: disk\nfields: 3\n", ("tiny.yaml:2: not valid YAML",)),
    ("tabs", "tiny.yaml", b"domain:\n\tkind: disk\n", ("tiny.yaml:2: not valid YAML",)),
    ("two documents", "tiny.yaml", b"a: 1\n---\nb: 2\n", ("not valid YAML",)),
    ("invalid TOML", "tiny.toml", b"a = 1\nb = [1,\nc = 2\n", ("tiny.toml:3: not valid TOML",)),
    ("invalid JSON", "tiny.json", b'{\n "a": 1,\n}', ("tiny.json:", "not valid JSON")),
    ("digits in JSON", "tiny.json", b'{"a": ' + b"9" * 5000 + b"}", ("tiny.json: holds a number with too many digits",)),
    ("depth in JSON", "tiny.json", b'{"a": ' + b"[" * 99_999, ("tiny.json: is nested too deeply",)),
    ("key twice", "tiny.yaml", b"title: a\ntime: {end: 1}\ntitle: b\n", ("tiny.yaml:3: title: this key appears twice",)),
    ("deep key twice", "tiny.yaml", b"time:\n  end: 1\n  end: 2\n", ("tiny.yaml:3: time.end: this key appears twice",)),
    ("key twice in JSON", "tiny.json", b'{"a": 1, "a": 2}', ("tiny.json: the key 'a' appears twice",)),
    ("key twice in TOML", "tiny.toml", b"a = 1\na = 2\n", ("tiny.toml:2: not valid TOML",)),
    ("bomb", "tiny.yaml", bomb().encode(), ("tiny.yaml:", "too large or nested too deeply")),
    ("knot", "tiny.yaml", b"a: &a [*a]\n", ("tiny.yaml:1: too large or nested too deeply",)),
    ("depth", "tiny.yaml", b"a: " + b"[" * 500 + b"]" * 500, ("tiny.yaml:1: too large or nested too deeply",)),
    ("tag", "tiny.yaml", b"a: !!python/object/apply:os.system [true]\n", ("tiny.yaml:1: the tag", "is not allowed")),
    ("list as key", "tiny.yaml", b"? [a, b]\n: 1\n", ("tiny.yaml:1: a key must be a plain word",)),
    ("ending", "tiny.txt", b"a: 1\n", ("tiny.txt: unknown ending '.txt'", ".json, .toml, .yaml, .yml")),
    ("no ending", "tiny", b"a: 1\n", ("tiny: the name has no ending",)),
    ("size", "tiny.yaml", b"#" * 10_000_001, ("tiny.yaml: has 10,000,001 bytes",)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "says"), [f[1:] for f in FILES], ids=[f[0] for f in FILES])
def test_a_file_that_cannot_be_read(name: str, content: bytes, says: tuple[str, ...], folder: Path) -> None:
    (folder / name).write_bytes(content)
    (message,) = refused(gleg("run", name, "--quiet"), SPEC)
    assert message.startswith(name)
    assert all(words in message for words in says), message
    assert list(contents(folder)) == [name]


def test_a_file_that_is_not_there(folder: Path) -> None:
    (folder / "tiny.yaml").write_text(BASE)
    (message,) = refused(gleg("run", "tinny.yaml"), SPEC)
    assert message == "tinny.yaml: there is no such file. Did you mean 'tiny.yaml'?"
    assert "is a folder" in refused(gleg("run", "."), SPEC)[0]


def test_a_file_that_is_no_regular_file(folder: Path) -> None:
    os.mkfifo(folder / "pipe.yaml")
    assert refused(gleg("run", "pipe.yaml"), SPEC) == ["pipe.yaml: is not a regular file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(folder: Path) -> None:
    (folder / "tiny.yaml").write_text(BASE)
    (folder / "tiny.yaml").chmod(0)
    assert refused(gleg("run", "tiny.yaml"), SPEC) == ["tiny.yaml: cannot be read: Permission denied"]


# --- the command line -----------------------------------------------------------------------------------------------

SETTINGS = [
    ("D", "--set D: write key=value"),
    ("=3", "--set =3: write key=value"),
    ("time..end=3", "--set time..end=3: write key=value"),
    ("constants.D=sin(", "tiny.yaml: constants.D (set from outside): cannot read the formula 'sin('"),
    ("constnats.D=1", "tiny.yaml: constnats (set from outside): unknown key."),
    ("time.step=-1", "tiny.yaml: time.step (set from outside): found -1"),
    ("time.step.deep=1", "tiny.yaml: time.step (set from outside): "),
    (
        "fields.u.equation[7].coefficient=1",
        "there is no fields.u.equation[7]: fields.u.equation is a list with 2 items",
    ),
    ("fields.u[0]=1", "there is no fields.u[0]: fields.u is not a list"),
    ("output.probes=[[0, 0]", "--set output.probes=[[0, 0]: not valid YAML"),
    ("title={a: 1", "not valid YAML"),
]


@pytest.mark.parametrize(("setting", "says"), SETTINGS, ids=[s for s, _ in SETTINGS])
def test_a_setting_that_is_wrong(setting: str, says: str, folder: Path) -> None:
    (folder / "tiny.yaml").write_text(BASE)
    (message,) = refused(gleg("run", "tiny.yaml", "--set", setting, "--quiet"), SPEC)
    assert says in message
    assert list(contents(folder)) == ["tiny.yaml"]


@pytest.mark.parametrize("arguments", [["rnu"], ["run"], ["run", "--nonsense", "x.yaml"], ["run", "a", "b"]])
def test_a_command_that_does_not_exist(arguments: list[str]) -> None:
    outcome = gleg(*arguments)
    assert outcome.code == 2 and "Error: " in outcome.err and "Traceback" not in outcome.err


# --- where results go -----------------------------------------------------------------------------------------------


def out_file(folder: Path) -> None:
    (folder / "out").write_text("mine")


def out_foreign(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "thesis.tex").write_text("mine")


def out_below_a_file(folder: Path) -> None:
    (folder / "blocked").write_text("mine")


@pytest.mark.parametrize(
    ("prepare", "out", "says"),
    [
        (out_file, "out", "out: is a file; choose another folder with --out"),
        (out_foreign, "out", "out: holds files that are not a run of gleg"),
        (out_below_a_file, "blocked/out", "blocked/out: cannot be written"),
    ],
)
def test_a_target_that_is_not_ours(prepare: Callable[[Path], None], out: str, says: str, folder: Path) -> None:
    (folder / "tiny.yaml").write_text(BASE)
    prepare(folder)
    before = contents(folder)
    (message,) = refused(gleg("run", "tiny.yaml", "--out", out, "--quiet"), OUTPUT)
    assert message.startswith(says)
    assert contents(folder) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_target_without_permission(folder: Path) -> None:
    (folder / "tiny.yaml").write_text(BASE)
    (folder / "locked").mkdir(mode=0o500)
    (message,) = refused(gleg("run", "tiny.yaml", "--out", "locked/out", "--quiet"), OUTPUT)
    assert message == "locked/out: cannot be written: Permission denied"


@pytest.mark.parametrize("earlier", [False, True], ids=["new folder", "over an earlier run"])
def test_a_full_disk(earlier: bool, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "tiny.yaml").write_text(BASE)
    if earlier:
        assert gleg("run", "tiny.yaml", "--quiet").code == 0
    before = contents(folder)

    def full(arrays: object, path: Path) -> None:
        Path(path).write_bytes(b"half a fi")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("gleg_results.folder.write_netcdf", full)
    (message,) = refused(gleg("run", "tiny.yaml", "--quiet"), OUTPUT)
    assert message == "tiny-run: could not be written: No space left on device. Nothing was left behind"
    assert contents(folder) == before


def test_a_disk_that_really_fills_up(folder: Path) -> None:
    """Files may not grow beyond a limit: the operating system itself refuses to write the results."""
    (folder / "tiny.yaml").write_text(BASE)
    program = """
        import resource, sys
        from gleg_cli.main import main
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        sys.argv = ["gleg", "run", "tiny.yaml", "--quiet"]
        main()
    """
    done = subprocess.run([sys.executable, "-c", dedent(program)], capture_output=True, text=True, cwd=folder)
    (message,) = refused(Outcome(done.returncode, done.stdout, done.stderr), OUTPUT)
    assert message.startswith("tiny-run: could not be written: ")
    assert list(contents(folder)) == ["tiny.yaml"]


# --- packs that misbehave -------------------------------------------------------------------------------------------

FAULTY_PACK = """
    from gleg_core.pack import Entry, hookimpl
    CONTRACT = (3, 0)

    def entry(name, params="Params", **capabilities):
        factory = "".join(word.capitalize() for word in name.split("-"))
        return Entry(name, "at fault", f"gleg_faulty.parts:{params}", f"gleg_faulty.parts:{factory}", capabilities)

    @hookimpl
    def gleg_blocks():
        names = ["dead", "impostor", "tired", "nan-maker", "misshapen", "narrow", "untensored", "linear-nan"]
        return [*map(entry, names), Entry("unwritten", "at fault", "gleg_faulty.absent:Params", "gleg_faulty.absent:A")]

    @hookimpl
    def gleg_bases():
        return [entry("planar", dims=[3])]

    @hookimpl
    def gleg_integrators():
        return [entry("tripping")]

    @hookimpl
    def gleg_domains():
        return [entry("bottomless", dim=2), entry("cornered", dim=2)]
"""
FAULTY_PARTS = """
    import torch
    from gleg_core.contracts.block import Block, Traits
    from gleg_core.contracts.integrator import Integrator
    from gleg_core.spec.params import PackParams
    from gleg_domains.simple import Disk, DiskParams

    class Params(PackParams):
        pass

    class Impostor:
        def __init__(self, params, binding): pass

    class Faulty(Block):
        traits = Traits("R", order=0, degree=2)
        def __init__(self, params, binding): self.field = binding.target
        def value(self, fields): return fields[self.field].value
        def reference(self, fields, at): return self.value(fields)

    class Dead(Faulty):
        def __init__(self, params, binding): raise RuntimeError("no weights")

    class Tired(Faulty):
        def reference(self, fields, at):
            if at.t > 0.03: raise IndexError("out of ideas")
            return self.value(fields)

    class NanMaker(Faulty):
        def reference(self, fields, at): return self.value(fields) * (float("nan") if at.t > 0.03 else 1.0)

    class LinearNan(Faulty):
        traits = Traits("R", order=0, degree=1)
        acts_on = "u"
        def reference(self, fields, at): return self.value(fields) * float("nan")

    class Misshapen(Faulty):
        def reference(self, fields, at): return self.value(fields)[..., :3]

    class Narrow(Faulty):
        def reference(self, fields, at): return self.value(fields).float()

    class Untensored(Faulty):
        def reference(self, fields, at): return self.value(fields).numpy()

    class Planar:
        pass

    class Tripping(Integrator):
        order, nodes = 1, (0.0,)
        def __init__(self, params): pass
        def stepper(self, system, h):
            def step(z, t): raise KeyError("lost")
            return step

    class Bottomless(Disk):
        def __init__(self, params): super().__init__(DiskParams(radius=0.6))
        def quadrature(self, wavenumber, tolerance=1e-13): raise ZeroDivisionError("no floor")

    class Cornered(Disk):
        def __init__(self, params): super().__init__(DiskParams(radius=0.6))
        @property
        def corners(self): raise ZeroDivisionError("no way out")
"""


def install(site: Path, name: str, version: str = "0.7", **modules: str) -> None:
    """A distribution gleg-NAME in a folder, as pip would leave it."""
    package = site / f"gleg_{name}"
    package.mkdir(parents=True)
    for module, text in {"__init__": "", **modules}.items():
        (package / f"{module}.py").write_text(dedent(text), encoding="utf-8")
    info = site / f"gleg_{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: gleg-{name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[gleg.packs]\n{name} = gleg_{name}.pack\n")


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The pack ``faulty`` beside those that are installed."""
    install(tmp_path / "site", "faulty", pack=FAULTY_PACK, parts=FAULTY_PARTS)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    offer = Offer("plasma:ionisation", "block", "α(E) u", "gleg-blocks-plasma")
    registry = Registry.discover(catalogue=lambda: [offer])
    monkeypatch.setattr("gleg_core.spec.problem.default_registry", lambda: registry)
    yield
    for name in [n for n in sys.modules if n.partition(".")[0] == "gleg_faulty"]:
        del sys.modules[name]


HELPS = "pip install --upgrade gleg-faulty"
AUTHOR = "Report it to the pack's author"
TERM = "tiny.yaml:14: fields.u.equation[1]: "
POWER = "{block: power, p: 3, coefficient: -1}"
FAULTS: list[tuple[str, str, str, int, str, tuple[str, ...]]] = [
    ("construction", POWER, "{block: dead}", PACK, TERM, ("while constructing 'faulty:dead': RuntimeError: no weights", HELPS)),
    ("not a block", POWER, "{block: impostor}", PACK, TERM, ("returned Impostor instead of a Block", HELPS)),
    ("import", POWER, "{block: unwritten}", PACK, "tiny.yaml:14: fields.u.equation[1].block: ",
     ("stage 'import'", "No module named", HELPS)),
    ("in the middle", POWER, "{block: tired}", PACK, TERM, ("Tired failed while", "IndexError: out of ideas", AUTHOR)),
    ("not a number", POWER, "{block: nan-maker}", PACK, TERM, ("block NanMaker returned values that are not finite", AUTHOR)),
    ("not a number, linear", POWER, "{block: linear-nan}", PACK, TERM, ("LinearNan returned values that are not", AUTHOR)),
    ("shape", POWER, "{block: misshapen}", PACK, TERM, ("returned shape (3,)", AUTHOR)),
    ("precision", POWER, "{block: narrow}", PACK, TERM, ("returned torch.float32 instead of torch.float64", AUTHOR)),
    ("no tensor", POWER, "{block: untensored}", PACK, TERM, ("returned ndarray instead of a tensor", AUTHOR)),
    ("integrator", "etdrk4", "tripping", PACK, "tiny.yaml: ", ("while it was running, in gleg_faulty.parts", "KeyError: 'lost'", HELPS)),
    ("domain", "{kind: disk, radius: 0.6}", "{kind: bottomless}", PACK, "tiny.yaml: ", ("ZeroDivisionError: no floor", HELPS)),
    ("basis of another dimension", "kind: fourier, K: 5", "kind: planar", SPEC, "tiny.yaml:3: basis: ", ("the domain has 2",)),
    ("not installed, but known", "diffusion", "plasma:ionisation", PACK, "tiny.yaml:13: fields.u.equation[0].block: ",
     ("It is in gleg-blocks-plasma:   pip install gleg-blocks-plasma",)),
]  # fmt: skip


@pytest.mark.usefixtures("faulty")
@pytest.mark.parametrize(("old", "new", "code", "start", "says"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_a_pack_at_fault(old: str, new: str, code: int, start: str, says: tuple[str, ...], folder: Path) -> None:
    (folder / "tiny.yaml").write_text(edited((old, new)))
    (message,) = refused(gleg("run", "tiny.yaml", "--quiet"), code)
    assert message.startswith(start), message
    assert all(words in message for words in says), message
    if AUTHOR in says or HELPS in says:
        assert "pack 'faulty' (gleg-faulty 0.7)" in message
    assert list(contents(folder)) == ["tiny.yaml"]


@pytest.mark.usefixtures("faulty")
@pytest.mark.parametrize("arguments", [["validate"], ["run", "--quiet"]], ids=["validate", "run"])
def test_a_domain_at_fault_while_a_basis_is_chosen(arguments: list[str], folder: Path) -> None:
    """Which basis suits depends on the corners: the domain's pack is to blame, not the one that was asked for a basis."""
    (folder / "tiny.yaml").write_text(edited(("disk, radius: 0.6", "cornered"), ("basis: {kind: fourier, K: 5}\n", "")))
    (message,) = refused(gleg(*arguments, "tiny.yaml"), PACK)
    assert message.startswith("tiny.yaml: pack 'faulty' (gleg-faulty 0.7) failed while it was running"), message
    assert "ZeroDivisionError: no way out" in message and HELPS in message
    assert list(contents(folder)) == ["tiny.yaml"]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("raise RuntimeError('out of order')", ("stage 'import'", "RuntimeError: out of order", "pip uninstall gleg-sick")),
        ("import surely_absent", ("stage 'import'", "No module named 'surely_absent'", "pip install --upgrade gleg-sick")),
        ("CONTRACT = (9, 0)", ("stage 'handshake'", "contract 9.0", "pip install --upgrade gleg-core")),
        ("raise SystemExit(0)", ("stage 'import'", "SystemExit")),
    ],
)  # fmt: skip
def test_a_pack_that_cannot_be_loaded(source: str, says: tuple[str, ...], folder: Path, tmp_path: Path) -> None:
    """In a process of its own: the pack is named where its component is asked for, and harms nobody else."""
    install(tmp_path / "site", "sick", pack=source)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    (folder / "tiny.yaml").write_text(edited(("diffusion", "sick:cough")))

    def command(*arguments: str) -> Outcome:
        line = [sys.executable, "-m", "gleg_cli", *arguments]
        done = subprocess.run(line, capture_output=True, text=True, env=environment, cwd=folder)
        return Outcome(done.returncode, done.stdout, done.stderr)

    (message,) = refused(command("validate", "tiny.yaml"), PACK)
    assert message.startswith(
        "tiny.yaml:13: fields.u.equation[0].block: no installed pack provides the block 'sick:cough'"
    )
    assert "pack 'sick' (gleg-sick 0.7)" in message
    assert all(words in message for words in says), message
    listed = command("packs")
    assert listed.code == 0 and "diffusion" in listed.out and "gleg-sick" in listed.err
    assert list(contents(folder)) == ["tiny.yaml"]
