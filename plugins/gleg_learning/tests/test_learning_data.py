"""Training from measured data: pairs, trajectories, noise, several fields, and files that cannot be used."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from learning_toys import recipe, registry

from gleg_core.errors import SpecError
from gleg_learning.measured import _grid
from gleg_learning.recipe import Recipe
from gleg_learning.train import Trained, split_samples, train

GRID = 12
D, C = 0.05, 0.4
"""u_t = D Δu + C u, the law behind all data here."""


def modes(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random sums of waves |k_i| ≤ 2 as values (count, waves, y, x), with the rates of L on each wave, and the axes."""
    random = np.random.default_rng(seed)
    x = -1 + 2 * np.arange(GRID) / GRID
    X, Y = np.meshgrid(x, x)
    waves, rates = [], []
    for k in range(-2, 3):
        for m in range(3):
            waves.append(np.cos(np.pi * (k * X + m * Y) + random.uniform(0, 6, (count, 1, 1))))
            rates.append(C - D * math.pi**2 * (k**2 + m**2))
    return np.stack(waves, 1) * random.normal(size=(count, len(waves), 1, 1)), np.array(rates), x


def write_pairs(path: Path, count: int = 10, noise: float = 0.0) -> None:
    waves, rates, _ = modes(count)
    state, response = waves.sum(1), (waves * rates[:, None, None]).sum(1)
    response = response + noise * response.std() * np.random.default_rng(1).normal(size=response.shape)
    xr.Dataset({"state": (("sample", "y", "x"), state), "response": (("sample", "y", "x"), response)}).to_netcdf(
        path, engine="h5netcdf"
    )


def write_trajectories(path: Path, step: float, count: int = 5, times: int = 7) -> None:
    waves, rates, _ = modes(count)
    t = step * np.arange(times)
    state = np.einsum("swyx,tw->styx", waves, np.exp(np.outer(t, rates)))
    xr.Dataset({"state": (("trajectory", "time", "y", "x"), state)}, {"time": t}).to_netcdf(path, engine="h5netcdf")


def from_data(kind: str = "pairs", **changes: Any) -> Recipe:
    return recipe("growth", data={"path": "data.nc", "kind": kind}, **changes)


def learn(chosen: Recipe, folder: Path) -> Trained:
    return train(registry(), chosen, folder / "growth", folder)


def error(trained: Trained) -> float:
    return float((trained.block.module.theta - torch.tensor([D, C], dtype=torch.float64)).norm())


def test_pairs_give_the_law(tmp_path: Path) -> None:
    write_pairs(tmp_path / "data.nc")
    trained = learn(from_data(), tmp_path)
    assert error(trained) < 1e-13 and trained.card.held_out < 1e-13
    assert trained.card.target == "data: data.nc (pairs)" and trained.card.by_wavenumber == []


def test_the_error_is_proportional_to_the_noise(tmp_path: Path) -> None:
    errors = {}
    for noise in (1e-2, 1e-3, 1e-4):
        write_pairs(tmp_path / "data.nc", noise=noise)
        trained = learn(from_data(), tmp_path)
        errors[noise] = error(trained)
        assert trained.card.held_out == pytest.approx(noise, rel=0.2), "what is held out is as noisy as the rest"
    assert errors[1e-2] / errors[1e-3] == pytest.approx(10, rel=0.2)
    assert errors[1e-3] / errors[1e-4] == pytest.approx(10, rel=0.2)
    assert errors[1e-2] < 1e-2


def test_trajectories_are_of_fourth_order_in_the_step(tmp_path: Path) -> None:
    errors = []
    for step in (0.1, 0.05, 0.025):
        write_trajectories(tmp_path / "data.nc", step, times=round(0.4 / step) + 1)
        errors.append(error(learn(from_data("trajectories"), tmp_path)))
    assert errors == sorted(errors, reverse=True)
    assert math.log2(errors[0] / errors[-1]) / 2 == pytest.approx(4, abs=0.3), errors


def test_the_range_is_that_of_the_data(tmp_path: Path) -> None:
    write_pairs(tmp_path / "data.nc")
    card = learn(from_data(), tmp_path).card
    training, held_out = split_samples(registry(), from_data(), tmp_path)
    assert card.amplitude == float(training.amplitude("u").max()) > 1
    sizes = held_out.amplitude("u")
    assert (card.by_amplitude[0].low, card.by_amplitude[-1].high) == (float(sizes.min()), float(sizes.max()))
    assert learn(from_data(certify=0.5), tmp_path).card.amplitude == 0.5


@pytest.mark.parametrize("count", [1, 4])
def test_no_state_of_a_trajectory_is_both_fitted_and_held_out(count: int, tmp_path: Path) -> None:
    write_trajectories(tmp_path / "data.nc", 0.1, count, times=12)
    training, held_out = split_samples(registry(), from_data("trajectories"), tmp_path)
    fitted, judged = (torch.cat([s["u"] for _, s in part.stencil]) for part in (training, held_out))
    assert len(training) > 0 and len(held_out) > 0
    assert float(torch.cdist(fitted, judged).min()) > 1e-6
    assert len(training) + len(held_out) == (8 if count == 1 else 40)


