"""Cold realisation of the cylinder wake at a high resolution: seconds by stage and peak memory.

    python benchmarks/wake_realisation.py [--K 45] [--seconds 300] [--gigabytes 6]

Two fields, vorticity and streamfunction, in one space. Ends with status 1 if a budget is exceeded.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from pathlib import Path

os.environ.pop("OPENBLAS_CORETYPE", None)  # read when numpy is loaded: kernels for this processor, not for a stated one
import torch

import gleg
from gleg_core.system.discretise import discretise

WAKE = Path(__file__).parents[1] / "examples/cylinder-wake.yaml"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--K", type=int, default=45)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--gigabytes", type=float, default=6.0)
    given = parser.parse_args()
    os.environ["GLEG_CACHE"] = "off"
    began = time.perf_counter()
    last = began

    def report(stage: str, facts: str) -> None:
        nonlocal last
        now = time.perf_counter()
        print(f"{stage:8} {facts}  {now - last:.1f} s", flush=True)
        last = now

    with torch.no_grad():
        discretise(gleg.load(WAKE, {"basis": {"kind": "fourier", "K": given.K}}), report)
    spent = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"K = {given.K}: {spent:.0f} s, peak memory {memory:.1f} GB")
    return 0 if spent <= given.seconds and memory <= given.gigabytes else 1


if __name__ == "__main__":
    sys.exit(main())
