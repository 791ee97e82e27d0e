"""Problem files: formats, numbers, names and overrides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gleg_core.errors import PackError, SpecError
from gleg_core.pack import OWN_KEYS
from gleg_core.registry import Registry
from gleg_core.solver import solve
from gleg_core.spec.loading import Document, dotted, load_document
from gleg_core.spec.models import FieldSection, OutputSection, ProblemSection
from gleg_core.spec.names import RUN_ATTRIBUTES
from gleg_core.spec.overrides import with_overrides
from gleg_core.spec.problem import Problem, components, load_problem

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
YAML = """\
title: Two fields
domain: {kind: disk, radius: 0.6}
basis: {kind: fourier, K: 6}
constants: {D: 1e-3, k: 2*pi, half: .5, many: 1_000}
formulas:
  bump: exp(-k*(x^2 + y^2))
  twice: 2*bump
fields:
  u:
    initial: bump
    boundary: [{kind: robin, kappa: half, value: t}]
    equation:
      - {block: diffusion, coefficient: D}
      - {block: product, powers: {u: 2, v: 1}, coefficient: -1}
  v:
    exact: twice*cos(t)
    boundary: [{kind: dirichlet, where: all, data: exact}]
    equation: [{block: diffusion, coefficient: 2*D}]
time: {end: 0.1, step: 0.05}
output: {frames: 2, grid: 21, pictures: false}
"""
TOML = """\
title = "Two fields"
domain = {kind = "disk", radius = 0.6}
basis = {kind = "fourier", K = 6}
constants = {D = 1e-3, k = "2*pi", half = 0.5, many = 1_000}
time = {end = 0.1, step = 0.05}
output = {frames = 2, grid = 21, pictures = false}

[formulas]
bump = "exp(-k*(x^2 + y^2))"
twice = "2*bump"

[fields.u]
initial = "bump"
boundary = [{kind = "robin", kappa = "half", value = "t"}]
equation = [
  {block = "diffusion", coefficient = "D"},
  {block = "product", powers = {u = 2, v = 1}, coefficient = -1},
]

[fields.v]
exact = "twice*cos(t)"
boundary = [{kind = "dirichlet", where = "all", data = "exact"}]
equation = [{block = "diffusion", coefficient = "2*D"}]
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def data() -> dict[str, Any]:
    return load_document_text(YAML)


def load_document_text(text: str) -> dict[str, Any]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return load_document(write(Path(folder), "text.yaml", text)).data


# --- formats --------------------------------------------------------------------------------------------------------


def test_yaml_toml_and_json_give_the_same_problem(tmp_path: Path) -> None:
    files = [
        write(tmp_path, "a.yaml", YAML),
        write(tmp_path, "a.yml", "\ufeff" + YAML),
        write(tmp_path, "a.toml", TOML),
        write(tmp_path, "a.json", json.dumps(data())),
    ]
    problems = [load_problem(source) for source in (*files, data())]
    found = [(p.section, [(c.key, c.params) for c in components(p)]) for p in problems]
    assert all(other == found[0] for other in found[1:])


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-3", 1e-3), ("1E5", 1e5), ("-1e+3", -1e3), ("1_000", 1000), (".5", 0.5), ("+.5", 0.5), ("5.", 5.0), ("-7", -7),
     ("007", 7), ("0.1_5", 0.15), ("on", "on"), ("off", "off"), ("yes", "yes"), ("no", "no"), ("y", "y"), ("n", "n"),
     ("true", True), ("False", False), ("null", None), ("~", None), ("", None), ('"1e-3"', "1e-3"), ("'no'", "no"),
     ("1e", "1e"), ("e5", "e5"), ("1.2.3", "1.2.3"), ("2020-01-01", "2020-01-01"), ("12:30:45", "12:30:45"),
     ("0x10", "0x10"), ("-", None), ("x^2 - 1", "x^2 - 1"), ("2*pi", "2*pi"), ("|\n  x +\n  y", "x +\ny\n")],
)  # fmt: skip
def test_scalars_in_yaml(text: str, value: Any) -> None:
    if text == "-":  # an empty item of a list
        text, value = "[~]", [None]
    found = load_document_text(f"a: {text}\n")["a"]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("word", ["on", "off", "y", "n", "yes", "no", "true", "null", "1", "1e3"])
def test_keys_in_yaml_are_texts(word: str) -> None:
    assert load_document_text(f"{word}: 1\na: {{{word}: 2}}\n") == {word: 1, "a": {word: 2}}


def test_fields_and_constants_may_be_called_y_n_and_no_in_yaml() -> None:
    text = YAML.replace("half", "no").replace("D:", "n:").replace(": D}", ": n}").replace("2*D", "2*n")
    problem = load_problem(load_document_text(text))
    assert problem.section.constants["n"] == 1e-3 and problem.section.constants["no"] == 0.5


