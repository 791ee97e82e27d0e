"""Transport on domains: conservation by the reduced system, and problems with known solutions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from gleg import load as load_problem
from gleg import solve
from gleg_core.system.discretise import Discretisation, discretise

Terms = list[dict[str, Any]]


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLEG_CACHE", str(tmp_path_factory.mktemp("spaces")))
        yield


def field(equation: Terms, boundary: str = "dirichlet", **keys: Any) -> dict[str, Any]:
    return {"initial": 0, "boundary": [{"kind": boundary}], "equation": equation, **keys}


def on_the_disk(equation: Terms, boundary: str = "dirichlet", K: int = 9, oversampling: float = 1.5) -> Discretisation:
    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": K},
        "fields": {"u": field(equation, boundary)},
        "time": {"end": 1},
        "space": {"box": [-1, 1], "oversampling": oversampling},
    }
    return discretise(load_problem(problem))


def states(d: Discretisation, count: int = 5) -> Tensor:
    """Random smooth states: amplitudes that decay with the mode's eigenvalue number."""
    z = torch.randn(count, d.system.size, generator=torch.Generator().manual_seed(11), dtype=torch.float64)
    return 0.5 * z / torch.arange(1, d.system.size + 1)


def response(term: dict[str, Any], **space: Any) -> tuple[Tensor, Tensor]:
    """(z, q): states and the responses to a diffusion-free equation with one term."""
    d = on_the_disk([term], **space)
    z = states(d)
    return z, d.system.rhs(z, 0.0)


# --- conservation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("realisation", ["weak", "pointwise"])
@pytest.mark.parametrize("direction", ["x", "y"])
def test_quadratic_transport_keeps_the_energy_on_a_disk(direction: str, realisation: str) -> None:
    z, q = response({"block": "transport", "direction": direction, "realisation": realisation})
    defect = (z * q).sum(dim=-1).abs() / (z.norm(dim=-1) * q.norm(dim=-1))
    assert defect.max() < 1e-12


def test_both_realisations_of_quadratic_transport_agree_on_a_disk() -> None:
    _, weak = response({"block": "transport", "direction": "x", "realisation": "weak"})
    _, pointwise = response({"block": "transport", "direction": "x", "realisation": "pointwise"})
    assert (weak - pointwise).norm() < 1e-10 * pointwise.norm()


@pytest.mark.parametrize("boundary", ["dirichlet", "neumann", "free"])
def test_advection_along_the_boundary_is_skew_in_the_reduced_system(boundary: str) -> None:
    d = on_the_disk([{"block": "advection", "velocity": ["-y", "x"]}], boundary, oversampling=1.0)
    A = d.system.rhs(torch.eye(d.system.size, dtype=torch.float64), 0.0)
    assert (A + A.T).abs().max() < 1e-12 * A.abs().max()


def test_advection_through_a_disk_keeps_the_energy_of_functions_that_vanish_on_the_rim() -> None:
    """b·n ≠ 0 but u = 0 there: the weak form is skew whatever the quadrature, because its interior part is."""
    d = on_the_disk([{"block": "advection", "velocity": [1, 0.5]}], oversampling=1.0, K=7)
    A = d.system.rhs(torch.eye(d.system.size, dtype=torch.float64), 0.0)
    assert (A + A.T).abs().max() < 1e-12 * A.abs().max()


def test_outflow_loses_energy() -> None:
    """u_t = −b·∇u with no condition at the outflow and u = 0 at the inflow: d/dt ½∫u² = −½ ∮_outflow (b·n) u² ≤ 0."""
    problem = {
        "domain": {"kind": "interval", "left": 0, "right": 1},
        "basis": {"kind": "fourier", "K": 20},
        "fields": {
            "u": {
                "initial": 0,
                "boundary": [{"kind": "dirichlet", "where": "left"}, {"kind": "free", "where": "right"}],
                "equation": [{"block": "advection", "velocity": [2], "coefficient": -1}],
            }
        },
        "time": {"end": 1},
    }
    d = discretise(load_problem(problem))
    A = d.system.rhs(torch.eye(d.system.size, dtype=torch.float64), 0.0)
    trace = d.system.fields["u"].boundary.functions((0,))[:, -1]
    assert ((A + A.T) / 2 + torch.outer(trace, trace)).abs().max() < 1e-10 * A.abs().max()


# --- problems with known solutions ----------------------------------------------------------------------------------


def relative_error(problem: dict[str, Any]) -> float:
    return float(solve(problem).metrics["relative_l2"]["max"])


