"""Blocks on domains: admissible spaces built once for all of them, and whole problems with one block in them."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import Tensor

from gleg_conformance.block_states import Bound, component, fields_read
from gleg_conformance.kit import NotApplicable, applies_if, needed, not_applicable
from gleg_core.algebra.boundary_system import expression_jet
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.block import Mode, Traits
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.errors import SpecError
from gleg_core.expressions import formula
from gleg_core.registry import Registry
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.discretise import Discretisation, all_terms, discretise
from gleg_core.system.spaces import build_spaces
from gleg_core.system.terms import Integrals, Term, choose_mode, integrate

SHAPES: dict[str, tuple[dict[str, Any], str | None]] = {
    "disk": ({"radius": 0.6}, "(0.36 - x^2 - y^2)/0.36"),
    "annulus": ({"outer": 0.7, "inner": 0.3}, "(0.49 - x^2 - y^2)*(x^2 + y^2 - 0.09)/0.04"),
    "rectangle": ({"x": [-0.5, 0.5], "y": [-0.4, 0.4]}, "(0.25 - x^2)*(0.16 - y^2)/0.04"),
    "rosette": ({}, None),
    "interval": ({"left": -0.6, "right": 0.6}, "(0.36 - x^2)/0.36"),
}
"""Domain by name → its parameters and a polynomial that vanishes on its boundary, to first order."""


def shapes(dim: int) -> list[str]:
    """Domains of this dimension."""
    return {1: ["interval"], 2: ["disk", "annulus", "rectangle", "rosette"]}.get(dim) or not_applicable(
        f"there is no first-party domain in {dim} dimensions"
    )


@cache
def places_in(registry: Registry, shape: str) -> tuple[Location, Location]:
    """Points with weights in a domain and on its boundary, dense enough for smooth functions."""
    dim = 1 if shape == "interval" else 2
    domain: Domain = component(registry, "domain", shape, SHAPES[shape][0], dim=dim)
    rule = domain.quadrature(80.0)
    samples = [s.sample(1 if dim == 1 else 240) for s in domain.segments]
    points, normals, lengths = (
        torch.cat([as_points(getattr(s, name)) for s in samples]) for name in ("points", "normals", "weights")
    )
    inside = Location(as_points(rule.points), 0.3, weights=as_points(rule.weights))
    return inside, Location(points, 0.3, normals, lengths)


def integral(values: Tensor, at: Location) -> Tensor:
    """∫ f over the last dimension, with the weights of the points."""
    assert at.weights is not None
    return (values * at.weights).sum(-1)


def condition_for(traits: Traits) -> str:
    """A boundary condition that suits the order of a block."""
    if traits.conditions == 1 and 0 not in traits.weak_traces:
        return "neumann" if traits.weak_traces else "dirichlet"
    count = traits.conditions or {0: 1, 1: 1, 2: 1, 3: 2, 4: 2}.get(traits.order)
    applies_if(count in (1, 2), f"there is no first-party boundary condition for order {traits.order}")
    return "clamped" if count == 2 else "dirichlet"


_spaces: dict[tuple[str, str, int | str], DiscreteField] = {}
ELEMENTS: dict[str, Any] = {"kind": "elements", "order": 6, "size": 0.45}
"""Few large elements of an order at which smooth functions are nearly exact on them."""


def least_K(condition: str) -> int:
    """A small cutoff that leaves a space to speak of on every domain."""
    return 10 if condition == "clamped" else 7


def space_on(made: Bound, shape: str, condition: str, K: int) -> DiscreteField:
    """A field with homogeneous conditions on a domain, its quadrature with half as many points again; built once for all blocks."""
    problem = _problem(made, shape, condition, _waves(K), "0", space={"oversampling": 1.5, "rotate": False})
    if (shape, condition, K) not in _spaces:
        field = build_spaces(problem, all_terms(problem)).fields[0]
        # without transform, as the solver makes matrices: transforms cost digits of symmetry
        space = replace(field.dense, transform=None)
        _spaces[shape, condition, K] = DiscreteField.make(field.name, space, field.lift)
    return _spaces[shape, condition, K]


def elements_on(made: Bound, shape: str, condition: str) -> DiscreteField:
    """The same on finite elements."""
    needed(made.subject.registry, basis="elements")
    if (shape, condition, "elements") not in _spaces:
        problem = _problem(made, shape, condition, ELEMENTS, "0")
        try:
            _spaces[shape, condition, "elements"] = build_spaces(problem, all_terms(problem)).fields[0]
        except SpecError as error:  # a condition that they cannot meet
            not_applicable(f"not on elements: {error}")
    return replace(_spaces[shape, condition, "elements"], name=made.own_field)


def modes_on(made: Bound, field: DiscreteField) -> list[Mode]:
    """The declared realisations that are possible on elements; none is a reason not to go on."""
    found, refusal = [], ""
    for mode in made.traits.modes:
        try:
            found.append(choose_mode(Term(made.own_field, made.block, formula(1.0), mode, where="the block"), field))
        except SpecError as error:
            refusal = str(error)
    applies_if(found, f"not on elements: {refusal}")
    return found


def kept_on(made: Bound, condition: str, mode: Mode, every_state: bool = True) -> Iterator[tuple[str, DiscreteField]]:
    """Small spaces on all shapes, and elements on the first one if they are installed and the realisation is possible there; their rules
    are exact for products of two functions, so that not ``every_state`` of a nonlinear block keeps what it should."""
    for shape in shapes(made.dim):
        yield shape, space_on(made, shape, condition, least_K(condition))
    if not every_state:
        return
    with suppress(NotApplicable):
        field = elements_on(made, first := shapes(made.dim)[0], condition)
        if mode in modes_on(made, field):
            yield f"{first} on elements", field


def smooth(made: Bound) -> Tensor:
    """A fixed state of all fields, as coefficients of waves."""
    c = torch.full((len(made.fields), len(made.waves.phases)), 0.05, dtype=torch.float64)
    c[:, 0] = 0.6
    return c


def response_on(made: Bound, field: DiscreteField, mode: Mode, z: Tensor, t: float = 0.3) -> Tensor:
    """q(z), shape (..., r): the block realised on a space; fields other than its own are smooth functions."""
    own, c = made.own_field, smooth(made)
    if mode == "ambient":
        F = made.block.ambient(field.space.basis, own)
        return F(z @ field.space.N.T) @ field.ambient_projection
    at, edge = field.interior.at.moment(t), field.boundary.at.moment(t)
    inside = {**made.jets(c, at), own: field.interior.of_state(z, None)}
    boundary = {**made.jets(c, edge), own: field.boundary_jet(z, None)}
    integrals = Integrals(field)
    integrate(integrals, Term(own, made.block, formula(1.0), mode), mode, inside, boundary, at, edge)
    return integrals.project()


def realised(
    made: Bound, K: int, condition: str = "", exact: str = "", basis: Mapping[str, Any] | None = None
) -> Discretisation:
    """A problem on the first shape of its dimension with the block in the equation of every field it reads.

    With ``exact`` that formula (times 1 + i/10 for the i-th field) is the solution: data and forcing are made from it. Otherwise conditions
    are homogeneous and the initial state is a bump. On plane waves up to K, or on another basis.
    """
    shape, condition = shapes(made.dim)[0], condition or condition_for(made.traits)
    with torch.no_grad():
        problem = _problem(made, shape, condition, basis or _waves(K), exact or bump(shape, 2), exact=bool(exact))
        return discretise(problem)


def _waves(K: int) -> dict[str, Any]:
    return {"kind": "fourier", "K": K}


def _problem(
    made: Bound,
    shape: str,
    condition: str,
    basis: Mapping[str, Any],
    initial: str,
    exact: bool = False,
    space: Mapping[str, Any] | None = None,
) -> Problem:
    """The block in the equation of every field it reads; with ``exact`` the i-th solution is (1 + i/10) times the initial formula."""
    subject = made.subject
    needed(subject.registry, domain=shape, basis=basis["kind"], boundary=condition, integrator="imex-ark4")
    read = fields_read(made) | {made.target}
    fields: dict[str, Any] = {}
    for i, name in enumerate(n for n in made.fields if n in read):
        function, kind = f"{1 + i / 10}*({initial})", {"kind": condition}
        fields[name] = {"equation": [{"block": subject.component.key, **subject.example}], "initial": function}
        fields[name]["boundary"] = [kind | {"data": "exact"} if exact else kind]
        fields[name] |= {"exact": function, "forcing": "manufactured"} if exact else {}
    document = {
        "domain": {"kind": shape, **SHAPES[shape][0]},
        "basis": dict(basis),
        "fields": fields,
        "space": dict(space or {}),
        "time": {"end": 1.0, "integrator": "imex-ark4"},
    }
    return load_problem(document, registry=subject.registry)


def bump(shape: str, k: int, inner: str = "1 + 0.3*cos(2*x)") -> str:
    """A formula of a function whose traces below order k vanish on the boundary of the shape."""
    return f"0.7*({SHAPES[shape][1]})^{k}*({inner})"


def jet_of(text: str, at: Location) -> Jet:
    """A formula of x, y, t with its derivatives."""
    return expression_jet(formula(text, ("x", "y", "t")), at)
