"""The basis of problem files that name none: elements where the solution is not smooth."""

import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import gleg
from gleg_core.errors import GeometryError, NumericsError, PackError, SpecError
from gleg_core.registry import Registry
from gleg_core.spec.problem import load_problem

L_SHAPE = {"kind": "polygon", "vertices": [[0, 0], [1, 0], [1, 1], [0.5, 1], [0.5, 0.5], [0, 0.5]]}
CROSSING = {"kind": "polygon", "vertices": [[0, 0], [1, 0], [1, 1], [0, 1], [0.5, -0.5]]}
DISK = {"kind": "disk", "radius": 1}
SQUARE = {"kind": "rectangle", "x": [0, 1], "y": [0, 1]}
OBTUSE = {"kind": "polygon", "vertices": [[0, 0], [2, 0], [1, 1], [0, 1]], "segments": {"top": [2, 2]}}
"""An angle of 135° at the right end of the top, a right one at its left end."""
INTERVAL = {"kind": "interval", "left": -1, "right": 1}
VALUE, SLOPE = {"kind": "dirichlet"}, {"kind": "neumann"}


def heat(domain: Mapping[str, Any], *boundary: Mapping[str, Any], **field: Any) -> dict[str, Any]:
    """Heat from a smooth initial state, without a basis."""
    u = {"initial": "exp(x)", "boundary": list(boundary or [VALUE]), "equation": [{"block": "diffusion"}], **field}
    return {"domain": dict(domain), "fields": {"u": u}, "time": {"end": 0.01}}


ROUGH = {
    "re-entrant corner": (heat(L_SHAPE), "corner of 270° at (0.5, 0.5)"),
    "sector": (heat({"kind": "sector", "radius": 1, "angles": [0, "3*pi/2"]}), "corner of 270° at (0, 0)"),
    "change of condition": (
        heat(OBTUSE, {**VALUE, "where": "top"}, {**SLOPE, "where": "rest"}),
        "the kind of condition changes at an angle of 135° at (1, 1)",
    ),
    "values that differ": (
        heat(SQUARE, {**VALUE, "where": "top", "value": 1}, {**VALUE, "where": "rest"}),
        "the prescribed value jumps at (1, 1) and 1 more",
    ),
    "data that jump": (heat(DISK, {**VALUE, "value": "where(x > 0, 1, 0)"}), "jump of the data of boundary at ("),
    "data with a kink": (heat(DISK, {**VALUE, "value": "abs(y)"}), "kink of the data of boundary at ("),
    "initial state": (heat(DISK, initial="max(0, 0.5 - x)"), "jump or kink where 0.5 - x"),
    "coefficient": (
        heat(DISK, equation=[{"block": "variable-diffusion", "diffusivity": "1 + step(y)"}]),
        "jump or kink where y = 0",
    ),
    "on an interval": (heat(INTERVAL, initial="abs(x)"), "jump or kink where x = 0"),
}
SMOOTH = {
    "disk": heat(DISK),
    "right angles": heat(SQUARE),
    "change of condition at right angles": heat(SQUARE, {**VALUE, "where": "top"}, {**SLOPE, "where": "rest"}),
    "values that meet": heat(SQUARE, {**VALUE, "where": "top", "value": "x"}, {**VALUE, "where": "right", "value": "y"},
                             {**SLOPE, "where": "rest"}),
    "a switch in time": heat(DISK, {**VALUE, "value": "where(t > 0.005, t, 0.005)"}),
    "an exact solution that is smooth": heat(L_SHAPE, {**VALUE, "data": "exact"}, exact="exp(x + t)"),
    "on an interval": heat(INTERVAL),
}  # fmt: skip


@pytest.mark.parametrize(("data", "reason"), ROUGH.values(), ids=list(ROUGH))
def test_elements_where_the_solution_is_not_smooth(data: dict[str, Any], reason: str) -> None:
    problem = load_problem(data)
    assert (problem.basis.key, problem.integrator.key) == ("elements:elements", "integrators:imex-ark4")
    assert problem.basis.reason.startswith(reason)


@pytest.mark.parametrize("data", SMOOTH.values(), ids=list(SMOOTH))
def test_fourier_functions_where_it_is(data: dict[str, Any]) -> None:
    problem = load_problem(data)
    assert (problem.basis.key, problem.basis.reason) == ("fourier:fourier", "")


def test_the_integrator_a_file_names_stays() -> None:
    data = heat(L_SHAPE)
    data["time"]["integrator"] = "crank-nicolson"
    assert load_problem(data).integrator.key == "integrators:crank-nicolson"


