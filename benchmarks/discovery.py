"""Law discovery on two domains: errors against the Cramér–Rao bound, coverage, support, rollout.

    python benchmarks/discovery.py [--draws 20] [--quick] [--json FILE]

u_t = c₁Δu − c₂∂x(u²/2) − c₃∂y(u²/2) + c₄u + c₅u² + c₆u³ with u = 0 on the boundary of a peanut and of an oblique channel. 16 recordings
of 241 samples over 0.012, 1000 or 240 sensors, noise σ times the RMS of the data. The truth is a rollout of the same reduced model in the
rank-80 space (K = 22), by RK4 with the sampling step. One truth and one set of sensors per domain; draws are draws of the noise.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.tables import Tables
from gleg_core.contracts.basis import as_points
from gleg_core.spec.problem import load_problem
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.discretise import realised_terms
from gleg_core.system.reduced import ReducedSystem
from gleg_core.system.rollout import rollout
from gleg_core.system.spaces import build_spaces
from gleg_core.system.terms import Term
from gleg_discovery.identify import FieldLaw, Identification, Options, identify
from gleg_discovery.observations import Recording
from gleg_discovery.responses import LabelledTerm
from gleg_discovery.selection import thresholded_ridge
from gleg_discovery.smooth_space import smoothest_first

LABELS = ("Δu", "−∂x(u²/2)", "−∂y(u²/2)", "u", "u²", "u³")
TERMS: list[dict[str, Any]] = [
    {"block": "diffusion:diffusion"},
    {"block": "transport:transport", "direction": "x", "coefficient": -1},
    {"block": "transport:transport", "direction": "y", "coefficient": -1},
    {"block": "polynomial:power", "p": 1},
    {"block": "polynomial:power", "p": 2},
    {"block": "polynomial:power", "p": 3},
]
LAWS = {
    "peanut": np.array([0.04, 0, 0, 0.06, 0, -0.35]),
    "oblique-channel": np.array([0.02, -0.06, 0.09, -0.03, 0.025, -0.30]),
}
RANK, K = 80, 22
RECORDINGS, MODES, DECAY = 16, 36, 0.35
AMPLITUDES = (0.08, 0.12, 0.16, 0.20, 0.24)
STEP, SAMPLES, END = 5e-5, 241, 1.0
NOISES = (0.0, 1e-4, 1e-3, 1e-2)
PAPER = {  # (domain, sensors, σ): e_coef, e_roll as published
    ("peanut", 1000, 0.0): (6.89e-5, 3.17e-5), ("peanut", 1000, 1e-4): (3.90e-3, 4.68e-4), ("peanut", 1000, 1e-3): (3.96e-2, 4.58e-3),
    ("peanut", 1000, 1e-2): (4.16e-1, 4.53e-2), ("peanut", 240, 0.0): (6.20e-4, 1.83e-4),
    ("oblique-channel", 1000, 0.0): (1.25e-2, 3.44e-2), ("oblique-channel", 1000, 1e-4): (1.31e-2, 3.17e-2),
    ("oblique-channel", 1000, 1e-3): (2.23e-2, 6.78e-2), ("oblique-channel", 1000, 1e-2): (1.72e-1, 2.84e-1),
    ("oblique-channel", 240, 0.0): (5.04e-2, 2.69e-1),
}  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """A domain with its space, candidates and truth: ``path`` (SAMPLES, 17, r), the last state held out; ``final`` (r,) at END."""

    name: str
    field: DiscreteField
    terms: tuple[Term, ...]
    grid: np.ndarray
    path: Tensor
    final: Tensor
    integrator: Any

    def system(self, c: Sequence[float]) -> ReducedSystem:
        """The forward model with these coefficients."""
        terms = [
            t.scaled_by(float(t.coefficient.number or 0.0) * v) for t, v in zip(self.terms, c, strict=True) if v != 0.0
        ]
        return ReducedSystem([self.field], terms, {}, (0.0, END))

    def roll(self, c: Sequence[float], z: Tensor) -> Tensor:
        """State at END, both in the coordinates of ``field``."""
        system = self.system(c)
        change = _change(self.field, system.fields["u"])
        return rollout(system, self.integrator, z @ change, [0.0, END], 0.01, 1e-6).states[-1] @ change.T


def _change(old: DiscreteField, new: DiscreteField) -> Tensor:
    """(r, r): coordinates in one orthonormal basis of the space → in another."""
    zero = (0, 0)
    return (old.interior.functions(zero) * old.space.weights) @ new.interior.functions(zero).T


def functions_at(field: DiscreteField, points: np.ndarray) -> Tensor:
    """(r, n)."""
    return Tables(field.space.basis, field.space.N, as_points(points))((0, 0))


def prepare(name: str, seed: int) -> Setting:
    problem = load_problem(
        {
            "domain": {"kind": name}, "basis": {"kind": "fourier", "K": K},
            "fields": {"u": {"initial": 0, "boundary": [{"kind": "dirichlet"}], "equation": TERMS}}, "time": {"end": END},
        }
    )  # fmt: skip
    (spec,) = problem.fields
    terms = tuple(t for s in spec.terms for t in realised_terms(problem, spec, s, 2))
    spaces = build_spaces(problem, terms)
    (whole,) = spaces.fields
    field = smoothest_first(whole, RANK)
    axis = np.linspace(-1, 1, 121)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    grid = grid[spaces.domain.contains(grid)]
    integrator = problem.build(problem.integrator)
    blank = Setting(name, field, terms, grid, torch.empty(0), torch.empty(0), integrator)
    system = blank.system(LAWS[name])
    change = _change(field, system.fields["u"])
    start = initial_states(functions_at(field, grid), np.random.default_rng(seed))
    path = _rk4(system, start @ change) @ change.T
    return Setting(name, field, terms, grid, path, blank.roll(LAWS[name], start[-1]), integrator)


def initial_states(functions: Tensor, random: np.random.Generator) -> Tensor:
    """(17, r): 36 random coordinates falling like j^−0.35, scaled to a largest |u| of A_k, perturbed, scaled again."""
    falling = np.zeros(RANK)
    falling[:MODES] = np.arange(1, MODES + 1) ** -DECAY
    states = []
    for k in range(RECORDINGS + 1):
        amplitude = AMPLITUDES[k % 5] * 0.72 ** (k // 5)
        z = torch.from_numpy(random.standard_normal(RANK) * falling)
        for perturbation in (0.0, 0.02):
            z = z + perturbation * torch.from_numpy(random.standard_normal(RANK) * falling)
            z = z * amplitude / (z @ functions).abs().max()
        states.append(z)
    return torch.stack(states)


def _rk4(system: ReducedSystem, z: Tensor) -> Tensor:
    """(SAMPLES, batch, r)."""
    path = [z]
    for _ in range(SAMPLES - 1):
        k1 = system.rhs(z, 0.0)
        k2 = system.rhs(z + STEP / 2 * k1, 0.0)
        k3 = system.rhs(z + STEP / 2 * k2, 0.0)
        k4 = system.rhs(z + STEP * k3, 0.0)
        z = z + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(z)
    return torch.stack(path)


def choose_sensors(setting: Setting, count: int, random: np.random.Generator) -> np.ndarray:
    """The best conditioned of 30 random subsets of the grid."""
    table = functions_at(setting.field, setting.grid).numpy().T
    draws = [random.choice(len(table), count, replace=False) for _ in range(30)]
    return setting.grid[min(draws, key=lambda chosen: float(np.linalg.cond(table[chosen])))]


def recordings_of(points: np.ndarray, clean: np.ndarray, sigma: float, random: np.random.Generator) -> list[Recording]:
    """``clean`` (16, T, S) with noise whose Frobenius norm is σ times that of the data."""
    values = clean
    if sigma:
        noise = random.standard_normal(clean.shape)
        values = clean + noise * (sigma * np.linalg.norm(clean) / np.linalg.norm(noise))
    times = STEP * np.arange(SAMPLES)
    return [Recording(f"{k}", times, points, {"u": values[k]}) for k in range(len(values))]


def discovered(setting: Setting, recordings: list[Recording], options: Options) -> Identification:
    candidates = [LabelledTerm(label, (term,)) for label, term in zip(LABELS, setting.terms, strict=True)]
    return identify(recordings, {"u": setting.field}, {"u": candidates}, options=options)


def measure(
    setting: Setting, points: np.ndarray, sigma: float, draws: int, seed: list[int], options: Options
) -> dict[str, Any]:
    truth = LAWS[setting.name]
    active = np.flatnonzero(truth)
    table = functions_at(setting.field, points)
    clean = (setting.path[:, :-1] @ table).permute(1, 0, 2).contiguous().numpy()
    rms = float(np.sqrt((clean**2).mean()))
    start = setting.path[0, -1]
    ideal = discovered(setting, recordings_of(points, clean, 0.0, np.random.default_rng(0)), options).laws["u"]
    bound = sigma * rms * np.sqrt(np.diag(np.linalg.inv(ideal.information.F)))
    rows: list[dict[str, Any]] = []
    random = np.random.default_rng(seed)
    for _ in range(draws if sigma else 1):
        began = time.perf_counter()
        recordings = recordings_of(points, clean, sigma, random)
        made = time.perf_counter()
        found = discovered(setting, recordings, options)
        total = time.perf_counter() - made
        law = found.laws["u"]
        rows.append({"noise": made - began, "total": total, **_row(setting, law, truth, start), **found.seconds})
    c = np.array([r["c"] for r in rows])
    errors = c - truth
    e_coef = np.abs(errors[:, active] / truth[active]).mean(axis=1)
    inside = np.array([r["inside"] for r in rows])
    mean = {
        key: float(np.mean([r[key] for r in rows]))
        for key in ("total", "paths", "responses", "regression", "selection")
    }
    return {
        "domain": setting.name, "sensors": len(points), "sigma": sigma, "draws": len(rows),
        "e_coef": float(e_coef.mean()), "e_coef_law": float(np.mean([r["e_coef_law"] for r in rows])),
        "e_roll": float(np.sqrt(np.mean([r["e_roll"] ** 2 for r in rows]))),
        "rms_over_bound": (np.sqrt((errors**2).mean(axis=0)) / bound).tolist() if sigma else None,
        "all_over_bound": float(np.sqrt(np.einsum("ip,pq,iq->i", errors, ideal.information.F, errors).mean() / 6) / (sigma * rms))
        if sigma else None,
        "bias_over_error": (errors.mean(axis=0) / (errors.std(axis=0) / np.sqrt(len(rows)))).tolist() if sigma else None,
        "e_coef_over_sigma": float(e_coef.mean() / sigma) if sigma else None,
        "bound_over_sigma": float(np.sqrt(2 / np.pi) * (bound[active] / np.abs(truth[active])).mean() / sigma) if sigma else None,
        "coverage": float(inside.mean()) if sigma else None,
        "support": float(np.mean([r["support"] for r in rows])),
        "support_ridge": {t: float(np.mean([r["ridge"][t] for r in rows])) for t in rows[0]["ridge"]},
        "sigma_over_true": float(np.mean([r["sigma"] for r in rows]) / (sigma * rms)) if sigma else None,
        "chi2": float(np.mean([r["chi2"] for r in rows])), "degree": float(np.mean([r["degree"] for r in rows])),
        "condition": rows[0]["condition"], "seconds": mean, "c": c.tolist(),
    }  # fmt: skip


def _row(setting: Setting, law: FieldLaw, truth: np.ndarray, start: Tensor) -> dict[str, Any]:
    active = set(np.flatnonzero(truth).tolist())
    found = np.array([law.coefficients.get(label, 0.0) for label in LABELS])
    final = setting.roll(found, start)
    some = sorted(active)
    inside = (law.full.intervals[:, 0] <= truth) & (truth <= law.full.intervals[:, 1])
    ridge = {f"{t:g}": set(thresholded_ridge(law.information, t)[0]) == active for t in (1e-8, 1e-7, 1e-6, 1e-5)}
    return {
        "c": law.full.c, "inside": inside, "support": set(law.selection.support) == active, "ridge": ridge,
        "e_coef_law": float(np.abs(found[some] / truth[some] - 1).mean()),
        "e_roll": float((final - setting.final).norm() / setting.final.norm()),
        "sigma": law.paths.sigma, "chi2": law.information.chi2, "degree": law.paths.degree, "condition": law.information.condition,
    }  # fmt: skip


def report(row: Mapping[str, Any]) -> None:
    paper = PAPER.get((row["domain"], row["sensors"], row["sigma"]))
    published = f"paper {paper[0]:.2e} {paper[1]:.2e}" if paper else "paper    –        –    "
    print(f"{row['domain']:16s} N {row['sensors']:4d} σ {row['sigma']:g}  e_coef {row['e_coef']:.2e} (law {row['e_coef_law']:.2e}) "
          f"e_roll {row['e_roll']:.2e}  {published}  support {row['support']:.0%}  ridge "
          + " ".join(f"{t}:{s:.0%}" for t, s in row["support_ridge"].items()) + f"  {row['seconds']['total']:.2f} s")  # fmt: skip
    if row["sigma"]:
        ratios = " ".join(f"{q:.2f}" for q in row["rms_over_bound"])
        bias = " ".join(f"{q:+.1f}" for q in row["bias_over_error"])
        print(f"    RMS/bound {ratios}, together {row['all_over_bound']:.3f}  bias/sem {bias}  "
              f"e_coef/σ {row['e_coef_over_sigma']:.1f} (bound {row['bound_over_sigma']:.1f})  "
              f"coverage {row['coverage']:.1%}  σ̂/σ {row['sigma_over_true']:.4f}  χ² {row['chi2']:.3f}  d {row['degree']:.1f}")  # fmt: skip
    else:
        stages = " ".join(f"{k} {v:.2f}" for k, v in row["seconds"].items())
        print(
            f"    χ² {row['chi2']:.3g}  d {row['degree']:.0f}  condition of F {row['condition']:.2e}  seconds: {stages}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20, help="noise draws per setting")
    parser.add_argument("--quick", action="store_true", help="the peanut with 240 sensors only")
    parser.add_argument("--passes", type=int, default=2, help="1: the plain integral form, without propagation")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the table here")
    arguments = parser.parse_args()
    options = Options(passes=arguments.passes)
    rows = []
    for name in ("peanut",) if arguments.quick else LAWS:
        began = time.perf_counter()
        setting = prepare(name, arguments.seed)
        print(f"{name}: space and truth in {time.perf_counter() - began:.1f} s, {len(setting.grid)} places for sensors")
        random = np.random.default_rng(arguments.seed + 1)
        for count in (240,) if arguments.quick else (1000, 240):
            points = choose_sensors(setting, count, random)
            for sigma in NOISES:
                rows.append(measure(setting, points, sigma, arguments.draws, [arguments.seed, len(rows)], options))
                report(rows[-1])
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
