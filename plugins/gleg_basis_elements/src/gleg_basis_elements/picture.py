"""A picture of the mesh: cells with their curved edges, segments of ∂Ω in colours, interfaces dashed. matplotlib is an extra."""

from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from gleg_basis_elements.basis import ElementsBasis
from gleg_basis_elements.boundary import points_of
from gleg_basis_elements.intervals import Intervals
from gleg_basis_elements.reference import EDGES
from gleg_basis_elements.triangles import Triangles
from gleg_core.errors import OutputError
from gleg_core.run import Run

Array = np.ndarray
_ALONG = 13
"""Points of a curved edge."""
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
_EDGE = "#7f8fa6"


def plot_mesh(run: Run, path: str | Path | None = None) -> Figure:
    """The mesh of a run; written to ``path`` if given."""
    basis = run.discretisation.basis
    if not isinstance(basis, ElementsBasis):
        kind = run.problem.basis.key
        raise OutputError(
            f"there is no mesh: the basis of this run is '{kind}'. Finite elements are basis: {{kind: elements}}"
        )
    mesh, flat = basis.mesh, basis.dim == 1
    figure = Figure(figsize=(7.0, 1.8) if flat else (6.4, 5.6), layout="constrained")
    ax = figure.subplots()
    if isinstance(mesh, Intervals):
        _draw_intervals(ax, mesh)
    else:
        _draw_triangles(ax, mesh, [segment.name for segment in run.discretisation.domain.segments])
    ax.set_title(basis.describe().removeprefix("elements: "), fontsize=9)
    ax.set_xlabel("x")
    ax.tick_params(labelsize=8)
    figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    if path is not None:
        try:
            figure.savefig(path, dpi=140)
        except OSError as error:
            raise OutputError(f"{path}: could not be written: {error.strerror or error}") from error
    return figure


def write(run: Run, folder: Path) -> None:
    """The output format ``mesh``: called after a run with the folder of this format."""
    plot_mesh(run, folder / "mesh.png")


def outlines(mesh: Triangles) -> list[Array]:
    """Every edge of every cell as a polyline (n, 2): two points where no edge of the cell is curved, else points of the cell's map."""
    found = list(mesh.map(mesh.affine, _CORNERS)[0][:, EDGES].reshape(-1, 2, 2))
    if len(mesh.curved):
        t = np.linspace(0.0, 1.0, _ALONG)[:, None]
        rim = np.concatenate([(1 - t) * _CORNERS[i] + t * _CORNERS[j] for i, j in EDGES])
        found += list(mesh.map(mesh.curved, rim)[0].reshape(-1, _ALONG, 2))
    return found


def on_curves(mesh: Triangles, segment: int) -> list[Array]:
    """Edges on a segment of ∂Ω, or on interfaces (−1), as polylines (n, 2) of points of their curves."""
    edges, t = mesh.mesh, np.linspace(0.0, 1.0, _ALONG)
    rows = np.flatnonzero(edges.segment == segment)
    s = edges.span[rows, :1] + t * np.diff(edges.span[rows], axis=1)
    return list(points_of(edges.curves, np.repeat(edges.curve[rows], _ALONG), s.ravel()).reshape(-1, _ALONG, 2))


def _draw_triangles(ax: Axes, mesh: Triangles, names: list[str]) -> None:
    ax.add_collection(LineCollection(outlines(mesh), colors=_EDGE, linewidths=0.5))
    for number, name in enumerate(names):
        lines = LineCollection(on_curves(mesh, number), colors=[_colour(number)], linewidths=1.8, label=name)
        ax.add_collection(lines)
    if inner := on_curves(mesh, -1):
        dashed = LineCollection(inner, colors="black", linewidths=1.4, linestyles="dashed", label="interfaces")
        ax.add_collection(dashed)
    ax.autoscale_view()
    ax.set_aspect("equal")
    ax.set_ylabel("y")


def _draw_intervals(ax: Axes, mesh: Intervals) -> None:
    ends = mesh.centres[:, 0] + 0.5 * np.outer([-1, 1], mesh.diameters())
    points = np.append(ends[0], ends[1, -1])
    ax.axhline(0.0, color=_EDGE, linewidth=0.8)
    ax.vlines(points, -0.5, 0.5, colors=_EDGE, linewidths=0.8)
    for number, edge in enumerate(mesh.edge_cells()):
        ax.plot(edge.points.ravel(), [0.0], "o", color=_colour(number), label=edge.segment)
    ax.set_ylim(-1.0, 1.0)
    ax.set_yticks([])


def _colour(number: int) -> tuple[float, float, float, float]:
    return colormaps["tab10"](number % 10)
