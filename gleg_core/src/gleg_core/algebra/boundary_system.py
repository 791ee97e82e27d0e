"""The boundary system C a = d(t): rows from sampled traces, data with exact time derivative."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

import numpy as np
import torch
from torch import Tensor

from gleg_core.contracts.basis import Basis, as_points
from gleg_core.contracts.boundary import BoundaryOperator
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Datum, Location
from gleg_core.errors import NumericsError, SpecError, did_you_mean, listing
from gleg_core.expressions import Evaluator, Expression


@dataclass(frozen=True)
class BoundaryPoints:
    """Sampled ∂Ω: all segments one after another; ``spans`` gives each segment's slice."""

    at: Location
    weights: Tensor
    spans: dict[str, slice]

    @classmethod
    def sample(cls, domain: Domain, count: Callable[[float], int]) -> Self:
        """``count`` maps a segment's length to its number of samples."""
        samples = [segment.sample(count(segment.length)) for segment in domain.segments]
        points, normals, weights = (
            as_points(np.concatenate([getattr(s, part) for s in samples])) for part in ("points", "normals", "weights")
        )
        return cls.of(domain, points, normals, weights, [len(s.points) for s in samples])

    @classmethod
    def of(cls, domain: Domain, points: Tensor, normals: Tensor, weights: Tensor, sizes: Sequence[int]) -> Self:
        """Samples of all segments one after another, ``sizes`` of them on each."""
        stops = np.cumsum(sizes).tolist()
        spans = {s.name: slice(stop - n, stop) for s, n, stop in zip(domain.segments, sizes, stops, strict=True)}
        return cls(Location(points, normal=normals, weights=weights), weights, spans)

    def on(self, segment: str) -> Location:
        span = self.spans[segment]
        assert self.at.normal is not None
        return Location(self.at.x[span], normal=self.at.normal[span], weights=self.weights[span])

    def facing(self, segment: str) -> Location:
        """The samples of a segment in reverse order: those of the segment that it is joined with run the other way round Ω."""
        at = self.on(segment)
        assert at.normal is not None and at.weights is not None
        return Location(at.x.flip(0), normal=at.normal.flip(0), weights=at.weights.flip(0))


@dataclass(frozen=True)
class SegmentCondition:
    """A boundary operator on one segment. ``exact`` is the exact solution its data are taken from, if they are."""

    segment: str
    operator: BoundaryOperator
    exact: Expression | None = None
    label: str = ""

    def data(self, at: Location, rate: bool = False) -> list[Tensor]:
        """g_τ(x_b, t), or ∂g_τ/∂t, per trace: shape (n_b,), or (T, n_b) for a column of times."""
        if self.exact is not None:
            solution = self.exact.d("t") if rate else self.exact
            values: Sequence[Tensor | float] = self.operator.traces(expression_jet(solution, at), at)
        else:
            values = [at(g.d("t") if rate else g) if isinstance(g, Expression | Datum) else float(not rate) * g
                      for g in self.operator.data()]  # fmt: skip
        return [spread(v, at) for v in values]

    def moves(self) -> bool:
        """True if the data depend on time."""
        if self.exact is not None:
            return "t" in self.exact.free
        return any(isinstance(g, Expression | Datum) and "t" in g.free for g in self.operator.data())

    def homogeneous(self) -> bool:
        """True if the data are identically zero."""
        if self.exact is not None:
            return False
        return all((g.number if isinstance(g, Expression | Datum) else g) == 0.0 for g in self.operator.data())


def spread(value: Tensor | float, at: Location) -> Tensor:
    """A formula's value expanded over the points (and times) of ``at``."""
    n = at.x.shape[0]
    shape = (at.t.shape[0], n) if isinstance(at.t, Tensor) and at.t.ndim else (n,)
    return torch.as_tensor(value, dtype=at.x.dtype, device=at.x.device).expand(shape)


def expression_jet(expression: Expression, at: Location, evaluator: Evaluator | None = None) -> Jet:
    """An exact function as a jet: symbolic derivatives evaluated at ``at``, by its ``evaluator`` if other formulas share it."""
    evaluator = evaluator or at.evaluator()
    names = "xyz"

    def derivative(alpha: tuple[int, ...]) -> Tensor:
        order = [names[i] for i, a in enumerate(alpha) for _ in range(a)]
        return spread(evaluator(expression.d(*order)), at)

    jet = Jet(derivative, at.dim)
    jet.partner = None if at.partner is None else expression_jet(expression, at.partner)
    return jet


def jet_on(at: Location, jet_of: Callable[[Location], Jet]) -> Jet:
    """The jet of a function at points, and that at their partners."""
    jet = jet_of(at)
    jet.partner = None if at.partner is None else jet_of(at.partner)
    return jet


def _traces_alone(operator: BoundaryOperator, at: Location, r: Callable[[Location], Tensor]) -> Sequence[Tensor]:
    """Traces (p, n) of p jets, one for every derivative that the operator reads: this one is r (n,), all others are zero."""
    read: list[tuple[Location, MultiIndex]] = []

    def noted(place: Location, alpha: MultiIndex) -> Tensor:
        read.append((place, alpha))
        return r(place)

    def alone(place: Location, alpha: MultiIndex) -> Tensor:
        return torch.stack([r(place) * (place is other and alpha == beta) for other, beta in read])

    operator.traces(jet_on(at, lambda place: Jet(partial(noted, place), at.dim)), at)
    return operator.traces(jet_on(at, lambda place: Jet(partial(alone, place), at.dim)), at)


