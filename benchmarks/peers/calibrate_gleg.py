"""Find, for every problem and target error, keys with which gleg reaches the target in the least time on one thread, from a cold start.

    python benchmarks/peers/calibrate_gleg.py [--problems …] [--out benchmarks/peers/gleg_settings.json]

Like calibrate.py for the peers: the two smallest bases that reach the target with short steps, then for each integrator the longest step
that still does; the least processor time wins. Needs the Legendre basis of plugins/examples.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import outcome

os.environ["GLEG_CACHE"] = "off"
TARGETS = (1e-2, 1e-3, 1e-4, 1e-6)
END = {"mms-1-rosette": 1.0, "mms-5-pinwheel": 0.9, "allen-cahn-disk": 4.0}
LEGENDRE = {
    "mms-1-rosette": (14, 15, 16, 17, 18, 19, 20, 22, 26, 27, 28),
    "allen-cahn-disk": (10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 32, 36, 40),
}
FOURIER = {"mms-5-pinwheel": (16, 17, 18, 20, 22, 23, 24, 25, 26)}
COLLOCATION = [
    {"kind": "exponential-collocation", "stages": m, "sweeps": s}
    for m, s in ((4, 3), (5, 1), (5, 3), (6, 1), (6, 2), (6, 4), (8, 1), (8, 2), (8, 4), (8, 6), (8, 8))
]
STEPS: list[tuple[Any, tuple[int, ...]]] = [
    ("etdrk4", (8, 12, 16, 20, 25, 32, 40, 50, 80, 126, 200)),
    ("exponential-adams4", (25, 32, 40, 50, 63, 80, 126, 200, 320)),
    ("exponential-adams6", (50, 80, 100, 126, 160, 200, 252, 264, 320)),
    *((kind, (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)) for kind in COLLOCATION),
]


def spaces(problem: str, target: float) -> list[dict[str, Any]]:
    """Bases from small to large; quadrature and thresholds as ``accuracy`` would choose them."""
    common = {"box": "auto", "quadrature": 1e-2 * target, "tau_M": max(1e-13, (target / 30) ** 2)}
    if problem in LEGENDRE:
        found = [{"basis": {"kind": "legendre", "degree": p}, "space": common} for p in LEGENDRE[problem]]
        return found
    turned = common | {"margin": 0.2, "rotate": False}
    return [{"basis": {"kind": "fourier", "K": K}, "space": turned} for K in FOURIER[problem]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=list(outcome.PROBLEMS), choices=outcome.PROBLEMS)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "gleg_settings.json")
    given = parser.parse_args()
    import exact
    import gleg_peer

    gleg_peer.imported()
    for problem in given.problems:
        points, weights, true = exact.truth(problem)

        def run(
            keys: dict[str, Any], problem: str = problem, data: Any = (points, weights, true)
        ) -> tuple[float, float]:
            began = time.process_time()
            values, _, _ = gleg_peer.solve(problem, keys, data[0])
            return exact.relative_error(values, data[2], data[1]), time.process_time() - began

        found: dict[str, Any] = {}
        smallest = 0  # what does not reach a target does not reach the next
        for target in TARGETS:
            short = {
                "integrator": "etdrk4",
                "step": END[problem] / (400 if target < 1e-5 else 100),
                "end": END[problem],
            }
            resolved = []
            for i, space in enumerate(spaces(problem, target)[smallest:], smallest):
                error, seconds = run(space | {"time": short})
                print(f"  {problem} {target:.0e} {space['basis']} error {error:.1e} {seconds:.2f} s", flush=True)
                if error <= 0.9 * target:
                    smallest = smallest if resolved else i
                    resolved.append(space)
                    if len(resolved) == 2:
                        break
            candidates = []
            for space, (integrator, counts) in itertools.product(resolved, STEPS):
                for count in counts:
                    time_keys = {"integrator": integrator, "step": END[problem] / count, "end": END[problem]}
                    try:
                        error, seconds = run(space | {"time": time_keys})
                    except Exception as problem_found:
                        print(f"    {integrator} {count}: {problem_found}", flush=True)
                        continue
                    if error <= 0.97 * target:
                        candidates.append((seconds, error, space | {"time": time_keys}))
                        break
            best = sorted(candidates, key=lambda c: c[0])[:3]
            again = [(min(run(keys)[1] for _ in range(3)), error, keys) for _, error, keys in best]
            winner = min(again, key=lambda c: c[0], default=None)
            found[f"{target:.0e}"] = winner and {
                "keys": winner[2],
                "error": float(f"{winner[1]:.3g}"),
                "processor": round(winner[0], 4),
            }
            print(f"{problem} {target:.0e}: {found[f'{target:.0e}']}", flush=True)
        table: dict[str, Any] = json.loads(given.out.read_text()) if given.out.exists() else {}
        given.out.write_text(json.dumps(table | {problem: found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
