"""Domains {f > 0} bounded by the smooth zero contour of a formula f(x, y)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
import shapely
from pydantic import Field, model_validator

from gleg_core.errors import GeometryError
from gleg_core.expressions import Expression
from gleg_core.spec.params import PackParams, formula_over
from gleg_domains.arcs import TWO_PI, Arc, evaluated
from gleg_domains.planar import ArcSegment, PlanarDomain
from gleg_domains.simple import Range, increasing

Array = np.ndarray


class LevelSetParams(PackParams):
    function: formula_over("x", "y") = Field(description="f(x, y), positive inside the domain")  # type: ignore[valid-type]
    box: tuple[Range, Range] = Field(
        ((-1.0, 1.0), (-1.0, 1.0)), description="[[xmin, xmax], [ymin, ymax]] that holds the domain strictly inside"
    )

    @model_validator(mode="after")
    def _ordered(self) -> "LevelSetParams":
        increasing(*self.box[0], "x of the box")
        increasing(*self.box[1], "y of the box")
        return self


@dataclass(frozen=True, eq=False)
class Field2D:
    """f and ∇f on points (n, 2)."""

    expression: Expression

    def value(self, points: Array) -> Array:
        return self._evaluated(points, self.expression)[0]

    def gradient(self, points: Array) -> Array:
        return np.column_stack(self._evaluated(points, *self._slopes))

    @cached_property
    def _slopes(self) -> tuple[Expression, Expression]:
        return self.expression.d("x"), self.expression.d("y")

    @staticmethod
    def _evaluated(points: Array, *formulas: Expression) -> list[Array]:
        return evaluated(formulas, x=points[:, 0], y=points[:, 1])

    def project(self, points: Array, farthest: float) -> Array:
        """Newton's method along ∇f onto f = 0; no step longer than ``farthest``."""
        for _ in range(30):
            gradient = self.gradient(points)
            square = np.maximum((gradient**2).sum(axis=1), 1e-300)
            step = -(self.value(points) / square)[:, None] * gradient
            length = np.hypot(*step.T)
            step *= np.minimum(1.0, farthest / np.maximum(length, 1e-300))[:, None]
            points = points + step
            if length.max() < 1e-15 * np.abs(points).max():
                break
        return points


class LevelSet(PlanarDomain):
    """Ω = {f > 0} in the box. Segments: boundary for the outer loop (boundary0, boundary1, … if Ω has several parts), hole0, …"""

    def __init__(self, params: LevelSetParams):
        self._box = np.array(params.box, dtype=float)
        self._field = Field2D(params.function)
        arcs = [_grows_left(smooth_loop(self._field, r), self._field) for r in zero_contour(self._field, self._box)]
        outer, holes = [a for a in arcs if a.swept_area > 0], [a for a in arcs if a.swept_area <= 0]
        names = ["boundary"] if len(outer) == 1 else [f"boundary{i}" for i in range(len(outer))]
        names += [f"hole{i}" for i in range(len(holes))]
        super().__init__([ArcSegment(name, [arc]) for name, arc in zip(names, [*outer, *holes], strict=True)])

    def contains(self, points: Array) -> Array:
        points = np.atleast_2d(points)
        inside: Array = np.all((points > self._box[:, 0]) & (points < self._box[:, 1]), axis=1)
        inside[inside] = self._field.value(points[inside]) > 0
        return inside


def _grows_left(arc: Arc, field: Field2D) -> Arc:
    """The arc in the direction in which f grows towards its left: then outer loops run counter-clockwise."""
    s = np.array([arc.start])
    (dx, dy), (f_x, f_y) = arc.velocity(s)[0], field.gradient(arc.point(s))[0]
    return arc if dx * f_y > dy * f_x else arc.reversed()


def zero_contour(field: Field2D, box: Array, n: int = 240) -> list[Array]:
    """Closed rings (m, 2) of points on f = 0, in order: sign changes on a grid, joined cell by cell, then projected."""
    x, y = (np.linspace(side[0], side[1], n + 1) for side in box)
    grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
    with np.errstate(all="ignore"):
        f = field.value(grid.reshape(-1, 2)).reshape(n + 1, n + 1)
    if not np.isfinite(f).all():
        i, j = np.argwhere(~np.isfinite(f))[0]
        raise GeometryError(
            f"the level-set function is {f[i, j]} at ({x[i]:.4g}, {y[j]:.4g}); it must be finite in the box"
        )
    if not (f > 0).any():
        raise GeometryError(f"the level-set function is nowhere positive in the box (its maximum is {f.max():.4g})")
    if not (f <= 0).any():
        raise GeometryError("the level-set function has no zero contour in the box: it is positive everywhere")
    rim = f > 0
    rim[1:-1, 1:-1] = False
    if rim.any():
        i, j = np.argwhere(rim)[0]
        raise GeometryError(
            f"the level set runs out of the box: f > 0 at ({x[i]:.4g}, {y[j]:.4g}); enlarge `box` or bound f"
        )
    cell = np.hypot(x[1] - x[0], y[1] - y[0])
    rings = [field.project(ring, cell) for ring in _march(f, x, y)]
    for ring in rings:
        size = np.hypot(*field.gradient(ring).T)
        worst = int(np.argmin(size))
        if size[worst] <= 1e-6 * np.median(size) or not np.isfinite(size).all():
            raise GeometryError(
                f"the gradient of the level-set function vanishes on the boundary near ({ring[worst, 0]:.4g}, {ring[worst, 1]:.4g}): "
                "the curve has a corner or crosses itself there; it must be smooth"
            )
    return rings


