"""The battery: many small problems with known answers, solved as a user would, and the errors that are left.

    python benchmarks/battery/run.py                                  # all problems, no accuracy stated
    python benchmarks/battery/run.py 'corners/*' heat_disk            # some: names, or globs of kind/name
    python benchmarks/battery/run.py --accuracy 1e-3 1e-5             # each problem to each accuracy
    python benchmarks/battery/run.py --seconds 60 --out table.json

Every case runs in a process of its own, with one thread and a time limit. The true error is the largest L²(Ω) norm of u − exact over the
saved times divided by the largest norm of exact over them, by POINTS points that no solver has seen; of several fields, the worst counts.
The column "later" leaves out the start, where data that jump can be met by no continuous function; estimates are compared with that one.
README.md beside this file tells what a problem file holds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy.stats import qmc

HERE = Path(__file__).resolve().parent
POINTS = 4000
WRONG, RIGHT = 5e-2, 1e-3
"""A run without a warning whose error is above the first is silently wrong; a warning at an error below the second is a false alarm."""
JUDGING = 0.15
"""Part of a run's time that estimating its error may take."""
MARK = "battery-result:"


def cases(patterns: list[str]) -> list[Path]:
    """The problem files whose name, or kind/name, matches a pattern; all of them if there is none."""
    files = sorted(HERE.glob("*/*.py"))
    names = {f: (f.stem, f"{f.parent.name}/{f.stem}") for f in files}
    return [f for f in files if not patterns or any(fnmatch(n, p) for p in patterns for n in names[f])]


