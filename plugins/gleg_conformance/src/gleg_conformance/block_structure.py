"""Checks of what a block declares about itself: order, degree, symbol, dependence on time, structure on the box Q, invariants."""

import math
from collections.abc import Collection, Mapping

import numpy as np
import torch
from torch import Tensor

from gleg_conformance.block_spaces import own_field
from gleg_conformance.block_states import (
    TINY,
    Bound,
    apart,
    bound,
    reference_of,
    waves_on_box,
    worst,
)
from gleg_conformance.kit import Finding, Subject, check, not_applicable, require
from gleg_core.contracts.basis import Basis
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location

_EXACT = 1e-9
"""For identities that hold exactly, learned blocks included: their parametrisation is pruned to the exact structure."""
_LOST = 1e-12
"""A response that changes by less than this does not depend on what was changed."""


@check("block", group="structure")
def order_is_true(subject: Subject) -> Finding:
    """The highest derivative a response depends on is the declared order; in a weak form, that of u and v together."""
    made = bound(subject)
    order, c = made.block.traits.order, made.state()
    base = made.at_jets(made.jets(c, made.at), made.jets(c, made.edge))
    base.pop("weak_boundary", None)
    found: dict[str, int] = {}
    for k in range(order + 3):
        for fields, tested in (
            (made.fields, False),
            ((own_field(made),), True),
        ):  # other fields are not integrated by parts
            changed = made.at_jets(_disturbed(made, c, k, fields), made.jets(c, made.edge))
            for name in base:
                if apart({"": base[name]}, {"": changed[name]})[0] > _LOST:
                    found[name] = max(found.get(name, 0), k + tested * _test_derivative(name))
    strong = [k for name, k in found.items() if not name.startswith("weak")]
    if made.block.traits.degree != 0:
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


@check("block", group="structure")
def degree_is_true(subject: Subject) -> Finding:
    """Along λu a response is a polynomial in λ of exactly the declared degree."""
    made = bound(subject)
    degree = made.block.traits.degree
    if degree is None:
        not_applicable("no polynomial degree is declared")
    c = made.state()
    steps = degree + 1
    samples = [made.responses(c * (0.5 + i / steps)) for i in range(steps + 1)]

    def difference(order: int, name: str) -> float:
        """The finite difference of this order in λ, relative to the largest of its terms."""
        terms = [(-1) ** (order - i) * math.comb(order, i) * samples[i][name] for i in range(order + 1)]
        size = max(float(t.abs().max()) for t in terms)
        return float(torch.stack(terms).sum(dim=0).abs().max()) / max(size, TINY)

    reached = max(difference(degree, name) for name in samples[0])
    require(reached > 1e-8, f"degree {degree} is declared, but the response is of lower degree (difference of order {degree}: "
            f"{reached:.2g})")  # fmt: skip
    gap, where = worst(*((difference(steps, name), name) for name in samples[0]))
    return Finding(
        gap, _EXACT, f"difference of order {steps} in λ of L(λu), which vanishes for degree {degree} ({where})"
    )


@check("block", group="structure")
def linear_is_linear(subject: Subject) -> Finding:
    """Degree 1 means L(αu + βv) = αL(u) + βL(v)."""
    made = bound(subject)
    if made.block.traits.degree != 1:
        not_applicable("it is not declared linear")
    u, v = made.state(2)
    left, (Lu, Lv) = made.responses(0.7 * u - 1.9 * v), (made.responses(c) for c in (u, v))
    gap, where = apart(left, {k: 0.7 * Lu[k] - 1.9 * Lv[k] for k in left})
    return Finding(gap, _EXACT, f"L(0.7u − 1.9v) against 0.7L(u) − 1.9L(v) ({where or 'all'})")


@check("block", group="structure")
def sources_need_no_fields(subject: Subject) -> Finding:
    """Degree 0 means that the response is a function of place and time alone, evaluated without any field."""
    made = bound(subject)
    if made.block.traits.degree != 0:
        not_applicable("it is not declared independent of the fields")
    n = len(made.at.x)
    alone = made.block.reference({}, made.at).expand(n)
    gap, _ = apart({"": alone}, {"": made.responses(made.state())["pointwise"]})
    times = torch.tensor([[0.2], [0.9]], dtype=torch.float64)
    made.block.reference({}, made.at.moment(times)).expand(2, n)
    return Finding(gap, _EXACT, "response without fields against that with fields")


