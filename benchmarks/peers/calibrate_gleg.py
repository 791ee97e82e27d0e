"""Find, for every problem and target error, keys with which gleg reaches the target in the least time on one thread, from a cold start.

    python benchmarks/peers/calibrate_gleg.py [--problems …] [--targets …] [--out benchmarks/peers/gleg_settings.json]

Like calibrate.py for the peers: for every choice of thresholds and margin the smallest basis that reaches the target with short steps; of
those the two that are cheapest; then for each integrator the longest step that still does. The least processor time of a cold start wins.
On problems with short waves finite elements compete: for every order the largest cells that reach the target, then steps in the same way.
What is fastest with everything in the cache is kept beside, under "cached". Needs the Legendre basis of plugins/examples.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import outcome

TARGETS = (1e-2, 1e-3, 1e-4, 1e-6)
END = {"mms-1-rosette": 1.0, "mms-5-pinwheel": 0.9, "allen-cahn-disk": 4.0}
SIZES: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "mms-1-rosette": ("legendre", "degree", (12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28)),
    "mms-5-pinwheel": ("fourier", "K", (15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26)),
    "allen-cahn-disk": ("legendre", "degree", (10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 32, 36, 40)),
}
COLLOCATION = [
    {"kind": "exponential-collocation", "stages": m, "sweeps": s}
    for m, s in ((4, 3), (5, 1), (5, 3), (5, 4), (6, 1), (6, 2), (6, 4), (8, 1), (8, 2), (8, 4), (8, 5), (8, 6), (8, 8))
]
STEPS: list[tuple[Any, tuple[int, ...]]] = [
    ("etdrk4", (8, 12, 16, 20, 25, 32, 40, 50, 80, 126, 200)),
    ("exponential-adams4", (25, 32, 40, 50, 63, 80, 126, 200, 320)),
    ("exponential-adams6", (50, 80, 100, 126, 160, 200, 252, 264, 320)),
    *((kind, (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)) for kind in COLLOCATION),
]
BDF: list[tuple[Any, tuple[int, ...]]] = [
    (
        {"kind": "imex-bdf", "order": s},
        (10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 22, 24, 27, 30, 33, 36, 40, 44, 48, 52, 56, 60, 66),
    )
    for s in (4, 5)
]
ELEMENTS = {"mms-5-pinwheel": (5, 6, 7, 8, 9, 10, 11, 12)}
"""Orders that are tried."""
WEAK = {"mms-5-pinwheel": {"fields": {"u": {"forcing": "manufactured-weak"}}}}
"""Sources that enter by their weak form, which needs no second derivatives of the exact solution, as those of the peers by hand."""
LENGTHS = (0.3, 0.25, 0.22, 0.2, 0.18, 0.16, 0.15, 0.14, 0.13, 0.12, 0.11, 0.1, 0.09)
Keys = dict[str, Any]
Run = Callable[[Keys], tuple[float, float]]
"""Keys → error and processor seconds."""


def choices(problem: str, target: float) -> Iterator[Keys]:
    """Thresholds and quadrature around those that ``accuracy`` chooses, and margins of the box for periodic functions."""
    margins = [{"margin": margin, "rotate": False} for margin in (0.1, 0.15, 0.2, 0.22)]
    for margin in margins if SIZES[problem][0] == "fourier" else ({},):
        for quadrature, mass in ((1e-2, 30.0), (1e-1, 30.0), (1e-1, 3.0), (0.5, 3.0), (1.0, 1.0), (20.0, 1.0)):
            tau_M = max(1e-13, (target / mass) ** 2)
            yield {"box": "auto", "quadrature": quadrature * target, "tau_M": tau_M, **margin}


def smallest(problem: str, target: float, space: Keys, run: Run) -> tuple[float, Keys] | None:
    """The smallest basis that reaches the target in this kind of space, with short steps, and what that takes."""
    kind, word, sizes = SIZES[problem]
    method = {"kind": "exponential-collocation", "stages": 8, "sweeps": 8}
    short = {"integrator": method, "step": END[problem] / 24, "end": END[problem]}
    for size in sizes:
        keys = {"basis": {"kind": kind, word: size}, "space": space, **WEAK.get(problem, {})}
        error, seconds = run(keys | {"time": short})
        if error <= 0.9 * target:
            print(f"  {keys} error {error:.1e} {seconds:.2f} s", flush=True)
            return seconds, keys
    return None


def elements(problem: str, target: float, run: Run) -> Iterator[tuple[float, Keys]]:
    """The largest elements of every order that reach the target, with short steps, and what that takes."""
    short = {"integrator": {"kind": "imex-bdf", "order": 5}, "step": END[problem] / 72, "end": END[problem]}
    for order in ELEMENTS.get(problem, ()):
        for size in LENGTHS:
            basis = {"kind": "elements", "order": order, "size": size}
            keys = {"basis": basis, "space": None, **WEAK.get(problem, {})}
            error, seconds = run(keys | {"time": short})
            if error <= 0.9 * target:
                print(f"  {keys} error {error:.1e} {seconds:.2f} s", flush=True)
                yield seconds, keys
                break


def fastest_steps(
    problem: str, target: float, spaces: list[Keys], run: Run, steps: list[tuple[Any, tuple[int, ...]]]
) -> list[tuple[float, float, Keys]]:
    """(seconds, error, keys) with the longest step of every integrator that reaches the target, cheapest first."""
    found = []
    for space, (integrator, counts) in itertools.product(spaces, steps):
        for count in counts:
            keys = space | {"time": {"integrator": integrator, "step": END[problem] / count, "end": END[problem]}}
            try:
                error, seconds = run(keys)
            except Exception as problem_found:
                print(f"    {integrator} {count}: {problem_found}", flush=True)
                continue
            if error <= 0.97 * target:
                found.append((min(seconds, run(keys)[1]), error, keys))
                break
    return sorted(found, key=lambda c: c[0])


def calibrated(problem: str, target: float, run: Run) -> dict[str, Any] | None:
    """The fastest keys for one target, and those that are with all that can be cached, if others are. Spaces are kept while steps are
    compared; the best few are run again from a cold start."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["GLEG_CACHE"] = cache
        resolved = [found for space in choices(problem, target) if (found := smallest(problem, target, space, run))]
        spaces = [keys for _, keys in sorted(resolved, key=lambda c: c[0])[:2]]
        best = fastest_steps(problem, target, spaces, run, STEPS)[:5]
        cells = [keys for _, keys in sorted(elements(problem, target, run), key=lambda c: c[0])[:3]]
        best += fastest_steps(problem, target, cells, run, BDF)[:4]
        if not best:
            return None
        cached = _fastest(best, run)
    os.environ["GLEG_CACHE"] = "off"
    cold = _fastest(best, run)
    return cold if cold["keys"] == cached["keys"] else cold | {"cached": cached}


