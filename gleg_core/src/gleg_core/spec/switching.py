"""When what a problem states jumps or has a kink in time: the moments at which its formulas switch.

A step across such a moment is wrong, or as short as numbers can be: rollouts stop a ``gap`` before it and go on a gap after it. Switches
whose level depends on place as well move through Ω and have no moment.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gleg_core.expressions import Expression
from gleg_core.expressions.switches import switches
from gleg_core.spec.params import formulas
from gleg_core.spec.problem import Problem, TermSpec

_LOOKED_AT = 20_000
"""Times at which levels are looked at: switches closer together than two of them are not seen."""
_GAP, _ULPS = 1e-12, 64.0
"""Length of a gap as a part of the run, and in units of the last place of a time, at least: rounding must not cross it."""


@dataclass(frozen=True)
class Switching:
    """``times`` in ascending order, and the ``gap`` that is left out on each side of them."""

    times: tuple[float, ...] = ()
    gap: float = 0.0

    def stretches(self, start: float, end: float) -> list[tuple[float, float]]:
        """The parts of an interval between switches; one that begins or ends at a switch ends a gap beyond or before it."""
        cuts = [t for t in self.times if start - self.gap < t < end + self.gap]
        parts = zip([start, *(t + self.gap for t in cuts)], [*(t - self.gap for t in cuts), end], strict=True)
        return [(a, b) for a, b in parts if b > a]


def switching_of(problem: Problem) -> Switching:
    """Of all that a problem states as a function of time, and the stops that it asks for."""
    time = problem.section.time
    return switching(stated_formulas(problem), time.start, time.end, time.stops)


def switching(given: Iterable[Expression], start: float, end: float, stops: Iterable[float] = ()) -> Switching:
    """Of formulas between two times, and further ``stops``."""
    levels = dict.fromkeys(s.level for formula in given for s in switches(formula) if s.level.free == {"t"})
    gap = max(_GAP * (end - start), _ULPS * math.ulp(max(abs(start), abs(end))))
    found: list[float] = []
    for t in sorted([*stops, *(t for level in levels for t in _changes(level, start, end))]):
        if not found or t > found[-1] + 2 * gap:
            found.append(t)
    return Switching(tuple(found), gap)


def _changes(level: Expression, start: float, end: float) -> Iterator[float]:
    """Where the sign of a formula of time changes."""

    def value(t: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.nan_to_num(level(t=t)), t.shape)

    t = np.linspace(start, end, _LOOKED_AT + 1)
    t = np.union1d(t, _dips(value, t))
    signs = np.sign(value(t))
    rows = np.flatnonzero(signs[1:] != signs[:-1])
    low, high, before = t[rows], t[rows + 1], signs[rows]
    for _ in range(60):
        middle = 0.5 * (low + high)
        same = np.sign(value(middle)) == before
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    yield from high.tolist()


def _dips(value: Callable[[np.ndarray], np.ndarray], t: np.ndarray) -> np.ndarray:
    """Where a function comes closest to zero between neighbours of t, or passes it there and back: short pulses."""
    values = value(t)
    size = np.pad(np.abs(values), 1, mode="edge")
    rows = np.flatnonzero((size[1:-1] <= size[:-2]) & (size[1:-1] <= size[2:]) & (np.abs(np.gradient(values)) > 0))
    low, high, side = t[np.maximum(rows - 1, 0)], t[np.minimum(rows + 1, len(t) - 1)], np.sign(values[rows])
    for _ in range(100):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        left = side * value(a) < side * value(b)
        low, high = np.where(left, low, a), np.where(left, b, high)
    return 0.5 * (low + high)


def stated_formulas(problem: Problem) -> Iterator[Expression]:
    """All that is given as a formula: data of conditions, coefficients, sources, exact solutions that forcing is made of."""
    for field in problem.fields:
        given = [field.section.exact] if field.section.forcing != "none" else []
        for condition in field.conditions:
            given += field.given_on(condition)
        for term in field.terms:
            given += formulas_of_term(term)
        yield from (data for data in given if isinstance(data, Expression))


def formulas_of_term(term: TermSpec) -> Iterator[Expression]:
    """Of its coefficient and of its mechanism's parameters."""
    yield term.section.coefficient
    yield from formulas(term.block.params) if term.block is not None else ()
    for part in term.square:
        yield from formulas_of_term(part)
