"""How discovery scales: a thousand installed packs must be found, listed and searched in under 1 s and 100 MB.

    python benchmarks/many_packs.py [--packs 1000] [--seconds 1.0] [--megabytes 100]

Writes that many distributions (dist-info and a light module each) into a temporary folder and measures a fresh
Python process that has the folder on its path. Ends with status 1 if a budget is exceeded.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

MODULE = '''"""Entry point of the pack ``pack-{i}``."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (1, 0)


@hookimpl
def gleg_blocks():
    return [
        Entry("growth-{i}", "Growth number {i}", params="fake_{i}.heavy:Params", factory="fake_{i}.heavy:Growth"),
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


def write_packs(folder: Path, packs: int) -> None:
    """``packs`` installed distributions with one light module each."""
    for i in range(packs):
        package, info = folder / f"fake_{i}", folder / f"gleg_fake_{i}-1.{i}.dist-info"
        package.mkdir()
        info.mkdir()
        (package / "__init__.py").touch()
        (package / "pack.py").write_text(MODULE.format(i=i), encoding="utf-8")
        (info / "METADATA").write_text(METADATA.format(i=i), encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[gleg.packs]\npack-{i} = fake_{i}.pack\n", encoding="utf-8")


def measure(folder: Path, packs: int) -> dict[str, Any]:
    """Discovery, listing and one search in a fresh process."""
    ours = ("GLEG_PACKS", "GLEG_STRICT", "PYTHONDONTWRITEBYTECODE")
    environment = {key: value for key, value in os.environ.items() if key not in ours}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-c", PROBE.replace("{last}", str(packs - 1))]
    return json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the discovery of many packs.")
    parser.add_argument("--packs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--megabytes", type=float, default=100.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_packs(folder, arguments.packs)
        first = measure(folder, arguments.packs)  # compiles the modules, as an installer would have done
        again = measure(folder, arguments.packs)
    for label, result in (("not compiled", first), ("compiled", again)):
        print(
            f"{label:13} {result['packs']} packs, {result['components']} components: {result['total']:.2f} s "
            f"(discovery {result['discovery']:.2f}, listing and search {result['listing']:.2f}), "
            f"peak {result['megabytes']:.0f} MB"
        )
    within = again["total"] < arguments.seconds and again["megabytes"] < arguments.megabytes
    usable = not again["failures"] and not again["heavy"]
    print("within the budget" if within and usable else f"NOT within the budget: {again}")
    return 0 if within and usable else 1


if __name__ == "__main__":
    sys.exit(main())
