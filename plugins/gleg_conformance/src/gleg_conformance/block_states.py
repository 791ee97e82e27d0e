"""Blocks at smooth states: a block bound as in a problem, sums of plane waves as fields, and all its responses to them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError
from torch import Tensor

from gleg_conformance.kit import NotApplicable, Subject, needed, worst
from gleg_core.contracts.basis import Basis, Frame, Site
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError
from gleg_core.registry import Registry
from gleg_core.spec.blame import check_contract
from gleg_core.spec.params import Scope
from gleg_core.weight_files import card_path, locate
from gleg_core.weights.card import read_card

TINY = 1e-300
Responses = dict[str, Tensor]
"""What is evaluated ("pointwise", "weak (1, 0)", …) → values (..., n); "reference" only if it is not the pointwise response."""


@dataclass(frozen=True)
class Waves:
    """m functions cos(κ_j·x + φ_j), the first of them the constant 1."""

    wavevectors: Tensor
    phases: Tensor

    @classmethod
    def drawn(cls, dim: int, m: int = 8) -> "Waves":
        wavevectors = 4.0 * torch.rand(m, dim, dtype=torch.float64) - 2.0
        phases = 2.0 * math.pi * torch.rand(m, dtype=torch.float64)
        wavevectors[0], phases[0] = 0.0, 0.0
        return cls(wavevectors, phases)

    def table(self, x: Tensor, alpha: MultiIndex) -> Tensor:
        """∂^α of all functions at the points, (m, n):  κ^α cos(κ·x + φ + |α|π/2)."""
        factor = torch.prod(self.wavevectors ** self.wavevectors.new_tensor(alpha), dim=1)
        angles = self.wavevectors @ x.T + self.phases[:, None] + sum(alpha) * math.pi / 2
        return factor[:, None] * torch.cos(angles)


@dataclass(frozen=True)
class Bound:
    """A block in the equation of ``target``, and where the checks evaluate it: at points ``at`` and on a sphere, ``edge``.

    A state is c of shape (..., F, m): coefficients of the waves for each of the F fields.
    """

    subject: Subject
    block: Block
    target: str
    fields: tuple[str, ...]
    dim: int
    waves: Waves
    at: Location
    edge: Location
    basis: Basis | None = None
    mixing: Tensor = field(default_factory=lambda: torch.zeros(0))

    @property
    def traits(self) -> Traits:
        return self.block.traits

    @property
    def own_field(self) -> str:
        """The field whose space the block is examined on: the one it acts on, else that of its equation."""
        return self.block.acts_on or self.target

    def state(self, *batch: int) -> Tensor:
        """Random states with values between 0.25 and 0.95, where reactions with roots or logarithms are defined too."""
        m = len(self.waves.phases)
        c = (torch.rand(*batch, len(self.fields), m, dtype=torch.float64) - 0.5) * (0.7 / (m - 1))
        c[..., 0] = 0.6
        return c

    def jets(self, c: Tensor, at: Location) -> dict[str, Jet]:
        def jet(a: Tensor) -> Jet:
            return Jet(lambda alpha: a @ self.waves.table(at.x, alpha).to(c.dtype), self.dim)

        return {name: jet(c[..., i, :]) for i, name in enumerate(self.fields)}

    def responses(self, c: Tensor) -> Responses:
        """Everything the block declares, evaluated at states c; every value has the shape (..., n)."""
        found = self.at_jets(self.jets(c, self.at), self.jets(c, self.edge))
        if self.basis is not None and self.block.acts_on is not None:
            a = c[..., self.fields.index(self.block.acts_on), :] @ self.mixing
            found["ambient"] = self.block.ambient(self.basis, self.block.acts_on)(a)
        return {name: value.expand(*c.shape[:-2], value.shape[-1]) for name, value in found.items()}

    def at_jets(self, inside: Fields, edge: Fields) -> Responses:
        """The same for given jets, without the ambient map; shapes as the block gives them, at least (n,)."""
        found = {"pointwise": _everywhere(self.block.pointwise(inside, self.at), self.at)}
        if type(self.block).pointwise is not Block.pointwise:
            exact = reference_of(self.block, inside, self.at)
            found |= {} if exact is None else {"reference": _everywhere(exact, self.at)}
        if "weak" in self.traits.modes:
            weak = self.block.weak(inside, self.at)
            found |= {f"weak {alpha}": _everywhere(values, self.at) for alpha, values in weak.items()}
            boundary = self.block.weak_boundary(edge, self.edge)
            found |= {} if boundary is None else {"weak_boundary": _everywhere(boundary, self.edge)}
        return found

    def moment(self, t: float | Tensor) -> "Bound":
        return replace(self, at=self.at.moment(t), edge=self.edge.moment(t))


def _everywhere(value: Tensor, at: Location) -> Tensor:
    """A value that may be the same at all points, at every one of them."""
    return value.expand(*value.shape[:-1], len(at.x))


def reference_of(block: Block, fields: Fields, at: Location) -> Tensor | None:
    """The reference; None for a block learned from data, which has none."""
    try:
        return block.reference(fields, at)
    except (PackError, NotImplementedError):
        if isinstance(block, LearnedBlock):
            return None
        raise


def certified_error(block: Block) -> float:
    """The worst error on the card of a learned block; 0 for a formula."""
    if not isinstance(block, LearnedBlock):
        return 0.0
    card = read_card(card_path(locate(block.weights)), type(block).__name__)
    return max([card.held_out, *(b.error for b in (*card.by_amplitude, *card.by_wavenumber))])


def bound(subject: Subject, n: int = 24) -> Bound:
    """The block of the example, in two dimensions if it admits them, among fields u and v and those the example names."""
    dim = 2 if 2 in subject.dims else subject.dims[0]
    fields = _fields(subject, dim)
    block = subject.make(Binding("u", fields, dim), dim=dim, fields=fields)
    check_contract(block, subject.component)
    x = 2.0 * torch.rand(n, dim, dtype=torch.float64) - 1.0
    normal = torch.randn(n, dim, dtype=torch.float64)
    normal = normal / normal.norm(dim=1, keepdim=True)
    weights = torch.full((n,), 2.0**dim / n, dtype=torch.float64)
    at = Location(x, 0.3, weights=weights)
    made = Bound(subject, block, "u", fields, dim, Waves.drawn(dim), at, Location(normal, 0.3, normal, weights))
    if "ambient" not in block.traits.modes:
        return made
    try:
        basis = waves_on_box(subject.registry, 3, dim)
    except NotApplicable:  # all but the ambient map is examined
        return made
    return replace(made, basis=basis, mixing=torch.randn(len(made.waves.phases), basis.size, dtype=torch.float64))


def _fields(subject: Subject, dim: int) -> tuple[str, ...]:
    """("u", "v"), and the names in the example that are none of them."""
    fields: tuple[str, ...] = ("u", "v")
    try:
        subject.params(dim=dim, fields=fields)
    except ValidationError as error:
        named = [e["input"] for e in error.errors() if "no field is called" in e["msg"]]
        fields = tuple(dict.fromkeys([*fields, *map(str, named)]))
    return fields


def waves_on_box(registry: Registry, K: int, dim: int, half_width: float = 1.0) -> Basis:
    """A basis with wavevectors on the box of this half width around the origin."""
    frame = Frame(np.zeros(dim), np.full(dim, half_width), np.eye(dim))
    return component(registry, "basis", "fourier", {"K": K}, Site(frame), dim=dim)


def component(
    registry: Registry, contract: str, name: str, params: Mapping[str, Any], *arguments: Any, dim: int = 2
) -> Any:
    """An installed component by name, made with these parameters."""
    (found,) = needed(registry, **{contract: name})
    model = registry.params(found).model_validate(dict(params), context=Scope(dim=dim))
    return registry.factory(found)(model, *arguments)


def gap(a: Tensor, b: Tensor) -> float:
    """max|a − b| relative to the larger of max|a| and max|b|."""
    if not a.numel():
        return 0.0
    return float((a - b).abs().max()) / max(float(a.abs().max()), float(b.abs().max()), TINY)


def apart(a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> tuple[float, str]:
    """The largest gap between two sets of responses, and the name of the response; "all" if there is none."""
    return worst([(0.0, "all"), *((gap(a[name], b[name]), name) for name in a)])


def evaluate_watched(made: Bound, seen: Callable[[str, MultiIndex, Tensor], object]) -> None:
    """Evaluate the block at a state, telling ``seen`` of every derivative it asks for: field, α, values."""

    def watched(name: str, jet: Jet) -> Jet:
        def derivative(alpha: MultiIndex) -> Tensor:
            seen(name, alpha, jet.d(alpha))
            return jet.d(alpha)

        return Jet(derivative, made.dim)

    c = made.state()
    inside, edge = ({n: watched(n, j) for n, j in made.jets(c, at).items()} for at in (made.at, made.edge))
    made.at_jets(inside, edge)


def fields_read(made: Bound) -> set[str]:
    """The fields of which any response asks for a value or a derivative."""
    names: set[str] = set()
    evaluate_watched(made, lambda name, *_: names.add(name))
    return names
