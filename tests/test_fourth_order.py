"""Composed mechanisms: the clamped plate, and why the reduced operator must not be squared."""

import numpy as np
import pytest
from eigenmodes import decay_rates, heat_problem, rates_of

from gleg_core.errors import SpecError

R = 0.6
DISK = {"kind": "disk", "radius": R}
CLAMPED = [{"kind": "clamped"}]
BIHARMONIC = [{"square": [{"block": "diffusion"}], "coefficient": -1}]
CLAMPED_PLATE = 104.3631056 / R**4


def test_clamped_plate_eigenvalue() -> None:
    assert decay_rates(DISK, CLAMPED, BIHARMONIC, K=18)[0] == pytest.approx(CLAMPED_PLATE, rel=1e-7)


def test_applying_the_ambient_laplacian_twice_agrees() -> None:
    twice = [{**BIHARMONIC[0], "realisation": "pointwise"}]
    assert decay_rates(DISK, CLAMPED, twice, K=14)[0] == pytest.approx(CLAMPED_PLATE, rel=1e-5)


def test_squaring_the_reduced_laplacian_is_a_different_operator() -> None:
    """What gleg does *not* do: (NᵀM_ΩΔN)² in the clamped space tends to the squared Dirichlet Laplacian, 258.07."""
    d = heat_problem(DISK, CLAMPED, [{"block": "diffusion"}, *BIHARMONIC], K=14)
    space = d.system.fields["u"]
    stiffness = sum(
        (space.interior.functions(a) * space.space.weights) @ space.interior.functions(a).T for a in ((1, 0), (0, 1))
    )
    squared = np.linalg.eigvalsh((stiffness @ stiffness).numpy())[0]
    assert squared == pytest.approx(258.07, rel=0.05)
    assert rates_of(heat_problem(DISK, CLAMPED, BIHARMONIC, K=14))[0] > 3 * squared


def test_swift_hohenberg_symbol() -> None:
    """−(Δ + k²)² in a clamped space equals −(⟨Δv, Δu⟩ − 2k²⟨∇v, ∇u⟩ + k⁴⟨v, u⟩)."""
    k = 5.3
    combined = [{"square": [{"block": "diffusion"}, {"block": "power", "coefficient": k**2}], "coefficient": -1}]
    expanded = [
        *BIHARMONIC,
        {"block": "diffusion", "coefficient": -2 * k**2},
        {"block": "power", "coefficient": -(k**4)},
    ]
    first = decay_rates(DISK, CLAMPED, combined, K=14)[:6]
    assert first == pytest.approx(decay_rates(DISK, CLAMPED, expanded, K=14)[:6], rel=1e-6)


@pytest.mark.parametrize("kind", ["dirichlet", "neumann"])
def test_one_condition_is_refused_for_fourth_order(kind: str) -> None:
    with pytest.raises(SpecError, match=r"order 4 and needs 2 \(installed: clamped\)"):
        heat_problem(DISK, [{"kind": kind}], BIHARMONIC, K=8)


def test_two_conditions_are_refused_for_second_order() -> None:
    with pytest.raises(SpecError, match="order 2 and needs 1"):
        heat_problem(DISK, CLAMPED, K=8)


def test_nonlinear_mechanisms_cannot_be_squared() -> None:
    with pytest.raises(SpecError, match="cannot be squared"):
        heat_problem(DISK, CLAMPED, [{"square": [{"block": "power", "p": 2}]}], K=8)
