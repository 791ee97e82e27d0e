"""Fronts of u_t = D u'' + r u (1 − u), which leave the cells that the initial state asked for. Below u = 0 solutions go to −∞ in finite
time, and a front that is not resolved overshoots to there: the first, coarse trial is lost, and what is left of it tells where cells are
missing."""

import numpy as np
import pytest

import gleg
from gleg_core.errors import NumericsError

D, R = 1e-4, 10.0
WIDTH, SPEED = np.sqrt(6 * D / R), 5 * np.sqrt(R * D / 6)


def equation(*reaction: tuple[int, float], diffusivity: float = D) -> list[dict[str, object]]:
    terms = [{"block": "power", "p": p, "coefficient": c} for p, c in reaction]
    return [{"block": "diffusion", "coefficient": diffusivity}, *terms]


def problem(domain: dict[str, object], initial: str, terms: list[dict[str, object]], end: float) -> dict[str, object]:
    field = {"initial": initial, "boundary": [{"kind": "neumann"}], "equation": terms}
    return {"domain": domain, "basis": {"kind": "elements"}, "fields": {"u": field}, "time": {"end": end}}


@pytest.mark.parametrize("domain", ["interval", "rectangle"])
def test_a_travelling_wave_of_fisher(domain: str) -> None:
    """u = (1 + exp((x − ct)/√(6D/r)))^{−2}, c = 5 √(rD/6): Ablowitz & Zeppetella 1979."""
    shape = {"interval": {"left": 0, "right": 1}, "rectangle": {"x": [0, 1], "y": [0, 0.5]}}[domain]
    initial = f"(1 + exp((x - 0.2)/{WIDTH}))^(-2)"
    end = 4.0 if domain == "interval" else 2.0
    terms = equation((1, R), (2, -R))
    run = gleg.solve(problem({"kind": domain, **shape}, initial, terms, end))
    x = np.linspace(1e-3, 0.999, 1001)
    exact = (1 + np.exp((x - 0.2 - SPEED * end) / WIDTH)) ** -2.0
    found = run.u(x, end) if domain == "interval" else run.u(x, np.full_like(x, 0.037), end)
    assert float(run.estimate) < 5e-4
    assert np.linalg.norm(found - exact) < min(5e-4, 2 * float(run.estimate)) * np.linalg.norm(exact)


def test_a_solution_that_blows_up_is_not_refined_for_ever() -> None:
    """u_t = 3 u² from the largest value u_0 = 5 ends at 1/(3 u_0), a little later with some diffusion."""
    terms = equation((2, 3.0), diffusivity=1e-3)
    with pytest.raises(NumericsError, match=r"at t = 0\.0[67]"):
        gleg.solve(problem({"kind": "interval", "left": 0, "right": 1}, "5*exp(-20*(x - 0.5)^2)", terms, 1.0))


def test_cells_of_the_users_own_are_kept_and_blamed() -> None:
    wanted = problem(
        {"kind": "interval", "left": 0, "right": 1}, f"(1 + exp((x - 0.2)/{WIDTH}))^(-2)", equation((1, R), (2, -R)), 4
    )
    with pytest.raises(NumericsError, match="the solution leaves about"):
        gleg.solve({**wanted, "basis": {"kind": "elements", "size": 0.05}})
