"""Unions, intersections and differences of plane domains."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pkgutil import resolve_name
from typing import Annotated, Any

import numpy as np
import shapely
from pydantic import Field, SerializeAsAny, ValidationInfo, WithJsonSchema, field_validator

from gleg_core.capabilities import DomainCapabilities, capabilities
from gleg_core.errors import GeometryError, did_you_mean, listing
from gleg_core.pack import Entry
from gleg_core.spec.params import PackParams
from gleg_domains.arcs import Arc, outward
from gleg_domains.loops import chained
from gleg_domains.pack import gleg_domains
from gleg_domains.planar import ArcSegment, PlanarDomain

Array = np.ndarray
_INNER = np.array([0.31, 0.5, 0.73])
"""Where an arc is looked at, as fractions of its parameter."""


class Operand(PackParams):
    """One nested domain: its kind, its validated parameters and an optional name for its segments."""

    kind: str
    name: str | None = None
    params: SerializeAsAny[PackParams]

    def build(self) -> PlanarDomain:
        return resolve_name(_entry(self.kind).factory)(self.params)


def _plane_kinds() -> dict[str, Entry]:
    return {e.name: e for e in gleg_domains() if capabilities(DomainCapabilities, e.capabilities).dim == 2}


def _entry(kind: str) -> Entry:
    if entry := _plane_kinds().get(str(kind)):
        return entry
    raise ValueError(
        f"no plane domain is called {kind!r} in this pack. Kinds: {listing(_plane_kinds(), 40)}."
        f"{did_you_mean(str(kind), _plane_kinds())}"
    )


_FLAT = {
    "type": "object",
    "required": ["kind"],
    "properties": {
        "kind": {"enum": list(_plane_kinds())},
        "name": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "prefix of the names of its segments"},
    },
}
"""JSON Schema of an operand as it is written: its parameters stand beside its kind."""


class BooleanParams(PackParams):
    of: tuple[Annotated[Operand, WithJsonSchema(_FLAT)], ...] = Field(
        min_length=2,
        description="two or more domains {kind: …, its parameters}, each with an optional `name` for its segments",
    )

    @field_validator("of", mode="before")
    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> list[Operand]:
        if not isinstance(value, (list, tuple)):
            raise ValueError("`of` must be a list of domains {kind: …}")
        return [v if isinstance(v, Operand) else read_operand(v, i, info) for i, v in enumerate(value)]


def read_operand(value: Any, index: int, info: ValidationInfo) -> Operand:
    if not isinstance(value, dict) or "kind" not in value:
        raise ValueError(f"domain {index} must be a mapping with a `kind`, found {value!r}")
    if set(value) == {"kind", "name", "params"}:  # as written by model_dump
        value = {"kind": value["kind"], "name": value["name"], **value["params"]}
    rest = {k: v for k, v in value.items() if k not in ("kind", "name")}
    params = resolve_name(_entry(value["kind"]).params).model_validate(rest, context=info.context)
    return Operand(kind=value["kind"], name=value.get("name"), params=params)


class Combination(PlanarDomain):
    """A Boolean combination of operands.

    A boundary point of an operand stays if Ω lies on one side of it only. A segment of operand ``i`` is called
    ``<name>.<segment>`` where <name> is the operand's `name` or its index, unless the segment's own name is unique among all that
    are left: then it keeps it.
    """

    subtract_from_first = False

    def __init__(self, params: BooleanParams):
        self._operands = [operand.build() for operand in params.of]
        labels = [operand.name or str(i) for i, operand in enumerate(params.of)]
        super().__init__(combined_segments(self._operands, labels, self.contains, self.subtract_from_first))

    def _masks(self, points: Array) -> list[Array]:
        return [d.contains(points) for d in self._operands]


class Union(Combination):
    """Points in any operand."""

    def contains(self, points: Array) -> Array:
        return np.any(self._masks(points), axis=0)


class Intersection(Combination):
    """Points in every operand."""

    def contains(self, points: Array) -> Array:
        return np.all(self._masks(points), axis=0)


class Difference(Combination):
    """Points in the first operand and in none of the others."""

    subtract_from_first = True

    def contains(self, points: Array) -> Array:
        first, *others = self._masks(points)
        return first & ~np.any(others, axis=0)


def combined_segments(
    operands: Sequence[PlanarDomain], labels: Sequence[str], inside: Callable[[Array], Array], subtract: bool
) -> list[ArcSegment]:
    if len(set(labels)) < len(labels):
        raise GeometryError(f"the names of combined domains must differ, found {', '.join(labels)}")
    boxes = np.array([d.bounds for d in operands])
    size = float(np.max(boxes[:, :, 1].max(axis=0) - boxes[:, :, 0].min(axis=0)))
    cuts = iter(all_cuts([d.arcs for d in operands], size))
    kept: list[tuple[str, str, list[Arc]]] = []
    taken: list[shapely.LineString] = []
    for number, (domain, label) in enumerate(zip(operands, labels, strict=True)):
        for segment in domain.segments:
            parts: list[Arc] = []
            for arc in segment.arcs:
                for part in cut(arc, next(cuts)):
                    directed = part.reversed() if subtract and number else part
                    if _separates(directed, inside, size) and not _taken(directed, taken, size):
                        parts.append(directed)
            taken += [shapely.LineString(part.at(np.linspace(0, 1, 65))) for part in parts]
            if parts:
                kept.append((label, segment.name, chained(parts)))
    if not kept:
        raise GeometryError("the combined domain is empty: its operands leave no points")
    own = [name for _, name, _ in kept]
    return [ArcSegment(n if own.count(n) == 1 else f"{label}.{n}", p) for label, n, p in kept]


def _separates(arc: Arc, inside: Callable[[Array], Array], size: float) -> bool:
    """Is Ω on the left of the arc and not on its right? Judged at three inner points by majority."""
    s = arc.start + arc.span * _INNER
    point = arc.point(s)
    step = min(1e-7 * size, 1e-3 * arc.length) * outward(arc.velocity(s))
    votes = inside(point - step) & ~inside(point + step)
    return int(votes.sum()) >= 2


def _taken(arc: Arc, taken: Sequence[shapely.LineString], size: float) -> bool:
    """Does an earlier part of the boundary run along this one? Then it is counted once."""
    inner, ends = (shapely.points(arc.at(at)) for at in (_INNER, np.array([0.0, 1.0])))
    return any(
        (shapely.distance(line, inner) < 1e-3 * arc.length).all()
        and (shapely.distance(shapely.MultiPoint([line.coords[0], line.coords[-1]]), ends) < 1e-8 * size).all()
        for line in taken
    )


def cut(arc: Arc, parameters: Sequence[float]) -> list[Arc]:
    """The arc divided at sorted parameters; a closed arc with k ≥ 1 cuts gives k parts."""
    if not len(parameters):
        return [arc]
    ends = [*parameters, parameters[0] + arc.span] if arc.closed else [arc.start, *parameters, arc.stop]
    return [replace(arc, start=a, stop=b, closed=False) for a, b in pairwise(ends)]


# --- where arcs meet ---------------------------------------------------------------------------------------------


def all_cuts(groups: Sequence[Sequence[Arc]], size: float) -> list[list[float]]:
    """For every arc the parameters at which it meets arcs of other groups: crossings, and ends that lie on it."""
    arcs = [arc for group in groups for arc in group]
    owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    found: list[list[float]] = [[] for _ in arcs]
    polylines = [(s := _parameters(arc), arc.point(s)) for arc in arcs]
    slack = 1e-3 * size
    boxes = np.array([[*(p.min(axis=0) - slack), *(p.max(axis=0) + slack)] for _, p in polylines])
    for i in range(len(arcs)):
        apart = (boxes[:, :2] > boxes[i, 2:]).any(axis=1) | (boxes[:, 2:] < boxes[i, :2]).any(axis=1)
        for j in np.nonzero((owner > owner[i]) & ~apart)[0]:
            for pair in meetings(arcs[i], arcs[j], polylines[i], polylines[j], size):
                found[i].append(pair[0])
                found[j].append(pair[1])
    return [_distinct(arc, parameters) for arc, parameters in zip(arcs, found, strict=True)]


def _parameters(arc: Arc) -> Array:
    return arc.start + arc.span * np.linspace(0, 1, 2 if arc.straight else 401)


def _distinct(arc: Arc, parameters: list[float]) -> list[float]:
    """Sorted, without repeats and without the ends of an open arc."""
    if arc.closed:
        parameters = [arc.start + (p - arc.start) % arc.span for p in parameters]
    close = 1e-9 * arc.span
    result: list[float] = []
    for p in sorted(parameters):
        inner = arc.closed or (p > arc.start + close and p < arc.stop - close)
        if inner and (not result or p - result[-1] > close):
            result.append(p)
    if arc.closed and len(result) > 1 and result[0] + arc.span - result[-1] < close:
        result.pop()
    return result


def meetings(
    one: Arc, two: Arc, first: tuple[Array, Array], second: tuple[Array, Array], size: float
) -> list[tuple[float, float]]:
    """Pairs (s, t) with γ₁(s) = γ₂(t): polygons suggest them, Newton's method finishes."""
    (s, p), (t, q) = first, second
    sag = 0.0 if one.straight and two.straight else 2e-4 * size
    tree = shapely.STRtree(shapely.linestrings(np.stack([p[:-1], p[1:]], axis=1)))
    edges = shapely.linestrings(np.stack([q[:-1], q[1:]], axis=1))
    b, a = tree.query(edges, predicate="dwithin", distance=sag + 1e-12 * size)
    along, across = (p[1:] - p[:-1])[a], (q[1:] - q[:-1])[b]
    turn = along[:, 0] * across[:, 1] - along[:, 1] * across[:, 0]
    crossing = np.abs(turn) > 1e-7 * np.hypot(*along.T) * np.hypot(*across.T)  # else parallel: arcs that coincide
    a, b = a[crossing], b[crossing]
    guesses = 0.5 * np.column_stack([s[a] + s[a + 1], t[b] + t[b + 1]])
    result: list[tuple[float, float]] = []
    for guess in guesses[:4000]:
        known = (np.abs(np.array(result).reshape(-1, 2) - guess) < 1e-6 * np.array([one.span, two.span])).all(axis=1)
        if not known.any() and (pair := _newton(one, two, guess[0], guess[1], size)) is not None:
            result.append(pair)
    result += [(e, x) for e in _ends(one) if (x := nearest_parameter(two, _at(one, e), size)) is not None]
    result += [(x, e) for e in _ends(two) if (x := nearest_parameter(one, _at(two, e), size)) is not None]
    return result


