"""docs/sweeps.md: its commands run, and what it says of them is so."""

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray

from gleg_sweeps.values import parse_variation

PAGE = (Path(__file__).parents[3] / "docs" / "sweeps.md").read_text(encoding="utf-8")


def test_commands(tmp_path: Path) -> None:
    commands = [line[2:] for line in PAGE.splitlines() if line.startswith("$ ")]
    assert len(commands) == 4
    said = []
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "gleg_cli", *shlex.split(command)[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert {p.name for p in (tmp_path / "heat-disk-sweep").iterdir()} == {"table.csv", "sweep.nc", "sweep.png", "cases"}
    assert "4 cases, 3 there already" in said[2] and "6 cases;" in said[3]
    with xarray.open_dataset(tmp_path / "heat-disk-sweep" / "sweep.nc") as data:
        assert data["error_final"].dims == ("basis.K",)
        assert float(data["error_final"][-1]) < 1e-6 < 1e-2 * float(data["error_final"][0])
    with xarray.open_dataset(tmp_path / "margins" / "sweep.nc") as data:
        assert data["space.margin"].values == pytest.approx([0.1, 0.3, 0.5])
        assert data["constants.D"].values == pytest.approx([0.01, 0.1])
        assert (np.diff(data["nodes"].values, axis=0) < 0).all(), "the larger the box, the lower the wavenumbers"


def test_values_in_the_table() -> None:
    assert (
        len(parse_variation("constants.r=0.2:2:25").texts) == len(parse_variation("r=linspace(0.2,2,25)").texts) == 25
    )
    assert parse_variation("basis.K=range(10,24,4)").values == [10, 14, 18, 22]
