"""What a block is trained and judged on: states as jets, and the responses they should have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.tables import tabulate
from gleg_core.contracts.basis import Basis, Frame
from gleg_core.contracts.block import Block
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.contracts.location import Location
from gleg_core.errors import SpecError
from gleg_core.learning.recipe import Data, States
from gleg_core.registry import Registry


def reference_frame(dim: int) -> Frame:
    """The box [−1, 1]^dim on which blocks are trained."""
    return Frame(np.zeros(dim), np.ones(dim), np.eye(dim))


def make_basis(registry: Registry, states: States) -> Basis:
    """The basis of the states on [−1, 1]^dim."""
    component = registry.find("basis", states.basis.kind)
    params = registry.params(component).model_validate(states.basis.parameters)
    return registry.factory(component)(params, reference_frame(states.dim))


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

    @cached_property
    def at(self) -> Location:
        return Location(self.points)

    @cached_property
    def _tables(self) -> dict[MultiIndex, Tensor]:
        return {}

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

    def part(self, index: Tensor) -> Samples:
        """Some of the states."""
        stencil = [(w, {name: a[index] for name, a in states.items()}) for w, states in self.stencil]
        other = Samples(self.basis, self.points, stencil, None if self.target is None else self.target[index])
        other.__dict__["_tables"] = self._tables
        return other

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


def measured(basis: Basis, data: Data, field: str, folder: Path) -> Samples:
    """Samples from a NetCDF file of grid values on [−1, 1)^d; jets come from their projection onto the basis."""
    import xarray as xr

    path = folder / data.path
    try:
        with xr.open_dataset(path, engine="h5netcdf") as file:
            state = torch.from_numpy(np.array(file["state"].values, dtype=float))
            response = (
                torch.from_numpy(np.array(file["response"].values, dtype=float)) if data.kind == "pairs" else None
            )
            times = np.array(file["time"].values, dtype=float) if data.kind == "trajectories" else None
    except (OSError, KeyError, ValueError) as error:
        raise SpecError(f"{path}: cannot be used as training data: {error}") from None
    if not bool(torch.isfinite(state).all()):
        raise SpecError(f"{path}: the states contain values that are not finite")
    shape = state.shape[-basis.dim :]
    axes = [-1 + 2 * torch.arange(n, dtype=torch.float64) / n for n in reversed(shape)]
    mesh = torch.meshgrid(*axes, indexing="ij")
    points = torch.stack([m.permute(*reversed(range(basis.dim))).reshape(-1) for m in mesh], dim=1)
    phi = tabulate(basis, points, (0,) * basis.dim)
    gram = phi @ phi.T / len(points)
    if float((gram - torch.eye(basis.size, dtype=torch.float64)).abs().max()) > 1e-8:
        raise SpecError(
            f"{path}: a grid of {tuple(shape)} does not resolve the basis of the recipe; lower its resolution"
        )
    coefficients = state.reshape(*state.shape[: -basis.dim], -1) @ phi.T / len(points)
    if response is not None:
        return Samples(basis, points, [(1.0, {field: coefficients})], response.reshape(len(state), -1))
    assert times is not None
    return _simpson(basis, points, coefficients, state.reshape(*state.shape[: -basis.dim], -1), times, field)


def _simpson(basis: Basis, points: Tensor, a: Tensor, u: Tensor, times: np.ndarray, field: str) -> Samples:
    """(u_{n+1} − u_{n−1})/2Δt = (L_{n−1} + 4 L_n + L_{n+1})/6: no derivative of the data is taken."""
    steps = np.diff(times)
    if len(times) < 3 or not np.allclose(steps, steps[0]):
        raise SpecError("trajectories need at least three equally spaced times")
    M, n = a.shape[-1], u.shape[-1]
    stencil = [(w, {field: a[:, i : len(times) - 2 + i].reshape(-1, M)}) for i, w in enumerate((1 / 6, 4 / 6, 1 / 6))]
    target = (u[:, 2:] - u[:, :-2]).reshape(-1, n) / (2 * float(steps[0]))
    return Samples(basis, points, stencil, target)
