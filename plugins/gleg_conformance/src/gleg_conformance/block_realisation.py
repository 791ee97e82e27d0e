"""Checks of a block on domains: Green's identity, realisations that agree, boundary data, structure after realisation."""

from contextlib import suppress

import torch
from torch import Tensor

from gleg_conformance.block_spaces import (
    ELEMENTS,
    SHAPES,
    bump,
    condition_for,
    integral,
    jet_of,
    kept_on,
    least_K,
    places_in,
    realised,
    response_on,
    shapes,
    smooth,
    space_on,
)
from gleg_conformance.block_states import TINY, Bound, bound, certified_error
from gleg_conformance.kit import Finding, NotApplicable, applies_if, check, not_applicable, worst
from gleg_core.contracts.block import Mode, Traits
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location
from gleg_core.errors import SpecError
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.reduced import ReducedSystem
from gleg_core.system.sources import NodalSource


def _tests(dim: int) -> list[str]:
    """Formulas of smooth functions without any symmetry."""
    y = " + 0.7*y" if dim > 1 else ""
    return ["1", f"cos(2*x{y} + 0.4)", f"sin(0.3 - 1.5*x{y})"]


@check("block", group="realisation", of=bound)
def green_identity(made: Bound) -> Finding:
    """∫ v L(u) = Σ ∫ ∂^αv F_α(u) + ∮ v B(u) for smooth u and v on domains of different shapes."""
    applies_if("weak" in made.traits.modes, "it declares no weak form")
    traits, gaps = made.traits, []
    for shape in shapes(made.dim):
        flat = SHAPES[shape][1] is not None
        if not flat and (traits.weak_traces or traits.conditions is not None):
            continue  # no formula for functions with vanishing traces here
        gaps.append((_green(made, shape, *places_in(made.subject.registry, shape)), shape))
    return Finding.worst(gaps, 1e-9, "∫ v L(u) against its weak form, relative to ∫|v L(u)|")


def _green(made: Bound, shape: str, at: Location, edge: Location) -> float:
    traits, c = made.traits, made.state()
    inside, outside = made.jets(c, at), made.jets(c, edge)
    if traits.conditions is not None:  # natural conditions: all traces of u vanish that they could concern
        own = made.own_field
        inside[own], outside[own] = (jet_of(f"0.3 + {bump(shape, 4)}", place) for place in (at, edge))
    tests = _tests(made.dim)
    if traits.weak_traces:
        k = max(traits.weak_traces) + 1
        tests = [bump(shape, k, v) + ("" if 0 in traits.weak_traces else " + 1") for v in tests]
    response = made.block.pointwise(inside, at)
    weak, boundary = made.block.weak(inside, at), made.block.weak_boundary(outside, edge)
    gaps = []
    for text in tests:
        v = jet_of(text, at)
        left = v.value * response
        right = torch.stack([integral(v.d(alpha) * F, at) for alpha, F in weak.items()]).sum()
        if boundary is not None:
            right = right + integral(jet_of(text, edge).value * boundary, edge)
        gaps.append((float((integral(left, at) - right).abs() / integral(left.abs(), at).clamp(min=TINY)), text))
    return worst(gaps)[0]


class _StatedJet(Jet):
    """A jet on ∂Ω with another slope along the normal than its condition states: ``along`` gives what is stated."""

    def __init__(self, jet: Jet, normal: Tensor, excess: float):
        def derivative(alpha: MultiIndex) -> Tensor:
            values = jet.d(alpha)
            return values + excess * normal[:, alpha.index(1)] if sum(alpha) == 1 else values

        super().__init__(derivative, jet.dim)
        self._stated = jet

    def along(self, direction: Tensor) -> Tensor:
        return self._stated.along(direction)


@check("block", group="realisation", of=bound)
def boundary_term_uses_stated_flux(made: Bound) -> Finding:
    """In weak_boundary the normal derivative is jet.along(at.normal), which a boundary condition prescribes."""
    applies_if("weak" in made.traits.modes, "it declares no weak form")
    fields, normal = made.jets(made.state(), made.edge), made.edge.normal
    plain = made.block.weak_boundary(fields, made.edge)
    if plain is None:
        not_applicable("its weak form has no boundary term")
    assert normal is not None
    other = made.block.weak_boundary({n: _StatedJet(j, normal, 1.0) for n, j in fields.items()}, made.edge)
    assert other is not None
    gap = float((other - plain).abs().max() / plain.abs().max().clamp(min=TINY))
    return Finding(
        gap, 1e-9, "change of B(u) with n·∇u at a fixed jet.along(normal); take the normal derivative from along"
    )


