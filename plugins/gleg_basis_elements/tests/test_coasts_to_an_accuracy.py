"""Heat inside coasts of many corners, told an accuracy alone: errors against solutions on other elements, and estimates against errors."""

from typing import Any

import numpy as np
import pytest

import gleg

DIRICHLET, NEUMANN = {"kind": "dirichlet"}, {"kind": "neumann"}
CONDITIONS: dict[str, list[dict[str, Any]]] = {
    "dirichlet": [DIRICHLET],
    "neumann": [NEUMANN],
    "robin": [{"kind": "robin", "kappa": 2}],
    "mixed": [{**DIRICHLET, "where": "harbour", "value": 0.5}, {**NEUMANN, "where": "rest", "value": 0.3}],
}


def coast(edges: int) -> dict[str, Any]:
    """A star-like polygon whose radius is random; with 50 edges half of its corners are re-entrant, the sharpest has 336°."""
    random = np.random.default_rng(0)
    angle = (np.arange(edges) + 0.6 * random.uniform(-0.5, 0.5, edges)) * 2 * np.pi / edges
    radius = 0.7 + 0.15 * np.cos(3 * angle + 1) + (0.25 if edges <= 50 else 0.12) * random.uniform(-1, 1, edges)
    vertices = np.round(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), 6).tolist()
    return {"kind": "polygon", "vertices": vertices}


def problem(edges: int, condition: str) -> dict[str, Any]:
    domain = coast(edges)
    if condition == "mixed":
        domain["segments"] = {"harbour": [edges // 10, 3 * edges // 10]}
    u = {"initial": "exp(-3*(x^2+y^2))*(1+x)", "boundary": CONDITIONS[condition], "equation": [{"block": "diffusion"}]}
    return {"domain": domain, "fields": {"u": u}, "time": {"end": 0.1}, "output": {"frames": 4}}


def errors(run: Any, fine: Any) -> float:
    """The largest after the start, relative to the largest norm, at the nodes of the finer solution."""
    cells = fine.discretisation.basis.cells
    points = np.concatenate([c.points.reshape(-1, 2) for c in cells])
    weights = np.concatenate([c.weights.ravel() for c in cells])
    exact = [fine.evaluate("u", points, t) for t in fine.times[1:]]
    found = [
        (run.evaluate("u", points, t) - u) ** 2 @ weights for t, u in zip(fine.times[1:].tolist(), exact, strict=True)
    ]
    return float(np.sqrt(max(found) / max(u**2 @ weights for u in exact)))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_coast_is_as_exact_as_asked(condition: str) -> None:
    """500 edges take longer: ``python benchmarks/which_basis.py coasts``."""
    spec = problem(50, condition)
    run = gleg.solve(spec, accuracy=1e-3)
    fine = gleg.solve(
        spec,
        basis={"kind": "elements", "order": 5, "size": 0.2, "tolerance": 3e-5},
        time={"end": 0.1, "tolerance": 1e-5},
    )
    error = errors(run, fine)
    assert run.choice.reached and error < 1e-3
    assert error / 3 < run.choice.estimate < 30 * error
