"""gleg itself, measured like its peers: a problem file of examples/, some keys replaced, solved in a fresh process on one thread.

    python benchmarks/peers/gleg_peer.py PROBLEM --keys '{"basis": {"kind": "legendre", "degree": 17}, …}' --points p.npy --out out.json
    python benchmarks/peers/gleg_peer.py PROBLEM --accuracy 1e-3 --points p.npy --out out.json

With ``--accuracy`` the file states nothing but that: no basis, no space, no step, no integrator.
``GLEG_CACHE`` says whether spaces are cached: off for a cold start. Stages: choice (trial solutions, if only an accuracy is stated;
forcing is then not told apart), geometry (validation, quadrature, boundary samples),
factorisation (null space and mass), realisation (mechanisms, eigenvectors, initial state), forcing (sources at all times), stepping (the
rest of the rollout), output (values at the points). Mechanisms are taken as formulas (``twin: analytic``), as the peers have them.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from outcome import PROBLEMS, STAGES

EXAMPLES = Path(__file__).parents[2] / "examples"
LEARNED = ("diffusion", "transport")
"""Blocks that have an analytic twin."""


def to_accuracy(problem: str, accuracy: float) -> dict[str, Any]:
    """Keys that leave all numerical choices open."""
    from gleg_core.spec.loading import load_document

    end = load_document(EXAMPLES / f"{problem}.yaml").data["time"]["end"]
    open_ = dict.fromkeys(("basis", "space"))
    return {**open_, "time": {"end": end}, "accuracy": accuracy}


def prepared(problem: str, keys: dict[str, Any]) -> Any:
    """The validated problem with ``keys`` replaced (or removed, where None) and one saved frame."""
    from gleg_core.spec.loading import load_document
    from gleg_core.spec.problem import load_problem

    document = load_document(EXAMPLES / f"{problem}.yaml")
    equation = [dict(term) for term in document.data["fields"]["u"]["equation"]]
    for term in equation:
        if term["block"] in LEARNED:
            term["twin"] = "analytic"
    document.data.pop("reference", None)  # the error is measured here, at the same points for all
    for name in ("time", *(key for key, value in keys.items() if value is None)):
        document.data.pop(name, None)  # sections are merged with what replaces them
    stated = {key: value for key, value in keys.items() if value is not None}
    u = {"equation": equation, **stated.pop("fields", {}).get("u", {})}
    return load_problem(document, {"fields": {"u": u}, "output": {"frames": 1}, "unresolved": "ignore", **stated})


def solve(problem: str, keys: dict[str, Any], points: Any) -> tuple[Any, dict[str, float], dict[str, Any]]:
    """u(T) at the points, seconds by stage, and facts about the space."""
    from gleg_core.solver import solve as solve_problem
    from gleg_core.system.reduced import ReducedSystem

    forcing = 0.0
    prepare = ReducedSystem.prepare

    def timed(system: ReducedSystem, *arguments: Any) -> None:
        nonlocal forcing
        began = time.perf_counter()
        prepare(system, *arguments)
        forcing += time.perf_counter() - began

    ReducedSystem.prepare = timed  # type: ignore[method-assign]
    try:
        began = time.perf_counter()
        ready = prepared(problem, keys)
        validated = time.perf_counter() - began
        run = solve_problem(ready)
    finally:
        ReducedSystem.prepare = prepare  # type: ignore[method-assign]
    solved = time.perf_counter()
    values = run.evaluate("u", points, float(run.times[-1]))
    took = run.timing
    forcing = 0.0 if "choose" in took else forcing
    seconds = {
        "choice": took.get("choose", 0.0),
        "geometry": validated + took["validate"] + took["domain"],
        "factorisation": took["space"],
        "realisation": took["system"],
        "stepping": took["rollout"] - forcing,
        "forcing": forcing,
        "output": time.perf_counter() - solved,
    }
    space = run.discretisation.system.fields["u"].space
    facts = {"r": space.r, "M": space.basis.size, "nodes": len(space.weights), "steps": run.trajectory.steps}
    return values, seconds, facts


def imported() -> float:
    """Seconds to import all that a solution needs, the modules of the installed packs included."""
    began = time.perf_counter()
    import numpy
    import scipy.linalg
    import scipy.special
    import torch

    import gleg_core.solver
    from gleg import default_registry
    from gleg_core.pack import CONTRACTS

    torch.set_num_threads(1)
    registry = default_registry()
    for contract in CONTRACTS:
        for component in registry.entries(contract).values():
            registry.params(component), registry.factory(component)
    assert all((numpy, scipy, gleg_core.solver))
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", choices=PROBLEMS)
    numerics = parser.add_mutually_exclusive_group(required=True)
    numerics.add_argument("--keys", type=json.loads, help="keys of the problem file to replace, as JSON")
    numerics.add_argument("--accuracy", type=float, help="state this accuracy and nothing else")
    parser.add_argument("--points", type=Path, required=True, help=".npy with points (n, 2) inside the domain")
    parser.add_argument("--out", type=Path, required=True, help=".json to write; the values go to .npy beside it")
    given = parser.parse_args()
    loading = imported()
    import numpy as np

    keys = given.keys or to_accuracy(given.problem, given.accuracy)
    values, seconds, facts = solve(given.problem, keys, np.load(given.points))
    record = {
        "peer": "gleg",
        "problem": given.problem,
        "settings": keys | facts,
        "seconds": {stage: {"import": loading, **seconds}[stage] for stage in STAGES},
        "unknowns": facts["r"],
    }
    given.out.write_text(json.dumps(record, indent=1) + "\n")
    np.save(given.out.with_suffix(".npy"), values)


if __name__ == "__main__":
    main()
