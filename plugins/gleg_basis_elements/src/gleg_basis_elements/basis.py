"""The basis: Lagrange functions on a mesh of the domain, as fine as the problem needs."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from gleg_basis_elements.boundary import beside_short_edges, chords_of
from gleg_basis_elements.grading import graded, rings_for, share_of_size
from gleg_basis_elements.interfaces import interfaces_of, zeros_of
from gleg_basis_elements.intervals import Intervals, divided
from gleg_basis_elements.params import ElementsParams
from gleg_basis_elements.pollution import Pollution
from gleg_basis_elements.reference import EDGES
from gleg_basis_elements.regions import with_regions
from gleg_basis_elements.sizes import Sizes
from gleg_basis_elements.triangles import Triangles
from gleg_basis_elements.triangulate import Mesh, triangulated
from gleg_core.contracts.basis import Frame, Site
from gleg_core.contracts.domain import Curve, Domain
from gleg_core.contracts.jet import MultiIndex
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.errors import GeometryError, SpecError

Array = np.ndarray
Functions = Intervals | Triangles
_COARSEST, _ALONG = 5.0, 40.0
"""Elements along the shorter side of the domain's box, at least, unless it is very long: then so many along the longer."""
_PASSES, _ENOUGH_CELLS, _MOST_CELLS = 12, 6_000, 60_000
"""How often a mesh is refined for the given functions, up to how many cells for them alone, and how many in all."""
_MANY, _MORE = 500, 1.5
"""Cells from which on a pass with so many times more of them tells whether as many as there may be would do: at kinks that move, which
no mesh follows, thrice the cells gain a factor of 3."""
_SHARE = 0.7
"""Of what is allowed, that a new mesh is made for."""
_GRID, _FEWEST = {1: 20_000, 2: 400}, 20
"""Points along the longer side of the grid on which given functions are looked at first, and along the other side at least."""
_SMALLEST = 2e-3
"""Size that refinement for given functions does not go below, in units of the domain's extent: a jump needs no more."""
_FINENESS = 1e-3
"""Sizes are multiples of each other by powers of e to this: those that differ by rounding errors would give another mesh every time."""
_UNFOLDED = 10
"""Meshes that are tried until no element is folded over."""
_ROUNDING = 1e-12
"""Range of a function, in units of its values, below which it is constant."""
_AT_ONCE = 2_000_000
"""Numbers in a table of functions at points."""
_LAST = 2
"""Degrees that tell what further ones would add: odd or even ones may be missing."""


@dataclass(frozen=True)
class Made:
    """Functions on a mesh, what is told of it, and which of its cells act far away."""

    functions: Functions
    facts: str
    pollution: Pollution


