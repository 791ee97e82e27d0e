"""Conditions that join two segments: traces that read both sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from eigenmodes import decay_rates
from torch import Tensor

import gleg
from gleg_bc.dirichlet import Dirichlet
from gleg_bc.neumann import Neumann
from gleg_core.contracts.boundary import Flux
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.errors import SpecError

JOINED = [{"kind": "dirichlet", "where": "left"}, {"kind": "neumann", "where": "right"}]


class SameValue(Dirichlet):
    """u = u on the other side."""

    vanishing = ()
    partner = "right"

    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        assert u.partner is not None
        return (u.value - u.partner.value,)


class SameSlope(Neumann):
    """∂_n u = −∂_n u on the other side, where the normal is the opposite one."""

    vanishing = ()
    flux = None
    partner = "left"

    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        assert u.partner is not None and at.partner is not None and at.normal is not None
        assert at.partner.normal is not None
        return (u.along(at.normal) + u.partner.along(at.partner.normal),)


@pytest.fixture(autouse=True)
def joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gleg_bc.dirichlet.Dirichlet", SameValue)
    monkeypatch.setattr("gleg_bc.neumann.Neumann", SameSlope)


def test_an_interval_whose_ends_are_joined_is_a_circle() -> None:
    rates = decay_rates({"kind": "interval", "left": 0.5, "right": 2.5}, JOINED, K=14)
    assert rates[:7] == pytest.approx(np.pi**2 * np.array([0, 1, 1, 4, 4, 9, 9]), rel=1e-8, abs=1e-7)


def test_a_strip_whose_ends_are_joined_is_a_cylinder() -> None:
    """Modes exp(2πi k x/2) sin(mπy) of a strip of length 2 and width 1; points that face each other have the same y."""
    walls = [{"kind": "robin", "kappa": 0, "where": ["bottom", "top"]}]
    rates = decay_rates({"kind": "rectangle", "x": [0, 2], "y": [0, 1]}, [*JOINED, *walls], K=14)
    modes = sorted(np.pi**2 * (k**2 + m**2) for k in range(-3, 4) for m in range(4))[:9]
    assert rates[:9] == pytest.approx(modes, rel=1e-5, abs=1e-5)


def test_boundary_errors_are_measured_on_both_sides() -> None:
    spec = {
        "domain": {"kind": "interval", "left": 0, "right": 1},
        "basis": {"kind": "fourier", "K": 12},
        "fields": {
            "u": {
                "exact": "exp(-4*pi^2*t)*sin(2*pi*x + 0.3)",
                "boundary": [{**c, "data": "exact"} for c in JOINED],
                "equation": [{"block": "diffusion"}],
            }
        },
        "time": {"end": 0.02},
    }
    run = gleg.solve(spec)
    assert run.metrics["boundary_residual"]["relative"] < 1e-6
    assert run.metrics["relative_l2"]["max"] < 1e-6


def test_what_cannot_be_joined_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SameValue, "partner", "rigth")
    with pytest.raises(
        SpecError, match=r"'left' cannot be joined with 'rigth', only with right. Did you mean 'right'\?"
    ):
        decay_rates({"kind": "interval", "left": 0, "right": 1}, JOINED, K=6)
    monkeypatch.setattr(SameValue, "partner", "bottom")
    walls = [{"kind": "robin", "kappa": 0, "where": ["bottom", "top"]}]
    with pytest.raises(SpecError, match="'left' and 'bottom' cannot be joined: they differ in length"):
        decay_rates({"kind": "rectangle", "x": [0, 2], "y": [0, 1]}, [*JOINED, *walls], K=6)


def test_a_flux_that_responds_to_the_field_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SameSlope, "flux", Flux(0, response=lambda u, at: -u.power(4)))
    with pytest.raises(SpecError, match=r"boundary\[1\].*a flux that responds to u .* not available yet"):
        decay_rates({"kind": "interval", "left": 0, "right": 1}, JOINED, K=6)
