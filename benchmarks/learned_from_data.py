"""Mechanisms learned from data alone, then used on a domain the data never saw.

    python benchmarks/learned_from_data.py

A diffusivity d(u) and a reaction r(u) are hidden behind data on the periodic box [−1, 1]²: pairs of state and response (exact, and with
1 % noise), and short trajectories from an independent integration. Training sees the NetCDF files and nothing else. The frozen blocks
then solve u_t = ∇·(d(u)∇u) + r(u) on a star with a hole and insulated walls, and the same problem is solved with the true formulas.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr

import gleg
from gleg_core.registry import default_registry
from gleg_learning.recipe import Recipe
from gleg_learning.train import Trained, train

TRUTH = {"diffusivity": "0.05*(1 + 0.8*tanh(2*u) + u^2)", "rate": "0.5*sin(3*u)"}
WIDEST, CERTIFIED = 1.2, 1.1
"""max|u| of the data, and of the certificate."""
GRID, K = 32, 14
"""Points per axis of the data, and the cutoff of the basis that reads them."""
Array = np.ndarray


# --- the hidden laws, in numpy: nothing of gleg is used -------------------------------------------------------------


def d(u: Array) -> Array:
    return 0.05 * (1 + 0.8 * np.tanh(2 * u) + u**2)


def d_slope(u: Array) -> Array:
    return 0.05 * (1.6 / np.cosh(2 * u) ** 2 + 2 * u)


def r(u: Array) -> Array:
    return 0.5 * np.sin(3 * u)


def derivatives(u: Array) -> tuple[Array, Array, Array]:
    """u_x, u_y, Δu of periodic grid values (..., y, x) by discrete Fourier transform."""
    n = u.shape[-1]
    k = np.pi * np.fft.fftfreq(n, 1 / n) * (np.abs(np.fft.fftfreq(n, 1 / n)) < n / 2)
    transform = np.fft.fft2(u)
    symbols = (1j * k, 1j * k[:, None], -(k**2 + k[:, None] ** 2))
    x, y, laplacian = (np.fft.ifft2(s * transform).real for s in symbols)
    return x, y, laplacian


def diffusion(u: Array) -> Array:
    """∇·(d(u)∇u) = d Δu + d′|∇u|²."""
    x, y, laplacian = derivatives(u)
    return d(u) * laplacian + d_slope(u) * (x**2 + y**2)


# --- data -----------------------------------------------------------------------------------------------------------


def random_states(count: int, n: int, modes: int, spread: float, random: np.random.Generator) -> Array:
    """A constant plus waves with |k| ≤ ``modes`` of size ``spread``; four constants in turn, so that together the values fill
    [−WIDEST, WIDEST] even if some states are held out."""
    axis = -1 + 2 * np.arange(n) / n
    x, y = np.meshgrid(axis, axis)
    waves = np.zeros((count, n, n))
    for k in range(modes + 1):
        for m in range(-modes, modes + 1):
            if 0 < k * k + m * m <= modes**2:
                phase = 2 * np.pi * random.random((count, 1, 1))
                waves += random.standard_normal((count, 1, 1)) * np.cos(np.pi * (k * x + m * y) + phase)
    low, high = (f(waves, axis=(1, 2), keepdims=True) for f in (np.min, np.max))
    waves = spread * (2 * waves - low - high) / (high - low)
    constants = np.linspace(-1, 1, 4) * (WIDEST - spread)
    return waves + np.resize(constants, count)[:, None, None]


def trajectories(rate: Callable[[Array], Array], start: Array, interval: float, times: int, finer: int = 4) -> Array:
    """States at ``times`` equally spaced times by classical Runge–Kutta with ``finer`` steps per interval: (trajectory, time, y, x)."""
    h, u, saved = interval / finer, start, [start]
    for _ in range(times - 1):
        for _ in range(finer):
            a = rate(u)
            b = rate(u + h / 2 * a)
            c = rate(u + h / 2 * b)
            u = u + h / 6 * (a + 2 * b + 2 * c + rate(u + h * c))
        saved.append(u)
    return np.stack(saved, axis=1)


def write_pairs(path: Path, law: Callable[[Array], Array], count: int, noise: float, seed: int) -> None:
    """``state`` and ``response`` (sample, y, x); noise is relative to the RMS of each response."""
    random = np.random.default_rng(seed)
    state = random_states(count, GRID, 3, 0.8, random)
    response = law(state)
    size = np.sqrt((response**2).mean(axis=(1, 2), keepdims=True))
    response = response + noise * size * random.standard_normal(response.shape)
    axes = ("sample", "y", "x")
    xr.Dataset({"state": (axes, state), "response": (axes, response)}).to_netcdf(path, engine="h5netcdf")


def write_trajectories(
    path: Path, law: Callable[[Array], Array], count: int, times: int, interval: float, seed: int
) -> None:
    """``state`` (trajectory, time, y, x) and ``time``, computed on a grid twice as fine."""
    start = random_states(count, 2 * GRID, 2, 0.35, np.random.default_rng(seed))
    state = trajectories(law, start, interval, times)[..., ::2, ::2]
    data = xr.Dataset({"state": (("trajectory", "time", "y", "x"), state)}, {"time": interval * np.arange(times)})
    data.to_netcdf(path, engine="h5netcdf")


# --- training -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Closure:
    """A function of u to be found: the block it belongs to, the law behind the data, the function itself."""

    block: str
    law: Callable[[Array], Array]
    exact: Callable[[Array], Array]
    degree: int
    interval: float

    def learned(self, trained: Trained, u: Array) -> Array:
        block: Any = trained.block
        return (block.diffusivity if self.exact is d else block.rate)(torch.from_numpy(u)).numpy()

    def error(self, trained: Trained) -> float:
        """Largest error over the certified range, relative to the largest value."""
        u = np.linspace(-CERTIFIED, CERTIFIED, 2001)
        return float(np.abs(self.learned(trained, u) - self.exact(u)).max() / np.abs(self.exact(u)).max())


CLOSURES = {
    "diffusivity": Closure("diffusion:nonlinear-diffusion", diffusion, d, 32, 4e-4),
    "rate": Closure("polynomial:reaction", r, r, 16, 0.02),
}


def recipe(closure: Closure, path: Path, kind: str, degree: int) -> Recipe:
    return Recipe.model_validate(
        {
            "block": closure.block,
            "params": {"degree": degree, "range": (-WIDEST, WIDEST)},
            "states": {"basis": {"kind": "fourier", "K": K}, "amplitude": (0.1, WIDEST)},
            "data": {"path": path.name, "kind": kind, "held_out": 0.125},
            "optimiser": {"kind": "gauss-newton", "iterations": 25, "patience": 2},
            "certify": CERTIFIED,
        }
    )


def learn(name: str, folder: Path, kind: str, count: int, noise: float = 0.0, seed: int = 1) -> Trained:
    """Write the data of one closure and train on them."""
    closure = CLOSURES[name]
    path = folder / f"{name}-{kind}-{noise:g}.nc"
    if kind == "pairs":
        write_pairs(path, closure.law, count, noise, seed)
    else:
        write_trajectories(path, closure.law, count, 4, closure.interval, seed)
    degree = min(closure.degree, 16) if noise else closure.degree  # noise hides what a higher degree would resolve
    return train(default_registry(), recipe(closure, path, kind, degree), path.with_suffix(""), folder)


# --- a domain never seen --------------------------------------------------------------------------------------------


def problem(diffusivity: dict[str, str], rate: dict[str, str], cutoff: int, end: float, step: float) -> dict[str, Any]:
    """u_t = ∇·(d(u)∇u) + r(u) between the curves of a star with a hole, no flux through its walls."""
    return {
        "domain": {"kind": "annular-star"},
        "basis": {"kind": "fourier", "K": cutoff},
        "fields": {
            "u": {
                "initial": "0.9*sin(3*x + 1)*cos(2*y)",
                "boundary": [{"kind": "neumann"}],
                "equation": [{"block": "nonlinear-diffusion", **diffusivity}, {"block": "reaction", **rate}],
            }
        },
        "time": {"end": end, "step": step, "integrator": "rk4"},
        "output": {"frames": 10},
    }


def difference(run: gleg.Run, truth: gleg.Run) -> float:
    """Largest relative L² difference over the saved times."""
    weight = truth.dataset["node_weight"].values
    a, b = (x.dataset["u_nodes"].values for x in (run, truth))
    return float(np.sqrt(((a - b) ** 2 @ weight) / (b**2 @ weight)).max())


def solve_with(blocks: dict[str, Trained] | None, cutoff: int, end: float, step: float) -> gleg.Run:
    """The problem with learned blocks, or with the true formulas."""
    given = [{name: TRUTH[name]} if blocks is None else {"weights": str(blocks[name].stem)} for name in CLOSURES]
    return gleg.solve(problem(*given, cutoff, end, step))


def main() -> int:
    parser = argparse.ArgumentParser(description="Learn mechanisms from data and use them on an unseen domain.")
    parser.add_argument("--states", type=int, default=16, help="pairs, and twice the trajectories")
    parser.add_argument("--K", type=int, default=12, help="cutoff on the unseen domain")
    parser.add_argument("--end", type=float, default=0.2, help="length of the rollout")
    parser.add_argument("--step", type=float, default=0.001, help="time step of the rollout")
    chosen = parser.parse_args()
    rollout = (chosen.K, chosen.end, chosen.step)
    print(f"hidden: d(u) = {TRUTH['diffusivity']},  r(u) = {TRUTH['rate']};  data on [−1, 1]², {GRID}×{GRID} points")
    print(f"errors of d and r: largest for |u| ≤ {CERTIFIED}, relative to the largest value")
    print(f"rollout: star with a hole, no flux, K = {chosen.K}, t ≤ {chosen.end}, against the true formulas\n")
    print(f"{'data':20}{'values':>8}{'held-out d':>12}{'held-out r':>12}{'d':>9}{'r':>9}{'rollout':>9}{'training':>10}")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("GLEG_CACHE", str(Path(folder) / "spaces"))
        truth = solve_with(None, *rollout)
        for label, kind, count, noise in (
            ("pairs", "pairs", chosen.states, 0.0),
            ("short trajectories", "trajectories", max(2, chosen.states // 2), 0.0),
            ("pairs, 1 % noise", "pairs", chosen.states, 0.01),
        ):
            started = time.perf_counter()
            blocks = {name: learn(name, Path(folder), kind, count, noise) for name in CLOSURES}
            seconds = time.perf_counter() - started
            held_out = "".join(f"{block.card.held_out:12.1e}" for block in blocks.values())
            errors = "".join(f"{CLOSURES[name].error(block):9.1e}" for name, block in blocks.items())
            budget = sum(block.card.samples for block in blocks.values())
            final = difference(solve_with(blocks, *rollout), truth)
            print(f"{label:20}{budget:8,}{held_out}{errors}{final:9.1e}{seconds:8.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
