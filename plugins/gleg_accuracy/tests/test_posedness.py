"""Problems without a solution are answered in words before they are solved."""

from __future__ import annotations

from typing import Any

import pytest

import gleg
from gleg_core.errors import SpecError

CLAMPED = [{"kind": "clamped", "value": 0}]
BIHARMONIC = [{"block": "diffusion"}]


def problem(clamped: bool = False, **equations: list[dict[str, Any]]) -> dict[str, Any]:
    boundary = CLAMPED if clamped else [{"kind": "dirichlet", "value": 0}]
    fields = {
        name: {"initial": "exp(-5*(x^2 + y^2))", "boundary": boundary, "equation": terms}
        for name, terms in equations.items()
    }
    return {
        "domain": {"kind": "disk", "radius": 1},
        "basis": {"kind": "fourier", "K": 8},
        "fields": fields,
        "time": {"end": 1e-3, "step": 5e-4},
    }


DIFFUSION = {"block": "diffusion"}
ILL_POSED = {
    "a diffusivity that changes its sign in space": problem(u=[{"block": "variable-diffusion", "diffusivity": "x"}]),
    "a coefficient that does": problem(u=[DIFFUSION | {"coefficient": "1 - 2*x^2"}]),
    "one that does in time": problem(u=[DIFFUSION | {"coefficient": "1 - 2*t/0.001"}]),
    "one that depends on u": problem(u=[{"block": "nonlinear-diffusion", "diffusivity": "u - 0.5"}]),
    "growth of the fourth order": problem(True, u=[{"square": BIHARMONIC, "coefficient": 0.01}]),
    "more diffusion of the other field than of the own": problem(
        u=[DIFFUSION, DIFFUSION | {"of": "v", "coefficient": 5}], v=[DIFFUSION, DIFFUSION | {"of": "u", "coefficient": 5}]
    ),
    "waves with the wrong sign": problem(
        u=[{"block": "power", "of": "v"}], v=[DIFFUSION | {"of": "u", "coefficient": -1}]
    ),
}  # fmt: skip
WELL_POSED = {
    "growth": problem(u=[{"block": "power", "coefficient": 5}]),
    "waves": problem(u=[{"block": "power", "of": "v"}], v=[DIFFUSION | {"of": "u"}]),
    "Schrödinger": problem(u=[DIFFUSION | {"of": "v", "coefficient": -1}], v=[DIFFUSION | {"of": "u"}]),
    "growth of long waves": problem(
        True, u=[DIFFUSION | {"coefficient": -1}, {"square": BIHARMONIC, "coefficient": -0.01}]
    ),
    "transport": problem(u=[{"block": "transport", "direction": "x", "coefficient": -1}]),
    "diffusion that depends on u": problem(u=[{"block": "nonlinear-diffusion", "diffusivity": "0.1 + u^2"}]),
}


@pytest.mark.parametrize("name", ILL_POSED)
@pytest.mark.filterwarnings("ignore")
def test_short_waves_that_grow_are_refused(name: str) -> None:
    with pytest.raises(SpecError, match=r"problem: fields\.[uv]\.equation\[\d\]: .* ill-posed"):
        gleg.solve(ILL_POSED[name])
    assert gleg.solve({**ILL_POSED[name], "unresolved": "ignore"}).times[-1] == 1e-3


@pytest.mark.parametrize("name", WELL_POSED)
@pytest.mark.filterwarnings("ignore")
def test_all_else_is_solved(name: str) -> None:
    assert gleg.solve(WELL_POSED[name]).times[-1] == 1e-3


def test_a_constant_that_is_negative_is_found_when_the_file_is_read() -> None:
    spec = problem(u=[DIFFUSION | {"coefficient": "D"}]) | {"constants": {"D": -0.02}}
    with pytest.raises(SpecError, match=r"equation\[0\]\.coefficient: is -0\.02, and a negative coefficient"):
        gleg.load(spec)
    gleg.load({**spec, "unresolved": "ignore"})
    gleg.load(problem(u=[DIFFUSION | {"of": "v", "coefficient": -1}], v=[DIFFUSION | {"of": "u"}]))