def _fastest(best: list[tuple[float, float, Keys]], run: Run) -> dict[str, Any]:
    timed = [(min(run(keys)[1] for _ in range(3)), error, keys) for _, error, keys in best]
    seconds, error, keys = min(timed, key=lambda c: c[0])
    return {"keys": keys, "error": float(f"{error:.3g}"), "processor": round(seconds, 4)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=list(outcome.PROBLEMS), choices=outcome.PROBLEMS)
    parser.add_argument("--targets", nargs="+", type=float, default=TARGETS)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "gleg_settings.json")
    given = parser.parse_args()
    import exact
    import gleg_peer

    gleg_peer.imported()
    for problem in given.problems:
        points, weights, true = exact.truth(problem)

        def run(keys: Keys, problem: str = problem, data: Any = (points, weights, true)) -> tuple[float, float]:
            began = time.process_time()
            values, _, _ = gleg_peer.solve(problem, keys, data[0])
            return exact.relative_error(values, data[2], data[1]), time.process_time() - began

        for target in given.targets:
            found = calibrated(problem, target, run)
            print(f"{problem} {target:.0e}: {found}", flush=True)
            table: dict[str, Any] = json.loads(given.out.read_text()) if given.out.exists() else {}
            table.setdefault(problem, {})[f"{target:.0e}"] = found
            given.out.write_text(json.dumps(table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
