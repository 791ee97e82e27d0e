"""Saved runs opened again: they evaluate, measure and plot like fresh ones, those of version 0.1 too."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray
from scipy.special import j0

import gleg
from gleg_core.errors import PackError, SpecError

OLD = Path(__file__).parent / "data" / "run-0.1"
"""Heat on the unit disk from its first Bessel mode, written by version 0.1."""
ROOT = 2.404825557695773


def exact(r: float, t: float) -> float:
    return float(j0(ROOT * r) * np.exp(-(ROOT**2) * t))


def test_a_folder_of_version_0_1_is_opened() -> None:
    run = gleg.open_run(OLD)
    assert run.times == pytest.approx([0, 0.05, 0.1])
    for t in (0.0, 0.05, 0.08, 0.1):
        assert run.u(0.3, 0.4, t) == pytest.approx(exact(0.5, t), rel=1e-3), t
    assert run.metrics["relative_l2"]["max"] < 1e-3
    assert run.dataset["u_probes"].shape == (3, 1)
    assert len(run.plot().axes) >= 3


@pytest.mark.parametrize("name", ["estimate", "plot", "where"])
def test_a_folder_of_version_0_1_may_have_names_that_are_taken_now(name: str, tmp_path: Path) -> None:
    """A field, and the constant ``where``."""
    folder = tmp_path / "run"
    shutil.copytree(OLD, folder)
    spec = folder / "spec.resolved.yaml"
    text = spec.read_text(encoding="utf-8").replace("  u:\n", f"  {name}:\n")
    text = text.replace("exact: bessel", "exact: where*bessel").replace(
        "fields:\n", "constants: {where: 1.0}\nfields:\n"
    )
    if name == "where":
        text = text.replace("constants: {where: 1.0}\n", "").replace("where*", "")
    spec.write_text(text, encoding="utf-8")
    data = xarray.load_dataset(folder / "result.nc", engine="h5netcdf")
    renamed = {str(v): str(v).replace("u", name, 1) for v in data.variables if v == "u" or str(v).startswith("u_")}
    data.rename(renamed).assign_attrs(spec=text).to_netcdf(folder / "result.nc", engine="h5netcdf")
    run = gleg.open_run(folder)
    assert run.evaluate(name, np.array([[0.3, 0.4]]), 0.05) == pytest.approx(exact(0.5, 0.05), rel=1e-3)
    assert run.metrics["relative_l2"]["max"] < 1e-3 and run.plot().axes
    with pytest.raises(SpecError, match="choose another name"):
        gleg.load(spec)


def test_a_folder_whose_pack_is_gone_says_which(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(OLD, folder)
    spec = folder / "spec.resolved.yaml"
    text = spec.read_text(encoding="utf-8").replace("block: diffusion:", "block: sinks:")
    spec.write_text(
        text.replace("packs used:\n", "packs used:\n#   sinks: acme-sinks 0.7, contract 3.0, sha256 1\n"),
        encoding="utf-8",
    )
    says = r"'sinks:diffusion'(?s:.*)made with 'sinks' of acme-sinks 0.7:   pip install acme-sinks==0.7$"
    with pytest.raises(PackError, match=says):
        gleg.open_run(folder)


def test_a_saved_run_is_the_run(tmp_path: Path) -> None:
    problem = {
        "domain": {"kind": "disk", "radius": 1},
        "basis": {"kind": "fourier", "K": 7},
        "fields": {
            "u": {
                "initial": "exp(-4*((x - 0.2)^2 + y^2))",
                "boundary": [{"kind": "dirichlet", "value": "0.1*sin(3*t)*x"}],
                "equation": [{"block": "diffusion", "coefficient": 0.1}, {"block": "power", "p": 2, "coefficient": -1}],
            }
        },
        "time": {"end": 0.4, "step": 0.02},
        "output": {"frames": 4, "grid": 11, "pictures": False},
    }
    run = gleg.solve(problem)
    run.save(tmp_path / "run")
    again = gleg.open_run(tmp_path / "run")
    x, y = np.linspace(-0.6, 0.6, 7), np.linspace(-0.5, 0.3, 7)
    for t in (0.0, 0.1, 0.25, 0.4):
        assert again.u(x, y, t) == pytest.approx(run.u(x, y, t), rel=1e-7), "states are projected anew: ε‖N‖²"
    assert again.metrics["fields"]["u"]["invariants"]["mass"] == pytest.approx(
        run.metrics["fields"]["u"]["invariants"]["mass"]
    )
    again.save(tmp_path / "second")
    assert (tmp_path / "second" / "result.nc").is_file()


def test_what_was_chosen_for_an_accuracy_is_kept(tmp_path: Path) -> None:
    field = {"initial": "1 - x^2", "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}
    domain = {"kind": "interval", "left": -1, "right": 1}
    run = gleg.solve({"domain": domain, "fields": {"u": field}, "time": {"end": 0.1}, "accuracy": 1e-2})
    run.save(tmp_path / "run")
    again = gleg.open_run(tmp_path / "run")
    assert again.choice == run.choice is not None
    assert again.metrics["accuracy"] == run.metrics["accuracy"]


def test_what_is_not_a_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="is not the folder of a run"):
        gleg.open_run(tmp_path)
    shutil.copytree(OLD, tmp_path / "torn")
    (tmp_path / "torn" / "result.nc").write_bytes(b"nonsense")
    with pytest.raises(SpecError, match="cannot be read"):
        gleg.open_run(tmp_path / "torn")
