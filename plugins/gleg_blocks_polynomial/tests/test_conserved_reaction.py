"""The reaction without its mean: values, what it needs, exact solutions, a mean that stays to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from test_polynomial_blocks import N, block, jets, place, values

from gleg import solve
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError

WEIGHTS = torch.linspace(0.1, 2.0, N, dtype=torch.float64)


def weighted_place() -> Location:
    return Location(place().x, weights=WEIGHTS)


@pytest.mark.parametrize("batch", [(), (4,), (2, 3), (0,)])
def test_values_against_numpy(batch: tuple[int, ...]) -> None:
    u, v, w = values(*batch)
    found = block("conserved-reaction", rate="u - u^3", of="v").reference(jets(u, v, w), weighted_place())
    r = v.numpy() - v.numpy() ** 3
    expected = r - (np.average(r, axis=-1, weights=WEIGHTS)[..., None] if r.size else 0.0)
    assert found.shape == (*batch, N) and np.allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_a_constant_reaction_is_taken_away() -> None:
    found = block("conserved-reaction", rate=3).reference(jets(*values(2)), weighted_place())
    assert found.shape == (2, N) and float(found.abs().max()) < 1e-14


def test_without_weights_it_says_what_it_needs() -> None:
    with pytest.raises(PackError, match=r"conserved-reaction is non-local: it needs .* weights"):
        block("conserved-reaction", rate="u").reference(jets(*values()), place())


@pytest.mark.parametrize("params", [{}, {"rate": "x*u"}, {"rate": "u", "of": "q"}, {"rate": "u", "weights": "r"}])
def test_bad_parameters_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        block("conserved-reaction", **params)


def problem(**field: Any) -> dict[str, Any]:
    return {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 10},
        "fields": {"u": {"boundary": [{"kind": "free"}], **field}},
        "time": {"end": 0.5, "step": 0.01},
    }


def test_linear_growth_about_a_mean_that_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """u_t = 2(u − mean u): what differs from the mean 0.3 grows like e^{2t}; xy has none on a centred disk."""
    monkeypatch.setenv("GLEG_CACHE", "off")
    run = solve(problem(exact="0.3 + x*y*exp(2*t)", equation=[{"block": "conserved-reaction", "rate": "2*u"}]))
    assert run.metrics["relative_l2"]["max"] < 5e-6
    mass = np.array(run.metrics["fields"]["u"]["invariants"]["mass"])
    assert mass == pytest.approx(0.3 * np.pi * 0.36, abs=1e-6)  # the initial state is projected
    assert np.abs(mass - mass[0]).max() < 1e-14


def test_manufactured_forcing_of_a_non_local_mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLEG_CACHE", "off")
    equation = [{"block": "conserved-reaction", "rate": "sin(3*u)"}]
    run = solve(problem(exact="cos(t + x)*(1 + y/2)", forcing="manufactured", equation=equation))
    assert run.metrics["relative_l2"]["max"] < 1e-6
