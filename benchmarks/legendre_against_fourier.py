"""Two bases on one problem: MMS-I on the rosette with Legendre polynomials of degree 30 and with Fourier functions of K = 22.

    python benchmarks/legendre_against_fourier.py [--repeats 3] [--ratio 0.333] [--error 1e-7]

Both files are solved as they are but with the same time step, in turn, without the cache of spaces and on one thread, so that
processor time is the time on an idle machine whatever else runs. Ends with status 1 if Legendre needs more than this ratio of the
processor time (medians; from reading the file to the last state) or if its final relative L² error on independent points is larger
than this.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

import gleg

ROOT = Path(__file__).parents[1]
PACK = "plugins/examples/gleg_basis_legendre"
PROBLEMS = {
    "fourier": ROOT / "examples/mms-1-rosette.yaml",
    "legendre": ROOT / PACK / "examples/mms-1-rosette-legendre.yaml",
}
STEP = 0.004


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the Legendre and the Fourier basis on MMS-I.")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ratio", type=float, default=1 / 3)
    parser.add_argument("--error", type=float, default=1e-7)
    arguments = parser.parse_args()
    if "legendre:legendre" not in gleg.default_registry().entries("basis"):
        print(f"the Legendre basis is not installed: pip install -e {PACK}")
        return 1
    os.environ.update(GLEG_CACHE="off", OMP_NUM_THREADS="1")  # numpy and torch are imported by the first run
    processor: dict[str, list[float]] = {name: [] for name in PROBLEMS}
    wall: dict[str, list[float]] = {name: [] for name in PROBLEMS}
    runs = {}
    for _ in range(arguments.repeats):
        for name, file in PROBLEMS.items():
            start = time.process_time(), time.perf_counter()
            runs[name] = gleg.solve(file, time={"step": STEP})
            processor[name].append(time.process_time() - start[0])
            wall[name].append(time.perf_counter() - start[1])
    errors = {name: run.metrics["relative_l2"]["final"] for name, run in runs.items()}
    for name, run in runs.items():
        space = run.metrics["fields"]["u"]["space"]
        print(
            f"{name:8}  error {errors[name]:.1e}, M {space['M']}, r {space['r']}, {space['quadrature_nodes']} nodes, median "
            f"{statistics.median(processor[name]):.1f} s of processor time, {statistics.median(wall[name]):.1f} s elapsed"
        )
    ratio, elapsed = (statistics.median(s["legendre"]) / statistics.median(s["fourier"]) for s in (processor, wall))
    within = ratio <= arguments.ratio and errors["legendre"] <= arguments.error
    print(
        f"Legendre / Fourier: {ratio:.3f} of the processor time, {elapsed:.3f} of the time elapsed; "
        + ("within the budget" if within else "NOT within the budget")
    )
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
