"""Find, for every peer, problem and target error, the settings that reach the target in the least time on one thread.

    python benchmarks/peers/calibrate.py [--peers ngsolve skfem ngsolve-idiom] [--problems …] [--out benchmarks/peers/settings.json]

The error is the relative L² error of u(T) at 4000 quasi-random points (exact.py), for Allen–Cahn at the reference's points. Three rounds:

1. meshes and orders, with time steps so short that the error is one of space;
2. formulas and numbers of steps, on a fine mesh, so that the error is one of time;
3. for each target the few cheapest meshes that leave room, with the few cheapest ways of stepping: each pair is run, those that miss the
   target are dropped, the one with the least processor time (least of four runs, without import) wins. On one thread that is the time on
   an idle machine, and other users' work does not decide who wins.

ngsolve-idiom, whose runs take long, is searched only around the settings that ngsolve has in the file, so ngsolve has to come first: for
each target the same mesh and order and their neighbours, with the same number of steps and its neighbours, then the last part of round 3.

All of it runs in this process, one run after the other; the file is written after each problem and entries of other peers and problems
are kept. A target that no pair reaches within 60 s is null.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from outcome import PROBLEMS, Clock, Settings

PEERS = ("ngsolve", "skfem", "ngsolve-idiom")
TARGETS = (1e-2, 1e-3, 1e-4, 1e-6)
LONGEST = 60.0
STEPS = (12, 16, 20, 25, 32, 40, 50, 63, 80, 100, 126, 160, 200, 252, 320, 400, 504, 640, 800)
FORMULAS = (6, 5, 4, 3, 2)
FINE_IN_TIME = {"mms-1-rosette": (6, 320), "mms-5-pinwheel": (5, 126), "allen-cahn-disk": (4, 400)}
ORDERS = {"ngsolve": (3, 4, 5, 6, 7, 8, 10, 12, 14), "skfem": (3, 4, 5, 6, 7, 8, 9, 10)}
SIZES = {
    "mms-1-rosette": (0.1, 0.14, 0.18, 0.22, 0.28, 0.36, 0.45, 0.6),
    "mms-5-pinwheel": (0.06, 0.08, 0.1, 0.125, 0.16, 0.2, 0.25, 0.32, 0.42),
    "allen-cahn-disk": (0.06, 0.08, 0.1, 0.14, 0.18, 0.25, 0.35, 0.5),
}
BENDS = {"mms-1-rosette": (0.5, 0.8, 1.2), "mms-5-pinwheel": (0.5, 0.8, 1.2), "allen-cahn-disk": (0.8, 1.6)}
NEAR = {"ngsolve-idiom": "ngsolve"}
"""Peers that are searched only around the settings of another one."""
MOST_UNKNOWNS = 20_000
"""Meshes with more are far beyond what any target needs."""


@dataclass(frozen=True)
class Trial:
    settings: Settings
    error: float
    seconds: dict[str, float]
    processor: float
    unknowns: int

    @property
    def total(self) -> float:
        return sum(self.seconds.values()) - self.seconds["import"]


class Bench:
    """One peer on one problem."""

    def __init__(self, peer: str, problem: str):
        # imported late: outcome, above, has set the number of threads before anything loads numpy
        self._exact, self._numpy = importlib.import_module("exact"), importlib.import_module("numpy")
        self._solve = importlib.import_module(f"{peer.replace('-', '_')}_peer").solve
        self._problem = problem
        self._points, self._weights, self._true = self._exact.truth(problem)

    def run(self, settings: Settings) -> Trial:
        clock, began = Clock(), time.process_time()
        try:
            with self._numpy.errstate(all="ignore"):
                values, unknowns, _ = self._solve(self._problem, settings, self._points, clock)
        except Exception as problem:  # a mesh that cannot be made or a matrix that cannot be factorised is no candidate
            print(f"    {settings}: {type(problem).__name__}: {problem}", flush=True)
            return Trial(settings, float("inf"), clock.seconds, float("inf"), 0)
        spent = time.process_time() - began
        error = self._exact.relative_error(values, self._true, self._weights)
        return Trial(settings, error, clock.seconds, spent, unknowns)


def roughly(order: int, maxh: float) -> float:
    """Unknowns on one unit of area."""
    return order**2 / maxh**2


def in_space(bench: Bench, peer: str, problem: str) -> list[Trial]:
    bdf, steps = FINE_IN_TIME[problem]
    trials: list[Trial] = []
    for order, bend in itertools.product(ORDERS[peer], BENDS[problem]):
        for maxh in sorted(SIZES[problem], reverse=True):
            if roughly(order, maxh) > MOST_UNKNOWNS:
                break
            trial = bench.run(Settings(order, maxh, bend, steps, bdf))
            trials.append(trial)
            print(
                f"  space {trial.settings} error {trial.error:.1e} {trial.unknowns} unknowns {trial.total:.2f} s",
                flush=True,
            )
            if trial.error < 0.2 * min(TARGETS):
                break
    return trials


def in_time(bench: Bench, problem: str, best: Settings) -> list[Trial]:
    trials: list[Trial] = []
    fewest = max(STEPS)
    for bdf in FORMULAS:
        for steps in STEPS:
            # the first bdf values are exact: they shall be few. A lower order that needs many more steps than a higher one is no rival.
            if steps < 4 * bdf or steps > 2 * fewest:
                continue
            trial = bench.run(replace(best, steps=steps, bdf=bdf))
            trials.append(trial)
            print(f"  time bdf {bdf} steps {steps} error {trial.error:.1e} {trial.total:.2f} s", flush=True)
            if trial.error < 0.5 * min(TARGETS):
                fewest = min(fewest, steps)
                break
    return trials


def cheapest(trials: Iterable[Trial], target: float, count: int, by_steps: bool) -> list[Trial]:
    """The few cheapest with an error that leaves some room below the target."""
    good = [t for t in trials if t.error <= 0.97 * target]
    return sorted(good, key=lambda t: (t.settings.steps, t.settings.bdf) if by_steps else t.processor)[:count]


def around(values: tuple[Any, ...], value: Any, below: int, above: int) -> list[Any]:
    """The value, its neighbours and theirs."""
    place = values.index(value)
    return list(values[max(place - below, 0) : place + above + 1])


def nearby(bench: Bench, problem: str, target: float, base: Settings) -> list[Trial]:
    """Runs around ``base``; of runs that differ in the number of steps only, none with more than reach the target."""
    meshes = [(base.order, maxh) for maxh in around(SIZES[problem], base.maxh, 1, 1)]
    meshes += [(base.order - 1, base.maxh), (base.order + 1, base.maxh)]
    trials: list[Trial] = []
    for (order, maxh), bdf in itertools.product(meshes, around(FORMULAS, base.bdf, 1, 0)):
        for steps in around(STEPS, base.steps, 1, 2):
            if steps < 4 * bdf:
                continue
            trial = bench.run(replace(base, order=order, maxh=maxh, steps=steps, bdf=bdf))
            trials.append(trial)
            print(f"  near {trial.settings} error {trial.error:.1e} {trial.processor:.2f} s", flush=True)
            if trial.error <= target:
                break
    return trials


def fastest(bench: Bench, trials: Iterable[Trial], target: float, finalists: int) -> dict[str, Any] | None:
    """The record of the one with the least processor time that reaches the target, after a second look at the few best: times scatter."""
    good = [t for t in trials if t.error <= target and t.total < LONGEST]
    best = sorted(good, key=lambda t: t.processor)[:finalists]
    again = [min((bench.run(t.settings) for _ in range(4)), key=lambda r: r.processor) for t in best]
    if not again:
        return None
    winner = min(again, key=lambda t: t.processor)
    return {
        **vars(winner.settings),
        "error": float(f"{winner.error:.3g}"),
        "seconds": {k: round(v, 4) for k, v in winner.seconds.items() if k != "import"},
        "total": round(winner.total, 4),
        "processor": round(winner.processor, 4),
        "unknowns": winner.unknowns,
    }


def calibrate(bench: Bench, peer: str, problem: str, table: dict[str, Any]) -> dict[str, Any]:
    """``table`` is not used here: the search knows nothing of earlier ones."""
    spaces = in_space(bench, peer, problem)
    fine = [t for t in spaces if t.error < 0.3 * min(TARGETS)]
    best = (min(fine, key=lambda t: t.processor) if fine else min(spaces, key=lambda t: t.error)).settings
    times = in_time(bench, problem, best)
    found: dict[str, Any] = {}
    for target in TARGETS:
        pairs = itertools.product(cheapest(spaces, target, 6, False), cheapest(times, target, 4, True))
        settings = [replace(s.settings, steps=t.settings.steps, bdf=t.settings.bdf) for s, t in pairs]
        found[f"{target:.0e}"] = fastest(bench, map(bench.run, settings), target, 6)
        print(f"{peer} {problem} {target:.0e}: {found[f'{target:.0e}']}", flush=True)
    return found


def calibrate_near(bench: Bench, peer: str, problem: str, table: dict[str, Any]) -> dict[str, Any]:
    """From the entries of the other peer in ``table``, the contents of the file."""
    known, found = table[NEAR[peer]][problem], dict[str, Any]()
    for target in TARGETS:
        name = f"{target:.0e}"
        base = known[name] and Settings(**{f.name: known[name][f.name] for f in fields(Settings)})
        found[name] = base and fastest(bench, nearby(bench, problem, target, base), target, 4)
        print(f"{peer} {problem} {name}: {found[name]}", flush=True)
    return found


def read_table(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="+", default=PEERS, choices=PEERS)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "settings.json")
    given = parser.parse_args()
    for peer, problem in itertools.product(given.peers, given.problems):
        search = calibrate_near if peer in NEAR else calibrate
        found = search(Bench(peer, problem), peer, problem, read_table(given.out))
        # read again: another process may have written meanwhile
        table = read_table(given.out)
        table.setdefault(peer, {})[problem] = found
        given.out.write_text(json.dumps(table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
