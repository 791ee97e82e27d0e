"""Training data that were measured: pairs of states and responses, or short trajectories, on a periodic grid."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.tables import tabulate
from gleg_core.contracts.basis import Basis
from gleg_core.errors import SpecError, listing, nearest
from gleg_learning.recipe import Data
from gleg_learning.samples import Samples


def measured(
    basis: Basis, data: Data, fields: Sequence[str], folder: Path, generator: torch.Generator
) -> tuple[Samples, Samples]:
    """(training, held-out) samples from a file of grid values on [−1, 1)^d; jets come from their projection onto the basis."""
    path = folder / data.path
    states, extra = _read(path, data, fields, basis.dim)
    shape = states[fields[0]].shape[-basis.dim :]
    points = _grid(shape)
    phi = _resolved(basis, points, shape, path)
    values = {name: _flat(state, basis.dim) for name, state in states.items()}
    coefficients = {name: u @ phi.T / len(points) for name, u in values.items()}
    if data.kind == "pairs":
        samples = Samples(basis, points, [(1.0, coefficients)], _flat(extra, basis.dim))
        parts = _split_pairs(len(samples), data.held_out, generator, path)
    else:
        u = values[fields[0]]
        samples = _simpson(basis, points, coefficients, u, _step(extra, u.shape[1], path))
        parts = _split_trajectories(len(u), len(extra) - 2, data.held_out, generator, path)
    return samples.part(parts[0]), samples.part(parts[1])


def _read(path: Path, data: Data, fields: Sequence[str], dim: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Values of every field, grid axes last, and the response or the times, checked."""
    import xarray as xr

    if not path.is_file():
        siblings = [p.name for p in path.parent.glob("*.nc")] if path.parent.is_dir() else []
        close = nearest(path.name, siblings)
        raise SpecError(f"{path}: there is no such data file." + (f" Did you mean '{close}'?" if close else ""))
    names = {field: "state" if len(fields) == 1 else f"state_{field}" for field in fields}
    extra = "response" if data.kind == "pairs" else "time"
    try:
        with xr.open_dataset(path, engine="h5netcdf", decode_times=False) as file:
            missing = [n for n in (*names.values(), extra) if n not in file.variables]
            if missing:
                raise SpecError(
                    f"{path}: training from {data.kind} needs the variable{'s' * (len(missing) > 1)} {listing(missing)}; "
                    f"the file has {listing(map(str, file.variables))}"
                )
            arrays = {n: np.array(file[n].values, dtype=float) for n in (*names.values(), extra)}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SpecError(f"{path}: cannot be read as a NetCDF file of numbers: {str(error).splitlines()[0]}") from None
    first = arrays[names[fields[0]]]
    alike = list(names.values()) + (["response"] if data.kind == "pairs" else [])
    axes = dim + (1 if data.kind == "pairs" else 2)
    if first.ndim != axes or 0 in first.shape:
        layout = ("sample",) if data.kind == "pairs" else ("trajectory", "time")
        wanted = ", ".join((*layout, *("z", "y", "x")[3 - dim :]))
        raise SpecError(f"{path}: '{names[fields[0]]}' has shape {first.shape}, it must have axes ({wanted})")
    for name in alike:
        if arrays[name].shape != first.shape:
            raise SpecError(f"{path}: '{name}' has shape {arrays[name].shape}, '{alike[0]}' has {first.shape}")
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise SpecError(f"{path}: '{name}' contains values that are not finite")
    return {field: arrays[name] for field, name in names.items()}, arrays[extra]


def _flat(values: np.ndarray, dim: int) -> Tensor:
    """Grid axes → one axis of points, last."""
    return torch.from_numpy(values.reshape(*values.shape[:-dim], -1))


def _grid(shape: tuple[int, ...]) -> Tensor:
    """Points of a grid on [−1, 1)^d whose axes are stored (…, y, x), in the order of the stored values."""
    axes = [-1 + 2 * torch.arange(n, dtype=torch.float64) / n for n in shape]
    mesh = torch.meshgrid(*axes, indexing="ij")
    return torch.stack([m.reshape(-1) for m in reversed(mesh)], dim=1)


def _resolved(basis: Basis, points: Tensor, shape: tuple[int, ...], path: Path) -> Tensor:
    """The basis on the grid, (M, n), if the grid resolves it: orthonormal in the grid's mean."""
    phi = tabulate(basis, points, (0,) * basis.dim)
    gram = phi @ phi.T / len(points)
    if float((gram - torch.eye(basis.size, dtype=torch.float64)).abs().max()) > 1e-8:
        raise SpecError(
            f"{path}: a grid of {' × '.join(map(str, shape))} values does not resolve the basis of the recipe "
            f"({basis.size} functions, |k| up to {basis.bandwidth / np.pi:.3g}); lower the resolution of states.basis"
        )
    return phi


def _split_pairs(count: int, fraction: float, generator: torch.Generator, path: Path) -> tuple[Tensor, Tensor]:
    """Indices of (training, held-out) samples, drawn at random."""
    if count < 2:
        raise SpecError(f"{path}: one sample is not enough: some must be held out")
    order = torch.randperm(count, generator=generator)
    cut = min(max(1, round(fraction * count)), count - 1)
    return order[cut:], order[:cut]


def _split_trajectories(
    trajectories: int, stencils: int, fraction: float, generator: torch.Generator, path: Path
) -> tuple[Tensor, Tensor]:
    """Whole trajectories are held out, or the end of the only one, so that no state is both fitted and judged."""
    index = torch.arange(trajectories * stencils).reshape(trajectories, stencils)
    if trajectories > 1:
        kept, held = _split_pairs(trajectories, fraction, generator, path)
        return index[kept].flatten(), index[held].flatten()
    cut = stencils - max(1, round(fraction * stencils))
    if cut < 3:
        raise SpecError(f"{path}: a single trajectory of {stencils + 2} times is too short to hold out its end")
    return index[0, : cut - 2], index[0, cut:]


def _step(times: np.ndarray, stored: int, path: Path) -> float:
    """Δt of equally spaced times, as many as states are stored."""
    if times.shape != (stored,):
        raise SpecError(f"{path}: 'time' has shape {times.shape}, the states have {stored} times")
    steps = np.diff(times)
    if len(times) < 3 or steps[0] <= 0 or not np.allclose(steps, steps[0], rtol=1e-6, atol=0):
        raise SpecError(f"{path}: trajectories need at least three increasing, equally spaced times")
    return float(times[-1] - times[0]) / len(steps)


def _simpson(basis: Basis, points: Tensor, a: Mapping[str, Tensor], u: Tensor, step: float) -> Samples:
    """(u_{n+1} − u_{n−1})/2Δt = (L_{n−1} + 4 L_n + L_{n+1})/6: no derivative of the data is taken."""
    inner = u.shape[1] - 2

    def shifted(i: int) -> dict[str, Tensor]:
        return {name: c[:, i : inner + i].reshape(-1, basis.size) for name, c in a.items()}

    stencil = [(weight, shifted(i)) for i, weight in enumerate((1 / 6, 4 / 6, 1 / 6))]
    target = (u[:, 2:] - u[:, :-2]).reshape(-1, u.shape[-1]) / (2 * step)
    return Samples(basis, points, stencil, target)