def test_values_are_stored_with_x_last() -> None:
    points = _grid((2, 4))
    assert points[:4].tolist() == [[-1, -1], [-0.5, -1], [0, -1], [0.5, -1]] and points[4].tolist() == [-1, 0]


def test_several_fields(tmp_path: Path) -> None:
    u, v = (modes(8, seed)[0].sum(1) for seed in (1, 2))
    axes = ("sample", "y", "x")
    data = {"state_u": (axes, u), "state_v": (axes, v), "response": (axes, 0.8 * u * v - 0.3 * v)}
    xr.Dataset(data).to_netcdf(tmp_path / "data.nc", engine="h5netcdf")
    trained = learn(recipe("coupling", fields=["u", "v"], data={"path": "data.nc"}), tmp_path)
    assert trained.block.module.theta.tolist() == pytest.approx([0.8, -0.3], rel=1e-12)


def test_other_data_are_another_training(tmp_path: Path) -> None:
    """A checkpoint made with other data is not continued."""
    chosen, said = from_data(), []
    write_pairs(tmp_path / "data.nc")

    def stop(i: int, most: int, best: float) -> None:
        if i == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(registry(), chosen, tmp_path / "growth", tmp_path, stop)
    write_pairs(tmp_path / "data.nc", noise=0.1)
    train(registry(), chosen, tmp_path / "growth", tmp_path, say=said.append)
    assert len(said) == 1 and "other data" in said[0]


# --- files that cannot be used ---------------------------------------------------------------------------------------


def dataset(**arrays: tuple[tuple[str, ...], np.ndarray]) -> xr.Dataset:
    return xr.Dataset(arrays)


PAIR, TRAJECTORY = ("sample", "y", "x"), ("trajectory", "time", "y", "x")
GOOD = np.random.default_rng(0).normal(size=(4, GRID, GRID))
PATH = np.random.default_rng(0).normal(size=(2, 5, GRID, GRID))
BAD = [
    ("pairs", dataset(state=(PAIR, GOOD)), "needs the variable response; the file has state"),
    ("pairs", dataset(u=(PAIR, GOOD)), "needs the variables response, state; the file has u"),
    ("trajectories", dataset(state=(TRAJECTORY, PATH)), "needs the variable time"),
    ("pairs", dataset(state=(TRAJECTORY, PATH), response=(TRAJECTORY, PATH)), r"it must have axes \(sample, y, x\)"),
    ("pairs", dataset(state=(PAIR, GOOD), response=(("a", "y", "x"), GOOD[:2])), "'response' has shape"),
    (
        "pairs",
        dataset(state=(PAIR, GOOD * np.nan), response=(PAIR, GOOD)),
        "'state' contains values that are not finite",
    ),
    (
        "pairs",
        dataset(state=(PAIR, GOOD), response=(PAIR, np.full_like(GOOD, np.inf))),
        "'response' contains values that are not finite",
    ),
    ("pairs", dataset(state=(PAIR, GOOD[:1]), response=(PAIR, GOOD[:1])), "one sample is not enough"),
    (
        "pairs",
        dataset(state=(PAIR, GOOD[..., :5]), response=(PAIR, GOOD[..., :5])),
        "a grid of 12 × 5 values does not res",
    ),
    ("trajectories", xr.Dataset({"state": (TRAJECTORY, PATH)}, {"time": [0, 1, 2, 3, 5]}), "equally spaced times"),
    ("trajectories", xr.Dataset({"state": (TRAJECTORY, PATH[:, :2])}, {"time": [0, 1]}), "at least three"),
    ("trajectories", xr.Dataset({"state": (TRAJECTORY, PATH[:1])}, {"time": np.arange(5.0)}), "too short to hold out"),
]


@pytest.mark.parametrize(("kind", "content", "message"), BAD)
def test_a_file_that_cannot_be_used(kind: str, content: xr.Dataset, message: str, tmp_path: Path) -> None:
    content.to_netcdf(tmp_path / "data.nc", engine="h5netcdf")
    with pytest.raises(SpecError, match=f"data.nc: .*{message}"):
        learn(from_data(kind), tmp_path)


def test_a_missing_or_foreign_file(tmp_path: Path) -> None:
    (tmp_path / "date.nc").write_text("no NetCDF")
    with pytest.raises(SpecError, match=r"data.nc: there is no such data file. Did you mean 'date.nc'\?"):
        learn(from_data(), tmp_path)
    (tmp_path / "data.nc").write_text("no NetCDF")
    with pytest.raises(SpecError, match=r"data.nc: cannot be read as a NetCDF file"):
        learn(from_data(), tmp_path)