def _march(f: Array, x: Array, y: Array) -> list[Array]:
    """Marching squares: each cell joins the sign changes on its edges; edges are keyed by their lower-left grid node."""
    positive = f > 0
    mixed = np.argwhere(
        (positive[:-1, :-1] != positive[1:, :-1])
        | (positive[:-1, :-1] != positive[:-1, 1:])
        | (positive[:-1, :-1] != positive[1:, 1:])
    )
    links: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    for i, j in mixed.tolist():
        corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
        edges = [(i, j, 0), (i + 1, j, 1), (i, j + 1, 0), (i, j, 1)]
        signs = [bool(positive[c]) for c in corners]
        crossed = [k for k in range(4) if signs[k] != signs[(k + 1) % 4]]
        pairs = [(crossed[0], crossed[1])]
        if len(crossed) == 4:  # a saddle: the mean decides which corners are connected
            joined = (sum(float(f[c]) for c in corners) > 0) == signs[0]
            pairs = [(0, 1), (2, 3)] if joined else [(3, 0), (1, 2)]
        for a, b in pairs:
            links.setdefault(edges[a], []).append(edges[b])
            links.setdefault(edges[b], []).append(edges[a])

    def place(edge: tuple[int, int, int]) -> tuple[float, float]:
        i, j, vertical = edge
        k, m = (i, j + 1) if vertical else (i + 1, j)
        w = f[i, j] / (f[i, j] - f[k, m])
        return float(x[i] + w * (x[k] - x[i])), float(y[j] + w * (y[m] - y[j]))

    rings = []
    unused = set(links)
    while unused:
        first = current = next(iter(unused))
        chain = []
        previous = None
        while current in unused:
            unused.remove(current)
            chain.append(place(current))
            onward = [e for e in links[current] if e != previous and (e in unused or e == first)]
            previous = current
            if not onward:
                break
            current = next((e for e in onward if e in unused), first)
        if len(chain) >= 4:
            rings.append(np.array(chain))
    return rings


def smooth_loop(field: Field2D, ring: Array) -> Arc:
    """A periodic arc through the ring, accurate to rounding.

    Points at equal chord length are low-pass filtered (so the parameter is smooth) and projected back (so they lie on
    f = 0); the trigonometric interpolant of the result is the arc. The number of points doubles until its spectrum ends.
    """
    line = shapely.LinearRing(ring)
    spacing = line.length / 64
    for n in (256, 512, 1024, 2048, 4096):
        points = shapely.get_coordinates(line.interpolate(np.arange(n) / n, normalized=True))
        points = _even(field.project(points, spacing))
        points = _even(field.project(points, spacing))
        for keep in (n // 16, n // 6, n // 4):
            points = field.project(low_pass(points, keep), spacing)
        spectrum = np.abs(np.fft.fft(points[:, 0] + 1j * points[:, 1]))
        if spectrum[3 * n // 8 : 5 * n // 8].max() <= 1e-14 * spectrum[1:].max():
            return fourier_arc(points)
    centre = points.mean(axis=0)
    raise GeometryError(
        f"the level-set curve around ({centre[0]:.4g}, {centre[1]:.4g}) has a corner or is too sharp to be resolved; "
        "use a function with a smooth zero contour, or combine several domains"
    )


def _even(points: Array) -> Array:
    """The same closed curve at equal steps of chord length, by a periodic cubic spline."""
    from scipy.interpolate import CubicSpline

    closed = np.vstack([points, points[:1]])
    chord = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))])
    spline = CubicSpline(chord, closed, bc_type="periodic")
    return spline(chord[-1] * np.arange(len(points)) / len(points))


def low_pass(points: Array, keep: int) -> Array:
    modes = np.fft.rfft(points, axis=0)
    modes[keep:] = 0
    return np.fft.irfft(modes, len(points), axis=0)


def fourier_arc(points: Array) -> Arc:
    """The trigonometric interpolant z(s) = Σ c_k e^{iks} through equispaced points, 0 ≤ s < 2π.

    It is tabulated eight times finer and evaluated by local polynomials of degree 11, which agree with it to rounding
    and cost the same however many modes there are.
    """
    n, fine, reach = len(points), 8 * len(points), 6
    modes = np.fft.rfft(points, axis=0)[: 3 * n // 8 + 1] * (fine / n)
    slopes = 1j * np.arange(len(modes))[:, None] * modes
    offsets = np.arange(1 - reach, reach + 1)
    signs = np.array([(-1.0) ** j * comb(2 * reach - 1, j) for j in range(2 * reach)])

    def local(modes: Array) -> Callable[[Array], Array]:
        values = np.fft.irfft(modes, fine, axis=0)

        def call(s: Array) -> Array:
            position = np.asarray(s, dtype=float) * (fine / TWO_PI)
            base = np.floor(position)
            gap = (position - base)[:, None] - offsets
            gap[np.abs(gap) < 1e-14] = 1e-14
            kernel = signs / gap
            kernel /= kernel.sum(axis=1)[:, None]
            near = values[(base.astype(int)[:, None] + offsets) % fine]
            return np.einsum("nj,njk->nk", kernel, near)

        return call

    return Arc(local(modes), local(slopes), 0.0, TWO_PI, closed=True)