class ElementsBasis(LocalBasis):
    """Continuous piecewise polynomials. Coefficients are values at the Gauss–Lobatto points of the cells."""

    isotropic = False

    def __init__(self, frame: Frame, params: ElementsParams, made: Made, sizes: Sizes):
        functions = made.functions
        self.frame, self._params, self._functions, self._sizes = frame, params, functions, sizes
        self._facts, self._pollution = made.facts, made.pollution
        self.size = functions.size
        self.order = functions.order
        self.bandwidth = 0.5 * functions.order * math.pi / float(functions.diameters().max())  # resolved everywhere
        self._groups = functions.cells()
        self.cells, self.edges = [cells for cells, _ in self._groups], functions.edge_cells()
        self._rows = np.concatenate([numbers for _, numbers in self._groups])
        self._located: tuple[Array, Array, Array] | None = None

    @property
    def mesh(self) -> Functions:
        """Its cells as they lie in Ω."""
        return self._functions

    def describe(self) -> str:
        count = sum(len(c.functions) for c in self.cells)
        kind = "triangles" if self.dim == 2 else "intervals"
        return f"elements: order {self.order}, {count:,} {kind}{self._facts}, {self.size:,} functions"

    def errors(self, coefficients: Tensor) -> Tensor:
        left_out, last = [], []
        for cells, _ in self._groups:
            sizes = self._functions.element.by_degree(coefficients.numpy()[..., cells.functions])
            sizes *= np.sqrt(cells.weights.sum(axis=1))[:, None]
            left_out.append(_left_out(sizes))
            last.append(np.linalg.norm(sizes[..., -_LAST:], axis=-1))
        pollution = self._pollution.of(self._rows)
        return torch.from_numpy(pollution.counted(np.concatenate(left_out, axis=-1), np.concatenate(last, axis=-1)))

    def refined(self, errors: Array, allowed: float) -> Mapping[str, Any] | None:
        by_cell = np.empty(len(errors))
        by_cell[self._rows] = errors
        by_cell[self._pollution.innermost] = 0.0  # rings make those smaller, as the tolerance says
        sizes = _smaller(self._functions, self._sizes, by_cell, allowed, 0.0)
        if sizes is None or len(errors) > _MOST_CELLS:
            return None
        near = np.column_stack([sizes.places, sizes.wanted])
        return {
            **self._params.model_dump(mode="json"),
            "near": [[float(f"{value:.6g}") for value in row] for row in near],
        }

    def evaluate(self, coefficients: Tensor, points: Tensor, derivative: MultiIndex | None = None) -> Tensor:
        alpha = derivative or (0,) * self.dim
        if sum(alpha) > 1:
            raise SpecError("finite elements have no second derivatives: evaluate on a basis of global functions")
        x = points.detach().numpy()
        flat = coefficients.reshape(-1, self.size)
        parts = []
        cell, xi = self._locate(x)
        step = max(1, _AT_ONCE // max(1, self._functions.functions.shape[1] * max(1, len(flat))))
        for first in range(0, len(x), step):
            rows = slice(first, first + step)
            parts.append(self._evaluated(flat, cell[rows], xi[rows], alpha))
        whole = torch.cat(parts, dim=-1) if parts else flat.new_zeros(len(flat), 0)
        return whole.reshape(*coefficients.shape[:-1], len(x))

    def _evaluated(self, coefficients: Tensor, cell: Array, xi: Array, alpha: MultiIndex) -> Tensor:
        functions = self._functions
        if sum(alpha) == 0:
            table = functions.element.values(xi)
        else:
            chain = functions.inverse(cell, xi)[:, :, alpha.index(1)]
            table = np.einsum("ni,ink->nk", chain, functions.element.slopes(xi))
        own = coefficients[:, torch.from_numpy(functions.functions[cell])]
        return torch.einsum("bnk,nk->bn", own, torch.from_numpy(np.ascontiguousarray(table)))

    def _locate(self, points: Array) -> tuple[Array, Array]:
        """Cells and reference points; those of the last points are kept, for the next time or derivative."""
        if self._located is None or not np.array_equal(self._located[0], points):
            self._located = (points.copy(), *self._functions.locate(points))
        return self._located[1:]


def elements(params: ElementsParams, site: Site) -> ElementsBasis:
    """The factory of the pack's entry."""
    domain = site.domain
    if domain is None:
        raise SpecError("elements are made for a domain: on a bare box name another basis")
    make: Callable[[Sizes], Made] = partial(_on_an_interval, params, site, domain)
    if domain.dim == 2:
        inner = with_regions(domain, interfaces_of(domain, site.interfaces), site.regions)
        site = replace(site, rough=(*site.rough, *inner.rough))
        make = partial(_in_the_plane, params, site, domain, inner.curves)
    extent = float(np.ptp(domain.bounds, axis=1).max())
    width = float(np.ptp(domain.bounds, axis=1).min())
    coarsest = max(width / _COARSEST, min(extent / _ALONG, 2 * width))
    largest = params.size if params.size != "auto" else coarsest
    sizes = Sizes.uniform(min(largest, extent), domain.dim)
    if params.near:
        if wrong := [row for row in params.near if len(row) != domain.dim + 1 or row[-1] <= 0]:
            raise SpecError(f"near: found {list(wrong[0])}, {domain.dim} coordinates and a positive size are needed")
        places = np.array(params.near, dtype=float)
        sizes = sizes.near(places[:, :-1], places[:, -1])
    if params.size == "auto":
        sizes = _resolving(site, lambda s: make(s).functions, _seen(site, domain, sizes), params, extent)
    return ElementsBasis(site.frame, params, make(sizes), sizes)


def _on_an_interval(params: ElementsParams, site: Site, domain: Domain, sizes: Sizes) -> Made:
    ends = [float(segment.sample(1).points[0, 0]) for region in site.regions for segment in region.segments]
    points = divided(domain, sizes, [*zeros_of(domain, site.interfaces), *ends])
    return Made(Intervals(points, params.degree, domain), "", Pollution.nowhere(len(points) - 1))


def _in_the_plane(params: ElementsParams, site: Site, domain: Domain, inner: Sequence[Curve], sizes: Sizes) -> Made:
    """Triangles that follow the curves ``inner`` of Ω, graded at rough points; where a curve folds one over they are made smaller."""
    names = [segment.name for segment in domain.segments]
    marked = np.array([rough.point for rough in site.rough]).reshape(-1, 2)
    if len(marked) and params.grading != 0:
        share = np.array([share_of_size(rough.exponent) for rough in site.rough])
        sizes = sizes.near(marked, share * sizes(marked))
    sizes = beside_short_edges(domain, sizes)
    for _ in range(_UNFOLDED):
        chords = chords_of(domain, sizes, params.turn, marked, inner)
        with _blamed_on(inner):
            mesh = triangulated(chords, sizes)
        mesh, facts = _graded(mesh, site, params)
        functions = Triangles(mesh, params.degree, names)
        folded = functions.folded()
        if not len(folded):
            return Made(functions, facts, Pollution.around(site.rough, functions))
        sizes = sizes.near(functions.centres[folded], 0.4 * functions.diameters()[folded])
    where = np.round(functions.centres[folded[0]], 6).tolist()
    with _blamed_on(inner):
        raise GeometryError(f"elements near {where} are folded over by the curved boundary: give a smaller size")


@contextmanager
def _blamed_on(curves: Sequence[Curve]) -> Iterator[None]:
    """Say of a mesh that cannot be made what else it follows than the boundary."""
    try:
        yield
    except GeometryError as error:
        if not curves:
            raise
        raise GeometryError(
            f"{error}. Meshes follow the edges of regions and the zeros of conditions in formulas: those that touch each other or the "
            "boundary without crossing, or run very close to them, leave no room for cells"
        ) from error


def _graded(mesh: Mesh, site: Site, params: ElementsParams) -> tuple[Mesh, str]:
    """Rings around the rough points that are points of the mesh."""
    if not site.rough or params.grading == 0:
        return mesh, ""
    extent = float(np.ptp(mesh.points, axis=0).max())
    distance, vertex = cKDTree(mesh.points).query([rough.point for rough in site.rough])
    exponents: dict[int, float] = {}
    for rough, gap, v in zip(site.rough, distance, vertex.tolist(), strict=True):
        if gap <= 1e-6 * extent:
            exponents[v] = min(rough.exponent, exponents.get(v, math.inf))
    places = mesh.points[list(exponents)]
    alone = cKDTree(places).query(places, k=2)[0][:, 1]  # infinite for a single one
    edges = mesh.cells[:, EDGES].reshape(-1, 2)
    lengths = np.hypot(*(mesh.points[edges[:, 0]] - mesh.points[edges[:, 1]]).T)
    reach = np.full(len(mesh.points), math.inf)
    np.minimum.at(reach, edges, lengths[:, None])
    levels = None if params.grading == "auto" else int(params.grading)
    rings = [
        rings_for(v, exponent, float(reach[v]), min(extent, apart), extent, params.tolerance, levels)
        for (v, exponent), apart in zip(exponents.items(), alone.tolist(), strict=True)
    ]
    rings = [r for r in rings if r.levels]
    if not rings:
        return mesh, ""
    return graded(mesh, rings), f" refined towards {len(rings)} point{'s' * (len(rings) > 1)}"


def _seen(site: Site, domain: Domain, sizes: Sizes) -> Sizes:
    """Sizes small enough that features of what is given are not missed where they are narrow beside the elements: where a function changes
    by all its range over a shorter length than an element, on a grid and along the boundary."""
    if site.known is not None:
        low, high = domain.bounds.T
        counts = np.maximum(np.round((high - low) / (high - low).max() * _GRID[domain.dim]), _FEWEST).astype(int)
        steps = (high - low) / counts
        axes = [a + step * (np.arange(n) + 0.5) for a, step, n in zip(low, steps, counts, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        inside = domain.contains(points.reshape(-1, domain.dim)).reshape(points.shape[:-1])
        values = site.known(points.reshape(-1, domain.dim)).reshape(-1, *inside.shape)
        values = np.where(inside, values, np.nan)
        sides = [*(lambda x, f=f: f(x) > 0 for f in site.interfaces), *(region.contains for region in site.regions)]
        side = np.array([of(points.reshape(-1, domain.dim)).reshape(inside.shape) for of in sides])
        wanted = np.full(inside.shape, math.inf)
        for axis, step in enumerate(steps):
            change = np.abs(np.diff(values, axis=axis + 1, append=np.nan))
            if len(side):  # an interface is followed, not resolved
                change[:, np.any(side != np.roll(side, -1, axis=axis + 1), axis=0)] = np.nan
            wanted = np.minimum(wanted, _lengths(values, change, float(step)))
        sizes = sizes.near(points[inside], wanted[inside])
    if site.known_on is not None and domain.dim == 2:
        extent = float(np.ptp(domain.bounds, axis=1).max())
        outlines = {segment.name: segment.outline(_GRID[1]) for segment in domain.segments}
        along = {name: _between(x[np.isfinite(x).all(axis=1)], extent) for name, x in outlines.items()}
        data = {name: site.known_on(name, points) for name, points in along.items()}
        largest = max((float(np.abs(values).max()) for values in data.values() if values.size), default=0.0)
        for name, points in along.items():
            values = np.where(np.abs(data[name]) > _ROUNDING * largest, data[name], 0.0)
            steps = np.append(np.hypot(*np.diff(points, axis=0).T), 0.0)
            wanted = _lengths(values, np.abs(np.diff(values, axis=1, append=np.nan)), steps)
            near = (
                cKDTree([r.point for r in site.rough]).query(points)[0]
                if site.rough
                else np.full(len(points), math.inf)
            )
            rows = (steps > 0) & (near > 2 * steps)
            sizes = sizes.near(points[rows], wanted[rows])
    return sizes


def _between(points: Array, extent: float) -> Array:
    """An outline (n, 2) with further points on its long straight parts."""
    lengths = np.hypot(*np.diff(points, axis=0).T)
    counts = np.maximum(1, np.ceil(lengths * _GRID[2] / extent).astype(int))
    parts = [a + (b - a) * (np.arange(n) / n)[:, None] for a, b, n in zip(points[:-1], points[1:], counts, strict=True)]
    return np.concatenate([*parts, points[-1:]])


def _lengths(values: Array, changes: Array, step: Array | float) -> Array:
    """Over which functions (k, …) change by all their range, from their ``changes`` over a step; three steps at least."""
    axes = tuple(range(1, values.ndim))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # functions that are nowhere given
        spread = np.nanmax(values, axis=axes, keepdims=True) - np.nanmin(values, axis=axes, keepdims=True)
        spread[spread < _ROUNDING * np.nanmax(np.abs(values), axis=axes, keepdims=True)] = np.inf  # constant
        steepest = np.fmax.reduce(np.nan_to_num(changes / spread), axis=0, initial=0.0)
        return np.maximum(step / steepest, 3 * step)


def _resolving(
    site: Site, make: Callable[[Sizes], Functions], sizes: Sizes, params: ElementsParams, extent: float
) -> Sizes:
    """Sizes at which interpolation of the given functions and boundary data is as exact as wanted, or as many cells allow: what they leave
    is in the estimate of a run, and refined where it counts."""
    allowed, last = params.tolerance, (1, math.inf)
    for _ in range(_PASSES):
        functions = make(sizes)
        found = [interpolation_errors(functions, site.known)] if site.known is not None else []
        if site.known_on is not None and isinstance(functions, Triangles):
            found.append(_errors_on_edges(functions, site.known_on))
        error = np.max(found, axis=0) if found else np.zeros(1)
        left = math.sqrt(float((error**2).sum()))
        if left <= allowed or len(error) > _ENOUGH_CELLS:
            break
        if len(error) > max(_MANY, _MORE * last[0]):
            power = math.log(len(error) / last[0]) / math.log(max(last[1] / left, 1.01))
            if len(error) * (left / allowed) ** power > _MOST_CELLS:
                break
        last = len(error), left
        finer = _smaller(functions, sizes, error, allowed, _SMALLEST * extent)
        while finer is not None and _count(functions, finer) > _ENOUGH_CELLS:
            allowed *= 2
            finer = _smaller(functions, sizes, error, allowed, _SMALLEST * extent)
        if finer is None:
            break
        sizes = finer
    return sizes


def _count(functions: Functions, sizes: Sizes) -> float:
    """About how many cells of these sizes there are where now are those of ``functions``."""
    h = functions.diameters()
    dim = functions.centres.shape[1]
    return float((np.maximum(h / sizes(functions.centres), 1.0) ** dim).sum())


def _smaller(functions: Functions, sizes: Sizes, errors: Array, allowed: float, least: float) -> Sizes | None:
    """Sizes that make errors (E,) on the cells as small as allowed in all, and none smaller than ``least``; None if nothing changes."""
    h = functions.diameters()
    share = _SHARE * allowed / math.sqrt(len(errors))
    factor = np.clip((share / np.maximum(errors, 1e-300)) ** (1.0 / (functions.order + 1)), 0.3, 1.0)
    wanted = np.maximum(h * factor, least)
    wanted = np.exp(_FINENESS * np.round(np.log(wanted) / _FINENESS))
    rows = np.flatnonzero(wanted < 0.95 * h)
    finer = sizes.near(functions.centres[rows], wanted[rows])
    return finer if len(finer.places) > len(sizes.places) else None


def _left_out(sizes: Array) -> Array:
    """What further degrees would add to polynomials whose parts have these sizes (..., p + 1), if they decrease as the last ones do."""
    width = _LAST if sizes.shape[-1] > 2 * _LAST else 1
    last = np.sqrt((sizes[..., -width:] ** 2).sum(axis=-1))
    before = np.sqrt((sizes[..., -2 * width : -width] ** 2).sum(axis=-1))
    rate = np.clip(last / np.maximum(before, 1e-300), 0.02, 0.9)
    return last * rate / np.sqrt(1 - rate**2)


def interpolation_errors(functions: Functions, known: Callable[[Array], Array]) -> Array:
    """‖f − If‖ in L² of every cell (E,), relative to ‖f‖; the largest of the given functions."""
    (nodes, table), dim = functions.inner_nodes(), functions.dim  # each on its own side of an interface
    E, m, _ = nodes.shape
    values = known(nodes.reshape(-1, dim)).reshape(-1, E, m)
    found, sizes = np.zeros((len(values), E)), np.zeros(len(values))
    for group, rows in functions.cells():
        exact = known(group.points.reshape(-1, dim)).reshape(-1, *group.weights.shape)
        interpolated = values[:, rows] @ table.T
        found[:, rows] = np.sqrt(((exact - interpolated) ** 2 * group.weights).sum(axis=2))
        sizes += (exact**2 * group.weights).sum(axis=(1, 2))
    return (found / np.sqrt(np.maximum(sizes, 1e-300))[:, None]).max(axis=0, initial=0.0)


def _errors_on_edges(functions: Triangles, known_on: Callable[[str, Array], Array]) -> Array:
    """The same for boundary data on the edges of cells (E,), relative to the largest on any segment."""
    found = np.zeros(len(functions.triangles))
    sizes, rows = [], []
    for edges, nodes, cells in functions.edges_with_nodes():
        exact = known_on(edges.segment, edges.points.reshape(-1, 2)).reshape(-1, *edges.weights.shape)
        values = known_on(edges.segment, nodes.reshape(-1, 2)).reshape(-1, *nodes.shape[:2])
        errors = np.sqrt(((exact - values @ edges.values.T) ** 2 * edges.weights).sum(axis=2)).max(axis=0, initial=0.0)
        sizes.append(math.sqrt(float((exact**2 * edges.weights).sum(axis=(1, 2)).max(initial=0.0))))
        rows.append((cells, errors))
    size = max(sizes, default=0.0)
    for cells, errors in rows:
        np.maximum.at(found, cells, errors / max(size, 1e-300))
    return found
