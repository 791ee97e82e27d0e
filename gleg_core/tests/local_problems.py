"""Problems on the local basis of the tests, in a registry that also holds everything installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from quadratic_triangles import QuadraticTriangles

from gleg_core.contracts.basis import Site
from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.location import Location
from gleg_core.pack import CONTRACT, Entry
from gleg_core.registry import Pack, Registry, default_registry
from gleg_core.run import Run
from gleg_core.solver import solve
from gleg_core.spec.params import PackParams, Positive
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.system.discretise import Discretisation, discretise

SQUARE = {"kind": "rectangle", "x": [0, 1], "y": [0, 1]}
L_SHAPE = {"kind": "polygon", "vertices": [[0, 0], [1, 0], [1, 0.5], [0.5, 0.5], [0.5, 1], [0, 1]]}
DIFFUSION = {"block": "diffusion", "twin": "analytic"}


class TriangleParams(PackParams):
    """Parameters of the quadratic triangles."""

    h: Positive


def triangles(params: TriangleParams, site: Site) -> QuadraticTriangles:
    return QuadraticTriangles(site, params.h)


class NoParams(PackParams):
    """No parameters."""


class Mean(Block):
    """L(u) = ∫u / |Ω|: linear, and not local."""

    traits = Traits("R", order=0, degree=1)

    def __init__(self, params: NoParams, binding: Binding):
        self._field = binding.target

    @property
    def acts_on(self) -> str:
        return self._field

    def reference(self, fields: Fields, at: Location) -> torch.Tensor:
        u = fields[self._field].value
        return ((u * at.weights).sum(-1, keepdim=True) / at.weights.sum()).expand(u.shape)


@cache
def registry() -> Registry:
    basis = Entry(
        "quadratic-triangles",
        "Quadratic functions on the halves of grid squares",
        params="local_problems:TriangleParams",
        factory="local_problems:triangles",
        capabilities={"dims": [2], "isotropic": False, "local": True},
        examples=({"h": 0.25},),
    )
    mean = Entry("mean", "The mean of u over the domain", "local_problems:NoParams", "local_problems:Mean")
    entries = {"basis": (basis,), "block": (mean,)}
    pack = Pack("triangles", "gleg-triangles", "1.0", "local_problems", CONTRACT, "MIT", entries)
    installed = default_registry()
    return Registry((*installed.packs, pack), installed.failures, installed.catalogue)


def spec(
    h: float, fields: dict[str, Any], domain: dict[str, Any] = SQUARE, time: dict[str, Any] | None = None, **keys: Any
) -> dict[str, Any]:
    """A problem file on quadratic triangles of grid spacing ``h``."""
    basis = {"kind": "quadratic-triangles", "h": h}
    time = time or {"end": 1, "step": 0.1, "integrator": "imex-ark4"}
    return {"domain": domain, "basis": basis, "fields": fields, "time": time, **keys}


def one_field(h: float, boundary: Any, equation: Any = (DIFFUSION,), initial: Any = 0, **keys: Any) -> dict[str, Any]:
    """A problem for a field u; ``keys`` of the field go in ``field``."""
    field = {"boundary": list(boundary), "equation": list(equation), **keys.pop("field", {})}
    if "exact" not in field:
        field["initial"] = initial
    return spec(h, {"u": field}, **keys)


def loaded(problem: dict[str, Any]) -> Problem:
    return load_problem(problem, registry=registry())


def discretised(problem: dict[str, Any]) -> Discretisation:
    return discretise(loaded(problem))


def solved(problem: dict[str, Any]) -> Run:
    return solve(loaded(problem))


def dense(operator: Callable[[torch.Tensor], torch.Tensor], size: int) -> np.ndarray:
    """The matrix A of a linear map z ↦ A z of rows."""
    return operator(torch.eye(size, dtype=torch.float64)).numpy().T


def rates(d: Discretisation) -> np.ndarray:
    """Decay rates −λ of u_t = Lu, ascending."""
    part = d.system.linear
    return np.sort(-np.linalg.eigvals(dense(part.apply, part.size)).real)


def integral(run: Run, t: float, field: str = "u") -> float:
    """∫u at a time."""
    d = run.discretisation
    space = d.system.fields[field].space
    a = d.system.coefficients(field, run.state(t), t)
    return float(d.basis.evaluate(a, space.nodes.x) @ space.weights)


def errors(run: Run, t: float, fields: tuple[str, ...] = ("u",)) -> list[float]:
    """The relative error of every field at random points, against its exact solution."""
    x = points()
    found = []
    for name in fields:
        exact = run.problem.field(name).section.exact
        expected = np.broadcast_to(exact(x=x[:, 0], y=x[:, 1], t=t), len(x))
        here = run.evaluate(name, x, t)
        kept = np.isfinite(here)  # of a domain smaller than the square
        found.append(float(np.linalg.norm((here - expected)[kept]) / np.linalg.norm(expected[kept])))
    return found


def points(count: int = 200, seed: int = 1) -> np.ndarray:
    """Random points of the unit square."""
    return np.random.default_rng(seed).uniform(0.0, 1.0, (count, 2))
