"""Triangles between chords, by Netgen."""

from dataclasses import dataclass

import numpy as np
from netgen.geom2d import SplineGeometry
from netgen.meshing import MeshingParameters

from gleg_basis_elements.boundary import Chords, points_of
from gleg_basis_elements.sizes import GROWTH, Sizes
from gleg_core.contracts.domain import Curve
from gleg_core.errors import GeometryError

Array = np.ndarray


@dataclass(frozen=True)
class Mesh:
    """Triangles ``cells`` (E, 3) between ``points`` (V, 2).

    Edges that lie on the boundary or on an interface: ``ends`` (B, 2) numbers of points, ``curve`` (B,) of ``curves`` and ``span`` (B, 2)
    the parameters there, ``segment`` (B,) its number, −1 on an interface.
    """

    points: Array
    cells: Array
    curves: tuple[Curve, ...]
    ends: Array
    curve: Array
    span: Array
    segment: Array


def triangulated(chords: Chords, sizes: Sizes) -> Mesh:
    """Triangles of the wanted sizes that fill Ω; points between the ends of a chord lie on its curve."""
    geometry = SplineGeometry()
    numbers = [geometry.AppendPoint(*map(float, p)) for p in chords.points]
    for c, (a, b) in enumerate(chords.ends):
        inner = 1 if chords.segment[c] < 0 else 0
        geometry.Append(["line", numbers[a], numbers[b]], leftdomain=1, rightdomain=inner, bc=c + 1)
    wanted = MeshingParameters(maxh=float(sizes.largest), grading=GROWTH)
    for (x, y), h in zip(sizes.places.tolist(), sizes.wanted.tolist(), strict=True):
        wanted.RestrictH(x, y, 0.0, h)
    try:
        made = geometry.GenerateMesh(mp=wanted)
    except Exception as error:  # Netgen raises exceptions of its own
        raise GeometryError(
            f"no mesh could be made of this domain ({error}): parts of its boundary may be too close to each other for elements of this "
            "size; a smaller one, or places where they are smaller (near), may help"
        ) from error
    points = np.array(made.Coordinates())[:, :2]
    elements, lines = made.Elements2D().NumPy(), made.Elements1D().NumPy()
    cells = elements["nodes"][:, :3].astype(np.int64) - 1
    ends, chord = lines["nodes"][:, :2].astype(np.int64) - 1, lines["index"].astype(np.int64) - 1
    start, stop = (chords.points[chords.ends[chord, side]] for side in (0, 1))
    along = stop - start
    fraction = np.einsum("bed,bd->be", points[ends] - start[:, None], along) / (along**2).sum(axis=1)[:, None]
    fraction = np.clip(fraction, 0.0, 1.0)
    a, b = chords.span[chord].T
    span = a[:, None] + fraction * (b - a)[:, None]
    own = points_of(chords.curves, np.repeat(chords.curve[chord], 2), span.ravel())
    points[ends.ravel()] = own
    return _without_unused(
        Mesh(points, cells, tuple(chords.curves), ends, chords.curve[chord], span, chords.segment[chord])
    )


def _without_unused(mesh: Mesh) -> Mesh:
    used = np.zeros(len(mesh.points), dtype=bool)
    used[mesh.cells.ravel()] = True
    number = np.cumsum(used) - 1
    return Mesh(
        mesh.points[used], number[mesh.cells], mesh.curves, number[mesh.ends], mesh.curve, mesh.span, mesh.segment
    )
