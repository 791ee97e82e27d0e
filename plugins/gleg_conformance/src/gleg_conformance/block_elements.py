"""Checks of a block on finite elements: what is written once holds there too. Blocks that elements cannot realise say why."""

import torch

from gleg_conformance.block_realisation import admissible
from gleg_conformance.block_spaces import (
    condition_for,
    elements_on,
    integral,
    jet_of,
    modes_on,
    response_on,
    shapes,
    smooth,
)
from gleg_conformance.block_states import TINY, Bound, bound, certified_error
from gleg_conformance.kit import Finding, applies_if, check
from gleg_core.expressions import formula
from gleg_core.system.reduced import ReducedSystem
from gleg_core.system.responses import kind
from gleg_core.system.terms import Term


@check("block", group="elements", of=bound)
def realisations_agree_on_elements(made: Bound) -> Finding:
    """On finite elements, every realisation that is possible there gives ∫ v L(u) for smooth u and v."""
    traits, t, gaps = made.traits, 0.3, []
    applies_if(traits.degree != 0, "it does not read the fields")
    condition, shape = condition_for(traits), shapes(made.dim)[0]
    field = elements_on(made, shape, condition)
    modes, at = modes_on(made, field), field.interior.at.moment(t)
    solution, tests = admissible(made, condition, shape)
    response = made.block.pointwise({**made.jets(smooth(made), at), made.own_field: jet_of(solution, at)}, at)
    values = torch.stack([jet_of(v, at).value for v in tests])
    exact, size = integral(values * response, at), (integral(values**2, at) * integral(response**2, at)).sqrt()
    z, v = field.state_of(jet_of(solution, at).value, None), field.state_of(values, None)
    for mode in modes:
        found = v @ response_on(made, field, mode, z, t)
        gaps.append((float(((found - exact).abs() / size.clamp(min=TINY)).max()), mode))
    limit = 1e-6 + 10 * certified_error(made.block)
    return Finding.worst(gaps, limit, "∫ v L(u) relative to ‖v‖‖L(u)‖")


@check("block", group="elements", of=bound)
def matrix_agrees_on_elements(made: Bound) -> Finding:
    """On finite elements, the sparse matrix of a linear block is its response to a batch of states."""
    own, field = made.own_field, elements_on(made, shapes(made.dim)[0], condition_for(made.traits))
    gaps = []
    for mode in modes_on(made, field):
        term = Term(own, made.block, formula(1.0), mode, where="the block")
        applies_if(kind(term) == "linear", "it is not linear and constant in time: it has no matrix")
        system = ReducedSystem([field], [term], {}, (0.0, 1.0))
        z = torch.randn(3, field.r, dtype=torch.float64)
        by_matrix, by_response = system.moments(system.rhs(z, 0.3)), response_on(made, field, mode, z)
        gaps.append((float((by_matrix - by_response).norm() / by_response.norm().clamp(min=TINY)), mode))
    return Finding.worst(gaps, 1e-9, "response by the matrix against the response of the block")
