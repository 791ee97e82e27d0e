"""Diffusion on domains: eigenvalues, decay of energy, agreement of realisations, problems with known solutions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from scipy.special import jn_zeros, jnp_zeros

from gleg import load as load_problem
from gleg import solve
from gleg_core.system.discretise import discretise
from gleg_core.system.reduced import ReducedSystem


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLEG_CACHE", str(tmp_path_factory.mktemp("spaces")))
        yield


def on_the_disk(term: dict[str, Any], boundary: str = "dirichlet") -> ReducedSystem:
    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 10},
        "fields": {"u": {"initial": 0, "boundary": [{"kind": boundary}], "equation": [term]}},
        "time": {"end": 1},
    }
    return discretise(load_problem(problem)).system


@pytest.mark.parametrize("realisation", ["weak", "pointwise", "ambient"])
def test_eigenvalues_of_the_disk(realisation: str) -> None:
    """−(j/R)² with the zeros j of J_m, twice for m > 0; every realisation finds them."""
    system = on_the_disk({"block": "diffusion", "realisation": realisation})
    A = system.rhs(torch.eye(system.size, dtype=torch.float64), 0.0)
    exact = sorted(z for m in range(6) for z in jn_zeros(m, 4) for _ in range(1 + (m > 0)))[:10]
    found = sorted(torch.linalg.eigvals(A).real.tolist(), reverse=True)[:10]
    assert found == pytest.approx([-((z / 0.6) ** 2) for z in exact], rel=1e-6)


def test_eigenvalues_of_the_insulated_disk() -> None:
    """0 and −(j'/R)² with the zeros j' of J_m'."""
    system = on_the_disk({"block": "diffusion"}, "neumann")
    found = sorted(torch.linalg.eigvalsh(system.rhs(torch.eye(system.size, dtype=torch.float64), 0.0)).tolist())[::-1]
    exact = sorted(z for m in range(6) for z in jnp_zeros(m, 4) for _ in range(1 + (m > 0)))[:8]
    assert abs(found[0]) < 1e-6
    assert found[1:9] == pytest.approx([-((z / 0.6) ** 2) for z in exact], rel=1e-6)


def test_weak_diffusion_is_diagonal_and_negative_with_a_variable_coefficient() -> None:
    system = on_the_disk({"block": "variable-diffusion", "diffusivity": "1 + x + y^2"})
    assert type(system.linear).__name__ == "DiagonalPart"
    assert float(system.rhs(torch.eye(system.size, dtype=torch.float64), 0.0).diagonal().max()) < 0


def test_variable_diffusion_with_a_constant_is_diffusion() -> None:
    eye = torch.eye(on_the_disk({"block": "diffusion"}).size, dtype=torch.float64)
    plain = on_the_disk({"block": "diffusion", "coefficient": 0.3}).rhs(eye, 0.0).diagonal()
    variable = on_the_disk({"block": "variable-diffusion", "diffusivity": 0.3}).rhs(eye, 0.0).diagonal()
    assert torch.allclose(plain, variable, rtol=1e-9)


# --- problems with known solutions ----------------------------------------------------------------------------------


def test_energy_decays_and_an_insulated_disk_keeps_its_mass() -> None:
    problem = {
        "domain": {"kind": "annulus", "outer": 0.7, "inner": 0.3},
        "basis": {"kind": "fourier", "K": 9},
        "fields": {
            "u": {
                "initial": "1 + cos(3*x)*exp(y)",
                "boundary": [{"kind": "neumann"}],
                "equation": [{"block": "diffusion", "coefficient": 0.5}],
            }
        },
        "time": {"end": 0.1, "step": 0.005},
        "output": {"frames": 20},
    }
    history = solve(problem).metrics["fields"]["u"]["invariants"]
    assert all(later < earlier for earlier, later in pairwise(history["energy"]))
    assert history["mass"] == pytest.approx([history["mass"][0]] * 21, rel=1e-7)


def test_a_bessel_mode_decays_at_its_rate() -> None:
    z = float(jn_zeros(0, 1)[0])
    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 10},
        "constants": {"k": z / 0.6},
        "fields": {
            "u": {
                "exact": "besselj0(k*sqrt(x^2 + y^2 + 1e-30))*exp(-0.1*k^2*t)",
                "boundary": [{"kind": "dirichlet"}],
                "equation": [{"block": "diffusion", "coefficient": 0.1}],
            }
        },
        "time": {"end": 1, "step": 0.1},
        "output": {"frames": 2},
    }
    assert solve(problem).metrics["relative_l2"]["max"] < 1e-6


def test_variable_diffusivity_with_an_exact_solution() -> None:
    """(e^x (e^{−x})_x)_x = 0: with D = e^x the state e^{−x} is at rest, and disturbances that vanish on the rim decay to it."""
    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 12},
        "fields": {
            "u": {
                "initial": "exp(-x) + (0.36 - x^2 - y^2)",
                "boundary": [{"kind": "dirichlet", "value": "exp(-x)"}],
                "equation": [{"block": "variable-diffusion", "diffusivity": "exp(x)"}],
            }
        },
        "time": {"end": 2, "step": 0.02},
        "output": {"frames": 1},
    }
    run = solve(problem)
    assert [run.u(x, y, 2.0) for x, y in ((0, 0), (0.3, -0.2), (-0.5, 0.1))] == pytest.approx(
        [1, 0.7408182206817179, 1.6487212707001282], rel=1e-5
    )


@pytest.mark.parametrize("realisation", ["weak", "pointwise"])
def test_variable_diffusivity_with_a_manufactured_solution(realisation: str) -> None:
    problem = {
        "domain": {"kind": "annulus", "outer": 0.7, "inner": 0.3},
        "basis": {"kind": "fourier", "K": 10},
        "fields": {
            "u": {
                "exact": "(0.49 - x^2 - y^2)*(x^2 + y^2 - 0.09)*(2 + sin(x + 4*t))",
                "forcing": "manufactured",
                "boundary": [{"kind": "dirichlet"}],
                "equation": [
                    {"block": "variable-diffusion", "diffusivity": "0.2 + 0.1*x*y", "realisation": realisation}
                ],
            }
        },
        "time": {"end": 0.2, "step": 0.01},
        "output": {"frames": 4},
    }
    assert solve(problem).metrics["relative_l2"]["max"] < 1e-5


def test_diffusion_of_another_field() -> None:
    """u_t = DΔu, v_t = DΔv + DΔu: on a Dirichlet mode with λ = Dk², u = e^{−λt} and v = (1 − λt) e^{−λt}."""
    D = {"block": "diffusion", "coefficient": 0.1}
    mode = "besselj0(k*sqrt(x^2 + y^2 + 1e-30))*exp(-0.1*k^2*t)"
    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 10},
        "constants": {"k": float(jn_zeros(0, 1)[0]) / 0.6},
        "fields": {
            "u": {"exact": mode, "boundary": [{"kind": "dirichlet"}], "equation": [D]},
            "v": {
                "exact": f"(1 - 0.1*k^2*t)*{mode}",
                "boundary": [{"kind": "dirichlet"}],
                "equation": [D, {**D, "of": "u"}],
            },
        },
        "time": {"end": 0.5, "step": 0.05},
        "output": {"frames": 2},
    }
    assert solve(problem).metrics["relative_l2"]["max"] < 1e-6
