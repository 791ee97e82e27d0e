"""Steady fields: 0 = Σ terms solved at every instant, such as a streamfunction or a potential."""

import numpy as np
import pytest
from eigenmodes import bessel_rates
from scipy.special import jv

import gleg
from gleg_core.errors import NumericsError, SpecError

R = 0.6


def potential(equation_of_psi: list[dict], boundary: str = "dirichlet", **field: object) -> dict:
    """u_t = Δu + 5ψ with ψ from its own equation."""
    condition = [{"kind": boundary}]
    return {
        "domain": {"kind": "disk", "radius": R},
        "basis": {"kind": "fourier", "K": 12},
        "constants": {"j": 2.404825557695773},
        "fields": {
            "u": {
                "initial": f"besselj0(j*sqrt(x^2 + y^2)/{R})",
                "boundary": [{"kind": "dirichlet"}],
                "equation": [{"block": "diffusion"}, {"block": "power", "of": "psi", "coefficient": 5}],
            },
            "psi": {"steady": True, "boundary": condition, "equation": equation_of_psi, **field},
        },
        "time": {"end": 0.1, "step": 0.005},
    }


POISSON = [{"block": "diffusion"}, {"block": "power", "of": "u"}]  # 0 = Δψ + u


def test_poisson_potential_of_a_decaying_mode() -> None:
    """For the first Dirichlet mode ψ = u/λ, so u decays like exp(−(λ − 5/λ)t)."""
    run = gleg.solve(potential(POISSON))
    rate = bessel_rates(jv, R, 1)[0]
    assert run.u(0.1, 0.1, 0.1) / run.u(0.1, 0.1, 0.0) == pytest.approx(np.exp(-(rate - 5 / rate) * 0.1), rel=1e-6)
    assert run.psi(0.2, 0.1, 0.05) == pytest.approx(run.u(0.2, 0.1, 0.05) / rate, rel=1e-6)
    assert "psi" in run.dataset


def test_manufactured_pair_with_moving_data_and_a_nonlinear_use() -> None:
    """u_t = 0.1 Δu + ψ u + f and 0 = Δψ − 2ψ + u + g, both with moving data."""
    exact = {"u": "1 + 0.3*sin(2*x + t)*cos(y)", "psi": "x*y*cos(t) + 0.2*exp(x)"}
    fields = {
        "u": {
            "exact": exact["u"],
            "forcing": "manufactured",
            "boundary": [{"kind": "robin", "kappa": 1, "data": "exact"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.1},
                {"block": "product", "powers": {"u": 1, "psi": 1}},
            ],
        },
        "psi": {
            "exact": exact["psi"],
            "forcing": "manufactured",
            "steady": True,
            "boundary": [{"kind": "dirichlet", "data": "exact"}],
            "equation": [
                {"block": "diffusion"},
                {"block": "power", "coefficient": -2},
                {"block": "power", "of": "u"},
            ],
        },
    }
    spec = {
        "domain": {"kind": "ellipse", "a": 0.6, "b": 0.4},
        "basis": {"kind": "fourier", "K": 10},
        "fields": fields,
        "time": {"end": 0.5, "step": 0.02},
    }
    metrics = gleg.solve(spec).metrics["fields"]
    assert metrics["u"]["relative_l2"]["max"] < 1e-6
    assert metrics["psi"]["relative_l2"]["max"] < 1e-5


def test_a_steady_equation_must_be_linear() -> None:
    with pytest.raises(SpecError, match="'psi' is steady: its terms must be linear"):
        gleg.solve(potential([*POISSON, {"block": "power", "p": 2}]))


def test_a_singular_steady_equation_is_refused() -> None:
    with pytest.raises(NumericsError, match="no unique solution"):
        gleg.solve(potential(POISSON, boundary="neumann"))
