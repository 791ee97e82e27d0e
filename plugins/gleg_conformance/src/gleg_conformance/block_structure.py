"""Checks of what a block declares about itself: order, degree, symbol, dependence on time, structure on the box Q, invariants."""

import math
from collections.abc import Collection, Mapping
from itertools import product

import numpy as np
import torch
from torch import Tensor

from gleg_conformance.basis_settings import gauss_box
from gleg_conformance.block_states import TINY, Bound, apart, bound, gap, reference_of, waves_on_box
from gleg_conformance.kit import Finding, applies_if, check, not_applicable, require, worst
from gleg_core.contracts.basis import Basis, Frame
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location

_EXACT = 1e-9
"""For identities that hold exactly, learned blocks included: their parametrisation is pruned to the exact structure."""
_LOST = 1e-12
"""A response that changes by less than this does not depend on what was changed."""


@check("block", group="structure", of=bound)
def order_is_true(made: Bound) -> Finding:
    """The highest derivative a response depends on is the declared order; in a weak form, that of u and v together."""
    order, c = made.traits.order, made.state()
    base = made.at_jets(made.jets(c, made.at), made.jets(c, made.edge))
    base.pop("weak_boundary", None)
    found: dict[str, int] = {}
    choices = ((made.fields, False), ((made.own_field,), True))  # other fields are not integrated by parts
    for k, (fields, tested) in product(range(order + 3), choices):
        changed = made.at_jets(_disturbed(made, c, k, fields), made.jets(c, made.edge))
        for name in base:
            if gap(base[name], changed[name]) > _LOST:
                found[name] = max(found.get(name, 0), k + tested * _test_derivative(name))
    strong = [k for name, k in found.items() if not name.startswith("weak")]
    if made.traits.degree != 0:
        require(max(strong, default=0) >= order, f"order {order} is declared, but the highest derivative it depends on is of order "
                f"{max(strong, default=0)}")  # fmt: skip
    name = max(found, key=lambda key: found[key], default="nothing")
    return Finding(
        float(found.get(name, 0)), float(order), f"highest derivative, in {name}, against the declared order"
    )


def _test_derivative(name: str) -> int:
    """|α| of the test function's derivative for "weak (1, 0)", else 0."""
    return sum(int(word) for word in name[6:-1].split(",") if word.strip()) if name.startswith("weak (") else 0


def _disturbed(made: Bound, c: Tensor, k: int, fields: Collection[str]) -> dict[str, Jet]:
    """These fields with all their derivatives of order k multiplied by 1.01; everything else as it is."""

    def jet(plain: Jet) -> Jet:
        return Jet(lambda alpha: plain.d(alpha) * (1.01 if sum(alpha) == k else 1.0), made.dim)

    return {name: jet(plain) if name in fields else plain for name, plain in made.jets(c, made.at).items()}


@check("block", group="structure", of=bound)
def degree_is_true(made: Bound) -> Finding:
    """Along λu a response is a polynomial in λ of exactly the declared degree."""
    degree = made.traits.degree
    if degree is None:
        not_applicable("no polynomial degree is declared")
    c, steps = made.state(), degree + 1
    samples = [made.responses(c * (0.5 + i / steps)) for i in range(steps + 1)]

    def difference(order: int, name: str) -> float:
        """The finite difference of this order in λ, relative to the largest of its terms."""
        terms = [(-1) ** (order - i) * math.comb(order, i) * samples[i][name] for i in range(order + 1)]
        size = max(float(t.abs().max()) for t in terms)
        return float(torch.stack(terms).sum(dim=0).abs().max()) / max(size, TINY)

    reached = max(difference(degree, name) for name in samples[0])
    require(reached > 1e-8, f"degree {degree} is declared, but the response is of lower degree (difference of order {degree}: "
            f"{reached:.2g})")  # fmt: skip
    what = f"difference of order {steps} in λ of L(λu), which vanishes for degree {degree}"
    return Finding.worst(((difference(steps, name), name) for name in samples[0]), _EXACT, what)


