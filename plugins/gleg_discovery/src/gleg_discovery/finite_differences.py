"""Regression on finite differences: snapshots interpolated to a grid, derivatives in space and time by centred differences.

    u_t ≈ Σ_p c_p L_p(u) at the nodes whose neighbours are in Ω, L_p the exact operator of a block on a jet of differences

Of second order in the grid and in time. Any block works, because all it reads is a jet.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.ndimage
import scipy.sparse
import scipy.spatial
import torch
from torch import Tensor

from gleg_core.contracts.basis import as_points
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location
from gleg_core.errors import NumericsError
from gleg_core.system.terms import Term, blamed_on
from gleg_discovery.legendre import Array
from gleg_discovery.observations import Recording
from gleg_discovery.snapshots import rates


@dataclass(frozen=True)
class Grid:
    """Nodes origin + h ∘ index around Ω. ``inside``: those in Ω; ``deep``: those whose neighbours within ``width`` are too."""

    origin: Array
    h: Array
    inside: Array
    deep: Array

    @classmethod
    def of(cls, domain: Domain, points: Array, width: int) -> "Grid":
        """The lattice the sensors are on, or one with as many nodes in Ω as there are sensors, if that has more than two nodes per sensor:
        differences between nodes without sensors are differences of the interpolant."""
        low, high = domain.bounds.T
        h = _lattice(points)
        origin = points.min(axis=0)
        if h is None or domain.measure / np.prod(h) > 2 * len(points):
            h, origin = np.full(domain.dim, (domain.measure / len(points)) ** (1 / domain.dim)), low
        first = np.floor((low - origin) / h).astype(int) - width
        last = np.ceil((high - origin) / h).astype(int) + width
        index = np.stack(np.meshgrid(*map(np.arange, first, last + 1), indexing="ij"), axis=-1)
        inside = _within(domain, (origin + h * index).reshape(-1, domain.dim), h).reshape(index.shape[:-1])
        deep = scipy.ndimage.binary_erosion(inside, np.ones([2 * width + 1] * domain.dim))
        if not deep.any():
            raise NumericsError(f"no node of a grid of spacing {h.max():.2g} has all its neighbours in the domain")
        return cls(origin + h * first, h, inside, deep)

    def nodes(self, mask: Array) -> Array:
        """(n, dim)."""
        return self.origin + self.h * np.argwhere(mask)

    def jet(self, inside: Array) -> Jet:
        """At the deep nodes, from values (T, n) at those inside. Elsewhere values are NaN: a stencil that leaves Ω shows."""
        values = torch.full((len(inside), *self.inside.shape), torch.nan, dtype=torch.float64)
        values[:, torch.from_numpy(self.inside)] = torch.from_numpy(inside)
        deep = torch.from_numpy(self.deep)

        def derivative(alpha: MultiIndex) -> Tensor:
            found = values
            for axis, order in enumerate(alpha):
                found = _difference(found, axis + 1, order, float(self.h[axis]))
            return found[:, deep]

        return Jet(derivative, len(self.h))


def _within(domain: Domain, nodes: Array, h: Array) -> Array:
    """Which nodes are in Ω and not on its boundary, where no sensor may be near."""
    shifts = np.concatenate([np.diag(h), -np.diag(h)]) * 1e-6
    return np.logical_and.reduce([domain.contains(nodes + shift) for shift in shifts])


def _lattice(points: Array) -> Array | None:
    """Spacings (dim,) of the lattice that the points are on, None if they are on none."""
    spacings = []
    for x in points.T:
        values = np.unique(x)
        gaps = np.diff(values)
        gaps = gaps[gaps > 1e-9 * np.ptp(values)]
        if not len(gaps):
            return None
        steps = (values - values[0]) / gaps.min()
        if np.abs(steps - np.rint(steps)).max() > 1e-3:
            return None
        spacings.append(np.ptp(values) / np.rint(steps[-1]))
    return np.array(spacings)


def _difference(u: Tensor, axis: int, order: int, h: float) -> Tensor:
    """Centred difference of the given order along an axis: δ² as often as possible, then one over two steps."""
    for _ in range(order // 2):
        u = (u.roll(-1, axis) - 2 * u + u.roll(1, axis)) / h**2
    return (u.roll(-1, axis) - u.roll(1, axis)) / (2 * h) if order % 2 else u


def interpolation(points: Array, nodes: Array) -> scipy.sparse.csr_array:
    """(n, S): linear on the Delaunay triangulation of the sensors; outside their hull the nearest sensor."""
    n, dim = nodes.shape
    if dim == 1:
        x, order = np.unique(points[:, 0], return_index=True)
        i = np.clip(np.searchsorted(x, nodes[:, 0]), 1, len(x) - 1)
        share = np.clip((nodes[:, 0] - x[i - 1]) / (x[i] - x[i - 1]), 0, 1)
        corners, weights = order[np.stack([i - 1, i], axis=1)], np.stack([1 - share, share], axis=1)
    else:
        mesh = scipy.spatial.Delaunay(points)
        simplex = mesh.find_simplex(nodes)
        affine = mesh.transform[simplex]
        some = np.einsum("nij,nj->ni", affine[:, :dim], nodes - affine[:, dim])
        corners, weights = mesh.simplices[simplex], np.column_stack([some, 1 - some.sum(axis=1)])
        far = (simplex < 0) | ~np.isfinite(weights).all(axis=1)
        corners[far] = scipy.spatial.cKDTree(points).query(nodes[far])[1][:, None]
        weights[far] = 1 / (dim + 1)
    place = np.repeat(np.arange(n), dim + 1), corners.ravel()
    return scipy.sparse.csr_array((weights.ravel(), place), shape=(n, len(points)))


def regression_rows(
    recordings: Sequence[Recording],
    grids: Mapping[bytes, Grid],
    target: str,
    fields: Sequence[str],
    columns: Sequence[Sequence[Term]],
    known: Sequence[Term],
) -> Iterator[Array]:
    """Rows (n, P + 1) of the equation of ``target``; recordings must have no gaps. ``grids``: by the sensors, see :func:`grids_for`."""
    for recording in recordings:
        if len(recording.points) <= recording.points.shape[1]:
            raise NumericsError(
                f"recording '{recording.name}' has {len(recording.points)} sensors, too few to interpolate"
            )
        grid = grids[recording.points.tobytes()]
        inside = interpolation(recording.points, grid.nodes(grid.inside))
        deep = inside[np.flatnonzero(grid.deep[grid.inside])]
        weights = torch.full((deep.shape[0],), float(np.prod(grid.h)), dtype=torch.float64)
        at = Location(as_points(grid.nodes(grid.deep)), weights=weights)
        rate = rates(recording.times, recording.values[target])
        for some in np.array_split(np.arange(len(rate)), 1 + len(rate) * grid.inside.size // 2_000_000):
            jets = {f: grid.jet((inside @ recording.values[f][some + 1].T).T) for f in fields}
            moment = at.moment(torch.from_numpy(recording.times[some + 1])[:, None])
            left = (deep @ rate[some].T).T
            *features, given = [_applied(own, jets, moment, left.shape) for own in (*columns, known)]
            yield np.stack([*features, left - given], axis=-1).reshape(-1, len(columns) + 1)


def _applied(terms: Sequence[Term], jets: Mapping[str, Jet], at: Location, shape: tuple[int, ...]) -> Array:
    """The sum of what the terms make of the jets."""
    total = np.zeros(shape)
    for term in terms:
        with blamed_on(term):
            total += term.reference(jets, at).detach().expand(shape).numpy()
    return total


def grids_for(recordings: Sequence[Recording], domain: Domain, terms: Sequence[Term]) -> dict[bytes, Grid]:
    """A grid for every set of sensors, its deep nodes as the highest derivative among the terms needs them."""
    width = (max((t.block.traits.order for t in terms), default=0) + 1) // 2
    return {points.tobytes(): Grid.of(domain, points, width) for points in (r.points for r in recordings)}
