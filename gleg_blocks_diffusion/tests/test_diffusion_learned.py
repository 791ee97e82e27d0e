"""The learned diffusion: one set of weights for every cutoff and box, structure for any weights, dimensions, its card."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from diffusion_functions import Waves, block
from torch import Tensor

from gleg_blocks_diffusion.learned import LearnedDiffusion
from gleg_blocks_diffusion.pack import gleg_blocks
from gleg_blocks_diffusion.params import DiffusionParams, NonlinearDiffusionParams
from gleg_core.contracts.basis import Basis, Frame, Site
from gleg_core.contracts.block import Binding
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError
from gleg_core.registry import default_registry
from gleg_core.weights.card import read_card
from gleg_core.weights.guard import OutsideCertifiedRange
from gleg_core.weights.load import card_path, fingerprint, locate

FRAMES = {"[−1, 1]²": (1.0, 0.0), "turned": (1.0, 0.7), "in metres": (3700.0, 0.0), "small and turned": (0.013, 2.1)}


def fourier(K: int, half_width: float = 1.0, angle: float = 0.0) -> Basis:
    c, s = math.cos(angle), math.sin(angle)
    frame = Frame(np.array([0.3, -0.1]) * half_width, np.full(2, half_width), np.array([[c, -s], [s, c]]))
    registry = default_registry()
    component = registry.find("basis", "fourier")
    return registry.factory(component)(registry.params(component)(K=K), Site(frame))


def learned(dim: int = 2) -> LearnedDiffusion:
    found = block("diffusion", dim)
    assert isinstance(found, LearnedDiffusion)
    return found


def untrained(seed: int, dim: int = 2) -> LearnedDiffusion:
    torch.manual_seed(seed)
    return LearnedDiffusion.untrained(DiffusionParams(), Binding("u", ("u",), dim))


# --- accuracy: the same weights at every resolution -----------------------------------------------------------------


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("K", [8, 22, 45])
def test_every_single_mode_at_every_cutoff_and_box(K: int, frame: str) -> None:
    """All wavevectors of the basis, so all directions: −c(κ) = −|κ|² to 1e-10 (measured 2e-14), constants to zero."""
    basis = fourier(K, *FRAMES[frame])
    assert basis.wavevectors is not None
    response = learned().ambient(basis, "u")(torch.ones(basis.size, dtype=torch.float64))
    exact = -(basis.wavevectors**2).sum(dim=1)
    assert float(response[0]) == 0.0
    assert float((response[1:] / exact[1:] - 1).abs().max()) < 1e-10


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("K", [8, 22, 45])
def test_random_states_at_random_points(K: int, frame: str) -> None:
    """Held-out states in space: ‖L_θ(u) − Δu‖ ≤ 1e-10 ‖Δu‖ (measured 1e-14)."""
    basis = fourier(K, *FRAMES[frame])
    random = torch.Generator().manual_seed(K)
    x = FRAMES[frame][0] * torch.rand(50, 2, dtype=torch.float64, generator=random)
    a = torch.randn(3, basis.size, dtype=torch.float64, generator=random)
    u = Jet(lambda alpha: basis.evaluate(a, x, alpha), 2)
    mechanism, at = learned(), Location(x)
    exact = mechanism.reference({"u": u}, at)
    assert float((mechanism.response({"u": u}, at) - exact).norm()) < 1e-10 * float(exact.norm())


def test_the_card_states_what_was_measured() -> None:
    card = read_card(card_path(locate(LearnedDiffusion.weights)), "diffusion")
    assert card.held_out < 1e-10 and card.wavenumber == pytest.approx(45)
    assert max(b.error for b in (*card.by_amplitude, *card.by_wavenumber)) < 1e-10
    (entry,) = (e for e in gleg_blocks() if e.name == "diffusion")
    assert entry.capabilities["weights"] == LearnedDiffusion.weights


def test_curves_for_pictures() -> None:
    for dim, count in ((1, 1), (2, 3)):
        curves = learned(dim).card_curves()
        assert len(curves) == count
        for x, found, exact in curves.values():
            assert x.shape == found.shape == exact.shape
            assert np.abs(found - exact).max() < 1e-10 * exact.max()


# --- structure by parametrisation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_untrained_weights_dissipate_on_the_box(seed: int) -> None:
    """c(κ) is a sum of squares: no mode grows, constants stay, cosine and sine of a pair are treated alike."""
    basis, mechanism = fourier(9), untrained(seed)
    with torch.no_grad():
        F = mechanism.ambient(basis, "u")(torch.eye(basis.size, dtype=torch.float64))
    assert torch.equal(F, torch.diag(F.diagonal())), "symmetric"
    assert bool((F.diagonal() <= 0).all()) and float(F[0, 0]) == 0.0
    cosines, sines = F.diagonal()[1:].chunk(2)
    assert torch.equal(cosines, sines)
    a = torch.randn(4, basis.size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    assert bool(((a * (a @ F)).sum(dim=-1) < 0).all())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dim", [1, 2])
def test_untrained_weights_have_a_symmetric_dissipative_weak_form(seed: int, dim: int) -> None:
    """Σ_α ∂^αv F_α(u) at every point, for an energy with first and second derivatives."""
    mechanism, waves = untrained(seed, dim), Waves(dim)
    assert mechanism.traits.order == 4
    x = torch.rand(40, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    u, v = waves.jet(waves.amplitudes(5), x), waves.jet(waves.amplitudes(5), x)

    def form(test: Jet, of: Jet) -> Tensor:
        fluxes = mechanism.weak({"u": of}, Location(x))
        return torch.stack([test.d(alpha) * flux for alpha, flux in fluxes.items()]).sum(dim=0).detach()

    scale = float(form(u, u).abs().max())
    assert float((form(u, v) - form(v, u)).abs().max()) < 1e-12 * scale
    assert float(form(u, u).max()) < 1e-12 * scale


def test_the_weak_form_is_the_gradient_of_the_energy_symbol() -> None:
    """Three views of the same weights agree for untrained weights: ambient map, symbol, response in space."""
    basis, mechanism = fourier(5), untrained(3)
    a = torch.randn(basis.size, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    x = torch.rand(30, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    u = Jet(lambda alpha: basis.evaluate(a, x, alpha), 2)
    with torch.no_grad():
        ambient = basis.evaluate(mechanism.ambient(basis, "u")(a), x)
        response = mechanism.response({"u": u}, Location(x))
        symbol = sum(s * u.d(alpha) for alpha, s in mechanism.symbol().items())
    assert isinstance(symbol, Tensor)
    assert float((ambient - response).norm()) < 1e-12 * float(ambient.norm())
    assert float((symbol - response).norm()) < 1e-12 * float(response.norm())


def test_frozen_and_unchanged_by_use() -> None:
    mechanism, waves = learned(), Waves(2, size=3)
    before = fingerprint(mechanism.module)
    x = torch.rand(7, 2, dtype=torch.float64)
    a = waves.amplitudes().requires_grad_(True)
    fluxes = mechanism.weak({"u": waves.jet(a, x)}, Location(x))
    torch.stack([*fluxes.values()]).square().sum().backward()
    mechanism.ambient(fourier(4), "u")
    assert a.grad is not None and bool(a.grad.any())
    assert fingerprint(mechanism.module) == before and not mechanism.trainable


# --- where it may be used -------------------------------------------------------------------------------------------


def test_one_dimension_uses_the_same_weights() -> None:
    mechanism, waves = learned(1), Waves(1)
    x = torch.rand(20, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(8))
    u = waves.jet(waves.amplitudes(4), x)
    exact = mechanism.reference({"u": u}, Location(x))
    assert float((mechanism.response({"u": u}, Location(x)) - exact).norm()) < 1e-12 * float(exact.norm())


def test_three_dimensions_are_refused_with_the_way_out() -> None:
    with pytest.raises(PackError, match="trained in up to 2 dimensions; write twin: analytic"):
        block("diffusion", 3)
    assert block("diffusion", 3, twin="analytic").traits.order == 2


def test_a_wavenumber_beyond_the_card_is_said_once() -> None:
    mechanism = learned()
    mechanism.admit(fourier(45))
    with pytest.warns(
        OutsideCertifiedRange, match=r"\|k\| on .* = 46 is outside its certified range, up to 45;"
    ) as said:
        mechanism.admit(fourier(46))
        mechanism.admit(fourier(47))
    assert len(said) == 1


# --- nonlinear diffusion --------------------------------------------------------------------------------------------


def test_a_diffusivity_formula_against_a_learned_series() -> None:
    """The two classes share their weak and strong forms: equal where the series is the formula."""
    from gleg_blocks_diffusion.nonlinear import LearnedDiffusivity

    params = NonlinearDiffusionParams(degree=1, range=(-2.0, 2.0))
    series = LearnedDiffusivity.untrained(params, Binding("u", ("u",), 2))
    with torch.no_grad():
        series.module.weights.copy_(torch.tensor([-1.0, 0.6], dtype=torch.float64))  # type: ignore[operator, union-attr]
    formula = block("nonlinear-diffusion", diffusivity="exp(-1 + 0.3*u)")
    waves = Waves(2)
    x = torch.rand(25, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    normal = torch.nn.functional.normalize(torch.randn(25, 2, dtype=torch.float64))
    u, at = waves.jet(0.3 * waves.amplitudes(3), x), Location(x, normal=normal)
    assert torch.allclose(series.response({"u": u}, at), formula.reference({"u": u}, at), rtol=1e-12, atol=1e-12)
    for alpha, flux in formula.weak({"u": u}, at).items():
        assert torch.allclose(series.weak({"u": u}, at)[alpha], flux, rtol=1e-12)
    outer = formula.weak_boundary({"u": u}, at)
    assert outer is not None and torch.allclose(series.weak_boundary({"u": u}, at), outer, rtol=1e-12)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"diffusivity": "1 + x"}, "diffusivity"),
        ({"diffusivity": "1 + u", "weights": "d"}, "exclude each other"),
        ({"range": [1, -1]}, "the lower end must be below"),
        ({"degree": -1}, "degree"),
    ],
)
def test_bad_parameters_of_nonlinear_diffusion_are_refused(params: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        block("nonlinear-diffusion", **params)