@check("block", group="structure", of=bound)
def linear_is_linear(made: Bound) -> Finding:
    """Degree 1 means L(αu + βv) = αL(u) + βL(v)."""
    applies_if(made.traits.degree == 1, "it is not declared linear")
    u, v = made.state(2)
    left, Lu, Lv = (made.responses(c) for c in (0.7 * u - 1.9 * v, u, v))
    return Finding.worst(
        [apart(left, {k: 0.7 * Lu[k] - 1.9 * Lv[k] for k in left})], _EXACT, "L(0.7u − 1.9v) against 0.7L(u) − 1.9L(v)"
    )


@check("block", group="structure", of=bound)
def sources_need_no_fields(made: Bound) -> Finding:
    """Degree 0 means that the response is a function of place and time alone, evaluated without any field."""
    applies_if(made.traits.degree == 0, "it is not declared independent of the fields")
    n = len(made.at.x)
    alone = made.block.reference({}, made.at).expand(n)
    times = torch.tensor([[0.2], [0.9]], dtype=torch.float64)
    made.block.reference({}, made.at.moment(times)).expand(2, n)
    with_fields = made.responses(made.state())["pointwise"]
    return Finding(gap(alone, with_fields), _EXACT, "response without fields against that with fields")


@check("block", group="structure", of=bound)
def time_dependence_is_declared(made: Bound) -> Finding:
    """The response depends on t if and only if traits.time_dependent says so."""
    c = made.state()
    largest, where = worst(apart(made.responses(c), made.moment(t).responses(c)) for t in (0.0, 1.7, 2.6))
    if made.traits.time_dependent:
        require(largest > _LOST, "time_dependent is declared, but the response is the same at four times: declare False, so that "
                "core assembles it once")  # fmt: skip
        return Finding(0.0, _LOST, "dependence on time that is not declared")
    return Finding(largest, _LOST, f"change of the response with t, which time_dependent=False excludes ({where})")


@check("block", group="structure", of=bound)
def parts_sum_to_the_whole(made: Bound) -> Finding:
    """The references of the parts of a block sum to its own."""
    applies_if(made.block.parts != (made.block,), "it is one mechanism, not a sum of several")
    fields = made.jets(made.state(3), made.at)
    references = [reference_of(block, fields, made.at) for block in (made.block, *made.block.parts)]
    known = [values for values in references if values is not None]
    applies_if(len(known) == len(references), "it was learned from data: there is no formula")
    whole, *parts = known
    difference = gap(whole, sum(parts, torch.zeros_like(whole)))
    return Finding(difference, _LOST, "reference against the sum of those of its parts")


@check("block", group="structure", of=bound)
def symbol_agrees(made: Bound) -> Finding:
    """The symbol Σ s_α ∂^α is the response, everywhere."""
    symbol = _symbol(made)
    require(made.block.acts_on is not None, "a block with a symbol acts on one field: acts_on is None")
    c = made.state(2)
    u = made.jets(c, made.at)[str(made.block.acts_on)]
    exact = torch.stack([s * u.d(alpha) for alpha, s in symbol.items()]).sum(dim=0)
    return Finding(gap(exact, made.responses(c)["pointwise"]), _EXACT, "Σ s_α ∂^αu against the response")


def _symbol(made: Bound) -> Mapping[MultiIndex, float]:
    symbol = made.block.symbol()
    if symbol is None:
        not_applicable("it has no symbol: it is not linear with constant coefficients, or does not say so")
    return symbol


@check("block", group="structure", of=bound)
def symbol_fits_structure(made: Bound) -> Finding:
    """On plane waves e^{iκ·x} an E-block multiplies by a number ≤ 0, an H-block by an imaginary one."""
    symbol, structure = _symbol(made), made.traits.structure
    applies_if(structure in ("E", "H"), "it declares neither dissipation (E) nor conservation (H)")
    kappa = 3.0 * torch.randn(64, made.dim, dtype=torch.float64)
    values = torch.zeros(64, dtype=torch.complex128)
    for alpha, s in symbol.items():
        values += s * 1j ** sum(alpha) * torch.prod(kappa ** kappa.new_tensor(alpha), dim=1)
    if structure == "H":
        wrong, what = values.real.abs(), "real part of the symbol of an H-block"
    else:
        wrong = torch.maximum(values.real.clamp(min=0.0), values.imag.abs())
        what = "growth or rotation in the symbol of an E-block"
    return Finding(float(wrong.max() / values.abs().max().clamp(min=TINY)), _LOST, what)


