"""Unions, intersections and differences of plane domains."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import shapely
from pydantic import Field, SerializeAsAny, ValidationInfo, WithJsonSchema, field_validator

from gleg_core.errors import GeometryError
from gleg_core.spec.params import PackParams
from gleg_domains.arcs import Arc
from gleg_domains.kinds import params_of, plane_kinds
from gleg_domains.planar import ArcSegment, PlanarDomain

Array = np.ndarray
_SAMPLES = 400


class Operand(PackParams):
    """One nested domain: its kind, its validated parameters and an optional name for its segments."""

    kind: str
    name: str | None = None
    params: SerializeAsAny[PackParams]

    def build(self) -> PlanarDomain:
        from gleg_domains.kinds import factory_of

        return factory_of(self.kind)(self.params)


_FLAT = {
    "type": "object",
    "required": ["kind"],
    "properties": {
        "kind": {"enum": plane_kinds()},
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
    model = params_of(value["kind"])
    return Operand(kind=value["kind"], name=value.get("name"), params=model.model_validate(rest, context=info.context))


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

    def contains(self, points: Array) -> Array:
        return self.combine([d.contains(points) for d in self._operands])

    @staticmethod
    def combine(masks: list[Array]) -> Array:
        raise NotImplementedError


class Union(Combination):
    """Points in any operand."""

    @staticmethod
    def combine(masks: list[Array]) -> Array:
        return np.logical_or.reduce(masks)


class Intersection(Combination):
    """Points in every operand."""

    @staticmethod
    def combine(masks: list[Array]) -> Array:
        return np.logical_and.reduce(masks)


class Difference(Combination):
    """Points in the first operand and in none of the others."""

    subtract_from_first = True

    @staticmethod
    def combine(masks: list[Array]) -> Array:
        return masks[0] & ~np.logical_or.reduce(masks[1:])


def combined_segments(
    operands: Sequence[PlanarDomain], labels: Sequence[str], inside: Callable[[Array], Array], subtract: bool
) -> list[ArcSegment]:
    if len(set(labels)) < len(labels):
        raise GeometryError(f"the names of combined domains must differ, found {', '.join(labels)}")
    if any(d.dim != 2 for d in operands):
        raise GeometryError("only plane domains can be combined")
    boxes = np.array([d.bounds for d in operands])
    size = float(np.max(boxes[:, :, 1].max(axis=0) - boxes[:, :, 0].min(axis=0)))
    cuts = iter(all_cuts([d.arcs for d in operands], size))
    kept: list[tuple[str, str, list[Arc]]] = []
    taken: list[Array] = []
    for number, (domain, label) in enumerate(zip(operands, labels, strict=True)):
        for segment in domain.segments:
            parts: list[Arc] = []
            for arc in segment.arcs:
                for part in cut(arc, next(cuts)):
                    directed = part.reversed() if subtract and number else part
                    if _separates(directed, inside, size) and not _taken(directed, taken, size):
                        parts.append(directed)
            taken += [_marks(p) for p in parts]
            if parts:
                kept.append((label, segment.name, chained(parts, size)))
    if not kept:
        raise GeometryError("the combined domain is empty: its operands leave no points")
    own = [name for _, name, _ in kept]
    return [ArcSegment(n if own.count(n) == 1 else f"{label}.{n}", p) for label, n, p in kept]


def chained(parts: list[Arc], size: float) -> list[Arc]:
    """Parts in the order in which they join, each chain from its own beginning."""
    starts, stops = np.array([p.at(0.0)[0] for p in parts]), np.array([p.at(1.0)[0] for p in parts])
    gaps = np.hypot(*(starts[None, :] - stops[:, None]).transpose(2, 0, 1))
    follows = [int(np.argmin(row)) if row.min() < 1e-9 * size else -1 for row in gaps]
    order: list[int] = []
    for first in [i for i in range(len(parts)) if i not in follows] + list(range(len(parts))):
        i = first
        while i >= 0 and i not in order:
            order.append(i)
            i = follows[i]
    return [parts[i] for i in order]


def _separates(arc: Arc, inside: Callable[[Array], Array], size: float) -> bool:
    """Is Ω on the left of the arc and not on its right? Judged at three inner points by majority."""
    s = arc.start + arc.span * np.array([0.31, 0.5, 0.73])
    point, normal = arc.point(s), arc.normal(s)
    step = min(1e-7 * size, 1e-3 * arc.length)
    votes = inside(point - step * normal) & ~inside(point + step * normal)
    return int(votes.sum()) >= 2


def _marks(arc: Arc) -> Array:
    return arc.at(np.linspace(0, 1, 65))


def _taken(arc: Arc, taken: list[Array], size: float) -> bool:
    """Does an earlier part of the boundary run along this one? Then it is counted once."""
    probe = shapely.points(arc.at(np.array([0.31, 0.5, 0.73])))
    for marks in taken:
        if (shapely.distance(shapely.LineString(marks), probe) < 1e-3 * arc.length).all():
            start, stop = arc.at(0.0)[0], arc.at(1.0)[0]
            if min(np.hypot(*(marks[0] - start)), np.hypot(*(marks[-1] - start))) < 1e-8 * size and (
                min(np.hypot(*(marks[0] - stop)), np.hypot(*(marks[-1] - stop))) < 1e-8 * size
            ):
                return True
    return False


def cut(arc: Arc, parameters: Sequence[float]) -> list[Arc]:
    """The arc divided at sorted parameters; a closed arc with k ≥ 1 cuts gives k parts."""
    if not len(parameters):
        return [arc]
    if arc.closed:
        return [arc.part(a, b) for a, b in pairwise([*parameters, parameters[0] + arc.span])]
    return [arc.part(a, b) for a, b in pairwise([arc.start, *parameters, arc.stop])]


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
    return arc.start + arc.span * np.linspace(0, 1, 2 if arc.straight else _SAMPLES + 1)


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
    guesses = [(0.5 * (s[i] + s[i + 1]), 0.5 * (t[j] + t[j + 1])) for i, j in zip(a, b, strict=True)]
    result: list[tuple[float, float]] = []
    for guess in guesses[:4000]:
        if any(abs(guess[0] - x) < 1e-6 * one.span and abs(guess[1] - y) < 1e-6 * two.span for x, y in result):
            continue
        if (pair := _newton(one, two, *guess, size)) is not None:
            result.append(pair)
    ends = [] if one.closed else [one.start, one.stop]
    result += [(e, x) for e in ends if (x := nearest_parameter(two, one.point(np.array([e]))[0], size)) is not None]
    ends = [] if two.closed else [two.start, two.stop]
    result += [(x, e) for e in ends if (x := nearest_parameter(one, two.point(np.array([e]))[0], size)) is not None]
    return result


def _newton(one: Arc, two: Arc, s: float, t: float, size: float) -> tuple[float, float] | None:
    for _ in range(30):
        gap = (two.point(np.array([t])) - one.point(np.array([s])))[0]
        if np.hypot(*gap) < 1e-15 * size:
            break
        matrix = np.column_stack([one.velocity(np.array([s]))[0], -two.velocity(np.array([t]))[0]])
        scale = np.hypot(*matrix[:, 0]) * np.hypot(*matrix[:, 1])
        if abs(np.linalg.det(matrix)) < 1e-6 * scale:  # parallel here: the arcs touch or coincide, they do not cross
            return None
        ds, dt = np.linalg.solve(matrix, gap)
        s, t = (
            s + float(np.clip(ds, -0.1 * one.span, 0.1 * one.span)),
            t + float(np.clip(dt, -0.1 * two.span, 0.1 * two.span)),
        )
        if abs(ds) < 1e-15 * one.span and abs(dt) < 1e-15 * two.span:
            break
    gap = (two.point(np.array([t])) - one.point(np.array([s])))[0]
    slack = 1e-9
    on_one = one.closed or one.start - slack * one.span <= s <= one.stop + slack * one.span
    on_two = two.closed or two.start - slack * two.span <= t <= two.stop + slack * two.span
    return (s, t) if np.hypot(*gap) < 1e-12 * size and on_one and on_two else None


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
            step = float((point - arc.point(np.array([guess]))[0]) @ v / (v @ v))
            guess = guess + step if arc.closed else float(np.clip(guess + step, arc.start, arc.stop))
            if abs(step) < 1e-15 * arc.span:
                break
    gap = arc.point(np.array([guess]))[0] - point
    return guess if np.hypot(*gap) < 1e-11 * size else None