PLATE = heat(L_SHAPE, {"kind": "clamped"}, equation=[{"square": [{"block": "diffusion"}], "coefficient": -1}])
FOR_OTHERS = {
    "order four": PLATE,
    "a coefficient of second derivatives": heat(L_SHAPE, equation=[{"block": "diffusion", "coefficient": "1 + x"}]),
    "second derivatives at points": heat(L_SHAPE, equation=[{"block": "diffusion", "realisation": "pointwise"}]),
}


@pytest.mark.parametrize("data", FOR_OTHERS.values(), ids=list(FOR_OTHERS))
def test_equations_that_elements_cannot_solve_get_fourier_functions(data: dict[str, Any]) -> None:
    assert load_problem(data).basis.key == "fourier:fourier"


def test_coefficients_of_lower_derivatives_may_vary() -> None:
    terms = [{"block": "diffusion", "coefficient": "1 + t"}, {"block": "power", "coefficient": "x"}]
    assert load_problem(heat(L_SHAPE, equation=terms)).basis.key == "elements:elements"


def test_a_state_that_is_not_finite_is_located_once() -> None:
    """The basis looks at what is given where it makes its mesh."""
    with pytest.raises(NumericsError, match=r"^problem: fields.u.initial: the initial state is not finite at"):
        gleg.solve(heat(L_SHAPE, initial="log(x - 0.5)"))


# --- what is said ----------------------------------------------------------------------------------------------------


def without(*packs: str) -> Registry:
    return Registry.discover(only={p.id for p in Registry.discover().packs} - set(packs))


@pytest.mark.parametrize(
    ("absent", "data", "says"),
    [
        (["elements"], heat(L_SHAPE),
         "none that is installed suits a solution that is not smooth (corner of 270° at (0.5, 0.5)); "
         "one comes with gleg-basis-elements:   pip install gleg-basis-elements"),
        (["elements", "fourier"], heat(L_SHAPE),
         "none that is installed suits a solution that is not smooth (corner of 270° at (0.5, 0.5)); "
         "one comes with gleg-basis-elements:   pip install gleg-basis-elements"),
        (["fourier"], heat(DISK),
         "no installed pack suggests one; one comes with gleg-basis-fourier:   pip install gleg-basis-fourier"),
    ],
)  # fmt: skip
def test_the_pack_that_is_missing_is_named(absent: list[str], data: dict[str, Any], says: str) -> None:
    with pytest.raises(PackError) as caught:
        load_problem(data, registry=without(*absent))
    assert str(caught.value) == f"problem: basis: the file names none, and {says}"


def test_without_the_pack_a_basis_can_be_named() -> None:
    registry = without("elements")
    assert load_problem({**heat(L_SHAPE), "basis": {"kind": "fourier", "K": 4}}, registry=registry).basis.reason == ""


def test_a_domain_that_cannot_be_made_is_located(tmp_path: Path) -> None:
    """The domain is built while the file is validated, which no file with a basis asks for."""
    says = "domain: the polygon crosses or touches itself"
    for run in (load_problem, gleg.solve):
        with pytest.raises(GeometryError, match=rf"^problem: {says}"):
            run(heat(CROSSING))
    assert load_problem({**heat(CROSSING), "basis": {"kind": "fourier", "K": 4}})


def test_a_segment_without_a_condition_is_located() -> None:
    with pytest.raises(SpecError, match=r"^problem: fields.u.boundary: no condition on segment bottom, left, right"):
        load_problem(heat(SQUARE, {**VALUE, "where": "top"}))


def test_a_basis_that_does_not_suit_is_used_with_a_warning() -> None:
    named = {**heat(L_SHAPE), "basis": {"kind": "fourier", "K": 4}}
    with pytest.warns(
        UserWarning, match=r"^problem: the solution is not smooth \(corner of 270° at \(0.5, 0.5\)\)"
    ) as told:
        assert gleg.solve(named).discretisation.problem.basis.key == "fourier:fourier"
    assert str(told[0].message).endswith("Without the key 'basis' elements:elements is chosen")


def test_a_basis_that_suits_is_used_without_one() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = gleg.solve(heat(L_SHAPE), time={"end": 1e-4}, unresolved="ignore")
        gleg.solve({**heat(DISK), "basis": {"kind": "fourier", "K": 4}}, unresolved="ignore")
    assert "corner of 270° at (0.5, 0.5)" in {s: facts for s, facts, _ in run.stages}["basis"]


def test_the_warning_names_no_basis_that_would_not_be_chosen() -> None:
    with pytest.warns(UserWarning) as told:
        gleg.solve({**PLATE, "basis": {"kind": "fourier", "K": 6}})
    assert str(told[0].message).endswith("errors may be large however many there are")


