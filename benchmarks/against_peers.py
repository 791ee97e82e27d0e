"""Time to a given error: gleg, from a cold start, with cached spaces and untuned, against finite elements tuned for the same target.

    python benchmarks/against_peers.py [--repeats 5] [--problems …] [--targets 1e-3 1e-6] [--processor] [--out out/peers]

Peers: NGSolve in its own idiom, and NGSolve and scikit-fem with hand-written kernels (benchmarks/peers). Every run is a fresh process on
one thread that is asked for u(T) at the same points; runs of all solvers alternate, and medians over the repeats are compared. Settings are
those of benchmarks/peers/settings.json and gleg_settings.json, the fastest found for each target; "gleg, accuracy" has none, it is told the
error to reach and finds the rest by trial solutions, as for a user with a new problem. Import is measured and shown beside,
not added: it is paid once per session. Prints ratios, writes results.json and work-precision.png. With ``--processor`` clocks count the
processor time of a process: for machines on which something else runs.

Needs ``pip install 'gleg[bench]'`` and the Legendre basis of plugins/examples (``make bench`` installs both).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from outcome import PROBLEMS, STAGES  # (also sets the number of threads before numpy is imported)

PEERS = Path(__file__).parent / "peers"
SCRIPTS = {"ngsolve": "ngsolve_peer.py", "ngsolve-idiom": "ngsolve_idiom_peer.py", "skfem": "skfem_peer.py"}
OURS = ("gleg, cold", "gleg, cached")
PROCESSOR = "import runpy, sys, time; time.perf_counter = time.process_time; sys.path.insert(0, sys.argv[1]); sys.argv = sys.argv[2:]; "
"""Every stage is then measured in processor time."""
UNTUNED = "gleg, accuracy"
"""From a cold start, told nothing but the error to reach."""


def commands(problem: str, target: str) -> dict[str, list[str]]:
    """Solver → its arguments, for those that have settings for this target."""
    found: dict[str, list[str]] = {}
    table = json.loads((PEERS / "settings.json").read_text())
    for peer, script in SCRIPTS.items():
        chosen = table.get(peer, {}).get(problem, {}).get(target)
        if chosen:
            keys = ("order", "maxh", "bend", "steps", "bdf")
            found[peer] = [script, problem, *(word for k in keys for word in (f"--{k}", str(chosen[k])))]
    ours = json.loads((PEERS / "gleg_settings.json").read_text()).get(problem, {}).get(target)
    if ours:
        # what is fastest from a cold start need not be with everything that can be kept in the cache
        chosen = dict(zip(OURS, (ours, ours.get("cached", ours)), strict=True))
        found |= {name: ["gleg_peer.py", problem, "--keys", json.dumps(own["keys"])] for name, own in chosen.items()}
    return found | {UNTUNED: ["gleg_peer.py", problem, "--accuracy", target]}


def run(arguments: list[str], points: Path, folder: Path, cache: str, processor: bool) -> tuple[dict[str, float], Path]:
    """Seconds by stage of one fresh process, and the file with its values."""
    out = folder / "out.json"
    environment = {**os.environ, "GLEG_CACHE": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = ["-c", PROCESSOR + "runpy.run_path(sys.argv[0], run_name='__main__')", str(PEERS)] if processor else []
    command = [
        sys.executable,
        *start,
        str(PEERS / arguments[0]),
        *arguments[1:],
        "--points",
        str(points),
        "--out",
        str(out),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return json.loads(out.read_text())["seconds"], out.with_suffix(".npy")


def measure(problem: str, target: str, repeats: int, processor: bool) -> list[dict[str, Any]]:
    """One row per solver: medians by stage, total without import, error."""
    import exact
    import numpy as np

    points, weights, true = exact.truth(problem)
    rows: dict[str, list[dict[str, float]]] = {}
    errors: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "points.npy", points)
        for repeat in range(
            repeats + 1
        ):  # the first round fills the caches of gleg, of Python and of the disk, and is not counted
            for solver, arguments in commands(problem, target).items():
                cache = str(folder / "cache") if solver == "gleg, cached" else "off"
                seconds, values = run(arguments, folder / "points.npy", folder, cache, processor)
                errors[solver] = exact.relative_error(np.load(values), true, weights)
                if repeat:
                    rows.setdefault(solver, []).append(seconds)
    found = []
    for solver, all_seconds in rows.items():
        stages = {stage: statistics.median(s[stage] for s in all_seconds) for stage in STAGES}
        totals = [sum(v for k, v in s.items() if k != "import") for s in all_seconds]
        found.append(
            {
                "problem": problem, "target": target, "solver": solver, "error": errors[solver], "seconds": stages,
                "total": statistics.median(totals), "least": min(totals), "most": max(totals),
            }
        )  # fmt: skip
    return found


def show(rows: list[dict[str, Any]]) -> None:
    head = rows[0]
    peers = [r for r in rows if r["solver"] not in (*OURS, UNTUNED) and r["error"] <= float(r["target"])]
    fastest = min(peers, key=lambda r: r["total"], default=None)
    print(f"\n{head['problem']}, error ≤ {head['target']}")
    print(
        f"  {'':16}{'total':>8}{'error':>10}  "
        + "".join(f"{stage:>14}" for stage in STAGES)
        + "   total / fastest peer"
    )
    for row in rows:
        stages = "".join(f"{1e3 * row['seconds'][stage]:11.0f} ms" for stage in STAGES)
        ratio = f"{row['total'] / fastest['total']:.2f}" if fastest else "–"
        print(f"  {row['solver']:16}{row['total']:7.3f}s{row['error']:10.1e}  {stages}   {ratio}")


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    problems = list(dict.fromkeys(r["problem"] for r in rows))
    figure, axes = plt.subplots(1, len(problems), figsize=(4.2 * len(problems), 3.6), squeeze=False, sharey=True)
    for axis, problem in zip(axes[0], problems, strict=True):
        for solver in dict.fromkeys(r["solver"] for r in rows):
            own = [r for r in rows if r["problem"] == problem and r["solver"] == solver]
            style = "-" if solver in (*OURS, UNTUNED) else "--"
            axis.loglog([r["error"] for r in own], [r["total"] for r in own], style, marker="o", ms=4, label=solver)
        axis.invert_xaxis()
        axis.set(title=problem, xlabel="relative L² error of u(T)")
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("seconds, one thread, without import")
    axes[0, 0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--targets", nargs="+", default=["1e-02", "1e-03", "1e-04", "1e-06"])
    parser.add_argument("--processor", action="store_true", help="processor time, not time on the wall")
    parser.add_argument("--out", type=Path, default=Path("out/peers"))
    given = parser.parse_args()
    targets = [f"{float(t):.0e}" for t in given.targets]
    rows: list[dict[str, Any]] = []
    given.out.mkdir(parents=True, exist_ok=True)
    for problem in given.problems:
        for target in targets:
            found = measure(problem, target, given.repeats, given.processor)
            if found:
                show(found)
                rows += found
                (given.out / "results.json").write_text(json.dumps(rows, indent=1) + "\n")
                draw(rows, given.out / "work-precision.png")
    print(f"\nwrote {given.out}/results.json and work-precision.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
