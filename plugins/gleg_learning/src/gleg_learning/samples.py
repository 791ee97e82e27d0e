"""What a block is trained and judged on: states as jets, and the responses they should have."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.tables import tabulate
from gleg_core.contracts.basis import Basis, Frame, Site
from gleg_core.contracts.block import Block
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.contracts.location import Location
from gleg_core.registry import Registry
from gleg_core.spec.params import Scope
from gleg_learning.recipe import States, basis_of


def make_basis(registry: Registry, states: States) -> Basis:
    """The basis of the states on [−1, 1]^dim."""
    stated = basis_of(states, registry)
    component = registry.find("basis", stated.kind)
    params = registry.params(component).model_validate(stated.parameters, context=Scope(dim=states.dim))
    box = Frame(np.zeros(states.dim), np.ones(states.dim), np.eye(states.dim))
    return registry.factory(component)(params, Site(box))


@dataclass(frozen=True)
class Samples:
    """States at ``points`` (n, dim) and their target.

    ``stencil`` holds (weight, {field: coefficients (S, M)}): the quantity compared is Σ weight · L(u), a single state for pairs,
    Simpson's rule over three times for trajectories. ``target`` (S, n) is measured, or None for the reference operator.
    """

    basis: Basis
    points: Tensor
    stencil: Sequence[tuple[float, Mapping[str, Tensor]]]
    target: Tensor | None = None
    _tables: dict[MultiIndex, Tensor] = field(default_factory=dict, repr=False)
    """Derivatives of the basis at the points, made when first asked for; parts of the samples share them."""

    @cached_property
    def at(self) -> Location:
        return Location(self.points)

    def _jet(self, coefficients: Tensor) -> Jet:
        def derivative(alpha: MultiIndex) -> Tensor:
            if alpha not in self._tables:
                self._tables[alpha] = tabulate(self.basis, self.points, alpha)
            return coefficients @ self._tables[alpha]

        return Jet(derivative, self.basis.dim)

    @cached_property
    def _fields(self) -> list[tuple[float, dict[str, Jet]]]:
        return [(w, {name: self._jet(a) for name, a in states.items()}) for w, states in self.stencil]

    def predicted(self, block: LearnedBlock) -> Tensor:
        """Σ weight · L_θ(u), (S, n)."""
        return torch.stack([w * block.response(fields, self.at) for w, fields in self._fields]).sum(dim=0)

    def wanted(self, block: Block) -> Tensor:
        """The target, (S, n)."""
        if self.target is not None:
            return self.target
        return torch.stack([w * block.reference(fields, self.at) for w, fields in self._fields]).sum(dim=0)

    def amplitude(self, field: str) -> Tensor:
        """max|u| of every state at the points, (S,)."""
        return torch.stack([fields[field].value.abs().amax(dim=-1) for _, fields in self._fields]).amax(dim=0)

    def part(self, index: Tensor) -> "Samples":
        """Some of the states."""
        stencil = [(w, {name: a[index] for name, a in states.items()}) for w, states in self.stencil]
        return replace(self, stencil=stencil, target=None if self.target is None else self.target[index])

    def __len__(self) -> int:
        return len(next(iter(self.stencil[0][1].values())))


def random_states(
    basis: Basis,
    states: States,
    fields: Sequence[str],
    count: int,
    generator: torch.Generator,
    amplitudes: tuple[float, float],
) -> Samples:
    """States drawn from the recipe's law, at random points of the box."""
    points = 2 * torch.rand(states.points, basis.dim, dtype=torch.float64, generator=generator) - 1
    wavenumber = torch.zeros(basis.size, dtype=torch.float64)
    if basis.wavevectors is not None:
        wavenumber = basis.wavevectors.norm(dim=1) / math.pi
    deviation = (1 + wavenumber) ** (-states.decay)
    phi = tabulate(basis, points, (0,) * basis.dim)
    low, high = (math.log(a) for a in amplitudes)

    def draw() -> Tensor:
        a = deviation * torch.randn(count, basis.size, dtype=torch.float64, generator=generator)
        size = torch.exp(low + (high - low) * torch.rand(count, 1, dtype=torch.float64, generator=generator))
        return a * size / (a @ phi).abs().amax(dim=1, keepdim=True)

    return Samples(basis, points, [(1.0, {name: draw() for name in fields})])


def single_modes(
    basis: Basis, fields: Sequence[str], low: float, high: float, amplitude: float, generator: torch.Generator
) -> Samples | None:
    """Up to 24 states of one mode each with low ≤ |k| < high; None if the basis has no such mode."""
    if basis.wavevectors is None:
        return None
    k = basis.wavevectors.norm(dim=1) / math.pi
    index = torch.nonzero((k >= low) & (k < high)).flatten()
    if not len(index):
        return None
    chosen = index[torch.randperm(len(index), generator=generator)[:24]]
    a = torch.zeros(len(chosen), basis.size, dtype=torch.float64)
    a[torch.arange(len(chosen)), chosen] = amplitude / math.sqrt(2)
    points = 2 * torch.rand(200, basis.dim, dtype=torch.float64, generator=generator) - 1
    return Samples(basis, points, [(1.0, dict.fromkeys(fields, a))])
