"""Mechanisms are written once: the same code gives the same solution on plane waves, on polynomials and on finite elements.

First-party mechanisms, those of the example packs, and two of a stranger who has heard of no basis: one with a nonlinear flux through the
boundary, one that is not local.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from distributions import EXAMPLES
from torch import Tensor

from gleg_core.contracts.block import Binding, Block, Fields, Traits
from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.contracts.location import Location
from gleg_core.errors import SpecError
from gleg_core.pack import CONTRACT, Entry
from gleg_core.registry import Pack, Registry, default_registry
from gleg_core.run import Run
from gleg_core.solver import solve
from gleg_core.spec.params import PackParams
from gleg_core.spec.problem import load_problem
from gleg_core.system.discretise import discretise

ELLIPSE = {"kind": "ellipse", "a": 0.8, "b": 0.6}
BASES = {
    "fourier": {"kind": "fourier", "K": 10},
    "legendre": {"kind": "legendre", "degree": 18},
    "elements": {"kind": "elements", "order": 7, "size": 0.5},
}
CLOSE = 1e-6
"""Relative difference of two solutions in L²."""
HERE = "test_blocks_on_every_basis"


# --- a stranger's pack --------------------------------------------------------------------------------------------------


class NoParams(PackParams):
    """No keys."""


class Thinning(Block):
    """∇·((1 + u²) ∇u − ½u² e),  e = (1, …): a film that spreads and runs down, whatever leaves through the rim."""

    traits = Traits("R", order=2, degree=3, modes=("weak", "pointwise"), invariants=())

    def __init__(self, params: NoParams, binding: Binding):
        self._field, self._dim = binding.target, binding.dim

    def reference(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self._field]
        squares = torch.stack([g**2 for g in u.grad]).sum(0)
        return (1 + u.value**2) * u.laplacian + 2 * u.value * squares - u.value * u.grad[0]

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        u = fields[self._field]
        flux = [(1 + u.value**2) * g for g in u.grad]
        flux[0] = flux[0] - u.value**2 / 2
        return {unit(self._dim, i): -f for i, f in enumerate(flux)}

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self._field]
        assert at.normal is not None
        return (1 + u.value**2) * u.along(at.normal) - u.value**2 / 2 * at.normal[:, 0]


class Mixing(Block):
    """The mean of u over Ω, minus u: linear, and not local."""

    traits = Traits("R", order=0, degree=1)

    def __init__(self, params: NoParams, binding: Binding):
        self._field = binding.target

    @property
    def acts_on(self) -> str:
        return self._field

    def reference(self, fields: Fields, at: Location) -> Tensor:
        u = fields[self._field].value
        assert at.weights is not None
        return (u * at.weights).sum(-1, keepdim=True) / at.weights.sum() - u


class Curvature(Block):
    """Δu, only as a function of second derivatives."""

    traits = Traits("R", order=2, degree=1)

    def __init__(self, params: NoParams, binding: Binding):
        self._field = binding.target

    @property
    def acts_on(self) -> str:
        return self._field

    def reference(self, fields: Fields, at: Location) -> Tensor:
        return fields[self._field].laplacian


class HiddenCurvature(Curvature):
    """The same, said to be of order one."""

    traits = Traits("R", order=1, degree=1)


def _stranger() -> Pack:
    entries = [
        Entry(name.lower(), name, f"{HERE}:NoParams", f"{HERE}:{name}")
        for name in ("Thinning", "Mixing", "Curvature", "HiddenCurvature")
    ]
    return Pack("stranger", "stranger-blocks", "1.0", HERE, CONTRACT, "MIT", {"block": tuple(entries)})


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    """Everything installed, the example packs as they are in their folders, and the stranger's pack."""
    installed = default_registry()
    with pytest.MonkeyPatch.context() as patch:
        packs = []
        for name in ("gleg-blocks-kinetics", "gleg-blocks-phase-field", "gleg-basis-legendre"):
            source = next(s for s in EXAMPLES if s.name == name)
            patch.syspath_prepend(source.folder / "src")
            ((key, target),) = source.packs.items()
            module = import_module(target)
            hooks = {"block": "gleg_blocks", "basis": "gleg_bases"}
            entries = {kind: tuple(getattr(module, hook)()) for kind, hook in hooks.items() if hasattr(module, hook)}
            packs.append(Pack(key, name, "1.0", target, CONTRACT, "MIT", entries))
        yield Registry((*installed.packs, *packs, _stranger()), installed.failures, installed.catalogue)