def test_every_place_has_its_line(tmp_path: Path) -> None:
    document = load_document(write(tmp_path, "a.yaml", YAML))
    lines = YAML.splitlines()
    for place, line in document.lines.items():
        if place and isinstance(place[-1], str):
            assert f"{place[-1]}:" in lines[line - 1]
    assert document.locate(("fields", "u", "equation", 1, "powers")).endswith("a.yaml:14: fields.u.equation[1].powers")
    assert document.locate(("fields", "u", "nothing")).endswith("a.yaml:9: fields.u.nothing")
    assert document.locate(()).endswith("a.yaml")
    assert dotted(("a", 0, 1, "b")) == "a[0][1].b"


def test_block_and_flow_style_and_aliases_are_one(tmp_path: Path) -> None:
    text = "a: &a {x: 1}\nb: *a\nc:\n  x: 1\n"
    assert load_document_text(text) == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1}}


# --- names and numbers ----------------------------------------------------------------------------------------------


def test_constants_use_earlier_constants() -> None:
    problem = load_problem({**data(), "constants": {"D": 1e-3, "k": "10*D", "half": "k/2", "many": "half^2"}})
    assert problem.section.constants == pytest.approx({"D": 1e-3, "k": 1e-2, "half": 5e-3, "many": 2.5e-5})


def test_numbers_of_packs_may_be_formulas_of_constants() -> None:
    problem = load_problem(data(), {"domain": {"radius": "half + 0.1"}, "basis": {"K": "many/200"}})
    assert problem.domain.params.model_dump()["radius"] == pytest.approx(0.6)
    assert problem.basis.params.model_dump()["K"] == 5


@pytest.mark.parametrize("name", ["u", "alpha_2", "φ", "Θ1", "beta", "lam", "node", "time", "_q"])
def test_names_of_constants(name: str) -> None:
    load_problem(with_overrides(Document(data()), {"constants": {name + "_" if name == "u" else name: 1}}))


@pytest.mark.parametrize("name", ["x", "t", "pi", "e", "sin", "sigmoid", "rest", "a b", "2a", "a-b", "", "if", "µ"])
def test_names_that_are_refused(name: str) -> None:
    for section in ("constants", "formulas"):
        with pytest.raises(SpecError, match=rf"{section}\."):
            load_problem(data(), {section: {name: 1}})


@pytest.mark.parametrize("name", ["time", "node", "probe_x", "u_nodes", "u_probes", "_w", "D", "bump", "y"])
def test_names_that_fields_cannot_have(name: str) -> None:
    with pytest.raises(SpecError, match=rf"fields\.{name}.*: '{name}' (is also|has a meaning)"):
        load_problem(data(), {"fields": {name: data()["fields"]["v"]}})


def test_parameters_of_packs_are_checked_at_their_place(tmp_path: Path) -> None:
    path = write(tmp_path, "a.yaml", YAML.replace("kappa: half", "kappa: hlf").replace("{u: 2, v: 1}", "{u: 2, w: 1}"))
    with pytest.raises(SpecError) as caught:
        load_problem(path)
    first, second = str(caught.value).splitlines()
    assert f"{path}:11: fields.u.boundary[0].kappa: unknown name 'hlf'" in first and "Did you mean 'half'?" in first
    assert f"{path}:14: fields.u.equation[1].powers.w: no field is called 'w'" in second


@pytest.mark.parametrize("name", ["a.toml", "a.json"])
def test_places_without_lines_are_still_named(name: str, tmp_path: Path) -> None:
    text = TOML if name == "a.toml" else json.dumps(data())
    wrong = text.replace("K = 6", "K = 6.5").replace('"K": 6', '"K": 6.5')
    with pytest.raises(SpecError) as caught:
        load_problem(write(tmp_path, name, wrong))
    assert str(caught.value) == f"{tmp_path / name}: basis.K: a whole number is needed, found 6.5; or write auto"


@pytest.mark.parametrize(
    ("value", "angle"), [(True, True), (False, False), (0.3, 0.3), (1, 1.0), ("pi/4", pytest.approx(0.7853981))]
)
def test_a_box_is_turned_by_an_angle_or_not(value: Any, angle: Any) -> None:
    found = load_problem(data(), {"space": {"rotate": value}}).section.space.rotate
    assert found == angle and isinstance(found, bool) == isinstance(value, bool)


def test_a_missing_component_is_a_matter_of_packs() -> None:
    with pytest.raises(PackError, match="no installed pack provides the basis 'chebyshev'"):
        load_problem(data(), {"basis": {"kind": "chebyshev", "K": 6}})
    with pytest.raises(SpecError, match="Did you mean 'fourier'"):
        load_problem(data(), {"basis": {"kind": "fouriers", "K": 6}})


