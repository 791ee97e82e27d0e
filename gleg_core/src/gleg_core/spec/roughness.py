"""Where the solution of a problem is not smooth, as far as its file tells: corners, changes of condition, jumps of data. No torch.

Near a corner of interior angle ω solutions behave like r^λ, λ = π/ω where the conditions on both sides are of one kind and λ = π/(2ω) where
a value is prescribed on one side and a flux on the other (Grisvard 1985). Where the prescribed values differ the solution jumps, λ = 0.
Functions that are smooth on the whole domain cannot represent what has λ < 1, however many of them there are.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from gleg_core.capabilities import BoundaryCapabilities
from gleg_core.contracts.domain import Corner, Domain, RoughPoint, Segment
from gleg_core.coordinates import COORDINATES
from gleg_core.expressions import Expression, Switch, switches
from gleg_core.spec.geometry import assign_segments
from gleg_core.spec.problem import ConditionSpec, FieldSpec, Problem
from gleg_core.spec.regions import Region

_SMOOTH = 3.0
"""Corners with a larger exponent count as smooth."""
_ROUGH = 0.99
"""Below this exponent the gradient is unbounded."""
_JUMP = 1e-6
"""Difference of prescribed values, relative to their size, that is a jump."""
_NARROW = 0.02
"""Length over which boundary data vary, in units of the domain's extent, that functions which are smooth on all of it do not follow."""
_ROUNDING = 1e-12
"""Range of data, in units of the largest on ∂Ω, below which they are constant."""
_CUSP = 1e-3
"""Angle of a cusp, in radians, for what follows from it."""
_LOOKED_AT = 400
"""Points of a segment at which its data are looked at."""
_TIMES = 5


