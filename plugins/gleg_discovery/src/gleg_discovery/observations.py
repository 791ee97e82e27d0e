"""What sensors read in one or several experiments, from a NetCDF, CSV or Parquet file (docs/observations.md). No torch."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gleg_core.errors import PackError, SpecError, did_you_mean, listing, nearest
from gleg_core.spec.params import COORDINATES

if TYPE_CHECKING:
    import pandas
    import xarray

FUNCTIONS_PER_SENSOR = 0.6
"""Functions of the space per sensor, at most, that leave enough to tell noise from signal."""
_TIME = ("t", "time")
_EXPERIMENT = ("trajectory", "experiment")
"""Names of columns and dimensions for time, and for which experiment a reading belongs to."""


@dataclass(frozen=True)
class Recording:
    """One experiment. times (T,) increasing; points (S, dim); values: field → (T, S), NaN where nothing was measured."""

    name: str
    times: np.ndarray
    points: np.ndarray
    values: Mapping[str, np.ndarray]


def read_observations(path: Path, fields: Sequence[str], dim: int) -> list[Recording]:
    """The recordings in a file. Mistakes of one kind (names; numbers) are one error, a line per mistake."""
    readers = {".nc": _read_netcdf, ".csv": _read_csv, ".parquet": _read_parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        close = did_you_mean(path.suffix, readers)
        raise SpecError(f"{path}: observations are read from {', '.join(readers)} files, found '{path.suffix}'.{close}")
    if not path.is_file():
        beside = [p.name for p in path.parent.glob(f"*{path.suffix}")] if path.parent.is_dir() else []
        close = f" Did you mean {nearest(path.name, beside)}?" if nearest(path.name, beside) else ""
        raise SpecError(f"{path}: there is no such file.{close}")
    return reader(path, fields, dim)


def _refuse(path: Path, mistakes: Iterable[str]) -> None:
    lines = [f"{path}: {mistake}" for mistake in mistakes]
    if lines:
        raise SpecError("\n".join(lines))


# --- tables: a row per reading --------------------------------------------------------------------------------------


def _read_csv(path: Path, fields: Sequence[str], dim: int) -> list[Recording]:
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
            # Blank lines are read and dropped afterwards: the index then still counts lines.
            table = pd.read_csv(
                path,
                encoding="utf-8-sig",
                index_col=False,
                low_memory=False,
                skip_blank_lines=False,
                skipinitialspace=True,
            )
    except pd.errors.EmptyDataError:
        raise SpecError(f"{path}: the file is empty") from None
    except (OSError, ValueError, pd.errors.ParserWarning) as error:
        raise SpecError(f"{path}: cannot be read as CSV: {str(error).strip().splitlines()[0]}") from None
    if len(table.columns) == 1 and any(mark in str(table.columns[0]) for mark in ";\t"):
        raise SpecError(f"{path}: columns must be separated by commas, the first line is {table.columns[0]!r}")
    return _from_table(path, table.dropna(how="all"), lambda i: f"line {i + 2}", fields, dim)


def _read_parquet(path: Path, fields: Sequence[str], dim: int) -> list[Recording]:
    if find_spec("pyarrow") is None:
        raise PackError(
            f'{path}: Parquet files need pyarrow, which is not installed:   pip install "gleg-discovery[parquet]"'
        )
    from pyarrow import parquet

    try:
        # Without pandas' metadata, which would hide the columns of an index.
        with parquet.ParquetFile(path) as file:
            table = file.read().to_pandas(ignore_metadata=True)
    except PermissionError:
        raise SpecError(f"{path}: cannot be read: permission denied") from None
    except Exception:  # what a damaged file raises depends on where it is damaged
        raise SpecError(f"{path}: is not a Parquet file that can be read") from None
    table = table[[name for name in table.columns if not str(name).startswith("__index_level_")]]
    return _from_table(path, table, lambda i: f"row {i + 1}", fields, dim)


def _from_table(
    path: Path, table: "pandas.DataFrame", place: Callable[[int], str], fields: Sequence[str], dim: int
) -> list[Recording]:
    """Recordings from rows in any order; ``place`` says where the row with an index stands in the file."""
    import pandas as pd

    table = table.set_axis([str(name).strip() for name in table.columns], axis=1)
    coordinates = COORDINATES[:dim]
    _refuse(path, _wrong_columns(list(table.columns), fields, coordinates))
    if table.empty:
        raise SpecError(f"{path}: there are no rows")
    (time,) = (name for name in _TIME if name in table)
    measured = [name for name in fields if name in table]
    columns: dict[str, np.ndarray] = {}
    mistakes: list[str] = []
    for name in (*coordinates, time, *measured):
        try:
            columns[name] = _numbers(table[name], place, gaps=name in measured)
        except SpecError as error:
            mistakes.append(str(error))
    experiment = next((name for name in _EXPERIMENT if name in table), None)
    if experiment and table[experiment].isna().any():
        mistakes.append(f"{place(table.index[table[experiment].isna()][0])}: '{experiment}' is empty")
    _refuse(path, mistakes)
    if not any(np.isfinite(columns[name]).any() for name in measured):
        raise SpecError(f"{path}: there is no value of {listing(measured)} in {len(table)} rows")

    rows = pd.Series(np.arange(len(table)))
    groups = rows.groupby(table[experiment].to_numpy(), sort=False) if experiment else [(path.stem, rows)]
    where = np.stack([columns[name] for name in coordinates], axis=1)
    identity = [*where.T, *([table["sensor"].to_numpy()] if "sensor" in table else [])]
    sensor = rows.groupby(identity, sort=False, dropna=False).ngroup().to_numpy()
    recordings: list[Recording] = []
    cells = 0
    for key, own in groups:
        label, chosen = _label(key), own.to_numpy()
        at, times = _instants(columns[time][chosen])
        which, _ = pd.factorize(sensor[chosen])
        points = where[chosen[np.unique(which, return_index=True)[1]]]
        cells += len(times) * len(points)
        if cells > max(50_000_000, 50 * len(table)):
            raise SpecError(
                f"{path}: recording '{label}' has {len(chosen):,} rows at {len(points):,} places and {len(times):,} times, far from a "
                "reading at every place and time. Round times to common ones, and positions if sensors stand still"
            )
        values = {}
        for name in measured:
            value = columns[name][chosen]
            values[name], pair = _spread(value, at, which, (len(times), len(points)))
            if pair:
                i, j = pair
                raise SpecError(
                    f"{path}: {place(table.index[chosen[i]])} and {place(table.index[chosen[j]])}: recording '{label}' has two values of "
                    f"'{name}' at {shown_point(points[which[i]])}, {time} = {times[at[i]]:g}: {value[i]:g} and {value[j]:g}. "
                    "One is allowed; if these are two sensors, tell them apart by a column 'sensor'"
                )
        recordings.append(Recording(label, times, points, values))
    return recordings


def _wrong_columns(found: Sequence[str], fields: Sequence[str], coordinates: Sequence[str]) -> Iterator[str]:
    for name in coordinates:
        if name not in found:
            yield f"there is no column '{name}'. Columns: {listing(found)}"
    if not set(_TIME) & set(found):
        yield f"there is no column 't' (or 'time'). Columns: {listing(found)}"
    if not set(fields) & set(found):
        yield f"there is no column of a field. Fields: {listing(fields)}. Columns: {listing(found)}"
    for name in sorted({name for name in found if found.count(name) > 1}):
        yield f"the column '{name}' appears twice, once is allowed"
    for pair in (_TIME, _EXPERIMENT):
        if set(pair) <= set(found):
            yield f"'{pair[0]}' and '{pair[1]}' mean the same, one of them is allowed"
    allowed = (*coordinates, *_TIME, *_EXPERIMENT, "sensor", *fields)
    for name in found:
        if name not in allowed:
            yield f"the column '{name}' is not known. Columns may be {listing(allowed)}.{did_you_mean(name, allowed)}"


def _numbers(column: "pandas.Series", place: Callable[[int], str], *, gaps: bool) -> np.ndarray:
    """The column as numbers (n,), NaN where a cell is empty; ``gaps`` says whether that may be."""
    import pandas as pd
    from pandas.api import types

    text = types.is_object_dtype(column) or types.is_string_dtype(column)
    if not text and (
        not types.is_numeric_dtype(column) or types.is_bool_dtype(column) or types.is_complex_dtype(column)
    ):
        raise SpecError(f"'{column.name}' holds {column.dtype}, numbers are needed")
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    empty = column.isna().to_numpy()
    wrong = {
        "is not a number": np.isnan(numbers) & ~empty,
        "is not finite": np.isinf(numbers),
        "is empty": empty & (not gaps),
    }
    for what, mask in wrong.items():
        if mask.any():
            i = int(np.argmax(mask))
            found = "" if what == "is empty" else f", found {str(column.iloc[i])!r}"
            others = f" ({mask.sum() - 1:,} more)" if mask.sum() > 1 else ""
            raise SpecError(f"{place(column.index[i])}: '{column.name}' {what}{found}{others}")
    return numbers


def _label(label: Any) -> str:
    """A whole number stays one, although empty lines make the column one of floats."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _instants(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index (n,) into the increasing times (T,), and these times: equal if they differ by 1e-9 of the whole recording."""
    distinct, which = np.unique(t, return_inverse=True)
    new = np.diff(distinct, prepend=-np.inf) > 1e-9 * (distinct[-1] - distinct[0])
    return (np.cumsum(new) - 1)[which], distinct[new]