@pytest.mark.parametrize("name", ["state", "times", "metrics", "plot", "save", "problem"])
def test_a_field_is_not_called_like_what_every_run_has(name: str) -> None:
    fields = {name: data()["fields"]["u"]}
    with pytest.raises(SpecError, match=rf"fields.{name}: '{name}' is something that every run has \(run.{name}\)"):
        load_problem({**data(), "fields": fields})


def test_the_attributes_of_a_run_are_known_without_importing_torch() -> None:
    from gleg_core.run import Run

    assigned = {"discretisation", "integrator", "trajectory", "timing", "stages", "choice", "estimate"}
    assert {n for n in (*vars(Run), *assigned) if not n.startswith("_")} == RUN_ATTRIBUTES


# --- overrides ------------------------------------------------------------------------------------------------------


def test_overrides_are_merged_into_mappings_and_replace_the_rest(tmp_path: Path) -> None:
    document = load_document(write(tmp_path, "a.yaml", YAML))
    problem = load_problem(document, {"constants": {"D": 5}, "time": {"end": 3}, "space": {"box": [[-1, 1], [-1, 1]]}})
    assert problem.section.constants["D"] == 5 and problem.section.constants["half"] == 0.5
    assert problem.section.time.end == 3 and problem.section.time.step == 0.05
    assert problem.section.space.box == [[-1, 1], [-1, 1]]
    assert document.data["constants"]["D"] == 1e-3, "the document itself is not changed"
    assert load_problem(problem) is problem
    again = load_problem(problem, {"time": {"end": 4}})
    assert (again.section.time.end, again.section.constants["D"], problem.section.time.end) == (4, 5, 3)


def test_a_problem_is_not_changed_by_its_source() -> None:
    source = data()
    problem = load_problem(source)
    before = problem.section.model_dump_json()
    source["time"]["end"] = 99
    assert problem.section.model_dump_json() == before
    assert isinstance(problem, Problem)


def test_an_override_of_another_kind_replaces_the_component() -> None:
    file = Document({"basis": {"kind": "fourier", "K": 22}, "time": {"end": 1}})
    assert with_overrides(file, {"basis": {"kind": "legendre", "degree": 9}}).data["basis"] == {
        "kind": "legendre",
        "degree": 9,
    }
    assert with_overrides(file, {"basis": {"K": 8}}).data["basis"] == {"kind": "fourier", "K": 8}


def test_a_key_that_is_needed_says_which_pack_brings_it() -> None:
    registry = Registry.discover(only=["bc", "diffusion", "domains", "fourier", "integrators"])
    field = {"boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}
    problem = {
        "domain": {"kind": "disk", "radius": 1},
        "fields": {"u": field},
        "time": {"end": 1},
        "restart": {"file": "a.nc"},
    }
    with pytest.raises(PackError, match=r"nothing to start from(?s:.*)restart: .* pip install gleg-results"):
        load_problem(problem, registry=registry)


def test_an_integrator_that_no_pack_suggests_is_answered_with_the_pack_that_does() -> None:
    registry = Registry.discover(only=["bc", "diffusion", "domains", "fourier"])
    field = {"initial": 1, "boundary": [{"kind": "neumann"}], "equation": [{"block": "diffusion"}]}
    problem = {"domain": {"kind": "disk", "radius": 1}, "fields": {"u": field}, "time": {"end": 1}}
    with pytest.raises(PackError, match=r"time.integrator: the file names none, .* pip install gleg-integrators"):
        load_problem(problem, registry=registry)


@pytest.mark.parametrize("asked", [{"unresolved": "fail"}, {"accuracy": 1e-3}])
def test_what_needs_judges_is_refused_where_there_are_none(asked: dict[str, Any]) -> None:
    registry = Registry.discover(only=["bc", "diffusion", "domains", "fourier", "integrators"])
    field = {"initial": "1", "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}
    problem = {"domain": {"kind": "disk", "radius": 1}, "fields": {"u": field}, "time": {"end": 1}}
    with pytest.raises(PackError, match="pip install gleg-accuracy"):
        solve(load_problem(problem | asked, registry=registry))


def test_the_keys_that_no_pack_can_take_are_all_of_core() -> None:
    models = {"problem": ProblemSection, "field": FieldSection, "output": OutputSection}
    assert {at: tuple(model.model_fields) for at, model in models.items()} == OWN_KEYS


def test_a_lock_that_cannot_be_there_is_refused() -> None:
    with pytest.raises(
        SpecError, match=r"locked=True compares with the lock beside a file: give its path, found a dict"
    ):
        solve(data(), locked=True)