# --- solutions ----------------------------------------------------------------------------------------------------------


def solutions(registry: Registry, fields: dict[str, Any], end: float, step: float = 0.004) -> dict[str, Run]:
    time = {"end": end, "step": step, "integrator": "imex-ark4"}
    document = {"domain": ELLIPSE, "fields": fields, "time": time}
    return {name: solve(load_problem({**document, "basis": basis}, registry=registry)) for name, basis in BASES.items()}


def differences(runs: dict[str, Run], end: float) -> dict[str, float]:
    """Relative differences in L²(Ω) at the end, of every field between any two runs, and from the exact solution if there is one."""
    any_run = next(iter(runs.values()))
    rule = any_run.discretisation.domain.quadrature(30.0)
    x, y = rule.points.T
    found = {}
    for name in any_run.field_names:
        values = {basis: run.evaluate(name, rule.points, end) for basis, run in runs.items()}
        if (exact := any_run.problem.field(name).section.exact) is not None:
            values["exact"] = np.broadcast_to(exact(x=x, y=y, t=end), len(x))
        size = max(np.sqrt((v**2 * rule.weights).sum()) for v in values.values())
        for a, b in combinations(values, 2):
            gap = np.sqrt(((values[a] - values[b]) ** 2 * rule.weights).sum()) / size
            found[f"{name}: {a} against {b}"] = float(gap)
    return found


BUMP = "(1 - x^2/0.64 - y^2/0.36)^4"
U, V = "0.6 + 0.2*cos(1.7*x + y + t)", "0.5 + 0.2*sin(x - 1.4*y - 0.3*t)"


def exactly(*terms: Any, boundary: str = "neumann", solution: str = U, **condition: Any) -> dict[str, Any]:
    """A field with a given solution, forced so that it is one, and that gives the data of the boundary condition."""
    return {
        "exact": solution,
        "forcing": "manufactured",
        "boundary": [{"kind": boundary, "data": "exact", **condition}],
        "equation": list(terms),
    }