def _spread(
    value: np.ndarray, at: np.ndarray, which: np.ndarray, shape: tuple[int, int]
) -> tuple[np.ndarray, tuple[int, int] | None]:
    """The array (T, S) of the readings (n,), and two rows that contradict each other if there are any."""
    grid = np.full(shape, np.nan)
    known = np.flatnonzero(np.isfinite(value))
    grid[at[known], which[known]] = value[known]  # of several rows the last remains
    lost = known[grid[at[known], which[known]] != value[known]]
    if not len(lost):
        return grid, None
    same = known[(at[known] == at[lost[0]]) & (which[known] == which[lost[0]])]
    return grid, (int(lost[0]), int(same[value[same] != value[lost[0]]][0]))


def shown_point(point: np.ndarray) -> str:
    return f"({', '.join(f'{c:g}' for c in point)})"


def shown_range(numbers: Sequence[int]) -> str:
    """``5``, or ``5 to 8``."""
    return " to ".join(map(str, sorted({min(numbers), max(numbers)})))


# --- NetCDF: arrays -------------------------------------------------------------------------------------------------


def _read_netcdf(path: Path, fields: Sequence[str], dim: int) -> list[Recording]:
    import xarray as xr

    try:
        data = xr.load_dataset(path, engine="h5netcdf", decode_times=False)
    except PermissionError:
        raise SpecError(f"{path}: cannot be read: permission denied") from None
    except Exception:  # what a damaged file raises depends on where it is damaged
        raise SpecError(f"{path}: is not a NetCDF file that can be read") from None
    coordinates = COORDINATES[:dim]
    _refuse(path, _wrong_variables(data, fields, coordinates))
    measured = [name for name in fields if name in data]
    _refuse(path, _infinite(data, ("time", *coordinates, *measured)))
    if not any(np.isfinite(data[name].values).any() for name in measured):
        raise SpecError(f"{path}: there is no value of {listing(measured)}")
    if "trajectory" not in data.dims:
        parts = {path.stem: data}
    else:
        parts = {_label(k): data.isel(trajectory=i) for i, k in enumerate(data["trajectory"].values.tolist())}
        if len(parts) < data.sizes["trajectory"]:
            raise SpecError(f"{path}: labels of 'trajectory' repeat: {listing(map(str, data['trajectory'].values))}")
    recordings = [_recording(name, part, measured, coordinates) for name, part in parts.items()]
    _refuse(path, _wrong_recordings(data, recordings, measured))
    return recordings