def admissible(made: Bound, condition: str, shape: str) -> tuple[str, list[str]]:
    """A solution and test functions that satisfy homogeneous conditions, whichever they are."""
    constant = "0.3 + " if condition == "neumann" else ""
    k = 4 if made.traits.conditions is not None else 2
    skew = "1 + 0.3*cos(2*x + 0.5) + 0.2*sin(1.7*y)" if made.dim > 1 else "1 + 0.3*cos(2*x + 0.5)"
    return constant + bump(shape, k, skew), [constant + bump(shape, k, v) for v in _tests(made.dim)]


def _coordinates(field: DiscreteField, texts: list[str], t: float) -> Tensor:
    at = field.interior.at.moment(t)
    return torch.stack([field.project_values(jet_of(text, at).value) for text in texts])


@check("block", group="realisation", of=bound)
def realisations_converge(made: Bound) -> Finding:
    """Every declared realisation on a domain tends to ∫ v L(u) as K grows."""
    traits, t = made.traits, 0.3
    applies_if(traits.degree != 0, "it does not read the fields")
    condition, shape, errors = condition_for(traits), shapes(made.dim)[0], []
    solution, tests = admissible(made, condition, shape)
    for K in (7, 12):
        field = space_on(made, shape, condition, K)
        at = field.interior.at.moment(t)
        jets = {**made.jets(smooth(made), at), made.own_field: jet_of(solution, at)}
        response = made.block.pointwise(jets, at)
        values = torch.stack([jet_of(v, at).value for v in tests])
        exact = integral(values * response, at)
        size = (integral(values**2, at) * integral(response**2, at)).sqrt().clamp(min=TINY)
        z, *test = _coordinates(field, [solution, *tests], t)
        found = {str(mode): torch.stack(test) @ response_on(made, field, mode, z, t) for mode in traits.modes}
        errors.append({m: float(((q - exact).abs() / size).max()) for m, q in found.items()})
    coarse, fine = errors
    gap, mode = worst((error, m) for m, error in fine.items())
    limit = min(1e-5, max(1e-8, coarse[mode]))  # small, and no larger than it was, down to rounding
    return Finding(gap, limit, f"∫ v L(u) at K = 12, mode {mode}, relative to ‖v‖‖L(u)‖ (at K = 7: {coarse[mode]:.2g})")


@check("block", group="realisation", of=bound)
def moving_boundary_data(made: Bound) -> Finding:
    """With moving boundary data and the forcing of an exact solution, the reduced system follows that solution."""
    traits = made.traits
    applies_if(traits.degree != 0, "it does not read the fields")
    applies_if(
        traits.order == 1 or traits.order % 2 == 0,
        "a problem of odd order takes other conditions on one side than on the other",
    )
    usual, shape = condition_for(traits), shapes(made.dim)[0]
    gaps = []
    natural = traits.order == 2 and "weak" in traits.modes and 0 not in traits.weak_traces
    for condition in dict.fromkeys([usual, "neumann"] if natural else [usual]):
        solution = "0.5 + 0.2*cos(1.3*x + t)*(1 + 0.5*sin(t))"
        if made.dim > 1:
            solution += " + 0.1*sin(y - 2*t)"
        if traits.conditions is not None:
            solution = f"0.3 + {bump(shape, 4)}*(1 + 0.5*sin(t))"
        tests = [("1 + " if condition == "neumann" else "") + bump(shape, 2, v) for v in _tests(made.dim)]
        system = realised(made, 10, condition, solution).system
        gaps.append((_error_of_a_step(system, solution, tests), condition))
        with suppress(
            NotApplicable, SpecError
        ):  # elements are not installed, or cannot meet the condition or realise the block
            system = realised(made, 0, condition, solution, ELEMENTS).system
            gaps.append((_error_of_a_step(system, solution, tests), f"{condition}, on elements"))
    what = "error of an implicit step from the exact solution, tested with smooth functions"
    return Finding.worst(gaps, 1e-5 + 10 * certified_error(made.block), what)


def _error_of_a_step(system: ReducedSystem, solution: str, tests: list[str]) -> float:
    """max_v |⟨v, e⟩| / ‖v‖‖u*‖ with e = g(I − gA)⁻¹(ż* − rhs(z*)), the error that an implicit step of length g makes.

    The defect ż* − rhs(z*) alone would be the discretisation error times the stiffness.
    """
    t, h, g = 0.4, 1e-3, 0.37
    scales = {name: 1 + i / 10 for i, name in enumerate(system.slices)}
    functions: dict[str, NodalSource] = {
        name: lambda at, scale=scale: scale * jet_of(solution, at).value  # type: ignore[misc]
        for name, scale in scales.items()
    }
    states = {k: system.initial(functions, t + k * h) for k in (-2, -1, 0, 1, 2)}
    rate = (8 * (states[1] - states[-1]) - (states[2] - states[-2])) / (12 * h)
    error = g * system.linear.resolvent(g)(rate - system.rhs(states[0], t))
    gaps = [(0.0, "")]
    for name, where in system.slices.items():
        field = system.fields[name]
        at = field.interior.at.moment(t)
        v, u = torch.stack([jet_of(text, at).value for text in tests]), functions[name](at)
        size = (integral(v**2, at) * integral(u**2, at)).sqrt()
        gaps.append((float(((field.project_values(v) @ error[where]).abs() / size).max()), name))
    return worst(gaps)[0]