@check("block", group="structure")
def time_dependence_is_declared(subject: Subject) -> Finding:
    """The response depends on t if and only if traits.time_dependent says so."""
    made = bound(subject)
    c = made.state()
    gaps = [apart(made.responses(c), made.moment(t).responses(c)) for t in (0.0, 1.7, 2.6)]
    gap, where = worst(*gaps)
    if made.block.traits.time_dependent:
        require(gap > _LOST, "time_dependent is declared, but the response is the same at four times: declare False, so that "
                "core assembles it once")  # fmt: skip
        return Finding(0.0, _LOST, "dependence on time that is not declared")
    return Finding(gap, _LOST, f"change of the response with t, which time_dependent=False excludes ({where or 'all'})")


@check("block", group="structure")
def parts_sum_to_the_whole(subject: Subject) -> Finding:
    """The references of the parts of a block sum to its own."""
    made = bound(subject)
    if made.block.parts == (made.block,):
        not_applicable("it is one mechanism, not a sum of several")
    fields = made.jets(made.state(3), made.at)
    references = [reference_of(block, fields, made.at) for block in (made.block, *made.block.parts)]
    known = [values for values in references if values is not None]
    if len(known) < len(references):
        not_applicable("it was learned from data: there is no formula")
    whole, *parts = known
    gap, _ = apart({"": whole}, {"": sum(parts, torch.zeros_like(whole))})
    return Finding(gap, _LOST, "reference against the sum of those of its parts")


@check("block", group="structure")
def symbol_agrees(subject: Subject) -> Finding:
    """The symbol Σ s_α ∂^α is the response, everywhere."""
    made = bound(subject)
    symbol = _symbol(made)
    require(made.block.acts_on is not None, "a block with a symbol acts on one field: acts_on is None")
    c = made.state(2)
    u = made.jets(c, made.at)[str(made.block.acts_on)]
    exact = torch.stack([s * u.d(alpha) for alpha, s in symbol.items()]).sum(dim=0)
    gap, _ = apart({"": exact}, {"": made.responses(c)["pointwise"]})
    return Finding(gap, _EXACT, "Σ s_α ∂^αu against the response")


def _symbol(made: Bound) -> Mapping[MultiIndex, float]:
    symbol = made.block.symbol()
    if symbol is None:
        not_applicable("it has no symbol: it is not linear with constant coefficients, or does not say so")
    return symbol


@check("block", group="structure")
def symbol_fits_structure(subject: Subject) -> Finding:
    """On plane waves e^{iκ·x} an E-block multiplies by a number ≤ 0, an H-block by an imaginary one."""
    made = bound(subject)
    symbol, structure = _symbol(made), made.block.traits.structure
    if structure not in ("E", "H"):
        not_applicable("it declares neither dissipation (E) nor conservation (H)")
    kappa = 3.0 * torch.randn(64, made.dim, dtype=torch.float64)
    values = torch.zeros(64, dtype=torch.complex128)
    for alpha, s in symbol.items():
        values += s * 1j ** sum(alpha) * torch.prod(kappa ** kappa.new_tensor(alpha), dim=1)
    wrong = values.real.abs() if structure == "H" else torch.maximum(values.real.clamp(min=0.0), values.imag.abs())
    what = (
        "real part of the symbol of an H-block"
        if structure == "H"
        else "growth or rotation in the symbol of an E-block"
    )
    return Finding(float(wrong.max() / values.abs().max().clamp(min=TINY)), _LOST, what)


@check("block", group="structure")
def ambient_map_agrees(subject: Subject) -> Finding:
    """On the box Q, of whatever size, the ambient map of coefficients is the response projected onto the basis."""
    made = bound(subject)
    if "ambient" not in made.block.traits.modes:
        not_applicable("it declares no ambient map")
    K, degree = 6, made.block.traits.degree or 4
    field, gaps = str(made.block.acts_on), []
    for half_width in (1.0, 1.7):
        basis = waves_on_box(subject.registry, K, made.dim, half_width)
        a = _low_modes(basis, K / degree)
        x = half_width * made.at.x
        at = Location(x, made.at.t, weights=made.at.weights)
        jets = dict.fromkeys(made.fields, _combination(a, basis.jet(x)))
        values = basis.evaluate(made.block.ambient(basis, field)(a), x)
        gaps.append((apart({"": values}, {"": made.block.pointwise(jets, at)})[0], f"half width {half_width}"))
    gap, where = worst(*gaps)
    limit = _EXACT if made.block.traits.degree is not None else 1e-2
    return Finding(gap, limit, f"ambient map against the response to single functions ({where})")


