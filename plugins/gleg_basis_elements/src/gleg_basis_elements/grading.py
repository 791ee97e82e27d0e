"""Rings of ever smaller triangles around a point: every triangle (c, a, b) at the point c becomes a smaller copy of itself and a
trapezoid of two triangles, again and again."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gleg_basis_elements.triangulate import Mesh

Array = np.ndarray
Cell = tuple[int, ...]
_MOST = 40
_LEAST = 1e-13
"""Radius of the innermost ring, in units of the domain's extent, at least."""
_CONSTANT = 1.0
"""Measured: 0.01 on the L-shape (λ = 2/3), 0.03 on coasts whose corners reach λ = ½, 0.3 at a slit with a value on one side (λ = ¼)."""
_ALMOST_SMOOTH = 0.85
"""Exponent that larger ones count as: corners with λ ≥ 1 leave little, but their second derivatives may be unbounded."""
_FINE, _COARSE, _JUMPING = (0.3, 50.0), (0.15, 75.0), (0.5, 30.0)
"""Ratio of the radii of two rings, and the widest angle in degrees of a triangle at the point."""
_COARSE_ENOUGH = 1e-3
_JUMP = 0.25
"""Up to this exponent solutions jump, or nearly so: their error is the same in every ring."""


@dataclass(frozen=True)
class Rings:
    """Around the point with number ``centre``: how many, the ``ratio`` of the radii of two, the widest angle of a triangle there."""

    centre: int
    levels: int
    ratio: float
    widest: float


def rings_for(
    centre: int, exponent: float, distance: float, alone: float, extent: float, tolerance: float, levels: int | None
) -> Rings:
    """Those that resolve a function like r^exponent, beginning at a ``distance``, where no other rough point is nearer than ``alone``.

    The solution varies by alone/extent there, in units of its own, and as many points may share the boundary as that: the innermost
    triangle leaves an error of about _CONSTANT (1 − λ)² (alone/extent) (r/alone)^{2λ}, λ the exponent, and of r/extent where the function
    itself jumps.
    """
    ratio, widest = _FINE
    if exponent > 0.0:
        constant = _CONSTANT * (1.0 - min(exponent, _ALMOST_SMOOTH)) ** 2
        allowed = min(1.0, tolerance * extent / alone / constant)
        radius = alone * allowed ** (0.5 / exponent)
        ratio, widest = _FINE if allowed < _COARSE_ENOUGH else _COARSE
    else:
        radius = tolerance * extent
    if exponent <= _JUMP:
        ratio, widest = _JUMPING
    needed = int(
        np.clip(np.ceil(np.log(max(distance / max(radius, _LEAST * extent), 1e-300)) / -np.log(ratio)), 0, _MOST)
    )
    return Rings(centre, needed if levels is None else levels, ratio, float(np.radians(widest)))


def share_of_size(exponent: float) -> float:
    """Size of the triangles that rings are made of, as a part of the size elsewhere."""
    return 0.35 if exponent <= _JUMP else 0.6 if exponent < 1.0 else 1.0


def graded(mesh: Mesh, rings: Sequence[Rings]) -> Mesh:
    """The mesh with rings around points."""
    work = _Refinement(mesh)
    for r in rings:
        work.narrow(r.centre, r.widest)
        for _ in range(r.levels):
            work.ring(r.centre, r.ratio)
    return work.mesh()


class _Refinement:
    """A mesh whose cells are divided one after the other."""

    def __init__(self, mesh: Mesh):
        self._mesh = mesh
        self._points = list(mesh.points)
        self._cells: list[Cell] = [tuple(c) for c in mesh.cells.tolist()]
        self._at: dict[int, set[int]] = {}
        """Cells at a point."""
        for number, cell in enumerate(self._cells):
            for v in cell:
                self._at.setdefault(v, set()).add(number)
        on_curves = zip(mesh.ends.tolist(), mesh.curve.tolist(), mesh.span.tolist(), mesh.segment.tolist(), strict=True)
        self._edges = {(min(ends), max(ends)): (tuple(ends), *rest) for ends, *rest in on_curves}

    def narrow(self, c: int, widest: float) -> None:
        """Halve the edges opposite to c of cells with a wider angle there, and so the cells beyond them."""
        waiting = sorted(self._at[c])
        while waiting:
            number = waiting.pop()
            a, b = (v for v in self._cells[number] if v != c)
            to_a, to_b = self._points[a] - self._points[c], self._points[b] - self._points[c]
            if to_a @ to_b >= np.cos(widest) * np.hypot(*to_a) * np.hypot(*to_b):
                continue
            middle = self._between(a, b, 0.5)
            for beside in self._at[a] & self._at[b]:
                (x,) = (v for v in self._cells[beside] if v not in (a, b))
                self._replace(beside, (x, a, middle), (x, middle, b))
            waiting += [n for n in self._at[c] & self._at[middle] if n not in waiting]

    def ring(self, c: int, ratio: float) -> None:
        """One more ring around c."""
        new: dict[int, int] = {}
        for number in sorted(self._at[c]):
            a, b = (v for v in self._cells[number] if v != c)
            for v in (a, b):
                if v not in new:
                    new[v] = self._between(c, v, ratio)
            p, q, at = new[a], new[b], self._points
            short = np.hypot(*(at[p] - at[b])) <= np.hypot(*(at[q] - at[a]))
            self._replace(number, (c, p, q), *(((p, a, b), (p, b, q)) if short else ((q, a, b), (p, a, q))))

    def mesh(self) -> Mesh:
        ends, curve, span, segment = zip(*self._edges.values(), strict=True)
        made = (np.array(part) for part in (self._points, self._cells, ends, curve, span, segment))
        points, cells, *rest = made
        return Mesh(points, cells, self._mesh.curves, *rest)

    def _between(self, a: int, b: int, share: float) -> int:
        """A new point, that part of the way from a to b: on the curve, and the edge divided, if the edge lies on one."""
        middle = len(self._points)
        known = self._edges.pop((min(a, b), max(a, b)), None)
        if known is None:
            self._points.append(self._points[a] + share * (self._points[b] - self._points[a]))
            return middle
        (first, last), curve, (s0, s1), segment = known
        s = s0 + share * (s1 - s0) if first == a else s1 + share * (s0 - s1)
        self._points.append(self._mesh.curves[curve].point(np.array([s]))[0])
        for ends, span in (((first, middle), (s0, s)), ((middle, last), (s, s1))):
            self._edges[min(ends), max(ends)] = ends, curve, span, segment
        return middle

    def _replace(self, number: int, *new: Cell) -> None:
        for v in self._cells[number]:
            self._at[v].discard(number)
        for i, cell in enumerate(new):
            if i:
                number = len(self._cells)
                self._cells.append(cell)
            else:
                self._cells[number] = cell
            for v in cell:
                self._at.setdefault(v, set()).add(number)
