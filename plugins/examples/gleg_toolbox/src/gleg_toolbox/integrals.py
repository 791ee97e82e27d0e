"""``gleg.mass``: integrals of the initial state; ``run.total``: of a run at any time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gleg_core.run import Run
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.system.discretise import discretise


def mass(problem: Problem | str | Path | Mapping[str, Any]) -> dict[str, float]:
    """∫_Ω u dx of every field at the start, by the quadrature of its space."""
    found = discretise(problem if isinstance(problem, Problem) else load_problem(problem))
    start = found.problem.section.time.start

    def integral(name: str) -> float:
        space = found.system.fields[name].space
        u = found.basis.evaluate(found.system.coefficients(name, found.initial, start), space.nodes.x)
        return float(u @ space.weights)

    return {name: integral(name) for name in found.system.fields}


def total(run: Run, field: str, t: float) -> float:
    """∫_Ω u(x, t) dx: ``run.total("u", 0.5)``."""
    space = run.discretisation.system.fields[field].space
    return float(run.evaluate(field, space.nodes.x.numpy(), t) @ space.weights.numpy())
