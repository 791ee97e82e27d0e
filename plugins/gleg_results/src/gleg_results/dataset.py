"""A run as an xarray dataset, and as the same in a NetCDF file."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from gleg_core.contracts.basis import Basis, as_points
from gleg_core.contracts.closure import covers
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.location import COORDINATES
from gleg_results.coordinates import coefficients, synthesis
from gleg_results.resolved import resolved_yaml
from gleg_results.restart import basis_record
from gleg_results.sections import OutputKeys

if TYPE_CHECKING:
    import xarray

    from gleg_core.run import Run


Variable = tuple[tuple[str, ...], np.ndarray]
"""Dimensions and values."""


@dataclass(frozen=True)
class Arrays:
    """The parts of a dataset: variables and coordinates by name, attributes."""

    variables: dict[str, Variable]
    coordinates: dict[str, Variable]
    attributes: dict[str, str | int]

    @property
    def nbytes(self) -> int:
        return sum(values.nbytes for _, values in (*self.variables.values(), *self.coordinates.values()))

    def values(self, name: str) -> np.ndarray:
        """Values of a variable or coordinate."""
        return (self.variables.get(name) or self.coordinates[name])[1]


def uniform_grid(domain: Domain, size: int) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Axes of a uniform grid over the bounding box, ``size`` points along the longest side; its points (n, dim); those not outside (n,)."""
    extent = np.ptp(domain.bounds, axis=1)
    counts = np.maximum(2, np.round(extent / extent.max() * (size - 1)).astype(int) + 1)
    axes = [np.linspace(low, high, n) for (low, high), n in zip(domain.bounds, counts, strict=True)]
    points = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")], axis=1)
    return axes, points, covers(domain, points)


def as_dataset(run: "Run") -> "xarray.Dataset":
    """The arrays of a run with their names."""
    import xarray as xr

    return xr.Dataset(run.arrays.variables, run.arrays.coordinates, run.arrays.attributes)


def write_netcdf(arrays: Arrays, path: Path) -> None:
    """The file that xarray's ``to_netcdf`` would write, without xarray."""
    import h5netcdf

    everything = {**arrays.variables, **arrays.coordinates}
    with h5netcdf.File(path, "w") as file:
        file.attrs.update(arrays.attributes)
        file.dimensions = {
            d: n for dims, values in everything.values() for d, n in zip(dims, values.shape, strict=True)
        }
        for name, (dims, values) in everything.items():
            variable = file.create_variable(name, dims, values.dtype, values, fillvalue=np.nan)
            aside = [c for c, (d, _) in arrays.coordinates.items() if d != (c,) and set(d) <= set(dims)]
            if name in arrays.variables and aside:
                variable.attrs["coordinates"] = " ".join(sorted(aside))


def tabulated(run: "Run") -> Arrays:
    """Variables: ``u`` (time, …, y, x) on a grid, NaN outside Ω; ``u_nodes`` (time, node); ``u_probes`` (time, probe);
    ``u_coefficients`` (time, coefficient), the ambient coefficients a of u = Σ a_j φ_j, from which the run can be continued."""
    d, output = run.discretisation, run.problem.keys(OutputKeys)
    dim = d.domain.dim
    axes, points, inside = uniform_grid(d.domain, output.grid)
    space = next(iter(d.system.fields.values())).space
    nodes = space.nodes.x.numpy()
    probes = np.array(output.probes, dtype=float).reshape(-1, dim)
    names = COORDINATES[:dim]
    data: dict[str, Variable] = {}
    a = torch.stack([coefficients(run, name) for name in run.field_names])
    on_grid, on_nodes, on_probes = (_at(d.basis, a, p) for p in (points[inside], nodes, probes))
    for i, name in enumerate(run.field_names):
        values = np.full((len(run.times), len(points)), np.nan)
        values[:, inside] = on_grid[i]
        shaped = values.reshape(len(run.times), *map(len, axes))
        data[name] = (("time", *names[::-1]), shaped.transpose(0, *range(dim, 0, -1)))
        data[f"{name}_coefficients"] = (("time", "coefficient"), a[i].numpy())
        data[f"{name}_nodes"] = (("time", "node"), on_nodes[i])
        if len(probes):
            data[f"{name}_probes"] = (("time", "probe"), on_probes[i])
    coordinates: dict[str, Variable] = {"time": (("time",), run.times)}
    coordinates |= {c: ((c,), axis) for c, axis in zip(names, axes, strict=True)}
    for i, c in enumerate(names):
        coordinates[f"node_{c}"] = (("node",), nodes[:, i])
        if len(probes):
            coordinates[f"probe_{c}"] = (("probe",), probes[:, i])
    coordinates["node_weight"] = (("node",), space.weights.numpy())
    attributes: dict[str, str | int] = {
        "title": run.problem.section.title,
        "source": "gleg",
        "basis": basis_record(run.problem, d.basis),
        "spec": resolved_yaml(run.problem),
        "interrupted": int(run.trajectory.interrupted),
    }
    return Arrays(data, coordinates, attributes)


def _at(basis: Basis, a: Tensor, points: np.ndarray) -> np.ndarray:
    """Values (fields, F, n) at points (n, dim) of fields with coefficients (fields, F, M)."""
    if not len(points):
        return np.zeros((*a.shape[:2], 0))
    return synthesis(basis, a.flatten(0, 1), as_points(points)).unflatten(0, a.shape[:2]).numpy()