def _combination(a: Tensor, functions: Jet) -> Jet:
    return Jet(lambda alpha: a @ functions.d(alpha), functions.dim)


def _low_modes(basis: Basis, largest: float) -> Tensor:
    """Random coefficients (3, M) of the modes with |k| ≤ ``largest``, so that a power of them is resolved too."""
    assert basis.wavevectors is not None
    k = basis.wavevectors.norm(dim=1) * float(basis.frame.half_widths[0]) / math.pi
    return 0.1 * torch.randn(3, basis.size, dtype=torch.float64) * (k <= largest + 1e-9)


@check("block", group="structure")
def mass_is_conserved(subject: Subject) -> Finding:
    """With the invariant mass declared, ∫ L(u) = 0 for u that vanish towards the boundary."""
    made = bound(subject)
    if "mass" not in made.block.traits.invariants:
        not_applicable("mass is not among its invariants")
    _, response, weights = _on_cube(made)
    total = (response * weights).sum(-1).abs() / (response.abs() * weights).sum(-1).clamp(min=TINY)
    return Finding(float(total.max()), 1e-10, "∫L(u) relative to ∫|L(u)|")


@check("block", group="structure")
def energy_is_conserved(subject: Subject) -> Finding:
    """With the invariant energy declared, ∫ u L(u) = 0 for u that vanish towards the boundary."""
    made = bound(subject)
    if "energy" not in made.block.traits.invariants:
        not_applicable("energy (½∫u²) is not among its invariants")
    u, response, weights = _on_cube(made)
    work = u * response
    total = (work * weights).sum(-1).abs() / (work.abs() * weights).sum(-1).clamp(min=TINY)
    return Finding(float(total.max()), 1e-10, "∫u L(u) relative to ∫|u L(u)|")


def _on_cube(made: Bound) -> tuple[Tensor, Tensor, Tensor]:
    """u, L(u) and weights on [−1, 1]^d; every field is a wave times Π(1 − x_i²)⁴, whose traces up to order 3 vanish."""
    nodes, weights = (torch.from_numpy(a) for a in np.polynomial.legendre.leggauss(48 if made.dim < 3 else 24))
    grid = torch.stack(torch.meshgrid(*[nodes] * made.dim, indexing="ij"), dim=-1).reshape(-1, made.dim)
    product = (
        torch.stack(torch.meshgrid(*[weights] * made.dim, indexing="ij"), dim=-1).reshape(-1, made.dim).prod(dim=1)
    )
    at = Location(grid, made.at.t, weights=product)
    bump = np.polynomial.Polynomial([1.0, 0.0, -1.0]) ** 4
    c = made.state(2)

    def jet(i: int) -> Jet:
        def derivative(alpha: MultiIndex) -> Tensor:
            """Leibniz: ∂^α(b w) = Σ_β (α over β) ∂^β b ∂^{α−β} w."""
            total = torch.zeros(2, len(grid), dtype=torch.float64)
            for beta in np.ndindex(*(a + 1 for a in alpha)):
                factor = math.prod(math.comb(a, b) for a, b in zip(alpha, beta, strict=True))
                parts = [
                    torch.from_numpy((bump.deriv(b) if b else bump)(grid[:, k].numpy())) for k, b in enumerate(beta)
                ]
                rest = tuple(a - b for a, b in zip(alpha, beta, strict=True))
                total += factor * torch.stack(parts).prod(dim=0) * (c[:, i] @ made.waves.table(grid, rest))
            return total

        return Jet(derivative, made.dim)

    fields = {name: jet(i) for i, name in enumerate(made.fields)}
    response = made.block.pointwise(fields, at)
    return fields[made.block.acts_on or made.target].value, response, product
