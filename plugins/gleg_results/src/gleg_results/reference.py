"""Reference data of a problem: a NetCDF file with values of its fields, from a method that is not ours. No torch.

Dimensions ``time``, ``point``; coordinates ``time``, ``x``, ``y``, …; one variable (time, point) per field; ``weights`` (point),
positive, of a quadrature over Ω whose points lie strictly inside; the attribute ``estimated_error`` is the reference's own relative
L² error at its last time, ``error_estimate`` says how that was found.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gleg_core.contracts.domain import Domain
from gleg_core.coordinates import COORDINATES
from gleg_core.errors import SpecError, did_you_mean, listing, nearest
from gleg_results.sections import ReferenceKey

if TYPE_CHECKING:
    import xarray

    from gleg_core.spec.problem import Problem

_CLOSE = 1e-9
"""Times that differ by less, relative to the whole run, are the same; so is the distance that keeps a point off ∂Ω."""


@dataclass(frozen=True)
class Reference:
    """``times`` (T,), ``points`` (n, dim), ``weights`` (n,), ``values`` per field (T, n)."""

    path: Path
    times: np.ndarray
    points: np.ndarray
    weights: np.ndarray
    values: dict[str, np.ndarray]
    estimated_error: float


def read_reference(problem: "Problem", domain: Domain) -> Reference | None:
    """The problem's reference, None if it names none. Everything that is wrong with the file is one error, a line per mistake."""
    if (named := problem.keys(ReferenceKey).reference) is None:
        return None
    path, place = Path(named), problem.document.locate(("reference",))
    try:
        data = _opened(path)
        mistakes = list(_structure(data, problem, domain)) or list(_content(data, problem, domain))
    except SpecError as error:
        mistakes = [str(error)]
    if mistakes:
        raise SpecError("\n".join(f"{place}: {path.name}: {mistake}" for mistake in mistakes))
    names = [f.name for f in problem.fields if f.name in data]
    return Reference(
        path,
        data["time"].values.astype(float),
        _points(data, domain.dim),
        data["weights"].values.astype(float),
        {name: data[name].values.astype(float) for name in names},
        float(data.attrs["estimated_error"]),
    )


def unused_reference(problem: "Problem") -> str | None:
    """What to say where a reference stands beside exact solutions, which take its place."""
    exact = [f.name for f in problem.fields if f.section.exact is not None]
    if problem.keys(ReferenceKey).reference is None or not exact:
        return None
    place = problem.document.locate(("reference",))
    return f"{place}: not used for {listing(exact)}: the exact solution takes its place"


def reference_note(problem: "Problem", domain: Domain) -> str | None:
    """A line about the reference of a valid problem."""
    if (found := read_reference(problem, domain)) is None:
        return None
    size = f"{len(found.points):,} points, {len(found.times)} times"
    return (
        unused_reference(problem) or f"reference {found.path.name}: {size}, estimated error {found.estimated_error:.1e}"
    )


def strictly_inside(domain: Domain, points: np.ndarray) -> np.ndarray:
    """Mask (n,) of the points in Ω and off ∂Ω: all points a small step away along the axes are in Ω as well."""
    step = _CLOSE * float(np.ptp(domain.bounds, axis=1).max())
    inside = np.array(domain.contains(points), dtype=bool)
    for shift in (*(step * np.eye(domain.dim)), *(-step * np.eye(domain.dim))):
        inside[inside] = domain.contains(points[inside] + shift)
    return inside


def _opened(path: Path) -> "xarray.Dataset":
    import xarray as xr

    if not path.is_file():
        beside = [p.name for p in path.parent.glob("*.nc")] if path.parent.is_dir() else []
        close = nearest(path.name, beside)
        raise SpecError(f"there is no such file in {path.parent}.{f' Did you mean {close}?' if close else ''}")
    try:
        return xr.load_dataset(path, engine="h5netcdf", decode_times=False)
    except PermissionError:
        raise SpecError("cannot be read: permission denied") from None
    except Exception:  # what a damaged file raises depends on where it is damaged
        raise SpecError("is not a NetCDF file that can be read") from None


def _structure(data: "xarray.Dataset", problem: "Problem", domain: Domain) -> Iterator[str]:
    """Mistakes in names, dimensions and attributes."""
    coordinates = COORDINATES[: domain.dim]
    wanted: dict[str, tuple[str, ...]] = {"time": ("time",), **dict.fromkeys((*coordinates, "weights"), ("point",))}
    fields = [f.name for f in problem.fields]
    needed = [f.name for f in problem.fields if f.section.exact is None and not f.section.steady]
    wanted |= {name: ("time", "point") for name in fields if name in data or name in needed}
    for name, dims in wanted.items():
        if name not in data:
            what = "field" if name in fields else "coordinate" if name in (*coordinates, "time") else "variable"
            yield f"there is no {what} '{name}'. Variables: {listing(map(str, data.variables))}"
        elif data[name].dims != dims:
            yield f"'{name}' has the dimensions ({', '.join(map(str, data[name].dims))}), they must be ({', '.join(dims)})"
        elif not np.issubdtype(data[name].dtype, np.number) or np.iscomplexobj(data[name].values):
            yield f"'{name}' holds {data[name].dtype}, real numbers are needed"
        elif data[name].size == 0:
            yield f"'{name}' is empty"
    for name in map(str, data.data_vars):
        if name not in wanted:
            yield f"'{name}' is no field of the problem. Fields: {listing(fields)}.{did_you_mean(name, fields)}"
    error: Any = data.attrs.get("estimated_error")
    try:
        known = 0 <= float(error) < np.inf
    except (TypeError, ValueError):
        known = False
    if not known:
        yield f"the attribute estimated_error must be the reference's own relative L² error, found {error}"


def _points(data: "xarray.Dataset", dim: int) -> np.ndarray:
    return np.stack([data[c].values.astype(float) for c in COORDINATES[:dim]], axis=1)


def _content(data: "xarray.Dataset", problem: "Problem", domain: Domain) -> Iterator[str]:
    """Mistakes in the numbers."""
    for name in map(str, data.variables):
        bad = ~np.isfinite(data[name].values.astype(float))
        if bad.any():
            first = ", ".join(map(str, np.argwhere(bad)[0]))
            yield f"'{name}' has {bad.sum()} values that are not finite, the first at [{first}]"
    weights = data["weights"].values
    if (weights <= 0).any():
        yield f"{(weights <= 0).sum()} of {len(weights)} weights are not positive, the smallest is {weights.min():.3g}"
    yield from _times(data["time"].values.astype(float), problem)
    points = _points(data, domain.dim)
    points = points[np.isfinite(points).all(axis=1)]
    outside = points[~strictly_inside(domain, points)]
    if len(outside):
        first = ", ".join(f"{c:g}" for c in outside[0])
        yield f"{len(outside)} of {len(points)} points are not strictly inside the domain, the first is ({first})"


def _times(times: np.ndarray, problem: "Problem") -> Iterator[str]:
    times = times[np.isfinite(times)]
    if (np.diff(times) <= 0).any():
        yield "its times do not increase"
    time, frames = problem.section.time, problem.section.output.frames
    saved = np.linspace(time.start, time.end, frames + 1)
    missing = [t for t in times if np.abs(saved - t).min() > _CLOSE * (time.end - time.start)]
    if missing:
        yield (
            f"{len(missing)} of its times are not saved, the first is t = {missing[0]:g}; the run saves {frames + 1} states from "
            f"{time.start:g} to {time.end:g}, every {(time.end - time.start) / frames:g} (output.frames)"
        )