@dataclass(frozen=True)
class Roughness:
    """``points`` near which a solution is not smooth; ``interfaces``, formulas of place at whose zeros coefficients or data jump;
    ``others``, formulas at whose zeros they have kinks, or jumps that move; ``regions`` at whose edges they jump."""

    points: tuple[RoughPoint, ...] = ()
    interfaces: tuple[Expression, ...] = ()
    others: tuple[Expression, ...] = ()
    regions: tuple[Region, ...] = ()

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Why functions that are smooth on the whole domain cannot represent the solution; empty if they can."""
        told = (p for p in self.points if p.exponent < _ROUGH or math.isinf(p.exponent))
        worst = sorted(told, key=lambda p: p.exponent)
        lines = [f"jump or kink where {level} = 0" for level in (*self.interfaces, *self.others)]
        lines += [f"jump at the edge of {region.name}" for region in self.regions]
        return (*dict.fromkeys(p.reason for p in worst), *lines)

    @property
    def sentence(self) -> str:
        """The first of the reasons, and how many more there are."""
        first, more = self.reasons[0], len(self.reasons) - 1
        return first + (f" and {more} more" if more else "")


def roughness_of(problem: Problem, domain: Domain) -> Roughness:
    """Of a problem on its domain."""
    fields, time = problem.fields, problem.section.time
    if all(f.section.exact is not None for f in fields):  # the solution is known: only its own formula can be rough
        return _of_switches([s for f in fields for s in switches(cast(Expression, f.section.exact))], domain, ())
    assigned = assign_segments(problem, domain)
    times = np.linspace(time.start, time.end, _TIMES).tolist()
    inside = [s for field in fields for data in field.given if isinstance(data, Expression) for s in switches(data)]
    points = [p for field in fields for p in _of_field(field, domain, assigned[field.name], times)]
    return _of_switches(inside, domain, points)


def _of_switches(found: Sequence[Switch], domain: Domain, points: Sequence[RoughPoint]) -> Roughness:
    space = set(COORDINATES[: domain.dim])
    regions = dict.fromkeys(cast(Region, s.region) for s in found if s.region is not None)
    inside = [s for s in found if s.region is None and s.level.free & space]
    fixed = {s.level for s in inside if s.jump and "t" not in s.level.free}
    levels = list(dict.fromkeys(s.level for s in inside))
    return Roughness(
        tuple(points),
        tuple(level for level in levels if level in fixed),
        tuple(level for level in levels if level not in fixed),
        tuple(region for region in regions if all(region.share_of(domain))),
    )


def _of_field(
    field: FieldSpec, domain: Domain, assigned: Mapping[str, ConditionSpec], times: Sequence[float]
) -> Iterator[RoughPoint]:
    if domain.dim != 2:
        return
    for corner in domain.corners or ():
        if (rough := _at_corner(field, corner, assigned, times)) is not None:
            yield rough
    extent = float(np.ptp(domain.bounds, axis=1).max())
    outlines = {segment.name: _outline(segment) for segment in domain.segments}
    stated = {n: [d for d in field.given_on(assigned[n]) if isinstance(d, Expression)] for n in outlines}
    sizes = [np.abs(_values(data, outlines[name], times)).max() for name, given in stated.items() for data in given]
    for segment in domain.segments:
        outline = outlines[segment.name]
        capabilities = assigned[segment.name].operator.installed.capabilities(BoundaryCapabilities)
        for data in stated[segment.name]:
            narrow = _narrowest(data, outline, times, _ROUNDING * float(max(sizes)))
            if narrow is not None and narrow[0] < _NARROW * extent:
                length, place = narrow
                reason = f"the data of {segment.name} vary within a length of {length:.2g} at {_shown(place)}"
                yield RoughPoint(place, math.inf, reason)
            for switch in switches(data):
                for place in _zeros(switch.level, outline, times):
                    word = "jump" if switch.jump else "kink"
                    exponent = (0.0 if switch.jump else 1.0) + capabilities.natural
                    reason = f"{word} of the data of {segment.name} at {_shown(place)}"
                    yield RoughPoint(place, min(exponent, 0.98), reason)


def _outline(segment: Segment) -> np.ndarray:
    """Points (n, 2) along a segment at most length/_LOOKED_AT apart; a row of NaN parts pieces."""
    points = segment.outline(_LOOKED_AT)
    gaps = np.nan_to_num(np.hypot(*np.diff(points, axis=0).T))
    counts = np.maximum(1, np.ceil(gaps * _LOOKED_AT / segment.length)).astype(int)
    parts = [a + (b - a) * (np.arange(n) / n)[:, None] for a, b, n in zip(points[:-1], points[1:], counts, strict=True)]
    return np.concatenate([*parts, points[-1:]])


def _narrowest(
    data: Expression, outline: np.ndarray, times: Sequence[float], least: float
) -> tuple[float, np.ndarray] | None:
    """The shortest length along an outline over which data change by all their range, which is more than the ``least``, and where; jumps,
    which change at once, left out."""
    steps = np.hypot(*np.diff(outline, axis=0).T)
    values = _values(data, outline, times)
    spread = float(np.ptp(values[:, np.isfinite(outline).all(axis=1)]))
    if spread <= least or not np.isfinite(steps).any():
        return None
    changes = np.abs(np.diff(values, axis=1)).max(axis=0) / spread
    changes[~np.isfinite(steps) | (changes > 0.9)] = 0.0
    lengths = np.where(changes > 0, np.nan_to_num(steps) / np.maximum(changes, 1e-300), np.inf)
    i = int(np.argmin(lengths))
    return (float(lengths[i]), outline[i]) if np.isfinite(lengths[i]) else None


def _at_corner(
    field: FieldSpec, corner: Corner, assigned: Mapping[str, ConditionSpec], times: Sequence[float]
) -> RoughPoint | None:
    sides = [assigned[name] for name in (corner.segments[0], corner.segments[-1])]
    natural = [side.operator.installed.capabilities(BoundaryCapabilities).natural for side in sides]
    mixed = natural[0] != natural[1]
    exponent = math.pi / max(corner.angle, _CUSP) / (2 if mixed else 1)
    degrees, place = f"{math.degrees(corner.angle):.4g}°", _shown(corner.point)
    what = "the kind of condition changes at an angle" if mixed else "corner"
    reason = f"{what} of {degrees} at {place}"
    if sides[0] is not sides[1] and not any(natural):
        values = [_values(_data(field, side), corner.point[None], times)[:, 0] for side in sides]
        if np.abs(values[0] - values[1]).max() > _JUMP * max(np.abs(values).max(), 1e-300):
            return RoughPoint(corner.point, 0.0, f"the prescribed value jumps at {place}")
    return RoughPoint(corner.point, exponent, reason) if exponent < _SMOOTH else None


def _data(field: FieldSpec, condition: ConditionSpec) -> Any:
    """The prescribed value: a formula or a number."""
    if condition.data_from_exact:
        return field.section.exact
    name = condition.operator.installed.capabilities(BoundaryCapabilities).prescribes
    return 0.0 if name is None else getattr(condition.operator.params, name)


def _values(data: Any, points: np.ndarray, times: Sequence[float]) -> np.ndarray:
    """(T, n); zero for what is no formula or number."""
    if not isinstance(data, Expression):
        number = float(data) if isinstance(data, int | float) else 0.0
        return np.full((len(times), len(points)), number)
    place = dict(zip(COORDINATES, points.T, strict=False))
    return np.nan_to_num([np.broadcast_to(data(t=t, **place), len(points)) for t in times])


def _zeros(level: Expression, outline: np.ndarray, times: Sequence[float]) -> Iterator[np.ndarray]:
    """Where a formula changes its sign between neighbours of an outline (n, 2), at any of the times."""
    seen: list[np.ndarray] = []
    for t in times if "t" in level.free else times[:1]:
        values = _values(level, outline, [t])[0]
        for i in np.flatnonzero((np.sign(values[1:]) != np.sign(values[:-1])) & np.isfinite(outline).all(axis=1)[1:]):
            a, b = outline[i], outline[i + 1]
            if not np.isfinite(a).all():
                continue
            low, high = 0.0, 1.0
            start = np.sign(values[i])
            for _ in range(60):
                middle = 0.5 * (low + high)
                same = np.sign(_values(level, (a + middle * (b - a))[None], [t])[0, 0]) == start
                low, high = (middle, high) if same else (low, middle)
            place = a + high * (b - a)
            if not any(np.hypot(*(place - p)) < 1e-9 * np.hypot(*(b - a)) for p in seen):
                seen.append(place)
                yield place


def _shown(point: np.ndarray) -> str:
    return "(" + ", ".join(f"{c:.4g}" for c in point) + ")"
