"""What the transport blocks compute: against hand formulas, automatic differentiation and their own weak forms."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from transport_functions import Waves, autograd_jet, block, domain, integral_of_weak_form

from gleg_core.contracts.block import Block
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location


def points(n: int, dim: int) -> Tensor:
    return 2 * torch.rand(n, dim, generator=torch.Generator().manual_seed(5), dtype=torch.float64) - 1


def u_of(x: Tensor) -> Tensor:
    return torch.exp(0.4 * x[:, 0]) * torch.sin(x.sum(dim=1) * 1.7 + 0.2)


def v_of(x: Tensor) -> Tensor:
    return torch.cos(1.3 * x[:, -1]) + 0.5 * x[:, 0] ** 2


def fields_at(x: Tensor) -> dict[str, Jet]:
    return {"u": autograd_jet(u_of, x), "v": autograd_jet(v_of, x)}


# --- signs and values -----------------------------------------------------------------------------------------------


def test_transport_of_a_single_mode() -> None:
    """u = √2 sin πx gives u u_x = π sin 2πx."""
    x = points(50, 1)
    u = Jet(lambda a: math.sqrt(2) * (math.pi ** a[0]) * torch.sin(math.pi * x[:, 0] + a[0] * math.pi / 2), 1)
    response = block("transport", dim=1, direction="x").reference({"u": u}, Location(x))
    assert torch.allclose(response, math.pi * torch.sin(2 * math.pi * x[:, 0]), atol=1e-14)


def test_advection_carries_a_plane_wave() -> None:
    """u = sin(k·x) gives b·∇u = (b·k) cos(k·x), and u(x − bt) solves u_t = −b·∇u."""
    x, k, b = points(50, 2), torch.tensor([2.0, -3.0], dtype=torch.float64), (0.5, 0.25)
    u = autograd_jet(lambda p: torch.sin(p @ k), x)
    response = block("advection", velocity=list(b)).reference({"u": u}, Location(x))
    assert torch.allclose(response, 0.25 * torch.cos(x @ k), atol=1e-14)
    h = 1e-5
    rate = (torch.sin((x - h * x.new_tensor(b)) @ k) - torch.sin((x + h * x.new_tensor(b)) @ k)) / (2 * h)
    assert torch.allclose(rate, -response, atol=1e-9)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_references_against_automatic_differentiation(dim: int) -> None:
    x = points(40, dim)
    at, fields = Location(x, 0.7), fields_at(x)
    grad_u = [fields["u"].d(tuple(int(i == j) for j in range(dim))) for i in range(dim)]
    grad_v = [fields["v"].d(tuple(int(i == j) for j in range(dim))) for i in range(dim)]
    for i, axis in enumerate("xyz"[:dim]):
        found = block("transport", dim, direction=axis).reference(fields, at)
        assert torch.allclose(found, u_of(x) * grad_u[i], atol=1e-14)
        found = block("transport", dim, direction=axis, of="v").reference(fields, at)
        assert torch.allclose(found, v_of(x) * grad_v[i], atol=1e-14)
        found = block("cross-advection", dim, by="v", direction=axis).reference(fields, at)
        assert torch.allclose(found, v_of(x) * grad_u[i], atol=1e-14)
        found = block("cross-advection", dim, by="u", direction=axis, of="v").reference(fields, at)
        assert torch.allclose(found, u_of(x) * grad_v[i], atol=1e-14)
    velocity = ["cos(t)*x", "1 + x*y", "z^2 - t"][:dim]
    b = [math.cos(0.7) * x[:, 0], 1 + x[:, 0] * x[:, min(1, dim - 1)], x[:, -1] ** 2 - 0.7][:dim]
    found = block("advection", dim, velocity=velocity).reference(fields, at)
    assert torch.allclose(found, sum(p * q for p, q in zip(b, grad_u, strict=True)), atol=1e-13)


def test_symbol_of_a_constant_velocity_is_the_operator() -> None:
    x = points(20, 3)
    advection = block("advection", 3, velocity=[1.5, 0, "-2*pi"])
    symbol = advection.symbol()
    u = fields_at(x)["u"]
    assert symbol is not None
    assert torch.allclose(
        sum(s * u.d(alpha) for alpha, s in symbol.items()), advection.reference({"u": u}, Location(x))
    )
    assert block("advection", velocity=["y", 0]).symbol() is None
    assert block("transport", direction="x").symbol() is None


# --- weak forms -----------------------------------------------------------------------------------------------------

WEAK = {
    "u u_x": ("transport", {"direction": "x"}),
    "u u_y": ("transport", {"direction": "y"}),
    "b·∇u, b constant": ("advection", {"velocity": [1.2, -0.4]}),
    "b·∇u, b a rotation": ("advection", {"velocity": ["-y", "x"]}),
    "b·∇u, ∇·b ≠ 0, moving": ("advection", {"velocity": ["sin(2*x+t)", "x*y + cos(3*t)"]}),
    "v u_x": ("cross-advection", {"by": "v", "direction": "x"}),
    "v u_y": ("cross-advection", {"by": "v", "direction": "y"}),
    "∇⊥v·∇u": ("stream-advection", {"stream": "v"}),
    "∇⊥Ψ·∇u, moving": ("stream-advection", {"background": "sin(2*x+t)*cos(y) + x*y"}),
}
SHAPES = {
    "disk": {"radius": 0.6},
    "annulus": {"outer": 0.7, "inner": 0.3},
    "ellipse": {"a": 0.7, "b": 0.4, "angle": 0.5},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", WEAK)
def test_weak_form_equals_pointwise_for_functions_without_boundary_conditions(name: str, shape: str) -> None:
    kind, params = WEAK[name]
    waves = Waves(2, seed=1)
    a_u, a_v, a_test = (waves.amplitudes(3) for _ in range(3))
    weak, pointwise = integral_of_weak_form(
        block(kind, **params),
        domain(shape, **SHAPES[shape]),
        lambda x: {"u": waves.jet(a_u, x), "v": waves.jet(a_v, x)},
        lambda x: waves.jet(a_test, x),
        t=0.3,
    )
    assert weak.shape == (3,)
    assert (weak - pointwise).abs().max() < 1e-12 * pointwise.abs().max()


@pytest.mark.parametrize("kind", ["transport", "advection", "cross-advection"])
def test_weak_form_in_one_dimension(kind: str) -> None:
    params = {
        "transport": {"direction": "x"},
        "advection": {"velocity": ["1 + x^2"]},
        "cross-advection": {"by": "v", "direction": "x"},
    }[kind]
    waves = Waves(1, seed=2)
    a_u, a_v, a_test = (waves.amplitudes() for _ in range(3))
    weak, pointwise = integral_of_weak_form(
        block(kind, 1, **params),
        domain("interval", left=-0.3, right=0.9),
        lambda x: {"u": waves.jet(a_u, x), "v": waves.jet(a_v, x)},
        lambda x: waves.jet(a_test, x),
        t=0.0,
    )
    assert abs(weak - pointwise) < 1e-12 * abs(pointwise)


@pytest.mark.parametrize("velocity", [["-y", "x"], ["-2*y", "2*x"]])
def test_advection_along_the_boundary_is_skew_and_keeps_the_mass(velocity: list[str]) -> None:
    """b·n = 0 on the disk: ⟨v, b·∇u⟩ = −⟨b·∇v, u⟩ for functions that satisfy no condition, and ∫ b·∇u = 0."""
    waves, disk, b = Waves(2, seed=3), domain("disk", radius=0.6), block("advection", velocity=velocity)
    a, c = waves.amplitudes(4), waves.amplitudes(4)
    uv, _ = integral_of_weak_form(b, disk, lambda x: {"u": waves.jet(a, x)}, lambda x: waves.jet(c, x), 0.0)
    vu, _ = integral_of_weak_form(b, disk, lambda x: {"u": waves.jet(c, x)}, lambda x: waves.jet(a, x), 0.0)
    uu, _ = integral_of_weak_form(b, disk, lambda x: {"u": waves.jet(a, x)}, lambda x: waves.jet(a, x), 0.0)
    assert (uv + vu).abs().max() < 1e-13 * uv.abs().max()
    assert uu.abs().max() < 1e-13 * uv.abs().max()
    one = Jet(lambda alpha: torch.ones(()) if sum(alpha) == 0 else torch.zeros(()), 2)
    mass, _ = integral_of_weak_form(b, disk, lambda x: {"u": waves.jet(a, x)}, lambda x: one, 0.0)
    assert mass.abs().max() < 1e-13 * uv.abs().max()


def test_cross_advection_by_a_solenoidal_field_is_skew() -> None:
    """Σ_i ⟨u, a_i ∂_i u⟩ = ½ ∮ (a·n) u² if ∇·a = 0; here a = (−y, x), tangential to the circle."""
    waves, disk = Waves(2, seed=4), domain("disk", radius=0.5)
    a = waves.amplitudes()
    total = torch.zeros((), dtype=torch.float64)
    size = 0.0
    for direction, component in (("x", lambda x: -x[:, 1]), ("y", lambda x: x[:, 0])):
        part, _ = integral_of_weak_form(
            block("cross-advection", by="v", direction=direction),
            disk,
            lambda x, f=component: {"u": waves.jet(a, x), "v": autograd_jet(lambda p: f(p) + 0 * p.sum(dim=1), x)},
            lambda x: waves.jet(a, x),
            0.0,
        )
        total, size = total + part, size + float(part.abs())
    assert abs(total) < 1e-12 * size


# --- homogeneity, traits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WEAK)
def test_homogeneous_of_the_declared_degree_and_zero_at_zero(name: str) -> None:
    kind, params = WEAK[name]
    mechanism = block(kind, **params)
    waves, x = Waves(2), points(30, 2)
    a, c = waves.amplitudes(), waves.amplitudes()

    def response(scale: float) -> Tensor:
        fields = {"u": waves.jet(scale * a, x), "v": waves.jet(scale * c, x)}
        return mechanism.reference(fields, Location(x, 0.2))

    degree = mechanism.traits.degree
    assert degree is not None
    assert torch.allclose(response(3.0), 3.0**degree * response(1.0), rtol=1e-12)
    assert not response(0.0).any()


def test_reflection_and_exchange_of_axes() -> None:
    """x → −x changes the sign of u u_x; exchanging x and y exchanges the two directions."""
    waves, x = Waves(2), points(30, 2)
    a = waves.amplitudes()
    along_x, along_y = block("transport", direction="x"), block("transport", direction="y")

    def transported(mechanism: Block, map_of: Tensor) -> Tensor:
        u = autograd_jet(lambda p: a @ waves.table(p @ map_of.T, (0, 0)), x @ map_of)
        return mechanism.reference({"u": u}, Location(x @ map_of))

    plain = transported(along_x, torch.eye(2, dtype=torch.float64))
    flip = torch.diag(torch.tensor([-1.0, 1.0], dtype=torch.float64))
    swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    assert torch.allclose(transported(along_x, flip), -plain, atol=1e-12)
    assert torch.allclose(transported(along_y, swap), plain, atol=1e-12)


def test_traits() -> None:
    transport = block("transport", direction="x")
    assert (transport.traits.structure, transport.traits.order, transport.traits.degree) == ("H", 1, 2)
    assert transport.traits.modes == ("weak", "pointwise") and transport.acts_on is None
    assert transport.traits.invariants == ("mass", "energy")
    rotation = block("advection", velocity=["-y", "x"], of="v")
    assert (rotation.traits.structure, rotation.traits.degree, rotation.acts_on) == ("H", 1, "v")
    assert block("advection", velocity=["x", "-y"]).traits.invariants == ("mass", "energy")
    compressing = block("advection", velocity=["x", "y"])
    assert (compressing.traits.structure, compressing.traits.invariants) == ("R", ())
    assert block("advection", velocity=["cos(t)", 0]).traits.time_dependent
    assert not rotation.traits.time_dependent
    cross = block("cross-advection", by="v", direction="y")
    assert (cross.traits.structure, cross.traits.order, cross.traits.degree) == ("R", 1, 2)
