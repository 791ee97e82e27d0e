"""How discovery scales: a thousand installed packs must be found, and listed by ``gleg packs``, in under 1 s and 100 MB each.

    python benchmarks/many_packs.py [--packs 1000] [--seconds 1.0] [--megabytes 100]

Writes that many distributions (dist-info and a light module each, one in ten with weights and with a conformance result) into a
temporary folder and measures fresh Python processes that have the folder on their path: discovery, listing and one search in the
registry; the whole command ``gleg packs``; and ``gleg validate`` of a small problem, with and without those packs. Times of commands
include the start of Python. Ends with status 1 if a budget is exceeded.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MODULE = '''"""Entry point of the pack ``pack-{i}``."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_blocks():
    return [
        Entry("growth-{i}", "Growth number {i}", params="fake_{i}.heavy:Params", factory="fake_{i}.heavy:Growth",
              capabilities={capabilities}),
        Entry("decay", "Decay, a name all packs share", params="fake_{i}.heavy:Params", factory="fake_{i}.heavy:Decay"),
    ]
'''

METADATA = """Metadata-Version: 2.4
Name: gleg-fake-{i}
Version: 1.{i}
Summary: A pack that exists for a measurement
License-Expression: MIT
Requires-Dist: gleg-core

# gleg-fake-{i}
"""

PROBE = """
import json, resource, sys, time
start = time.perf_counter()
from gleg_core.registry import Registry
registry = Registry.discover()
discovered = time.perf_counter()
listed = len(registry.entries("block"))
found = registry.find("block", "growth-{last}").key
end = time.perf_counter()
print(json.dumps(dict(
    packs=len(registry.packs), failures=len(registry.failures), components=listed, found=found,
    discovery=discovered - start, listing=end - discovered, total=end - start,
    megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    heavy=[m for m in ("torch", "numpy", "pydantic", "scipy", "matplotlib", "rich") if m in sys.modules],
)))
"""


COMMAND = """
import json, resource, sys
from gleg_cli.main import main
sys.argv = ["gleg", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(dict(
    megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    heavy=[m for m in ("torch", "numpy", "pydantic", "scipy", "matplotlib", "rich") if m in sys.modules],
)), file=sys.stderr)
"""

PROBLEM = """
domain: {kind: disk, radius: 0.6}
basis: {kind: fourier, K: 4}
fields:
  u:
    initial: 1
    boundary: [{kind: neumann}]
    equation: [{block: diffusion}]
time: {end: 1}
"""

LEARNED = 10
"""One pack in this many comes with weights and a conformance result."""


def write_packs(folder: Path, packs: int) -> None:
    """``packs`` installed distributions with one light module each."""
    checks = folder / "checks"
    checks.mkdir()
    for i in range(packs):
        package, info = folder / f"fake_{i}", folder / f"gleg_fake_{i}-1.{i}.dist-info"
        package.mkdir()
        info.mkdir()
        (package / "__init__.py").touch()
        learned = i % LEARNED == 0
        capabilities = {"weights": f"fake_{i}:growth"} if learned else {}
        (package / "pack.py").write_text(MODULE.format(i=i, capabilities=capabilities), encoding="utf-8")
        if learned:
            (package / "growth.safetensors").write_bytes(bytes(10_000))
            facts = {"report": {"kit": "1.0", "passed": 31, "failed": 0}, "sha256": "", "date": "2000-01-01"}
            (checks / f"gleg-fake-{i}-1.{i}-pack-{i}.json").write_text(json.dumps(facts), encoding="utf-8")
        (info / "METADATA").write_text(METADATA.format(i=i), encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[gleg.packs]\npack-{i} = fake_{i}.pack\n", encoding="utf-8")


def environment(folder: Path | None) -> dict[str, str]:
    """That of a fresh process; with the packs in ``folder`` on its path."""
    ours = ("GLEG_PACKS", "GLEG_STRICT", "GLEG_CATALOGUE", "PYTHONDONTWRITEBYTECODE")
    kept = {key: value for key, value in os.environ.items() if key not in ours}
    if folder is None:
        return kept
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    return {**kept, "PYTHONPATH": path, "GLEG_CHECKS": str(folder / "checks")}


def measure(folder: Path, packs: int) -> dict[str, Any]:
    """Discovery, listing and one search in a fresh process."""
    program = [sys.executable, "-c", PROBE.replace("{last}", str(packs - 1))]
    done = subprocess.run(program, env=environment(folder), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def command(folder: Path | None, *arguments: str) -> dict[str, Any]:
    """A whole ``gleg`` command in a fresh process."""
    program = [sys.executable, "-c", COMMAND, *arguments]
    start = time.perf_counter()
    done = subprocess.run(program, env=environment(folder), capture_output=True, text=True, check=True)
    return {"seconds": time.perf_counter() - start, "output": done.stdout, **json.loads(done.stderr.splitlines()[-1])}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the discovery of many packs.")
    parser.add_argument("--packs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--megabytes", type=float, default=100.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_packs(folder, arguments.packs)
        problem = folder / "small.yaml"
        problem.write_text(PROBLEM, encoding="utf-8")
        first = measure(folder, arguments.packs)  # compiles the modules, as an installer would have done
        again = measure(folder, arguments.packs)
        listed = command(folder, "packs")
        validated = command(folder, "validate", str(problem))
        alone = command(None, "validate", str(problem))
    for label, result in (("not compiled", first), ("compiled", again)):
        print(
            f"{label:13} {result['packs']} packs, {result['components']} components: {result['total']:.2f} s "
            f"(discovery {result['discovery']:.2f}, listing and search {result['listing']:.2f}), "
            f"peak {result['megabytes']:.0f} MB"
        )
    print(f"{'gleg packs':13} {listed['seconds']:.2f} s, peak {listed['megabytes']:.0f} MB")
    print(f"{'gleg validate':13} {validated['seconds']:.2f} s, without those packs {alone['seconds']:.2f} s")
    seconds = max(again["total"], listed["seconds"], validated["seconds"])
    megabytes = max(result["megabytes"] for result in (again, listed, validated))
    within = seconds < arguments.seconds and megabytes < arguments.megabytes
    complete = (
        listed["output"].count("conformance") + listed["output"].count("changed since") >= arguments.packs / LEARNED
    )
    usable = complete and not again["failures"] and not again["heavy"] and not listed["heavy"]
    usable = usable and "torch" not in validated["heavy"]
    print("within the budget" if within and usable else f"NOT within the budget: {again}, gleg packs {listed['heavy']}")
    return 0 if within and usable else 1


if __name__ == "__main__":
    sys.exit(main())
