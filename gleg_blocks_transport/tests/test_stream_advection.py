"""Advection by a streamfunction: signs, conservation in the reduced system, and flows with known solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import jv
from transport_functions import autograd_jet, block

from gleg import load as load_problem
from gleg import solve
from gleg_core.contracts.location import Location
from gleg_core.system.discretise import Discretisation, discretise


def test_the_flow_of_a_streamfunction_is_its_rotated_gradient() -> None:
    """ψ = x²/2 moves with (0, −x), so ω = y changes at the rate −x; Ψ = y moves with (1, 0), so ω_x is added."""
    x = torch.rand(30, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    fields = {"u": autograd_jet(lambda p: p[:, 1] + 0 * p[:, 0], x), "v": autograd_jet(lambda p: p[:, 0] ** 2 / 2, x)}
    assert torch.equal(block("stream-advection", stream="v").reference(fields, Location(x)), -x[:, 0])
    fields["u"] = autograd_jet(lambda p: torch.exp(3 * p[:, 0]) * p[:, 1], x)
    both = block("stream-advection", stream="v", background="y").reference(fields, Location(x))
    exact = torch.exp(3 * x[:, 0]) * (3 * x[:, 1] - x[:, 0])
    assert torch.allclose(both, exact, atol=1e-13)


def test_a_given_rotation_is_advection_by_its_velocity() -> None:
    x = torch.rand(30, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    u = {"u": autograd_jet(lambda p: torch.sin(2 * p[:, 0] - p[:, 1]), x)}
    at = Location(x, 0.3)
    stream, velocity = (
        block("stream-advection", background="-cos(t)*(x^2 + y^2)/2"),
        block("advection", velocity=["-cos(t)*y", "cos(t)*x"]),
    )
    assert stream.traits.time_dependent and stream.acts_on == "u"
    for alpha, values in velocity.weak(u, at).items():
        assert torch.allclose(stream.weak(u, at)[alpha], values, atol=1e-15)


def test_the_given_flow_is_a_linear_part_of_its_own() -> None:
    linear = [part.traits.degree for part in block("stream-advection", stream="v", background="x*y").parts]
    assert sorted(linear, key=str) == [1, 2]


def vorticity(shape: dict[str, Any], equation: list[dict[str, Any]], **keys: Any) -> dict[str, Any]:
    """ω with these terms and 0 = Δψ + ω, both zero on the boundary."""
    zero = [{"kind": "dirichlet"}]
    poisson = [{"block": "diffusion"}, {"block": "power", "of": "omega"}]
    return {
        "domain": shape,
        "basis": {"kind": "fourier", "K": 12},
        "fields": {
            "omega": {"initial": 0, "boundary": zero, "equation": equation, **keys},
            "psi": {"steady": True, "boundary": zero, "equation": poisson},
        },
        "time": {"end": 0.5, "step": 0.01},
    }


ANNULUS = {"kind": "annulus", "outer": 0.7, "inner": 0.3}
BOTH = {"block": "stream-advection", "stream": "psi", "background": "sin(3*x)*cos(2*y) + x*y", "coefficient": -1}


def realised(**space: Any) -> Discretisation:
    return discretise(load_problem(vorticity(ANNULUS, [BOTH]) | {"space": space}))


@pytest.mark.parametrize("oversampling", [1.0, 1.5])
def test_enstrophy_is_kept_to_rounding(oversampling: float) -> None:
    """⟨ω, ω_t⟩ = 0 on an annulus, through whose boundary the background flows: skew whatever the quadrature."""
    d = realised(oversampling=oversampling)
    z = torch.randn(5, d.system.size, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    q = d.system.rhs(z, 0.0)
    assert ((z * q).sum(-1).abs() / (z.norm(dim=-1) * q.norm(dim=-1))).max() < 1e-13


def test_both_realisations_agree() -> None:
    weak = realised(oversampling=1.5)
    pointwise = discretise(
        load_problem(vorticity(ANNULUS, [BOTH | {"realisation": "pointwise"}]) | {"space": {"oversampling": 1.5}})
    )
    z = torch.randn(weak.system.size, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    z = z / torch.arange(1, weak.system.size + 1).flip(0)  # smooth: the last modes are the slowest
    assert (weak.system.rhs(z, 0.0) - pointwise.system.rhs(z, 0.0)).norm() < 1e-9 * weak.system.rhs(z, 0.0).norm()


def test_a_decaying_mode_turns_with_a_rigid_background() -> None:
    """ω = J_1(kr) cos θ has ψ = ω/k², so ∇^⊥ψ·∇ω = 0; in a rotation of rate 2 it turns by 2t and decays by e^{−νk²t}."""
    k, nu, rate, t = 3.831705970207512 / 0.6, 0.02, 2.0, 0.5
    equation = [
        {"block": "diffusion", "coefficient": nu},
        {"block": "stream-advection", "stream": "psi", "background": f"{-rate / 2}*(x^2 + y^2)", "coefficient": -1},
    ]
    initial = f"besselj(1, {k}*sqrt(x^2 + y^2))*x/sqrt(x^2 + y^2)"
    run = solve(vorticity({"kind": "disk", "radius": 0.6}, equation, initial=initial))
    r, theta = np.array([0.1, 0.3, 0.5]), np.array([0.2, 2.0, 4.0])
    exact = jv(1, k * r) * np.cos(theta - rate * t) * np.exp(-nu * k**2 * t)
    x, y = r * np.cos(theta), r * np.sin(theta)
    assert run.omega(x, y, t) == pytest.approx(exact, abs=1e-6)
    assert run.psi(x, y, t) == pytest.approx(exact / k**2, abs=1e-7)


def test_manufactured_flow_on_an_annulus() -> None:
    """Nothing cancels: ω and ψ are independent formulas, with moving data."""
    exact = {"omega": "1 + 0.5*sin(2*x + t)*cos(y)", "psi": "0.3*x*y*cos(t) + 0.2*exp(x)"}
    data = [{"kind": "dirichlet", "data": "exact"}]
    problem = vorticity(ANNULUS, [{"block": "diffusion", "coefficient": 0.05}, BOTH])
    problem["fields"]["omega"] |= {"exact": exact["omega"], "forcing": "manufactured", "boundary": data}
    problem["fields"]["omega"].pop("initial")
    problem["fields"]["psi"] |= {"exact": exact["psi"], "forcing": "manufactured", "boundary": data}
    errors = solve(problem).metrics["fields"]
    assert errors["omega"]["relative_l2"]["max"] < 1e-6
    assert errors["psi"]["relative_l2"]["max"] < 1e-5