def test_burgers_with_a_manufactured_solution_on_a_disk() -> None:
    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 10},
        "fields": {
            "u": {
                "exact": "(0.36 - x^2 - y^2)*(2 + cos(2*x + 3*t) + sin(3*y - 2*t))",
                "forcing": "manufactured",
                "boundary": [{"kind": "dirichlet"}],
                "equation": [
                    {"block": "diffusion", "coefficient": 0.05},
                    {"block": "transport", "direction": "x", "coefficient": -1},
                    {"block": "transport", "direction": "y", "coefficient": "-0.5*cos(t)"},
                ],
            }
        },
        "time": {"end": 0.5, "step": 0.005},
        "output": {"frames": 5},
    }
    assert relative_error(problem) < 1e-5


def test_a_burgers_front_without_forcing_crosses_a_disk() -> None:
    """u = c − A tanh(A (x + y − 2ct)/(2ν)) solves u_t = νΔu − u u_x − u u_y; its boundary values move."""
    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 12},
        "constants": {"c": 0.3, "A": 0.25, "nu": 0.1},
        "fields": {
            "u": {
                "exact": "c - A*tanh(A*(x + y - 2*c*t)/(2*nu))",
                "boundary": [{"kind": "dirichlet", "data": "exact"}],
                "equation": [
                    {"block": "diffusion", "coefficient": "nu"},
                    {"block": "transport", "direction": "x", "coefficient": -1},
                    {"block": "transport", "direction": "y", "coefficient": -1},
                ],
            }
        },
        "time": {"end": 0.5, "step": 0.005},
        "output": {"frames": 5},
    }
    assert relative_error(problem) < 1e-5


def test_burgers_on_an_interval_follows_the_cole_hopf_solution() -> None:
    problem = {
        "domain": {"kind": "interval", "left": 0, "right": 1},
        "basis": {"kind": "fourier", "K": 40},
        "constants": {"nu": 0.05},
        "formulas": {"decay": "exp(-pi^2*nu*t)"},
        "fields": {
            "u": {
                "exact": "2*nu*pi*decay*sin(pi*x)/(1.5 + decay*cos(pi*x))",
                "boundary": [{"kind": "dirichlet"}],
                "equation": [
                    {"block": "diffusion", "coefficient": "nu"},
                    {"block": "transport", "direction": "x", "coefficient": -1},
                ],
            }
        },
        "time": {"end": 1, "step": 0.005},
        "output": {"frames": 5},
    }
    assert relative_error(problem) < 1e-7


@pytest.mark.parametrize("velocity", [["-2*y", "2*x"], ["-2*y*(1 + 0.5*sin(3*t))", "2*x*(1 + 0.5*sin(3*t))"]])
def test_a_hump_is_carried_around_a_disk(velocity: list[str]) -> None:
    """Rotation by the angle θ(t) without any boundary condition; the second velocity depends on time."""
    angle = "2*t" if "t" not in velocity[0] else "2*t + (1 - cos(3*t))/3"
    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 10},
        "formulas": {"a": angle, "X": "x*cos(a) + y*sin(a)", "Y": "y*cos(a) - x*sin(a)"},
        "fields": {
            "u": {
                "exact": "exp(-6*((X - 0.2)^2 + Y^2))",
                "boundary": [{"kind": "free"}],
                "equation": [{"block": "advection", "velocity": velocity, "coefficient": -1}],
            }
        },
        "time": {"end": 0.5, "step": 0.01, "integrator": "rk4"},
        "output": {"frames": 5},
    }
    run = solve(problem)
    assert run.metrics["relative_l2"]["max"] < 1e-6
    energy = run.metrics["fields"]["u"]["invariants"]["energy"]
    assert max(energy) - min(energy) < 1e-8 * max(energy)


def test_vector_burgers_with_cross_terms() -> None:
    """u_t = νΔu − u u_x − v u_y, v_t = νΔv − u v_x − v v_y with manufactured u and v, non-solenoidal."""

    def component(exact: str, own: str, other: str) -> dict[str, Any]:
        name = "v" if own == "x" else "u"
        return {
            "exact": exact,
            "forcing": "manufactured",
            "boundary": [{"kind": "dirichlet"}],
            "equation": [
                {"block": "diffusion", "coefficient": 0.1},
                {"block": "transport", "direction": own, "coefficient": -1},
                {"block": "cross-advection", "by": name, "direction": other, "coefficient": -1},
            ],
        }

    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 10},
        "fields": {
            "u": component("2*(0.36 - x^2 - y^2)*(1 + x*cos(t))", "x", "y"),
            "v": component("2*(0.36 - x^2 - y^2)*(y + sin(2*t))", "y", "x"),
        },
        "time": {"end": 0.3, "step": 0.01},
        "output": {"frames": 3},
    }
    assert relative_error(problem) < 1e-5