DIFFUSION = {"block": "diffusion", "coefficient": 0.5, "twin": "analytic"}
KINETICS_U = [
    {"block": "logistic", "rate": 1.5},
    {"block": "gray-scott-u", "feed": 0.4},
    {"block": "brusselator-u", "A": 1, "B": 2},
    {"block": "schnakenberg-u", "a": 0.1},
    {"block": "fitzhugh-nagumo-v", "w": "v", "current": "0.5*x*cos(t)"},
]
KINETICS_V = [
    {"block": "gray-scott-v", "feed": 0.4, "kill": 0.6},
    {"block": "brusselator-v", "B": 2},
    {"block": "schnakenberg-v", "b": 0.9},
    {"block": "fitzhugh-nagumo-w", "v": "u", "epsilon": 0.8, "a": 0.7, "b": 0.8},
]
PROBLEMS: dict[str, dict[str, Any]] = {
    # every reaction of the example pack in one pot, without exchange at the rim: nobody knows the solution
    "kinetics": {
        "u": {"initial": f"0.6 + 0.5*{BUMP}*(1 + x)", "boundary": [{"kind": "neumann"}], "equation": [DIFFUSION, *KINETICS_U]},
        "v": {"initial": f"0.5 - 0.2*{BUMP}*(1 + y)", "boundary": [{"kind": "neumann"}], "equation": [DIFFUSION, *KINETICS_V]},
    },
    "transport": {
        "u": exactly(
            {"block": "variable-diffusion", "diffusivity": "0.6 + 0.1*x"},
            {"block": "transport", "direction": "x", "coefficient": -1, "twin": "analytic"},
            {"block": "advection", "velocity": ["-y", "x*cos(t)"]},
            {"block": "cross-advection", "by": "v", "direction": "y"},
            boundary="dirichlet",
        ),
        "v": exactly(
            DIFFUSION,  # implicit, the nonlinear one is not
            {"block": "nonlinear-diffusion", "diffusivity": "0.05*(1 + u)"},
            {"block": "stream-advection", "stream": "u", "background": "sin(2*x + t)*cos(y)"},
            {"block": "eikonal"},
            boundary="robin",
            kappa="0.8",
            solution=V,
        ),
    },
    "polynomial": {
        "u": exactly(
            DIFFUSION,
            {"block": "power", "p": 3, "coefficient": "-(1 + x^2)"},
            {"block": "product", "powers": {"u": 1, "v": 2}},
            {"block": "conserved-reaction", "rate": "u - u^3"},
        ),
        "v": exactly(
            DIFFUSION,
            {"block": "power", "coefficient": "cos(3*t)"},
            {"block": "reaction", "rate": "u*(1 - u)*(u - 0.3)"},
            {"block": "source", "value": "sin(x)*t"},
            {"block": "constant", "coefficient": 0.2},
            boundary="dirichlet",
            solution=V,
        ),
    },
    "stranger": {
        "u": exactly(DIFFUSION, {"block": "thinning", "coefficient": 0.05}, {"block": "mixing", "coefficient": 4},
                     boundary="robin", kappa="0.5"),
    },
    "a stranger's film": {
        "u": {
            "initial": f"0.5 + {BUMP}*(1 + x)",
            "boundary": [{"kind": "neumann"}],
            "equation": [DIFFUSION, {"block": "thinning", "coefficient": 0.05}, {"block": "mixing", "coefficient": 4}],
        },
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_same_code_gives_the_same_solution(name: str, registry: Registry) -> None:
    end = 0.04
    found = differences(solutions(registry, PROBLEMS[name], end), end)
    assert len(found) >= 3
    assert {pair: gap for pair, gap in found.items() if not gap < CLOSE} == {}


def test_all_blocks_of_low_order_are_tried(registry: Registry) -> None:
    """First-party blocks and those of the example packs, up to order two."""
    tried = set(re.findall(r"'block': '([a-z-]+)'", repr(PROBLEMS)))
    packs = ("diffusion", "transport", "polynomial", "kinetics", "phase-field")
    known = [c for c in registry.entries("block").values() if c.pack.id in packs]
    missing = {c.entry.name for c in known} - tried
    assert missing == {"biharmonic", "surface-energy", "cahn-hilliard", "kuramoto-sivashinsky"}  # of order four


# --- what elements cannot do --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "because"),
    [
        ({"block": "curvature"}, "functions on cells have no derivatives of order two, and the mechanism is evaluated with them"),
        ({"block": "diffusion", "realisation": "pointwise"}, r"order two.*Possible: \['weak'\]"),
        ({"block": "diffusion", "coefficient": "1 + x"}, "a coefficient that varies in space"),
        ({"block": "kuramoto-sivashinsky"}, r"order two, and its weak form has them: name a basis of global functions"),
    ],
)  # fmt: skip
def test_second_derivatives_are_refused_with_the_place_of_the_term(
    term: dict[str, Any], because: str, registry: Registry
) -> None:
    mixing = {"block": "mixing"}
    field = {"initial": 1, "boundary": [{"kind": "neumann"}], "equation": [mixing, term]}
    document = {"domain": ELLIPSE, "basis": BASES["elements"], "fields": {"u": field}, "time": {"end": 1}}
    with pytest.raises(SpecError, match=rf"fields\.u\.equation\[1\].*{because}"):
        discretise(load_problem(document, registry=registry))


def test_undeclared_second_derivatives_are_no_zeros(registry: Registry) -> None:
    field = {"initial": 1, "boundary": [{"kind": "neumann"}], "equation": [{"block": "hiddencurvature"}]}
    document = {"domain": ELLIPSE, "basis": BASES["elements"], "fields": {"u": field}, "time": {"end": 1}}
    with pytest.raises(SpecError, match="functions on cells have no second derivatives"):
        discretise(load_problem(document, registry=registry))