# --- what it costs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [None, {"kind": "fourier", "K": 4}, {"kind": "elements"}])
def test_a_rough_problem_is_validated_without_torch_meshes_and_elements(named: dict[str, Any] | None) -> None:
    program = f"""
        import sys
        from gleg_core.spec.problem import load_problem
        load_problem({heat(L_SHAPE) | ({} if named is None else {"basis": named})})
        print(*{{"torch", "netgen", "basix"}} & set(sys.modules))
    """
    done = subprocess.run([sys.executable, "-c", dedent(program)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


# --- the command line ------------------------------------------------------------------------------------------------


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-m", "gleg_cli", *arguments]
    return subprocess.run(line, capture_output=True, text=True, cwd=cwd, env=environment)


def test_commands_say_what_matters_and_nothing_else(tmp_path: Path) -> None:
    """No traceback for a domain that cannot be made, no code in a warning, no complaints of libraries at the end."""
    silent = {**heat(L_SHAPE), "unresolved": "ignore"}  # the initial state does not fit the boundary data
    write = {
        "rough": silent,
        "named": {**silent, "basis": {"kind": "fourier", "K": 4}},
        "cross": heat(CROSSING),
    }
    for name, data in write.items():
        (tmp_path / f"{name}.json").write_text(str(data).replace("'", '"'))
    done = command("validate", "cross.json", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (4, 1)
    assert done.stderr.startswith("cross.json: domain: the polygon crosses or touches itself")
    done = command("run", "rough.json", "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = command("run", "named.json", "--quiet", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (0, 1)
    assert done.stderr.startswith("warning: named.json: the solution is not smooth (corner of 270° at (0.5, 0.5))")


def test_the_resolved_file_says_why() -> None:
    from gleg_core.spec.problem import load_problem
    from gleg_results.resolved import resolved_yaml

    text = resolved_yaml(load_problem(heat(L_SHAPE)))
    assert "# basis elements:elements, because the solution is not smooth: corner of 270°" in text


@pytest.mark.parametrize("near", [[[0.1, 0.2]], [[0.1, 0.2, -1]], [[0.1, 0.2, 0.3], [0.1, 0.2]]])
def test_a_place_without_a_size_is_refused_in_one_line(near: list[list[float]]) -> None:
    basis = {"kind": "elements", "near": near}
    with pytest.raises(SpecError, match=r"near: found .*, 2 coordinates and a positive size are needed"):
        gleg.solve({**heat(L_SHAPE), "basis": basis})


FLOATING = {"kind": "floating", "where": "side"}
SIDED = {**L_SHAPE, "segments": {"side": [0, 0]}}


def test_an_unknown_value_beside_a_known_one_is_for_fourier_functions() -> None:
    """Elements cannot be constant on a segment whose ends are given: they are not chosen, and refuse whichever condition comes first."""
    rest = {**VALUE, "where": "rest", "value": "x"}
    with pytest.warns(UserWarning, match="the solution is not smooth"):
        run = gleg.solve(heat(SIDED, FLOATING, rest))
    assert run.problem.basis.key == "fourier:fourier"
    for boundary in ([FLOATING, rest], [rest, FLOATING]):
        with pytest.raises(SpecError, match="needs a segment that touches no other condition on values"):
            gleg.solve({**heat(SIDED, *boundary), "basis": {"kind": "elements"}})


@pytest.mark.parametrize(
    "boundary", [[FLOATING, {**SLOPE, "where": "rest"}], [{**FLOATING, "where": "hole0"}, {**VALUE, "where": "rest"}]]
)
def test_an_unknown_value_beside_fluxes_or_in_a_hole_is_for_elements(boundary: list[dict[str, Any]]) -> None:
    domain = {**SIDED, "holes": [[[0.2, 0.2], [0.3, 0.2], [0.2, 0.3]]]}
    if boundary[0]["where"] == "side":
        del domain["holes"]
    run = gleg.solve(heat(domain, *boundary))
    assert run.problem.basis.key == "elements:elements"
    x, y = ([0.2, 0.3, 0.2], [0.2, 0.2, 0.25]) if "holes" in domain else ([0, 0.4, 1], [0, 0, 0])
    assert np.ptp(run.u(x, y, 0.01)) < 1e-9


def test_conditions_that_join_segments_are_for_fourier_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    from gleg_bc.floating import Floating

    monkeypatch.setattr(Floating, "partner", "facing")
    domain = {**L_SHAPE, "segments": {"side": [0, 0], "facing": [2, 2]}}
    data = heat(domain, FLOATING, {**SLOPE, "where": "rest"})
    assert load_problem(data).basis.key == "fourier:fourier"