@check("block", group="structure", of=bound)
def ambient_map_agrees(made: Bound) -> Finding:
    """On the box Q, of whatever size, the ambient map of coefficients is the response projected onto the basis."""
    applies_if("ambient" in made.traits.modes, "it declares no ambient map")
    K, degree = 6, made.traits.degree or 4
    field, gaps = str(made.block.acts_on), []
    for half_width in (1.0, 1.7):
        basis = waves_on_box(made.subject.registry, K, made.dim, half_width)
        a = _low_modes(basis, K / degree)
        x = half_width * made.at.x
        at = Location(x, made.at.t, weights=made.at.weights)
        functions = basis.jet(x)
        u = Jet(lambda alpha, a=a, functions=functions: a @ functions.d(alpha), made.dim)  # type: ignore[misc]
        values = basis.evaluate(made.block.ambient(basis, field)(a), x)
        gaps.append((gap(values, made.block.pointwise(dict.fromkeys(made.fields, u), at)), f"half width {half_width}"))
    limit = _EXACT if made.traits.degree is not None else 1e-2
    return Finding.worst(gaps, limit, "ambient map against the response to single functions")


def _low_modes(basis: Basis, largest: float) -> Tensor:
    """Random coefficients (3, M) of the modes with |k| ≤ ``largest``, so that a power of them is resolved too."""
    assert basis.wavevectors is not None
    k = basis.wavevectors.norm(dim=1) * float(basis.frame.half_widths[0]) / math.pi
    return 0.1 * torch.randn(3, basis.size, dtype=torch.float64) * (k <= largest + 1e-9)


@check("block", group="structure", of=bound)
def mass_is_conserved(made: Bound) -> Finding:
    """With the invariant mass declared, ∫ L(u) = 0 for u that vanish towards the boundary."""
    applies_if("mass" in made.traits.invariants, "mass is not among its invariants")
    _, response, weights = _on_cube(made)
    return Finding(_imbalance(response, weights), 1e-10, "∫L(u) relative to ∫|L(u)|")


@check("block", group="structure", of=bound)
def energy_is_conserved(made: Bound) -> Finding:
    """With the invariant energy declared, ∫ u L(u) = 0 for u that vanish towards the boundary."""
    applies_if("energy" in made.traits.invariants, "energy (½∫u²) is not among its invariants")
    u, response, weights = _on_cube(made)
    return Finding(_imbalance(u * response, weights), 1e-10, "∫u L(u) relative to ∫|u L(u)|")


def _imbalance(values: Tensor, weights: Tensor) -> float:
    """max |∫f| / ∫|f| over a batch of functions."""
    return float(((values @ weights).abs() / (values.abs() @ weights).clamp(min=TINY)).max())


def _on_cube(made: Bound) -> tuple[Tensor, Tensor, Tensor]:
    """u, L(u) and weights on [−1, 1]^d; every field is a wave times Π(1 − x_i²)⁴, whose traces up to order 3 vanish."""
    cube = Frame(np.zeros(made.dim), np.ones(made.dim), np.eye(made.dim))
    grid, weights = gauss_box(cube, 48 if made.dim < 3 else 24)
    at = Location(grid, made.at.t, weights=2.0**made.dim * weights)
    bump = np.polynomial.Polynomial([1.0, 0.0, -1.0]) ** 4
    c = made.state(2)

    def jet(i: int) -> Jet:
        def derivative(alpha: MultiIndex) -> Tensor:
            """Leibniz: ∂^α(b w) = Σ_β (α over β) ∂^β b ∂^{α−β} w."""
            total = torch.zeros(2, len(grid), dtype=torch.float64)
            for beta in np.ndindex(*(a + 1 for a in alpha)):
                factor = math.prod(math.comb(a, b) for a, b in zip(alpha, beta, strict=True))
                parts = [torch.from_numpy(bump.deriv(b)(grid[:, k].numpy())) for k, b in enumerate(beta)]
                rest = tuple(a - b for a, b in zip(alpha, beta, strict=True))
                total += factor * torch.stack(parts).prod(dim=0) * (c[:, i] @ made.waves.table(grid, rest))
            return total

        return Jet(derivative, made.dim)

    fields = {name: jet(i) for i, name in enumerate(made.fields)}
    return fields[made.own_field].value, made.block.pointwise(fields, at), weights