def _recording(name: str, part: "xarray.Dataset", measured: Sequence[str], coordinates: Sequence[str]) -> Recording:
    """One trajectory, its times in order. Where a time or a position is NaN the file is only filled up to the longest trajectory."""
    times = part["time"].values.astype(float)
    points = np.stack([part[c].values.astype(float) for c in coordinates], axis=1)
    order = np.argsort(times, kind="stable")
    order = order[np.isfinite(times[order])]
    there = np.isfinite(points).all(axis=1)
    values = {f: part[f].transpose("time", "sensor").values.astype(float)[np.ix_(order, there)] for f in measured}
    return Recording(name, times[order], points[there], values)


def _wrong_variables(data: "xarray.Dataset", fields: Sequence[str], coordinates: Sequence[str]) -> Iterator[str]:
    """Mistakes in names, dimensions and kinds."""
    several = ["trajectory"] if "trajectory" in data.dims else []
    layouts: dict[str, list[list[str]]] = {"time": [["time"]], **{c: [["sensor"]] for c in coordinates}}
    for allowed in layouts.values():
        allowed += [[*several, *allowed[0]]] if several else []
    layouts |= {name: [[*several, "time", "sensor"]] for name in fields if name in data}
    for name, allowed in layouts.items():
        if name not in data.variables:
            yield f"there is no coordinate '{name}'. Variables: {listing(map(str, data.variables))}"
        elif sorted(map(str, data[name].dims)) not in [sorted(dims) for dims in allowed]:
            wanted = " or ".join(f"({', '.join(dims)})" for dims in allowed)
            yield f"'{name}' has the dimensions ({', '.join(map(str, data[name].dims))}), they must be {wanted}"
        elif not np.issubdtype(data[name].dtype, np.number) or np.iscomplexobj(data[name].values):
            yield f"'{name}' holds {data[name].dtype}, real numbers are needed"
        elif data[name].size == 0:
            yield f"'{name}' is empty"
    if not any(name in data for name in fields):
        yield f"there is no variable of a field. Fields: {listing(fields)}. Variables: {listing(map(str, data.variables))}"
    for name in map(str, data.data_vars):
        if name not in layouts:
            yield f"the variable '{name}' is no field of the problem. Fields: {listing(fields)}.{did_you_mean(name, fields)}"


def _infinite(data: "xarray.Dataset", names: Sequence[str]) -> Iterator[str]:
    for name in names:
        bad = np.isinf(data[name].values)
        if bad.any():
            first = ", ".join(f"{d} {i}" for d, i in zip(data[name].dims, np.argwhere(bad)[0], strict=True))
            yield f"'{name}' has {bad.sum():,} infinite values, the first at {first}"


def _wrong_recordings(
    data: "xarray.Dataset", recordings: Sequence[Recording], measured: Sequence[str]
) -> Iterator[str]:
    """Too few or repeated times, and values at a time or place that is NaN."""
    for r in recordings:
        if not r.times.size or not r.points.size:
            yield f"recording '{r.name}' has {len(r.times)} times and {len(r.points)} sensors, one of each is the least"
        again = r.times[1:][np.diff(r.times) == 0]
        if len(again):
            yield f"recording '{r.name}': time = {again[0]:g} appears twice, once is allowed"
    for name in measured:
        kept = sum(int(np.isfinite(r.values[name]).sum()) for r in recordings)
        lost = int(np.isfinite(data[name].values).sum()) - kept
        if lost:
            yield f"{lost:,} values of '{name}' belong to a time or a sensor whose time or position is NaN"
