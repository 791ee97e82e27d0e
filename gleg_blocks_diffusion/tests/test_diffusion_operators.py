"""What the diffusion blocks compute: against automatic differentiation, their weak forms, their symbol, their ambient map."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from diffusion_functions import Waves, autograd_jet, block, domain, integral_of_weak_form
from torch import Tensor

from gleg import default_registry
from gleg_core.contracts.basis import Basis, Frame, Site
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError

SHAPES = {
    "disk": {"radius": 0.6},
    "annulus": {"outer": 0.7, "inner": 0.3},
    "polar": {"radius": "0.6 + 0.1*cos(5*theta)"},
}
BLOCKS = {"Δu": ("diffusion", {}), "∇·(D∇u)": ("variable-diffusion", {"diffusivity": "1 + 0.5*x + y^2"})}


def points(n: int, dim: int) -> Tensor:
    return 2 * torch.rand(n, dim, generator=torch.Generator().manual_seed(5), dtype=torch.float64) - 1


def u_of(x: Tensor) -> Tensor:
    return torch.exp(0.4 * x[:, 0]) * torch.sin(x.sum(dim=1) * 1.7 + 0.2)


# --- values ---------------------------------------------------------------------------------------------------------


def test_laplacian_of_a_plane_wave() -> None:
    """Δ sin(k·x) = −|k|² sin(k·x)."""
    x, k = points(30, 2), torch.tensor([2.0, -3.0], dtype=torch.float64)
    u = autograd_jet(lambda p: torch.sin(p @ k), x)
    assert torch.allclose(block("diffusion").reference({"u": u}, Location(x)), -13 * torch.sin(x @ k), atol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_references_are_divergences_of_fluxes(dim: int) -> None:
    """∇·(D∇u) with the outer derivative taken by automatic differentiation of D∇u itself; D = 1 for Δu."""
    x = points(30, dim)

    def divergence(D: str) -> Tensor:
        at = x.clone().requires_grad_(True)
        (slope,) = torch.autograd.grad(u_of(at).sum(), at, create_graph=True)
        factor = torch.ones_like(at[:, 0]) if D == "1" else 1 + at[:, 0] ** 2 + torch.sin(at[:, -1])
        flux = factor[:, None] * slope
        return sum(torch.autograd.grad(flux[:, i].sum(), at, retain_graph=True)[0][:, i] for i in range(dim)).detach()  # type: ignore[union-attr]

    fields = {"u": autograd_jet(u_of, x)}
    assert torch.allclose(
        block("diffusion", dim, twin="analytic").reference(fields, Location(x)), divergence("1"), atol=1e-12
    )
    D = "1 + x^2 + sin({})".format("xyz"[dim - 1])
    found = block("variable-diffusion", dim, diffusivity=D).reference(fields, Location(x))
    assert torch.allclose(found, divergence(D), atol=1e-12)


@pytest.mark.parametrize("name", BLOCKS)
def test_another_field_can_diffuse(name: str) -> None:
    kind, params = BLOCKS[name]
    x = points(20, 2)
    u, v = autograd_jet(u_of, x), autograd_jet(lambda p: torch.cos(2 * p[:, 0] + p[:, 1]), x)
    cross = block(kind, **params, of="v")
    assert cross.acts_on == "v" and block(kind, **params).acts_on == "u"
    own = block(kind, **params).reference({"u": v, "v": u}, Location(x))
    assert torch.equal(cross.reference({"u": u, "v": v}, Location(x)), own)


def test_variable_diffusion_with_a_constant_is_a_multiple_of_diffusion() -> None:
    x = points(20, 2)
    fields = {"u": autograd_jet(u_of, x)}
    scaled = block("variable-diffusion", diffusivity=0.25).reference(fields, Location(x))
    assert torch.allclose(scaled, 0.25 * block("diffusion").reference(fields, Location(x)), rtol=1e-14)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_symbol_is_the_operator(dim: int) -> None:
    x = points(20, dim)
    u, diffusion = autograd_jet(u_of, x), block("diffusion", dim, twin="analytic")
    symbol = diffusion.symbol()
    assert symbol is not None
    assert torch.allclose(
        sum(s * u.d(alpha) for alpha, s in symbol.items()), diffusion.reference({"u": u}, Location(x)), rtol=1e-14
    )
    assert block("variable-diffusion", dim, diffusivity=1).symbol() is None


# --- weak forms -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", BLOCKS)
def test_green_identity_for_functions_that_satisfy_nothing(name: str, shape: str) -> None:
    kind, params = BLOCKS[name]
    waves = Waves(2, seed=1)
    a, c = waves.amplitudes(3), waves.amplitudes(3)
    weak, pointwise = integral_of_weak_form(
        block(kind, **params),
        domain(shape, **SHAPES[shape]),
        lambda x: {"u": waves.jet(a, x)},
        lambda x: waves.jet(c, x),
        t=0.0,
    )
    assert (weak - pointwise).abs().max() < 1e-11 * pointwise.abs().max()


@pytest.mark.parametrize("name", BLOCKS)
def test_green_identity_on_an_interval(name: str) -> None:
    kind = BLOCKS[name][0]
    params = {} if kind == "diffusion" else {"diffusivity": "2 + sin(3*x)"}
    waves = Waves(1, seed=2)
    a, c = waves.amplitudes(), waves.amplitudes()
    weak, pointwise = integral_of_weak_form(
        block(kind, 1, **params),
        domain("interval", left=-0.4, right=0.7),
        lambda x: {"u": waves.jet(a, x)},
        lambda x: waves.jet(c, x),
        t=0.0,
    )
    assert abs(weak - pointwise) < 1e-12 * abs(pointwise)


@pytest.mark.parametrize("name", BLOCKS)
def test_the_weak_form_is_symmetric_and_dissipative(name: str) -> None:
    """Σ_α ∂^αv F_α(u) is symmetric in u and v and ≤ 0 for v = u, at every single point."""
    kind, params = BLOCKS[name]
    mechanism, waves, x = block(kind, **params), Waves(2), points(40, 2)
    u, v = waves.jet(waves.amplitudes(5), x), waves.jet(waves.amplitudes(5), x)

    def form(test: Jet, of: Jet) -> Tensor:
        return sum((test.d(k) * F for k, F in mechanism.weak({"u": of}, Location(x)).items()), torch.zeros(()))

    assert torch.allclose(form(v, u), form(u, v), rtol=1e-12, atol=1e-12)
    assert bool((form(u, u) <= 0).all())


# --- on the box -----------------------------------------------------------------------------------------------------


def fourier(K: int) -> Basis:
    c, s = math.cos(0.4), math.sin(0.4)
    frame = Frame(np.array([0.2, -0.1]), np.full(2, 0.9), np.array([[c, -s], [s, c]]))
    registry = default_registry()
    component = registry.find("basis", "fourier")
    return registry.factory(component)(registry.params(component)(K=K), Site(frame))


@pytest.mark.parametrize("batch", [(), (3,), (2, 2), (0,)])
def test_ambient_map_equals_pointwise_values(batch: tuple[int, ...]) -> None:
    basis, diffusion, x = fourier(5), block("diffusion"), points(30, 2)
    a = torch.randn(*batch, basis.size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mapped = diffusion.ambient(basis, "u")(a)
    u = Jet(lambda alpha: basis.evaluate(a, x, alpha), 2)
    assert mapped.shape == a.shape
    assert torch.allclose(basis.evaluate(mapped, x), diffusion.reference({"u": u}, Location(x)), rtol=1e-10, atol=1e-9)


def test_ambient_map_loses_energy_mode_by_mode_and_keeps_constants() -> None:
    basis = fourier(4)
    response = block("diffusion").ambient(basis, "u")(torch.eye(basis.size, dtype=torch.float64))
    assert torch.equal(response, torch.diag(response.diagonal()))
    assert float(response[0, 0]) == 0.0 and bool((response.diagonal()[1:] < 0).all())


def test_ambient_map_scales_with_the_box() -> None:
    """A box twice as large divides −|κ|² by four."""
    registry = default_registry()
    component = registry.find("basis", "fourier")
    small, large = (
        registry.factory(component)(registry.params(component)(K=3), Site(Frame(np.zeros(2), np.full(2, h), np.eye(2))))
        for h in (1.0, 2.0)
    )
    ones = torch.ones(small.size, dtype=torch.float64)
    diffusion = block("diffusion")
    assert torch.allclose(diffusion.ambient(large, "u")(ones), diffusion.ambient(small, "u")(ones) / 4, rtol=1e-14)
    assert float(diffusion.ambient(small, "u")(ones)[1]) == pytest.approx(-(math.pi**2))


def test_ambient_needs_plane_waves() -> None:
    basis = fourier(2)
    basis.wavevectors = None
    with pytest.raises(PackError, match="needs a basis of plane waves"):
        block("diffusion").ambient(basis, "u")