def load(path: Path) -> ModuleType:
    """A problem file as a module. It may import truths.py, which lies beside this file."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    spec = importlib.util.spec_from_file_location(f"battery_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unseen_points(domain: Any, near: tuple[float, ...] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Quasi-random points of Ω, (n, dim), and weights whose sum is 1. With ``near`` = (x, y, distance), a third of them lie in a box around
    that place; weights make up for it."""
    bounds = np.asarray(domain.bounds, dtype=float)
    if near is None:
        points, _ = _inside(domain, bounds, POINTS)
        return points, np.full(len(points), 1 / len(points))
    everywhere, _ = _inside(domain, bounds, 2 * POINTS // 3)
    centre, distance = np.array(near[:-1]), near[-1]
    box = np.stack([np.maximum(bounds[:, 0], centre - distance), np.minimum(bounds[:, 1], centre + distance)], axis=1)
    local, accepted = _inside(domain, box, POINTS // 3)
    share = accepted * np.prod(np.ptp(box, axis=1)) / domain.measure
    points = np.concatenate([everywhere, local])
    weights = 1 / (len(everywhere) + len(local) / share * _within(box, points))
    return points, weights / weights.sum()


def _inside(domain: Any, box: np.ndarray, n: int) -> tuple[np.ndarray, float]:
    """n points of a box that lie in Ω, and how many of a hundred do, as a fraction."""
    sequence, found, tried = qmc.Halton(len(box), seed=7), [], 0
    while sum(map(len, found)) < n and tried < 6_000_000:
        points = qmc.scale(sequence.random(4 * n if not tried else 100_000), box[:, 0], box[:, 1])
        found.append(points[domain.contains(points)])
        tried += len(points)
    points = np.concatenate(found)
    return points[:n], len(points) / tried


def _within(box: np.ndarray, points: np.ndarray) -> np.ndarray:
    return ((points >= box[:, 0]) & (points <= box[:, 1])).all(axis=1)


def fields_of(truth: Any, names: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """What ``exact`` returned, by field."""
    values = truth if isinstance(truth, dict) else {names[0]: truth}
    return {name: np.broadcast_to(np.asarray(v, dtype=float), shape) for name, v in values.items()}


def true_error(run: Any, case: ModuleType) -> dict[str, Any]:
    """The error over all saved times and over those after the start; the field and the time where the first is largest."""
    points, weights = unseen_points(run.discretisation.domain, getattr(case, "NEAR", None))
    if (exclude := getattr(case, "EXCLUDE", None)) is not None:
        keep = ~np.asarray(exclude(*points.T))
        points, weights = points[keep], weights[keep]
    gaps: dict[str, list[float]] = {}
    size: dict[str, float] = {}
    for t in map(float, run.times):
        for name, truth in fields_of(case.exact(*points.T, t), run.field_names, points.shape[:1]).items():
            gap = run.evaluate(name, points, t) - truth
            gaps.setdefault(name, []).append(float(np.sqrt(gap**2 @ weights)))
            size[name] = max(size.get(name, 0.0), float(np.sqrt(truth**2 @ weights)))
    if abs(run.times[-1] - float(case.PROBLEM["time"]["end"])) > 1e-6 * abs(run.times[-1]):
        raise RuntimeError(f"the run ended early, at t = {run.times[-1]:g}")
    relative = {name: np.nan_to_num(np.array(g) / (size[name] or 1.0), nan=np.inf) for name, g in gaps.items()}
    worst = max(relative, key=lambda name: relative[name].max())
    later = max(float(r[1:].max()) for r in relative.values())
    moment = float(run.times[int(relative[worst].argmax())])
    return {"error": float(relative[worst].max()), "later": later, "field": worst, "at": moment}


def solve_case(path: Path, accuracy: float | None) -> dict[str, Any]:
    """Solve one problem in this process."""
    import gleg

    case = load(path)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = gleg.solve(case.PROBLEM, **({} if accuracy is None else {"accuracy": accuracy}))
    seconds = time.perf_counter() - start
    told = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    stages = {name: facts for name, facts, _ in run.stages}
    estimate = None if run.estimate is None else run.estimate.total
    judging = run.timing.get("estimate", 0.0)
    facts = {"estimate": estimate, "warnings": told, "seconds": seconds, "judging": judging, "stages": stages}
    return true_error(run, case) | facts


def in_a_process(path: Path, accuracy: float | None, limit: float) -> dict[str, Any]:
    """Solve one problem in a process that is ended after ``limit`` seconds."""
    command = [sys.executable, str(Path(__file__).resolve()), "--case", str(path)]
    command += [] if accuracy is None else ["--accuracy", str(accuracy)]
    row = {
        "name": path.stem,
        "kind": path.parent.name,
        "asked": accuracy,
        "hard": bool(getattr(load(path), "HARD", False)),
    }
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, env=os.environ | {"OMP_NUM_THREADS": "1"}
        )
    except subprocess.TimeoutExpired:
        return row | {"failed": "time", "message": f"over {limit:g} s", "seconds": time.perf_counter() - start}
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            return row | json.loads(line.removeprefix(MARK))
    told = [line for line in done.stderr.splitlines() if line and not line.startswith((" ", "Traceback"))]
    message = told[-1] if told else f"ended with status {done.returncode}"
    return row | {"failed": "crash", "message": message, "seconds": time.perf_counter() - start}


def told(row: dict[str, Any]) -> str:
    """One line of the table."""
    asked = f"{row['asked']:.0e}" if row["asked"] else "-"
    head = f"{row['kind'] + '/' + row['name']:42} {'hard' if row['hard'] else '':4} {asked:>6}"
    if "failed" in row:
        return f"{head} {row['failed']:>8} {'':8} {'':8} {'':7} {row['seconds']:6.1f}  {row['message'][:110]}"
    estimate, later = row["estimate"], row["later"]
    ratio = f"{estimate / later:.2g}" if estimate is not None and later > 0 else ""
    said = row["warnings"][0].removeprefix("problem: ")[:70] if row["warnings"] else ""
    left = f"{estimate:.1e}" if estimate is not None else ""
    return f"{head} {row['error']:8.1e} {later:8.1e} {left:>8} {ratio:>7} {row['seconds']:6.1f}  {'yes: ' + said if said else 'no'}"


def summary(rows: list[dict[str, Any]], limit: float) -> dict[str, list[str]]:
    """What is worth looking at, by name."""
    name = {id(r): f"{r['kind']}/{r['name']}" + (f" ({r['asked']:g})" if r["asked"] else "") for r in rows}
    solved = [r for r in rows if "failed" not in r]
    return {
        f"wrong (above {WRONG:.0%}) without a warning": [
            name[id(r)] for r in solved if r["later"] > WRONG and not r["warnings"]
        ],
        "the same, but at the start only": [
            name[id(r)] for r in solved if r["later"] <= WRONG < r["error"] and not r["warnings"]
        ],
        f"wrong (above {WRONG:.0%}) with a warning": [
            name[id(r)] for r in solved if r["error"] > WRONG and r["warnings"]
        ],
        f"false alarms (below {RIGHT:.1%} with a warning)": [
            name[id(r)] for r in solved if r["error"] < RIGHT and r["warnings"]
        ],
        "less exact than asked": [name[id(r)] for r in solved if r["asked"] and r["later"] > r["asked"]],
        "estimates more than 3 times too small": [
            name[id(r)] for r in solved if r["estimate"] is not None and r["later"] > max(3 * r["estimate"], 1e-6)
        ],
        f"judging took more than {JUDGING:.0%} of the run and 0.1 s": [
            name[id(r)] for r in solved if r["judging"] > max(JUDGING * r["seconds"], 0.1)
        ],
        "estimates off by more than 3 or 30, where the error is above a tenth of what was asked (1e-5 without)": [
            name[id(r)]
            for r in solved
            if r["estimate"] is not None
            and r["later"] > (r["asked"] or 1e-4) / 10
            and not r["later"] / 3 <= r["estimate"] <= 30 * r["later"]
        ],
        "errors and crashes": [name[id(r)] for r in rows if r.get("failed") == "crash"],
        f"over {limit:g} s": [name[id(r)] for r in rows if r.get("failed") == "time"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Solve the battery and compare with the truth.")
    parser.add_argument("names", nargs="*", help="names or globs, such as heat_disk or 'corners/*'; default: all")
    parser.add_argument(
        "--accuracy", nargs="+", type=float, default=[None], help="accuracies to ask for; default: none is stated"
    )
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("--seconds", type=float, default=120.0, help="time limit of a case")
    parser.add_argument("--out", type=Path, help="JSON file for the table")
    parser.add_argument("--case", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(MARK + json.dumps(solve_case(arguments.case, arguments.accuracy[0])))
        return 0
    if not (files := cases(arguments.names)):
        parser.error(f"no problem matches {' '.join(arguments.names)}")
    print(
        f"{'problem':42} {'':4} {'asked':>6} {'error':>8} {'later':>8} {'estimate':>8} {'ratio':>7} {'s':>6}  warning"
    )
    rows = []
    work = [(f, a, arguments.seconds) for a in arguments.accuracy for f in files]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(lambda job: in_a_process(*job), work):
            print(told(row), flush=True)
            rows.append(row)
            if arguments.out:
                arguments.out.write_text(json.dumps(rows, indent=1))
    print(f"\n{len(rows)} cases, {sum(r['seconds'] for r in rows):.0f} s")
    for title, names in summary(rows, arguments.seconds).items():
        print(f"{title}: {len(names)}" + "".join(f"\n    {n}" for n in names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
