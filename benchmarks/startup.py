"""How much processor time commands take: those that solve nothing must answer in 0.3 s; a small run is mostly the import of torch.

    python benchmarks/startup.py [--seconds 0.3] [--repeats 9]

Every command runs in fresh Python processes, the first of which compiles the modules as an installer would have done and fills the
cache of spaces. The smallest of the repeated times counts: processor time, of user and system, so that a busy machine matters little.
Ends with status 1 if ``gleg --help``, ``gleg packs`` or ``gleg validate`` exceed the budget.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = str(Path(__file__).parents[1] / "examples" / "mms-1-rosette.yaml")
GLEG = ("-m", "gleg_cli")
LIGHT = {
    "gleg --help": (*GLEG, "--help"),
    "gleg packs": (*GLEG, "packs"),
    "gleg validate": (*GLEG, "validate", EXAMPLE),
}
RUN = (*GLEG, "run", EXAMPLE, "--set", "basis.K=8", "--out", "run")
HEAVY = {
    "import torch": ("-c", "import torch"),
    "gleg run, no pictures": (*RUN, "--set", "output.pictures=false"),
    "gleg run": RUN,
}
_FEWER = 3
"""Heavy commands are repeated this many times less often."""


def environment(folder: Path) -> dict[str, str]:
    """That of a user with compiled modules, one thread, and a cache of its own."""
    ours = ("GLEG_PACKS", "GLEG_STRICT", "GLEG_CATALOGUE", "PYTHONDONTWRITEBYTECODE")
    kept = {key: value for key, value in os.environ.items() if key not in ours}
    return {**kept, "OMP_NUM_THREADS": "1", "GLEG_CACHE": str(folder / "cache")}


def processor_time(arguments: tuple[str, ...], folder: Path) -> float:
    """Seconds of user and system time of one fresh process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program = [sys.executable, *arguments]
    subprocess.run(program, cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def smallest(arguments: tuple[str, ...], folder: Path, repeats: int) -> float:
    processor_time(arguments, folder)
    return min(processor_time(arguments, folder) for _ in range(repeats))


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the processor time of commands.")
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, few = Path(name), max(1, arguments.repeats // _FEWER)
        light = {label: smallest(words, folder, arguments.repeats) for label, words in LIGHT.items()}
        heavy = {label: smallest(words, folder, few) for label, words in HEAVY.items()}
    for label, seconds in (light | heavy).items():
        print(f"{label:22} {seconds:.3f} s, {seconds / heavy['import torch']:.2f} of importing torch")
    slow = [label for label, seconds in light.items() if seconds > arguments.seconds]
    print(f"NOT within the budget: {', '.join(slow)}" if slow else "within the budget")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
