"""A run as an xarray dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gleg_core.algebra.tables import tabulate
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.location import COORDINATES
from gleg_core.results.coordinates import coefficients
from gleg_core.system.restart import basis_record

if TYPE_CHECKING:
    import xarray

    from gleg_core.results.run import Run


def grid_axes(domain: Domain, size: int) -> list[np.ndarray]:
    """Axes of a uniform grid over the bounding box, ``size`` points along the longest side."""
    extent = domain.bounds[:, 1] - domain.bounds[:, 0]
    counts = np.maximum(2, np.round(extent / extent.max() * (size - 1)).astype(int) + 1)
    return [np.linspace(low, high, n) for (low, high), n in zip(domain.bounds, counts, strict=True)]


def as_dataset(run: Run) -> xarray.Dataset:
    """Variables: ``u`` (time, …, y, x) on a grid, NaN outside Ω; ``u_nodes`` (time, node); ``u_probes`` (time, probe);
    ``u_coefficients`` (time, coefficient), the ambient coefficients a of u = Σ a_j φ_j, from which the run can be continued."""
    import xarray as xr

    d, output = run.discretisation, run.problem.section.output
    dim = d.domain.dim
    axes = grid_axes(d.domain, output.grid)
    mesh = np.meshgrid(*axes, indexing="ij")
    points = np.stack([m.ravel() for m in mesh], axis=1)
    inside = d.domain.contains(points)
    nodes, weights = _nodes(run)
    probes = np.array(output.probes, dtype=float).reshape(-1, dim)
    names = COORDINATES[:dim]
    data: dict[str, Any] = {}
    zero = (0,) * dim
    on_grid, on_nodes, on_probes = (tabulate(d.basis, as_points(p), zero) for p in (points[inside], nodes, probes))
    for name in run.field_names:
        a = coefficients(run, name)
        values = np.full((len(run.times), len(points)), np.nan)
        values[:, inside] = (a @ on_grid).numpy()
        shaped = values.reshape(len(run.times), *mesh[0].shape)
        data[name] = (("time", *names[::-1]), shaped.transpose(0, *range(dim, 0, -1)))
        data[f"{name}_coefficients"] = (("time", "coefficient"), a.numpy())
        data[f"{name}_nodes"] = (("time", "node"), (a @ on_nodes).numpy())
        if len(probes):
            data[f"{name}_probes"] = (("time", "probe"), (a @ on_probes).numpy())
    coordinates: dict[str, Any] = {"time": run.times, **dict(zip(names, axes, strict=True))}
    for i, c in enumerate(names):
        coordinates[f"node_{c}"] = ("node", nodes[:, i])
        if len(probes):
            coordinates[f"probe_{c}"] = ("probe", probes[:, i])
    coordinates["node_weight"] = ("node", weights)
    from gleg_core.spec.resolve import resolved_yaml

    attributes = {
        "title": run.problem.section.title,
        "source": "gleg",
        "basis": basis_record(run.problem, d.basis),
        "spec": resolved_yaml(run.problem),
        "interrupted": int(run.trajectory.interrupted),
    }
    return xr.Dataset(data, coordinates, attributes)


def _nodes(run: Run) -> tuple[np.ndarray, np.ndarray]:
    field = next(iter(run.discretisation.system.fields.values()))
    return field.space.nodes.x.numpy(), field.space.weights.numpy()
