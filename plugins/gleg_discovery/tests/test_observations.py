"""Observations from files, and the guards that look at them before anything is fitted."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas
import pytest
import xarray

from gleg_core.errors import PackError, SpecError
from gleg_discovery import guards
from gleg_discovery.guards import Remark
from gleg_discovery.observations import Recording, read_observations
from gleg_domains.simple import Disk, DiskParams, Interval, IntervalParams, Rectangle, RectangleParams

PAGE = (Path(__file__).parents[3] / "docs" / "observations.md").read_text(encoding="utf-8")
NAN = np.nan


def same(left: Sequence[Recording], right: Sequence[Recording]) -> None:
    assert [r.name for r in left] == [r.name for r in right]
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a.times, b.times)
        np.testing.assert_array_equal(a.points, b.points)
        assert list(a.values) == list(b.values)
        for name in a.values:
            np.testing.assert_array_equal(a.values[name], b.values[name])


# --- the page -------------------------------------------------------------------------------------------------------


def test_the_three_examples_of_the_page_hold_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (table,) = re.findall(r"```csv\n(.*?)```", PAGE, re.S)
    Path("readings.csv").write_text(table, encoding="utf-8")
    for source in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(compile(source, "observations.md", "exec"), {})
    expected = [
        Recording(
            "a",
            np.array([0, 0.1, 0.2]),
            np.array([[0.1, 0.2], [0.3, -0.1]]),
            {"u": np.array([[1, 0.5], [0.9, NAN], [0.81, 0.4]])},
        ),
        Recording("b", np.array([0, 0.1, 0.2]), np.array([[-0.2, 0]]), {"u": np.array([[2], [1.8], [1.62]])}),
    ]
    for suffix in ("csv", "parquet", "nc"):
        same(read_observations(Path(f"readings.{suffix}"), ["u"], 2), expected)


def test_torch_is_not_imported() -> None:
    program = "import sys, gleg_discovery.guards; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


# --- what is read ---------------------------------------------------------------------------------------------------


def csv(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_and_columns_in_any_order_several_fields(tmp_path: Path) -> None:
    """Every cell is where a dictionary of the rows has it; times and sensors differ between experiments."""
    rng = np.random.default_rng(3)
    rows = [
        (k, t, x, float(rng.normal()), float(rng.normal()))
        for k, times, places in ((7, (0.0, 0.5, 2.0), (0.1, 0.2)), (3, (0.25, 1.0), (0.1, 0.7, 0.9)))
        for t in times
        for x in places
    ]
    rows = [rows[i] for i in rng.permutation(len(rows))]
    lookup = {(str(k), t, x): (u, v) for k, t, x, u, v in rows}
    text = "v, experiment, time, u, x\n" + "".join(f"{v!r}, {k}, {t}, {u!r}, {x}\n" for k, t, x, u, v in rows)
    recordings = read_observations(csv(tmp_path, "\ufeff" + text), ["u", "v"], 1)
    assert {r.name for r in recordings} == {"7", "3"}
    seen = 0
    for r in recordings:
        assert (np.diff(r.times) > 0).all()
        for n, t in enumerate(r.times):
            for s, (x,) in enumerate(r.points):
                assert (r.values["u"][n, s], r.values["v"][n, s]) == lookup[r.name, t, x]
                seen += 1
    assert seen == len(rows)


def test_without_a_trajectory_column_there_is_one_recording(tmp_path: Path) -> None:
    """Blank lines and equal repetitions do not matter, times that differ by rounding are one, fields not measured are left out."""
    text = f"x,t,u\n0.5,0,1\n\n0.5,{0.1 + 0.2!r},2\n0.7,0.3,3\n0.7,0.3,3\n0.7,0,\n\n"
    (recording,) = read_observations(csv(tmp_path, text), ["u", "v"], 1)
    expected = {"u": np.array([[1, NAN], [2, 3]])}
    same([recording], [Recording("data", np.array([0, 0.3]), np.array([[0.5], [0.7]]), expected)])


def test_a_sensor_column_parts_two_sensors_at_one_place(tmp_path: Path) -> None:
    path = csv(tmp_path, "sensor,x,t,u\nleft,0.5,0,1\nright,0.5,0,2\n")
    (recording,) = read_observations(path, ["u"], 1)
    assert recording.points.tolist() == [[0.5], [0.5]]
    assert recording.values["u"].tolist() == [[1, 2]]


def test_parquet_with_an_index_and_whole_numbers(tmp_path: Path) -> None:
    table = pandas.DataFrame({"x": [0, 1, 0, 1], "t": [0, 0, 1, 1], "u": pandas.array([1, None, 3, 4], dtype="Int64")})
    table.set_index("t").to_parquet(tmp_path / "named.parquet")
    table[::-1].to_parquet(tmp_path / "unnamed.parquet")
    (named,) = read_observations(tmp_path / "named.parquet", ["u"], 1)
    assert named.values["u"][0, 0] == 1 and np.isnan(named.values["u"][0, 1])
    (unnamed,) = read_observations(tmp_path / "unnamed.parquet", ["u"], 1)
    np.testing.assert_array_equal(unnamed.values["u"], named.values["u"][:, ::-1])


def test_netcdf_any_order_of_dimensions_own_times_and_fill_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    u = rng.normal(size=(2, 3, 4))  # trajectory, time, sensor
    u[1, 2, :] = NAN
    time = np.array([[0.0, 1.0, 2.0], [0.5, 0.25, NAN]])
    data = xarray.Dataset(
        {"u": (("sensor", "trajectory", "time"), u.transpose(2, 0, 1))},
        coords={"time": (("trajectory", "time"), time), "x": ("sensor", [0.1, 0.2, 0.3, 0.4])},
    )
    data.to_netcdf(tmp_path / "data.nc", engine="h5netcdf", encoding={"u": {"_FillValue": -999.0}})
    first, second = read_observations(tmp_path / "data.nc", ["u"], 1)
    np.testing.assert_array_equal(first.values["u"], u[0])
    assert second.times.tolist() == [0.25, 0.5] and (first.name, second.name) == ("0", "1")
    np.testing.assert_array_equal(second.values["u"], u[1, [1, 0]])


def test_netcdf_of_one_experiment_with_plain_variables(tmp_path: Path) -> None:
    data = xarray.Dataset(
        {"u": (("time", "sensor"), [[1, 2], [3, 4]]), "x": ("sensor", [0.0, 0.5]), "y": ("sensor", [1.0, 1.5])},
        coords={"time": ("time", [0, 60], {"units": "seconds since 2000-01-01"})},
    )
    data.to_netcdf(tmp_path / "one.nc", engine="h5netcdf")
    (recording,) = read_observations(tmp_path / "one.nc", ["u"], 2)
    assert recording.name == "one" and recording.times.tolist() == [0, 60]
    assert recording.points.tolist() == [[0, 1], [0.5, 1.5]] and recording.values["u"].tolist() == [[1, 2], [3, 4]]


# --- what is refused ------------------------------------------------------------------------------------------------


def refused(path: Path, *said: str, fields: Sequence[str] = ("u", "temperature"), dim: int = 2) -> None:
    with pytest.raises(SpecError) as caught:
        read_observations(path, fields, dim)
    for words in (path.name, *said):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ["is empty"]),
        ("x,y,t,u\n", ["no rows"]),
        ("x,t,u\n0,0,1\n", ["no column 'y'", "Columns: t, u, x"]),
        ("x,y,u\n0,0,1\n", ["no column 't' (or 'time')"]),
        ("x,y,t,time,u\n0,0,1,1,1\n", ["'t' and 'time' mean the same"]),
        ("x,y,t,u,u \n0,0,1,1,1\n", ["the column 'u' appears twice"]),
        ("x,y,t\n0,0,1\n", ["no column of a field", "Fields: temperature, u"]),
        ("x,y,t,u,Temprature\n0,0,1,2,3\n", ["'Temprature' is not known", "Did you mean 'temperature'?"]),
        ("x,y,z,t,u\n0,0,1,2,3\n", ["'z' is not known", "Columns may be experiment, "]),
        ("x,y,t,u\n0,0,1,2\n\n0,0,3,warm\n0,0,4,hot\n", ["line 4: 'u' is not a number, found 'warm' (1 more)"]),
        ("x,y,t,u\n0,0,1,true\n", ["'u' holds bool"]),
        ("x,y,t,u\n0,0,1,2\n0,,3,4\n", ["line 3: 'y' is empty"]),
        ("x,y,t,u\n0,0,1,2\n0,0,inf,4\n", ["line 3: 't' is not finite, found 'inf'"]),
        ("x,y,t,u\n0,0,1,2\n0,0,2,-inf\n", ["line 3: 'u' is not finite, found '-inf'"]),
        ("trajectory,x,y,t,u\na,0,0,1,2\n,0,0,2,3\n", ["line 3: 'trajectory' is empty"]),
        ("x,y,t,u\n0,0,1,\n0,0,2,\n", ["no value of u in 2 rows"]),
        (
            "x,y,t,u\n0,1,2,3\n1,1,2,3\n0,1,2,4\n",
            ["line 2 and line 4", "two values of 'u' at (0, 1), t = 2: 3 and 4", "column 'sensor'"],
        ),
        ("x,y,t,u\n0,0,1,2\n0,0,1,2,3\n", ["cannot be read as CSV", "line 3"]),
        ("x,y,t,u\n0,0,1,2,3\n0,0,2,2,3\n", ["cannot be read as CSV"]),
        ("x;y;t;u\n0;0;1;2\n", ["separated by commas", "x;y;t;u"]),
        ("x,y,t,u\nleft,0,1,2\n0,0,1,much\n", ["line 2: 'x' is not a number", "line 3: 'u' is not a number"]),
    ],
)
def test_csv_mistakes(tmp_path: Path, text: str, said: list[str]) -> None:
    refused(csv(tmp_path, text), *said)


def test_readings_that_share_no_times_are_refused_before_memory_runs_out(tmp_path: Path) -> None:
    """A drifting sensor: every row has a place and a time of its own, 8000² values."""
    n = np.arange(8000)
    pandas.DataFrame({"x": n, "t": n, "u": n}).to_csv(tmp_path / "drift.csv", index=False)
    refused(tmp_path / "drift.csv", "8,000 places and 8,000 times", "Round times", dim=1)


def test_paths(tmp_path: Path) -> None:
    refused(tmp_path / "data.cvs", ".nc, .csv, .parquet", "found '.cvs'", "Did you mean '.csv'?")
    refused(tmp_path / "data", "found ''")
    csv(tmp_path, "x,t,u\n")
    refused(tmp_path / "dta.csv", "no such file", "Did you mean data.csv?")


def test_damaged_files(tmp_path: Path) -> None:
    for suffix, kind in (("nc", "NetCDF"), ("parquet", "Parquet")):
        path = tmp_path / f"damaged.{suffix}"
        path.write_bytes(b"PAR1\x89HDF\r\n not really")
        refused(path, f"is not a {kind} file that can be read")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    refused(tmp_path / "binary.csv", "cannot be read as CSV")


def test_parquet_mistakes(tmp_path: Path) -> None:
    table = pandas.DataFrame({"x": [0.0, 1.0], "t": pandas.to_datetime(["2024-01-01", "2024-01-02"]), "u": [1.0, 2.0]})
    table.to_parquet(tmp_path / "dates.parquet")
    refused(tmp_path / "dates.parquet", "'t' holds datetime64", "numbers are needed", dim=1)
    table.assign(t=[0, 1], u=["1.5", "two"]).to_parquet(tmp_path / "words.parquet")
    refused(tmp_path / "words.parquet", "row 2: 'u' is not a number, found 'two'", dim=1)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data.parquet").touch()

    def find(name: str) -> importlib.machinery.ModuleSpec | None:
        return None if name == "pyarrow" else importlib.util.find_spec(name)

    monkeypatch.setattr("gleg_discovery.observations.find_spec", find)
    with pytest.raises(PackError, match=re.escape('pip install "gleg-discovery[parquet]"')):
        read_observations(tmp_path / "data.parquet", ["u"], 1)


def good() -> xarray.Dataset:
    return xarray.Dataset(
        {"u": (("trajectory", "time", "sensor"), np.arange(12.0).reshape(2, 3, 2))},
        coords={"time": [0.0, 1.0, 2.0], "x": ("sensor", [0.1, 0.2]), "y": ("sensor", [0.3, 0.4])},
    )


def changed(name: str, index: tuple[int, ...], value: float) -> xarray.Dataset:
    data = good()
    values = data[name].values.copy()
    values[index] = value
    return data.assign({name: (data[name].dims, values)})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (good().drop_vars("y"), ["no coordinate 'y'", "Variables: time, u, x"]),
        (good().drop_vars("time"), ["no coordinate 'time'"]),
        (good().drop_vars("u"), ["no variable of a field", "Fields: temperature, u"]),
        (good().assign(temprature=good()["u"]), ["'temprature' is no field", "Did you mean 'temperature'?"]),
        (good().rename(sensor="probe"), ["'x' has the dimensions (probe)", "(sensor) or (trajectory, sensor)"]),
        (
            good().assign(u=good()["u"].mean("trajectory"), temperature=good()["u"]),
            ["must be (trajectory, time, sensor)"],
        ),
        (good().assign(u=good()["u"].astype(str)), ["'u' holds", "real numbers"]),
        (good().isel(time=slice(0)), ["'time' is empty"]),
        (changed("u", (1, 2, 0), np.inf), ["'u' has 1 infinite values, the first at trajectory 1, time 2, sensor 0"]),
        (changed("time", (1,), 2.0), ["recording '0': time = 2 appears twice"]),
        (changed("time", (1,), NAN), ["4 values of 'u' belong to a time or a sensor"]),
        (good() * NAN, ["no value of u"]),
        (good().assign_coords(trajectory=["a", "a"]), ["labels of 'trajectory' repeat"]),
    ],
)
def test_netcdf_mistakes(tmp_path: Path, data: xarray.Dataset, said: list[str]) -> None:
    good().to_netcdf(tmp_path / "data.nc", engine="h5netcdf")
    assert len(read_observations(tmp_path / "data.nc", ["u"], 2)) == 2
    data.to_netcdf(tmp_path / "wrong.nc", engine="h5netcdf")
    refused(tmp_path / "wrong.nc", *said)


# --- guards ---------------------------------------------------------------------------------------------------------

DISK = Disk(DiskParams(radius=1.0))
SQUARE = Rectangle(RectangleParams(x=(2.0, 3.0), y=(1.0, 2.0)))
TIMES = np.linspace(0, 1, 11)


def sunflower(n: int = 60) -> np.ndarray:
    """Points spread over the disk of radius 0.95."""
    i = np.arange(n)
    return 0.95 * np.sqrt((i + 0.5) / n)[:, None] * np.stack([np.cos(2.4 * i), np.sin(2.4 * i)], axis=1)


def recording(points: np.ndarray, times: np.ndarray = TIMES, name: str = "a", **values: np.ndarray) -> Recording:
    """Decaying values unless others are given."""
    u = np.exp(-times)[:, None] * (1 + points.sum(axis=1))
    return Recording(name, times, points, values or {"u": u})


def one(remarks: list[Remark], level: str, *said: str) -> None:
    (remark,) = remarks
    assert remark.level == level
    for words in said:
        assert words in remark.text


def test_good_data_pass_every_guard() -> None:
    assert guards.data_remarks([recording(sunflower()), recording(0.5 * sunflower(), 0.5 * TIMES, "b")], DISK) == []


def test_data_remarks_asks_every_guard() -> None:
    points = np.concatenate([sunflower(), [[0, 1.0], [5, 5], [5, 5]]])
    u = np.ones((2, len(points)))
    u[:, 3] = NAN
    remarks = guards.data_remarks([recording(points, TIMES[:2], u=u)], DISK)
    for words in ("outside", "on the boundary", "stand at", "never reports", "fewer than 3", "does not change"):
        assert len([r for r in remarks if words in r.text]) == 1
    assert len(remarks) == 6


def test_sensors_outside() -> None:
    points = np.concatenate([sunflower(20), [[0.0, 1.5], [2.0, 0.0]]])
    said = "2 of 22 sensors are outside the domain, the first at (0, 1.5), about 0.5 from the boundary"
    one(guards.sensors_outside([recording(points), recording(points, name="b")], DISK), "error", said)
    assert "look" not in guards.sensors_outside([recording(points)], DISK)[0].text
    assert guards.sensors_outside([recording(points[:20])], DISK) == []


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1000, "look like mm, the domain is in m: divided by 1000, 60 of 60"),
        (0.001, "look like m, the domain is in mm: multiplied by 1000"),
        (100, "look like cm, the domain is in m"),
        (10, "look like mm, the domain is in cm"),
        (1e4, "look like another unit: divided by 10000"),
        (2.54, "look like cm, the domain is in inches: divided by 2.54"),
        (25.4, "look like mm, the domain is in inches"),
        (0.3048, "look like m, the domain is in feet: multiplied by 3.2808"),
        (1 / 60, "look like degrees, the domain is in arc minutes"),
        (3600, "look like arc seconds, the domain is in degrees"),
        (180 / np.pi, "look like degrees, the domain is in radians: divided by 57.296"),
    ],
)
def test_units(factor: float, said: str) -> None:
    """Sensors in a square away from the origin, which no smaller copy of them enters."""
    points = np.array([2.5, 1.5]) + 0.5 * sunflower()
    assert guards.sensors_outside([recording(points)], SQUARE) == []
    one(guards.sensors_outside([recording(factor * points)], SQUARE), "error", "60 of 60 sensors are outside", said)
    if factor > 1:
        one(guards.sensors_outside([recording(factor * sunflower())], DISK), "error", said.split(":")[0])


def test_shifted_coordinates() -> None:
    points = sunflower() + np.array([5.0, 0.0])
    one(
        guards.sensors_outside([recording(points)], DISK), "error", "look shifted by about (5, ", "size of the domain's"
    )
    far = np.array([[5.0, 0.0], [5.1, 0.0]])
    assert "look" not in guards.sensors_outside([recording(far)], DISK)[0].text


def test_sensors_on_the_boundary() -> None:
    angles = np.array([0.3, 1.7, 4.0])
    rim = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = np.concatenate([sunflower(20), np.round(rim, 6)])
    data = [recording(points)]
    one(
        guards.sensors_on_boundary(data, DISK),
        "warning",
        "3 of 23 sensors are on the boundary, the first at (0.955336,",
    )
    assert guards.sensors_outside(data, DISK) == []
    assert guards.sensors_on_boundary([recording(0.999 * points)], DISK) == []
    assert guards.sensors_on_boundary([recording(2 * rim)], DISK) == []
    corner = [recording(np.array([[2.0, 1.0], [2.5, 1.5]]))]
    one(guards.sensors_on_boundary(corner, SQUARE), "warning", "1 of 2 sensors")


def test_places_in_one_dimension() -> None:
    interval = Interval(IntervalParams(left=0, right=2))
    data = [recording(np.array([[0.0], [1.0], [2.5]]))]
    one(guards.sensors_outside(data, interval), "error", "1 of 3", "(2.5), about 0.5")
    one(guards.sensors_on_boundary(data, interval), "warning", "1 of 3", "(0)")


def test_sensors_at_one_place() -> None:
    points = sunflower(10)
    twice = np.concatenate([points, points[:1]])
    one(guards.sensors_at_one_place([recording(twice)]), "warning", "2 sensors stand at (")
    data = [recording(points), recording(twice, name="b"), recording(twice, name="c")]
    one(guards.sensors_at_one_place(data), "warning", "recording 'b' (and 1 more recording): 2 sensors stand at")
    assert guards.sensors_at_one_place([recording(points)]) == []


def test_silent_sensors() -> None:
    points = sunflower(5)
    u, v = np.ones((11, 5)), np.ones((11, 5))
    u[:, 2] = u[:, 4] = v[:, 4] = NAN
    said = f"sensor 4 at ({points[4, 0]:g}, {points[4, 1]:g}) never reports"
    one(guards.silent_sensors([recording(points, u=u, v=v)]), "warning", said)
    one(guards.silent_sensors([recording(points, u=u)]), "warning", "sensor 2 at", "(and 1 more place)")
    v[3, 4] = 1
    assert guards.silent_sensors([recording(points, u=u, v=v)]) == []


def test_short_recordings() -> None:
    long, short = recording(sunflower(5)), recording(sunflower(5), TIMES[:2], "b")
    one(guards.short_recordings([long, short]), "warning", "1 of 2 recordings", "'b' with 2")
    one(guards.short_recordings([short]), "error", "1 of 1 recordings")
    assert guards.short_recordings([recording(sunflower(5), TIMES[:3])]) == []


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ((1, 1, 1000), ["recording '2' lasts 1e+03 in steps of 100, others 1 in steps of 0.1; are its times in ms?"]),
        ((1000, 1000, 1), ["recording '2'", "are the other times in ms?"]),
        ((3600, 3600, 1), ["are its times in hours?"]),
        ((1, 60), ["are the other times in minutes?"]),
        ((1, 1, 200), ["are they in the same unit?"]),
    ],
)
def test_different_time_units(factors: Sequence[float], said: list[str]) -> None:
    data = [recording(sunflower(5), f * TIMES, str(k)) for k, f in enumerate(factors)]
    one(guards.different_time_units(data), "warning", *said)


def test_recordings_of_different_lengths_are_no_other_unit() -> None:
    long = recording(sunflower(5), np.arange(0, 100, 0.1), "b")
    assert guards.different_time_units([recording(sunflower(5)), long]) == []
    assert guards.different_time_units([recording(sunflower(5)), recording(sunflower(5), 10 * TIMES)]) == []
    assert guards.different_time_units([recording(sunflower(5))]) == []


def test_constant_in_time() -> None:
    steady = recording(sunflower(5), name="b", u=np.tile(np.arange(5.0), (11, 1)))
    steady.values["u"][3, 2] = NAN
    one(guards.constant_in_time([recording(sunflower(5)), steady]), "warning", "'u'", "1 of 2 recordings", "'b'")
    steady.values["u"][4, 1] += 1e-12
    assert guards.constant_in_time([steady]) == []


def test_quantised_values() -> None:
    """Rounding to 0.01 matters if the noise is smaller, not if it is larger; numbers as they come show no step."""
    rng = np.random.default_rng(1)
    points = sunflower(40)
    u = np.cos(np.linspace(0, 1, 200))[:, None] * (1 + points[:, 0]) + 0.001 * rng.normal(size=(200, 40))
    rounded = [recording(points, np.linspace(0, 1, 200), u=np.round(u, 2))]
    one(guards.quantised_values(rounded, {"u": 0.003}), "warning", "'u' comes in steps of 0.01, the noise is 0.003")
    single = [recording(points, np.linspace(0, 1, 200), u=np.round(u, 2).astype(np.float32).astype(float))]
    one(guards.quantised_values(single, {"u": 0.003}), "warning", "steps of 0.01,")
    assert guards.quantised_values(rounded, {"u": 0.02}) == []
    assert guards.quantised_values([recording(points, np.linspace(0, 1, 200), u=u)], {"u": 1e-9}) == []
    steady = np.tile(rng.normal(size=40), (200, 1))  # values repeat, but not in steps
    assert guards.quantised_values([recording(points, np.linspace(0, 1, 200), u=steady)], {"u": 1e-9}) == []


@pytest.mark.parametrize(
    ("count", "level", "said"),
    [
        (79, "error", "79 sensors of 'u' in recording 'b' cannot determine 80 functions; take at least 134"),
        (80, "warning", "80 sensors of 'u' in recording 'b' are few for 80 functions"),
        (133, "warning", "take at least 134 sensors, or space.rank at most 79"),
    ],
)  # fmt: skip
def test_few_sensors(count: int, level: str, said: str) -> None:
    data = [recording(sunflower(200)), recording(sunflower(count), name="b")]
    one(guards.few_sensors(data, {"u": 80}), level, said)


def test_enough_sensors_and_silent_ones_do_not_count() -> None:
    data = [recording(sunflower(134))]
    assert guards.few_sensors(data, {"u": 80, "v": 500}) == []
    data[0].values["u"][:, :60] = NAN
    one(guards.few_sensors(data, {"u": 80}), "error", "74 sensors of 'u' cannot")


def test_ill_placed_sensors() -> None:
    """Monomials at points of [0, 1]: well placed over the whole, ill placed in a corner."""
    x = np.linspace(0, 1, 30)
    assert guards.ill_placed_sensors(np.vander(x, 4), "u") == []
    crowded = np.vander(1e-3 * x, 4)
    number = f"{np.sqrt(np.linalg.eigvalsh(crowded.T @ crowded)[-1]) / np.linalg.svd(crowded)[1][-1]:.2g}"
    one(guards.ill_placed_sensors(crowded, "u"), "warning", "'u'", f"condition number {number}")


@pytest.mark.parametrize("pick", [lambda r: r, lambda r: np.where(np.arange(40) == 3, NAN, r)])
def test_outlying_sensors(pick: Callable[[np.ndarray], np.ndarray]) -> None:
    points = sunflower(40)
    noise = np.random.default_rng(2).normal(size=(241, 40))
    residual = pick(0.01 * np.sqrt((noise**2).mean(axis=0)))
    assert guards.outlying_sensors(residual, points, "u") == []
    residual[17] = 0.02
    said = f"sensor 17 of 'u' at ({points[17, 0]:g}, {points[17, 1]:g}) does not fit the others: its residual is 0.02, theirs 0.01"
    one(guards.outlying_sensors(residual, points, "u"), "warning", said)
    assert guards.outlying_sensors(residual, points, "u", rounding=0.03) == []
    residual[5] = 0.05
    one(guards.outlying_sensors(residual, points, "u"), "warning", "sensor 5", "(and 1 more sensor)")
    assert guards.outlying_sensors(residual[14:19], points[14:19], "u") == []