@dataclass(frozen=True)
class BoundarySystem:
    """C a = d(t) of one field on the sampled boundary."""

    points: BoundaryPoints
    conditions: tuple[SegmentCondition, ...]

    def __post_init__(self) -> None:
        for condition in self.conditions:
            flux = condition.operator.flux
            if flux is not None and flux.response is not None:
                raise SpecError(f"{condition.label}: conditions with a flux that responds to u are not available yet")

    @cached_property
    def locations(self) -> list[Location]:
        return [self._location(condition) for condition in self.conditions]

    def _location(self, condition: SegmentCondition) -> Location:
        at, name = self.points.on(condition.segment), condition.operator.partner
        if name is None:
            return at
        others = [segment for segment in self.points.spans if segment != condition.segment]
        if name not in others:
            raise SpecError(f"{condition.label}: segment '{condition.segment}' cannot be joined with '{name}', "
                            f"only with {listing(others)}.{did_you_mean(name, others)}")  # fmt: skip
        partner = self.points.facing(name)
        if len(partner.x) != len(at.x):
            raise SpecError(
                f"{condition.label}: segments '{condition.segment}' and '{name}' cannot be joined: they differ in length"
            )
        return replace(at, partner=partner)

    @cached_property
    def row_spans(self) -> list[list[slice]]:
        """Rows of C for every condition and trace."""
        spans, start = [], 0
        for condition, at in zip(self.conditions, self.locations, strict=True):
            n = at.x.shape[0]
            spans.append([slice(start + i * n, start + (i + 1) * n) for i in range(condition.operator.conditions)])
            start += n * condition.operator.conditions
        return spans

    @property
    def size(self) -> int:
        return sum(s.stop - s.start for spans in self.row_spans for s in spans)

    def rows(self, basis: Basis) -> Tensor:
        """C, shape (N_b, M)."""
        blocks = [
            trace.T
            for condition, at in zip(self.conditions, self.locations, strict=True)
            for trace in condition.operator.traces(jet_on(at, lambda place: basis.jet(place.x)), at)
        ]
        return torch.cat(blocks) if blocks else torch.zeros(0, basis.size, dtype=torch.float64)

    def sketch(self) -> list[Tensor]:
        """What the rows are made of besides the basis, (n_b, p) per trace: C_{b,j} = (Σ_α T^α ∂^αφ_j)(x_b) through T^α r for a random r on
        ∂Ω, α = 1 … p the derivatives that a condition reads. Other linear T^α give the same by accident only, as with a hash."""
        r = 0.5 + torch.rand(len(self.points.weights), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        return [
            trace.T
            for condition, at in zip(self.conditions, self.locations, strict=True)
            for trace in _traces_alone(condition.operator, at, partial(self._on, r, condition))
        ]

    def _on(self, r: Tensor, condition: SegmentCondition, place: Location) -> Tensor:
        """The part of r (n_b,) that belongs to the segment of a condition, or to its partner."""
        if place.partner is not None or condition.operator.partner is None:
            return r[self.points.spans[condition.segment]]
        return r[self.points.spans[condition.operator.partner]].flip(0)

    def row_scale(self, C: Tensor) -> Tensor:
        """Factors (N_b,) that make traces of different order comparable before the rank is decided.

        Each trace is divided by its own largest row norm (derivative rows are about πK times larger than value rows) and
        each row carries the root of its arclength weight, so that singular values do not depend on where samples cluster.
        """
        scale = torch.ones(self.size, dtype=C.dtype)
        for condition, spans in zip(self.conditions, self.row_spans, strict=True):
            w = self.points.weights[self.points.spans[condition.segment]]
            for span in spans:
                largest = C[span].norm(dim=1).max()
                if largest > 0:
                    scale[span] = (w / w.mean()).sqrt() / largest
        return scale

    def data(self, t: float | Tensor, rate: bool = False) -> Tensor:
        """d(t), or ḋ(t) with ``rate``: shape (N_b,), or (T, N_b) for a column of times (T, 1)."""
        parts = []
        for condition, at in zip(self.conditions, self.locations, strict=True):
            for trace, g in enumerate(condition.data(at.moment(t), rate)):
                if not torch.isfinite(g).all():
                    when = f"t = {t:g}" if isinstance(t, float) else "some time of the run"
                    raise NumericsError(f"{condition.label}: boundary data (trace {trace}) are not finite at {when}")
                parts.append(g)
        if not parts:
            return torch.zeros(0, dtype=torch.float64)
        return torch.cat(parts, dim=-1)

    @cached_property
    def flux(self) -> tuple[Tensor, Tensor]:
        """(stated, κ) on the boundary points, (n_b,): where conditions say ∂_n u = … − κ u; zero elsewhere."""
        stated, kappa = torch.zeros(len(self.points.weights), dtype=torch.bool), torch.zeros_like(self.points.weights)
        for condition, at in zip(self.conditions, self.locations, strict=True):
            if (flux := condition.operator.flux) is not None:
                span = self.points.spans[condition.segment]
                stated[span], kappa[span] = True, at(flux.kappa)
        return stated, kappa

    @property
    def homogeneous(self) -> bool:
        return all(c.homogeneous() for c in self.conditions)

    @property
    def moving(self) -> bool:
        return any(c.moves() for c in self.conditions)

    @cached_property
    def test_vanishes(self) -> Tensor:
        """Mask (n_b,) of boundary points where every homogeneous admissible function is zero."""
        mask = torch.zeros(len(self.points.weights), dtype=torch.bool)
        for condition in self.conditions:
            if 0 in condition.operator.vanishing:
                mask[self.points.spans[condition.segment]] = True
        return mask

    @cached_property
    def tests_vanish(self) -> bool:
        """True if every homogeneous admissible function is zero on the whole boundary."""
        return bool(self.test_vanishes.all())
