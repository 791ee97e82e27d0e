"""The learned transport: accuracy over its certified range, structure for any weights, dimensions, its card."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from transport_functions import Waves, block

from gleg_blocks_transport.learned import LearnedTransport
from gleg_blocks_transport.pack import gleg_blocks
from gleg_blocks_transport.params import TransportParams
from gleg_core.contracts.basis import Frame, Site
from gleg_core.contracts.block import Binding
from gleg_core.contracts.jet import Jet, unit
from gleg_core.contracts.location import Location
from gleg_core.registry import default_registry
from gleg_core.weights.card import read_card
from gleg_core.weights.guard import OutsideCertifiedRange
from gleg_core.weights.load import card_path, fingerprint, locate

CARD = read_card(card_path(locate(LearnedTransport.weights)), "transport")


def learned(direction: str = "x", dim: int = 2) -> LearnedTransport:
    found = block("transport", dim, direction=direction)
    assert isinstance(found, LearnedTransport)
    return found


def untrained(seed: int, direction: str = "x") -> LearnedTransport:
    torch.manual_seed(seed)
    return LearnedTransport.untrained(TransportParams(direction=direction), Binding("u", ("u",), 2))


def periodic(K: int, degree: int, seed: int) -> tuple[Jet, Tensor]:
    """A random state with |k| ≤ K on a grid of [−1, 1)² that integrates products of ``degree`` such functions exactly."""
    registry = default_registry()
    component = registry.find("basis", "fourier")
    basis = registry.factory(component)(
        registry.params(component)(K=K), Site(Frame(np.zeros(2), np.ones(2), np.eye(2)))
    )
    n = degree * K + 1
    axis = -1 + 2 * torch.arange(n, dtype=torch.float64) / n
    x = torch.cartesian_prod(axis, axis)
    a = torch.randn(3, basis.size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    a = a / basis.evaluate(a, x).abs().amax(dim=1, keepdim=True)
    return Jet(lambda alpha: basis.evaluate(a, x, alpha), 2), x


# --- accuracy -------------------------------------------------------------------------------------------------------


def test_slope_of_the_density_over_the_certified_range() -> None:
    """h′(u) = u²/2 to 1e-8, absolutely and, away from zero, relatively (measured 4e-15 and 3e-16)."""
    u = torch.linspace(-CARD.amplitude, CARD.amplitude, 4001, dtype=torch.float64)
    found, exact = learned().slope(u), u**2 / 2
    assert float((found - exact).abs().max()) < 1e-8
    away = u.abs() > 1e-3
    assert float((found / exact - 1)[away].abs().max()) < 1e-8


def test_the_gauge_is_exact() -> None:
    """h(0) = h′(0) = 0 for trained and for random weights: a constant in h′ would push on the boundary."""
    zero = torch.zeros(1, dtype=torch.float64)
    for mechanism in (learned(), *map(untrained, range(4))):
        assert mechanism.module(zero).tolist() == [0.0]
        assert mechanism.slope(zero).tolist() == [0.0]


@pytest.mark.parametrize("direction", ["x", "y"])
def test_random_states(direction: str) -> None:
    mechanism, waves = learned(direction), Waves(2)
    x = torch.rand(60, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    u = waves.jet(0.4 * waves.amplitudes(5), x)
    exact = mechanism.reference({"u": u}, Location(x))
    assert float((mechanism.response({"u": u}, Location(x)) - exact).norm()) < 1e-10 * float(exact.norm())


def test_the_card_states_what_was_measured() -> None:
    assert CARD.held_out < 1e-10 and CARD.amplitude == 4.0
    assert max(b.error for b in (*CARD.by_amplitude, *CARD.by_wavenumber)) < 1e-10
    (entry,) = (e for e in gleg_blocks() if e.name == "transport")
    assert entry.capabilities["weights"] == LearnedTransport.weights


def test_curves_for_pictures() -> None:
    ((x, found, exact),) = learned().card_curves().values()
    assert x[0] == -4.0 and x[-1] == 4.0
    assert np.abs(found - exact).max() < 1e-8


# --- structure by parametrisation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["x", "y"])
@pytest.mark.parametrize("seed", range(4))
def test_untrained_weights_keep_energy_mass_and_hamiltonian_on_the_box(seed: int, direction: str) -> None:
    """⟨u, ∂_i h′(u)⟩ = ⟨1, ∂_i h′(u)⟩ = ⟨h′(u), ∂_i h′(u)⟩ = 0: h′ has degree 7, so 15 factors u at most, integrated exactly."""
    u, x = periodic(2, 15, seed)
    mechanism = untrained(seed, direction)
    L = mechanism.response({"u": u}, Location(x)).detach()
    slope = mechanism.slope(u.value).detach()
    for weight in (torch.ones_like(slope), u.value, slope):
        product = (weight * L).sum(dim=-1).abs() / (weight.norm(dim=-1) * L.norm(dim=-1))
        assert float(product.max()) < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_untrained_weights_conserve_in_the_weak_form(seed: int) -> None:
    """−∫ ∂_i u h′(u) = 0 and −∫ ∂_i v h′(u) = ∫ v ∂_i h′(u): the weak form is the response, integrated by parts."""
    u, x = periodic(2, 9, seed)
    v, _ = periodic(2, 9, seed + 50)
    mechanism, axis = untrained(seed, "y"), unit(2, 1)
    flux = mechanism.weak({"u": u}, Location(x))[axis].detach()
    L = mechanism.response({"u": u}, Location(x)).detach()
    scale = flux.norm(dim=-1) * v.d(axis).norm(dim=-1)
    assert float(((u.d(axis) * flux).sum(dim=-1).abs() / scale).max()) < 1e-12
    assert float((((v.d(axis) * flux) - v.value * L).sum(dim=-1).abs() / scale).max()) < 1e-12


def test_one_density_serves_every_direction_and_dimension() -> None:
    marks = {fingerprint(learned(axis, dim).module) for dim, axis in ((1, "x"), (2, "y"), (3, "z"))}
    assert len(marks) == 1


@pytest.mark.parametrize(("dim", "direction"), [(1, "x"), (3, "z")])
def test_other_dimensions(dim: int, direction: str) -> None:
    mechanism, waves = learned(direction, dim), Waves(dim)
    x = torch.rand(20, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(8))
    u = waves.jet(0.3 * waves.amplitudes(4), x)
    exact = mechanism.reference({"u": u}, Location(x))
    assert float((mechanism.response({"u": u}, Location(x)) - exact).norm()) < 1e-12 * float(exact.norm())


def test_frozen_and_unchanged_by_use() -> None:
    mechanism, waves = learned(), Waves(2, size=3)
    before = fingerprint(mechanism.module)
    x = torch.rand(7, 2, dtype=torch.float64)
    a = (0.1 * waves.amplitudes()).requires_grad_(True)
    mechanism.weak({"u": waves.jet(a, x)}, Location(x))[unit(2, 0)].square().sum().backward()
    assert a.grad is not None and bool(a.grad.any())
    assert fingerprint(mechanism.module) == before and not mechanism.trainable


@pytest.mark.parametrize("realisation", ["weak", "pointwise"])
def test_an_amplitude_beyond_the_card_is_said_once(realisation: str) -> None:
    mechanism, at = learned(), Location(torch.zeros(2, 2, dtype=torch.float64))

    def meet(*values: float) -> None:
        u = torch.tensor(values, dtype=torch.float64)
        getattr(mechanism, realisation)({"u": Jet(lambda alpha: u, 2)}, at)

    meet(4.0, -4.0)
    with pytest.warns(OutsideCertifiedRange, match=r"max\|u\| = 5.25 is outside its certified range, up to 4;") as said:
        meet(1.0, -5.25)
        meet(7.0, 0.0)
    assert len(said) == 1
