"""Volume quadrature: Gauss in y times Gauss in x on the strips between two boundary branches.

The plane is cut into vertical bands. In a band, a line y = const meets Ω in intervals (x_l(y), x_r(y)) whose ends are branches or walls
of the band; a strip is a range of heights with the same two ends. Where an end turns horizontal it behaves like √(y − y_0), and a
quadratic (or sin²) substitution in y makes the integrand analytic again. Strips that still converge slowly are halved. Bands keep
the lines short, so that a jagged shore with many short strips does not ask for long lines at every vertex.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np

from gleg_core.contracts.domain import Quadrature
from gleg_core.errors import GeometryError
from gleg_domains_drawings.arcs import bezier, gauss
from gleg_domains_drawings.branches import Branch, Loop, branches

Array = np.ndarray
_BAND = 40.0
"""Width of a band times the wavenumber."""


@dataclass(frozen=True, eq=False)
class Strip:
    """{(x, y): low < y < high, x_left(y) < x < x_right(y)}; ``flat``: whether an end is horizontal at low, at high."""

    left: Branch
    right: Branch
    low: float
    high: float
    flat: tuple[bool, bool]

    def heights(self, u: Array) -> tuple[Array, Array]:
        """y(u) and dy/du, −1 ≤ u ≤ 1, such that x_left and x_right are smooth in u."""
        s, h = 0.5 * (1 + u), self.high - self.low
        match self.flat:
            case (False, False):
                return self.low + h * s, np.full_like(s, 0.5 * h)
            case (True, False):
                return self.low + h * s**2, h * s
            case (False, True):
                return self.high - h * (1 - s) ** 2, h * (1 - s)
        return self.low + h * np.sin(0.5 * np.pi * s) ** 2, 0.25 * np.pi * h * np.sin(np.pi * s)

    def lines(self, n: int) -> tuple[Array, Array, Array, Array]:
        """Heights y, their weights, and the middle and half width of the interval at each, all (n,)."""
        u, w = gauss(n)
        y, slope = self.heights(u)
        left, right = self.left.x_at(y), self.right.x_at(y)
        return y, w * slope, 0.5 * (left + right), 0.5 * (right - left)

    def halves(self) -> "tuple[Strip, Strip]":
        middle = float(self.heights(np.zeros(1))[0][0])
        return (
            replace(self, high=middle, flat=(self.flat[0], False)),
            replace(self, low=middle, flat=(False, self.flat[1])),
        )


def slab_rule(loops: Sequence[Loop], wavenumber: float, box: Array, error: float) -> Quadrature:
    """The rule with the fewest nodes among horizontal and vertical lines, with and without bands; ``error`` is that of one strip."""
    turn = np.array([[0.0, 1.0], [1.0, 0.0]])
    turned = [[arc.moved(turn, np.zeros(2)) for arc in loop] for loop in loops]
    rules = []
    for axis, (shape, frame) in enumerate([(loops, box), (turned, box[::-1])]):
        low, high = frame[0]
        for bands in sorted({1, max(1, round(wavenumber * (high - low) / _BAND))}):
            # Not quite equal widths: a wall should not run along a vertical edge of a symmetric drawing.
            steps = np.arange(1, bands) / bands
            walls = low + (high - low) * (steps + 0.0137 * np.sin(7 * steps) / bands)
            blocks = [
                _nodes(part, n, wavenumber, error)
                for strip in strips(shape, walls.tolist(), frame)
                for part, n in _resolved(strip, wavenumber, error, frame)
            ]
            points, weights = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
            rules.append(Quadrature(points[:, ::-1] if axis else points, weights))
    return min(rules, key=lambda rule: len(rule.weights))


def strips(loops: Sequence[Loop], walls: Sequence[float], box: Array) -> list[Strip]:
    """Ω cut into strips, band by band from left to right."""
    parts, level = branches(loops, walls)
    (_, _), (bottom, top) = box
    middles = [p.arc.point(np.array([0.5 * (p.t_low + p.t_high)]))[0, 0] for p in parts]
    band = np.searchsorted(np.asarray(walls), middles)
    low, high = np.array([p.low for p in parts]), np.array([p.high for p in parts])
    posts = [Branch(bezier([(x, bottom), (x, top)]), -1.0, 1.0, bottom, top) for x in walls]
    found = []
    for b in range(len(walls) + 1):
        own, before = np.flatnonzero(band == b), np.flatnonzero(band < b)
        heights = np.unique(np.concatenate([low[own], high[own], level, [low.min(), high.max()]]))
        heights = heights[np.append(True, np.diff(heights) > 4e-14 * (top - bottom))]
        open_strips: dict[tuple[Branch, Branch], float] = {}
        for y0, y1 in pairwise(heights):
            y = y0 + 0.47 * (y1 - y0)  # not the middle, where symmetric drawings have coincidences
            alive = own[(low[own] < y) & (high[own] > y)]
            x = np.array([parts[i].x_at(np.array([y]))[0] for i in alive])
            ends = [parts[i] for i in alive[np.argsort(x)]]
            if np.count_nonzero((low[before] < y) & (high[before] > y)) % 2:
                ends.insert(0, posts[b - 1])
            if len(ends) % 2:
                ends.append(posts[b])
            pairs = list(zip(ends[::2], ends[1::2], strict=True))
            for pair in [pair for pair in open_strips if pair not in pairs]:
                found.append(_strip(pair, open_strips.pop(pair), y0))
            for pair in pairs:
                open_strips.setdefault(pair, y0)
        found += [_strip(pair, since, heights[-1]) for pair, since in open_strips.items()]
    return found


def _strip(pair: tuple[Branch, Branch], low: float, high: float) -> Strip:
    near = 1e-10 * (high - low)
    flat_low = any(e.flat_ends[0] and low - e.low <= near for e in pair)
    flat_high = any(e.flat_ends[1] and e.high - high <= near for e in pair)
    return Strip(*pair, float(low), float(high), (flat_low, flat_high))


def _resolved(strip: Strip, wavenumber: float, error: float, box: Array, depth: int = 0) -> list[tuple[Strip, int]]:
    """Parts of the strip with the number of heights that integrates plane waves within the tolerance."""
    angles = np.pi * np.arange(8) / 8
    waves = np.concatenate([wavenumber * np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros((1, 2))])
    centre = box.mean(axis=1)

    def integrals(n: int) -> Array:
        """∫ exp(iκ·(x − c)) dx of every wave, in closed form along each line."""
        y, w, middle, half = strip.lines(n)
        if (half < -1e-9 * np.ptp(box, axis=1).max()).any():
            raise GeometryError("the boundary crosses itself where two curves almost touch; move them apart")
        phase = np.outer(middle - centre[0], waves[:, 0]) + np.outer(y - centre[1], waves[:, 1])
        return (2 * w * half) @ (np.sinc(np.outer(half, waves[:, 0]) / np.pi) * np.exp(1j * phase))

    h = strip.high - strip.low
    x = np.concatenate([strip.left.x_at(ends := np.array([strip.low, strip.high])), strip.right.x_at(ends)])
    turns = 0.5 * wavenumber * (h + abs(x[1] - x[0]) + abs(x[3] - x[2]))  # how far phases run along the ends
    n = 2 + int(0.2 * wavenumber * h)
    value = integrals(n)
    while n < 40 + turns:
        more = n + max(2, n // 4)
        finer = integrals(more)
        if np.abs(finer - value).max() <= error:
            return [(strip, n)]
        n, value = more, finer
    if depth == 40 or h <= 1e-13 * np.ptp(box[1]):
        return [(strip, n)]
    return [part for half in strip.halves() for part in _resolved(half, wavenumber, error, box, depth + 1)]


def _nodes(strip: Strip, n: int, wavenumber: float, error: float) -> tuple[Array, Array]:
    """Points (m, 2) and weights (m,): on every line as many Gauss nodes as its length asks for."""
    y, w, middle, half = strip.lines(n)
    keep = half > 0
    y, w, middle, half = y[keep], w[keep], middle[keep], half[keep]
    decade = 10.0 ** np.floor(np.log10(max(0.1 * error / float(w @ (2 * half)), 1e-14)))
    counts = np.array([_nodes_for(float(np.ceil(4 * wavenumber * s) / 4), decade) for s in half], dtype=int)
    points, weights = [np.zeros((0, 2))], [np.zeros(0)]
    for m in np.unique(counts):
        rows = counts == m
        t, v = gauss(int(m))
        x = middle[rows, None] + half[rows, None] * t
        points.append(np.column_stack([x.ravel(), np.repeat(y[rows], len(t))]))
        weights.append((half[rows, None] * w[rows, None] * v).ravel())
    return np.concatenate(points), np.concatenate(weights)


@cache
def _nodes_for(omega: float, error: float) -> int:
    """Fewest Gauss nodes that integrate cos ωt over [−1, 1] to ``error``."""
    n = 1 + int(0.5 * omega)
    while True:
        t, w = gauss(n)
        if abs(w @ np.cos(omega * t) - 2 * np.sinc(omega / np.pi)) <= 2 * error + 2e-16 * omega:
            return n
        n += 1
