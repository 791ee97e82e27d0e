"""Decay rates of the heat equation against zeros of Bessel functions: the first ten modes, to 1e-7."""

import numpy as np
import pytest
from eigenmodes import bessel_rates, decay_rates
from scipy.special import jv, jvp, yv, yvp

R = 0.6
DISK = {"kind": "disk", "radius": R}


def test_dirichlet_disk() -> None:
    rates = decay_rates(DISK, [{"kind": "dirichlet"}])[:10]
    assert rates == pytest.approx(bessel_rates(jv, R, 10), rel=1e-10)
    assert rates[0] == pytest.approx(16.064405453, rel=1e-9)  # (j_{0,1}/0.6)²


def test_neumann_disk() -> None:
    rates = decay_rates(DISK, [{"kind": "neumann"}])[:10]
    assert abs(rates[0]) < 1e-8  # the constant does not decay
    assert rates[1:] == pytest.approx(bessel_rates(jvp, R, 9), rel=1e-9)


def test_robin_disk() -> None:
    kappa = 2.0
    rates = decay_rates(DISK, [{"kind": "robin", "kappa": kappa}])[:10]
    assert rates == pytest.approx(bessel_rates(lambda m, s: s / R * jvp(m, s) + kappa * jv(m, s), R, 10), rel=1e-10)


def test_annulus_dirichlet_outside_neumann_inside() -> None:
    inner, outer = 0.25, 0.7

    def cross_product(m: int, s: np.ndarray) -> np.ndarray:
        return jv(m, s * outer) * yvp(m, s * inner) - yv(m, s * outer) * jvp(m, s * inner)

    boundary = [{"kind": "dirichlet", "where": "outer"}, {"kind": "neumann", "where": "inner"}]
    rates = decay_rates({"kind": "annulus", "inner": inner, "outer": outer}, boundary)[:10]
    assert rates == pytest.approx(bessel_rates(cross_product, 1.0, 10, largest=25.0), rel=1e-7)


def test_physical_units_disk_of_kilometres() -> None:
    """Radius 3.7 km at (12, −40) km, diffusivity 0.02 km²/s: rates 0.02 (j/3.7)² per second."""
    domain = {"kind": "disk", "radius": 3.7, "centre": [12, -40]}
    rates = decay_rates(domain, [{"kind": "dirichlet"}], [{"block": "diffusion", "coefficient": 0.02}])[:10]
    assert rates == pytest.approx(0.02 * bessel_rates(jv, 3.7, 10), rel=1e-10)


@pytest.mark.parametrize("realisation", ["pointwise", "ambient"])
def test_other_realisations_agree(realisation: str) -> None:
    rates = decay_rates(DISK, [{"kind": "dirichlet"}], [{"block": "diffusion", "realisation": realisation}], K=14)[:10]
    assert rates == pytest.approx(bessel_rates(jv, R, 10), rel=1e-7)


def test_interval() -> None:
    """One dimension: (nπ/L)² with u = 0 left and ∂u/∂x = 0 right gives ((n − ½)π/L)²."""
    domain = {"kind": "interval", "left": 2.0, "right": 5.0}
    boundary = [{"kind": "dirichlet", "where": "left"}, {"kind": "neumann", "where": "right"}]
    rates = decay_rates(domain, boundary, K=24)[:8]
    assert rates == pytest.approx([((n - 0.5) * np.pi / 3) ** 2 for n in range(1, 9)], rel=1e-9)
