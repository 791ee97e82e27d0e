"""Mechanisms for the tests of the conformance kit: healthy ones, and ones that are wrong in one way as their authors might be."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gleg_core.contracts.basis import Basis
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.contracts.location import Location
from gleg_core.pack import CONTRACT
from gleg_core.spec.params import PackParams
from gleg_core.weights.card import Bin, Card
from gleg_core.weights.load import encode, load_frozen


class NoParams(PackParams):
    """No keys."""


class Mechanism(Block):
    """A block of the field of its equation."""

    def __init__(self, params: NoParams, binding: Binding):
        self.field, self.dim = binding.target, binding.dim

    @property
    def acts_on(self) -> str | None:
        return self.field


class Heat(Mechanism):
    """Δu; it conserves mass where ∂_n u = 0."""

    traits = Traits("E", order=2, degree=1, modes=("weak", "pointwise", "ambient"), invariants=("mass",))

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return fields[self.field].laplacian

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        return {unit(self.dim, i): -g for i, g in enumerate(fields[self.field].grad)}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor | None:
        return fields[self.field].along(at.normal)

    def ambient(self, basis: Basis, field: str) -> Callable[[Tensor], Tensor]:
        return lambda a: -(basis.wavevectors**2).sum(dim=1) * a

    def symbol(self) -> Mapping[MultiIndex, float] | None:
        return {unit(self.dim, i, 2): 1.0 for i in range(self.dim)}


class Burgers(Mechanism):
    """u ∂u/∂x."""

    traits = Traits("H", order=1, degree=2, modes=("weak", "pointwise"), invariants=("mass", "energy"))

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return fields[self.field].value * fields[self.field].grad[0]

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        return {unit(self.dim, 0): -(fields[self.field].value ** 2) / 2}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        return at.normal[:, 0] * fields[self.field].value ** 2 / 2


class Cubic(Mechanism):
    """−u³, the gradient flow of ∫ u⁴/4."""

    traits = Traits("E", order=0, degree=3)

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return -(fields[self.field].value ** 3)


class Tide(Mechanism):
    """cos(t) x, whatever the fields are."""

    traits = Traits("R", order=0, degree=0, time_dependent=True)

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return torch.cos(torch.as_tensor(at.t, dtype=at.x.dtype)) * at.x[:, 0]


class Cooling(Mechanism):
    """Δu − u³, of two parts."""

    traits = Traits("E", order=2, degree=3, modes=("weak", "pointwise"))

    def __init__(self, params: NoParams, binding: Binding):
        super().__init__(params, binding)
        self.heat, self.cubic = Heat(params, binding), Cubic(params, binding)

    @property
    def parts(self) -> tuple[Block, ...]:
        return self.heat, self.cubic

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return self.heat.reference(fields, at) + self.cubic.reference(fields, at)

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        return {**self.heat.weak(fields, at), (0,) * self.dim: self.cubic.reference(fields, at)}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor | None:
        return self.heat.weak_boundary(fields, at)


# wrong in their interface


class Unfinished(Mechanism):
    """Declares a weak form that is not written."""

    traits = Traits("E", order=2, degree=1, modes=("weak", "pointwise"))

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return fields[self.field].laplacian


class PointsFirst(Cubic):
    def reference(self, fields: Fields, at: Location) -> Tensor:
        return super().reference(fields, at).T


class Anonymous(Heat):
    traits = Traits("E", order=2, degree=1, modes=("weak", "pointwise"))
    acts_on = None


class Normalised(Cubic):
    """Divides by the largest value of the whole batch."""

    def reference(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self.field].value
        return -(u**3) / u.abs().max() if u.numel() else u


class OneTime(Tide):
    """Takes the time for a number."""

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return math.cos(at.t) * at.x[:, 0]


class Rounded(Cubic):
    """Single precision inside."""

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return -(fields[self.field].value.float() ** 3).double()


class Promoted(Cubic):
    """A coefficient that is always double."""

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return torch.tensor([-1.0], dtype=torch.float64) * fields[self.field].value ** 3


class InPlace(Cubic):
    def reference(self, fields: Fields, at: Location) -> Tensor:
        return -fields[self.field].value.pow_(3)


class Remembering(Cubic):
    """Smooths over successive evaluations."""

    last: Tensor | float = 0.0

    def reference(self, fields: Fields, at: Location) -> Tensor:
        now = super().reference(fields, at)
        mean, self.last = (now + self.last) / 2, now.detach().mean()
        return mean


class Noisy(Cubic):
    """Draws a perturbation that is then not used."""

    def reference(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self.field].value
        return -(u**3) + 0.0 * torch.rand_like(u)


class Unfrozen(Cubic):
    def __init__(self, params: NoParams, binding: Binding):
        super().__init__(params, binding)
        self.rate = torch.nn.Parameter(torch.ones((), dtype=torch.float64))

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return -self.rate * fields[self.field].value ** 3


class Cleaned(Cubic):
    def reference(self, fields: Fields, at: Location) -> Tensor:
        return -(torch.nan_to_num(fields[self.field].value) ** 3)


# wrong in what they declare


class OrderTooLow(Heat):
    traits = Traits("E", order=1, degree=1, modes=("weak", "pointwise"))


class OrderTooHigh(Cubic):
    traits = Traits("E", order=2, degree=3)


class DegreeTooLow(Cubic):
    traits = Traits("E", order=0, degree=2)


class DegreeTooHigh(Cubic):
    traits = Traits("E", order=0, degree=4)


class Affine(Mechanism):
    """1 − u, called linear."""

    traits = Traits("R", order=0, degree=1)

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return 1 - fields[self.field].value


class NeedsAField(Tide):
    """Takes the shape of its answer from a field."""

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return (
            torch.cos(torch.as_tensor(at.t, dtype=at.x.dtype)) * at.x[:, 0] * torch.ones_like(fields[self.field].value)
        )


class SecretlyMoving(Cubic):
    def reference(self, fields: Fields, at: Location) -> Tensor:
        return -(fields[self.field].value ** 3) * (1 + at.t)


class NeverMoving(Cubic):
    traits = Traits("E", order=0, degree=3, time_dependent=True)


class ForgottenPart(Cooling):
    @property
    def parts(self) -> tuple[Block, ...]:
        return (self.heat,)


class HalfASymbol(Heat):
    """Forgets all directions but the first."""

    def symbol(self) -> Mapping[MultiIndex, float]:
        return {unit(self.dim, 0, 2): 1.0}


class AntiDiffusion(Heat):
    """−Δu: a lost sign, everywhere consistently."""

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return -super().reference(fields, at)

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        return {alpha: -values for alpha, values in super().weak(fields, at).items()}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        return -fields[self.field].along(at.normal)

    def ambient(self, basis: Basis, field: str) -> Callable[[Tensor], Tensor]:
        return lambda a: (basis.wavevectors**2).sum(dim=1) * a

    def symbol(self) -> Mapping[MultiIndex, float]:
        return {unit(self.dim, i, 2): -1.0 for i in range(self.dim)}


class SecretlyAgeing(Heat):
    """(1 + t) Δu, said not to depend on time."""

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        return {alpha: (1 + at.t) * values for alpha, values in super().weak(fields, at).items()}


class OnlyPointwise(Heat):
    traits = Traits("E", order=2, degree=1)


class Plate(Mechanism):
    """−Δ²u."""

    traits = Traits("E", order=4, degree=1, modes=("weak", "pointwise"), weak_traces=(0, 1))

    def reference(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self.field]
        return -(u.d((4, 0)) + 2 * u.d((2, 2)) + u.d((0, 4)))

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        return {unit(self.dim, i, 2): -fields[self.field].laplacian for i in range(self.dim)}


class UnitBox(Heat):
    """An ambient map for wavenumbers on [−1, 1]^d, used on any box."""

    def ambient(self, basis: Basis, field: str) -> Callable[[Tensor], Tensor]:
        k = basis.wavevectors * float(basis.frame.half_widths[0])
        return lambda a: -(k**2).sum(dim=1) * a


class Spreading(Mechanism):
    """x ∂u/∂x, which conserves neither mass nor energy."""

    traits = Traits("H", order=1, degree=1, modes=("weak", "pointwise"), invariants=("mass", "energy"))

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return at.x[:, 0] * fields[self.field].grad[0]

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        return {(0,) * self.dim: self.reference(fields, at)}


# wrong derivatives


class _HalfTheSlope(torch.autograd.Function):
    """u³ with the gradient u²: the factor 3 is lost."""

    @staticmethod
    def forward(ctx: Any, u: Tensor) -> Tensor:
        ctx.save_for_backward(u)
        return u**3

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (u,) = ctx.saved_tensors
        return grad * u**2


class _Once(torch.autograd.Function):
    """u³ with a gradient that cannot be differentiated again."""

    @staticmethod
    def forward(ctx: Any, u: Tensor) -> Tensor:
        ctx.save_for_backward(u)
        return u**3

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (u,) = ctx.saved_tensors
        return 3 * grad * u**2


class LostFactor(Cubic):
    def reference(self, fields: Fields, at: Location) -> Tensor:
        return -_HalfTheSlope.apply(fields[self.field].value)


class DifferentiableOnce(Cubic):
    def reference(self, fields: Fields, at: Location) -> Tensor:
        return -_Once.apply(fields[self.field].value)


# wrong on domains


class NoBoundaryTerm(Heat):
    """Takes the flux for zero everywhere."""

    def weak_boundary(self, fields: Fields, at: Location) -> None:
        return None


class OwnFlux(Heat):
    """n·∇u of the state instead of what the condition states."""

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        return torch.stack([g * at.normal[:, i] for i, g in enumerate(fields[self.field].grad)]).sum(dim=0)


class TwiceWeak(Heat):
    """A factor two in the weak form only."""

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        return {alpha: 2 * values for alpha, values in super().weak(fields, at).items()}


class Skewed(Heat):
    """D(x)Δu, D = 1 + x/2, in a weak form that is not self-adjoint; called a gradient flow that conserves mass."""

    traits = Traits("E", order=2, degree=1, modes=("weak", "pointwise"), invariants=("mass",))

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return (1 + at.x[:, 0] / 2) * fields[self.field].laplacian

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        slopes = fields[self.field].grad
        flux = {unit(self.dim, i): -(1 + at.x[:, 0] / 2) * g for i, g in enumerate(slopes)}
        return {(0,) * self.dim: -slopes[0] / 2, **flux}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        return (1 + at.x[:, 0] / 2) * fields[self.field].along(at.normal)

    def symbol(self) -> None:
        return None


class BurgersCalledE(Burgers):
    traits = Traits("E", order=1, degree=2, modes=("weak", "pointwise"))


# learned


class Rate(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.theta = torch.nn.Parameter(torch.tensor([-1.0], dtype=torch.float64))


class LearnedDecay(LearnedBlock):
    """θu, learned from −u."""

    traits = Traits("R", order=0, degree=1)
    weights = ""
    module: Rate
    exact = -1.0

    def __init__(self, params: NoParams, binding: Binding, trained: bool = True):
        self.field, self.module = binding.target, Rate()
        if trained:
            self.card = load_frozen(self.module, self.weights, "specimens:specimen")

    @classmethod
    def untrained(cls, params: NoParams, binding: Binding) -> Self:  # type: ignore[override]
        block = cls(params, binding, trained=False)
        torch.nn.init.zeros_(block.module.theta)
        return block

    @property
    def acts_on(self) -> str:
        return self.field

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return self.exact * fields[self.field].value

    def response(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self.field].value
        return self.module.theta.to(u.dtype) * u


class Adapting(LearnedDecay):
    """Goes on learning while it is used."""

    def response(self, fields: Fields, at: Location) -> Tensor:
        values = super().response(fields, at)
        with torch.no_grad():
            self.module.theta *= 1 + 1e-9
        return values


class StillTrainable(LearnedDecay):
    def __init__(self, params: NoParams, binding: Binding, trained: bool = True):
        super().__init__(params, binding, trained)
        self.module.requires_grad_(True)


class HiddenScale(LearnedDecay):
    """A scale that is not among the saved weights."""

    def __init__(self, params: NoParams, binding: Binding, trained: bool = True):
        super().__init__(params, binding, trained)
        self.scale = 1.0 + 1e-12 if trained else 1.0

    def response(self, fields: Fields, at: Location) -> Tensor:
        return self.scale * super().response(fields, at)


class CardOfAnother(LearnedDecay):
    """The card was written for another order."""

    traits = Traits("R", order=2, degree=1)


class Overpraised(LearnedDecay):
    """Trained on another law than its reference."""

    exact = -1.01


def write_weights(folder: Path) -> str:
    """Weights of :class:`LearnedDecay` and their card; the reference that the classes load."""
    module = Rate()
    data = encode(module)
    card = Card(
        block="specimens:specimen",
        summary="−u",
        contract=CONTRACT,
        structure="R",
        order=0,
        degree=1,
        target="reference",
        shapes={"theta": [1]},
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
        recipe={"seed": 0},
        held_out=1e-16,
        by_amplitude=[Bin(low=0, high=1, error=1e-16)],
        by_wavenumber=[],
        amplitude=1.0,
        wavenumber=10.0,
        samples=1,
        licence="MIT",
        versions={"torch": torch.__version__},
    )
    (folder / "decay.safetensors").write_bytes(data)
    (folder / "decay.card.json").write_text(card.model_dump_json(), encoding="utf-8")
    return str(folder / "decay")