@check("block", group="realisation", of=bound)
def dissipative_on_domains(made: Bound) -> Finding:
    """The weak form of a linear E-block gives a symmetric matrix without positive eigenvalues on every domain."""
    applies_if("weak" in made.traits.modes, "it declares no weak form")
    traits, gaps = made.traits, []
    applies_if(traits.structure == "E" and traits.degree == 1, "it is not a linear E-block")
    condition = condition_for(traits)
    for place, field in kept_on(made, condition, "weak"):
        A = response_on(made, field, "weak", torch.eye(field.r, dtype=torch.float64))
        size = float(torch.linalg.matrix_norm(A, ord=2))
        gaps.append((float((A - A.T).abs().max()) / size, f"asymmetry on the {place}"))
        gaps.append((float(torch.linalg.eigvalsh((A + A.T) / 2).max()) / size, f"largest eigenvalue on the {place}"))
    gap, where = worst(gaps)
    return Finding(max(gap, 0.0), 1e-12, f"{where}, relative to the norm")


@check("block", group="realisation", of=bound)
def descends_on_domains(made: Bound) -> Finding:
    """A nonlinear E-block is a gradient flow on a domain: its Jacobian is symmetric, or ½∫u² decays, or no mode rotates."""
    traits = made.traits
    applies_if(traits.structure == "E" and traits.degree not in (0, 1), "it is not a nonlinear E-block")
    mode, shape, condition = _favoured(traits), shapes(made.dim)[0], condition_for(traits)
    field = space_on(made, shape, condition, least_K(condition) - 2)
    solution, _ = admissible(made, condition, shape)
    z = _coordinates(field, [solution], 0.3)[0]
    q = response_on(made, field, mode, z)
    if float(z @ q) < -1e-6 * float(z.norm() * q.norm()):
        return Finding(0.0, 1e-9, "½∫u² decays; growth of it")
    J = torch.autograd.functional.jacobian(lambda state: response_on(made, field, mode, state), z)
    asymmetry = float((J - J.T).abs().max() / J.abs().max().clamp(min=TINY))
    spectrum = torch.linalg.eigvals(J)
    rotation = float(spectrum.imag.abs().max() / spectrum.abs().max().clamp(min=TINY))
    return Finding(min(asymmetry, rotation), 1e-9, "asymmetry of the Jacobian, or imaginary part of its eigenvalues; ½∫u² does "
                   "not decay either")  # fmt: skip


def _favoured(traits: Traits) -> Mode:
    """The weak form if there is one: it keeps the structure."""
    return "weak" if "weak" in traits.modes else traits.modes[0]


@check("block", group="realisation", of=bound)
def energy_kept_on_domains(made: Bound) -> Finding:
    """With the invariant energy declared, ⟨z, q(z)⟩ = 0 on a domain where u = 0 on the boundary."""
    traits = made.traits
    applies_if("energy" in traits.invariants, "energy (½∫u²) is not among its invariants")
    mode, condition, gaps = _favoured(traits), condition_for(traits), []
    for place, field in kept_on(made, condition, mode, every_state=traits.degree == 1):
        z = torch.randn(3, field.r, dtype=torch.float64) / field.r**0.5
        q = response_on(made, field, mode, z)
        gaps.append((float(((z * q).sum(-1).abs() / (z.norm(dim=-1) * q.norm(dim=-1)).clamp(min=TINY)).max()), place))
    gap, where = worst(gaps)
    return Finding(gap, 1e-10, f"⟨z, q(z)⟩/|z||q| ({where}, {mode})")


@check("block", group="realisation", of=bound)
def mass_kept_with_neumann(made: Bound) -> Finding:
    """With the invariant mass declared, a weak form keeps ∫ u on a domain with Neumann conditions."""
    applies_if("weak" in made.traits.modes, "it declares no weak form")
    traits = made.traits
    applies_if("mass" in traits.invariants, "mass is not among its invariants")
    applies_if(traits.order == 2 or traits.weak_traces == (1,), "Neumann conditions are not those it needs")
    field = space_on(made, shapes(made.dim)[0], "neumann", 7)
    z, one = _coordinates(field, ["0.5 + 0.2*cos(2*x)", "1"], 0.3)
    q = response_on(made, field, "weak", z)
    return Finding(float((one @ q).abs() / (one.norm() * q.norm()).clamp(min=TINY)), 1e-9, "rate of ∫u, relative")