def _ends(arc: Arc) -> list[float]:
    return [] if arc.closed else [arc.start, arc.stop]


def _at(arc: Arc, s: float) -> Array:
    """γ(s), (2,)."""
    return arc.point(np.array([s]))[0]


def _newton(one: Arc, two: Arc, s: float, t: float, size: float) -> tuple[float, float] | None:
    for _ in range(30):
        gap = _at(two, t) - _at(one, s)
        if np.hypot(*gap) < 1e-15 * size:
            break
        matrix = np.column_stack([one.velocity(np.array([s]))[0], -two.velocity(np.array([t]))[0]])
        scale = np.hypot(*matrix[:, 0]) * np.hypot(*matrix[:, 1])
        if abs(np.linalg.det(matrix)) < 1e-6 * scale:  # parallel here: the arcs touch or coincide, they do not cross
            return None
        ds, dt = np.linalg.solve(matrix, gap)
        s += float(np.clip(ds, -0.1 * one.span, 0.1 * one.span))
        t += float(np.clip(dt, -0.1 * two.span, 0.1 * two.span))
        if abs(ds) < 1e-15 * one.span and abs(dt) < 1e-15 * two.span:
            break
    on_both = all(
        arc.closed or arc.start - 1e-9 * arc.span <= at <= arc.stop + 1e-9 * arc.span
        for arc, at in ((one, s), (two, t))
    )
    return (float(s), float(t)) if on_both and np.hypot(*(_at(two, t) - _at(one, s))) < 1e-12 * size else None


def nearest_parameter(arc: Arc, point: Array, size: float) -> float | None:
    """The parameter at which the arc passes through the point, or None."""
    s = _parameters(arc)
    p = arc.point(s)
    if arc.straight:
        direction = p[1] - p[0]
        guess = arc.start + arc.span * float(np.clip((point - p[0]) @ direction / (direction @ direction), 0, 1))
    else:
        guess = float(s[int(np.argmin(np.hypot(*(p - point).T)))])
        for _ in range(30):
            v = arc.velocity(np.array([guess]))[0]
            step = float((point - _at(arc, guess)) @ v / (v @ v))
            guess = guess + step if arc.closed else float(np.clip(guess + step, arc.start, arc.stop))
            if abs(step) < 1e-15 * arc.span:
                break
    return guess if np.hypot(*(_at(arc, guess) - point)) < 1e-11 * size else None
