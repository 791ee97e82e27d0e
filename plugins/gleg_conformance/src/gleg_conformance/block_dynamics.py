"""Checks of the isolated flow of a block on a domain."""

import torch

from gleg_conformance.block_spaces import realised
from gleg_conformance.block_states import Bound, bound, component
from gleg_conformance.kit import Finding, applies_if, check
from gleg_core.system.rollout import rollout


@check("block", group="dynamics", of=bound)
def energy_decays_along_flow(made: Bound) -> Finding:
    """½∫u² never grows along the exact flow of a linear E-block."""
    linear = made.traits.structure == "E" and made.traits.degree == 1
    applies_if(linear and not made.traits.time_dependent, "it is not a linear E-block that is constant in time")
    system = realised(made, K=7).system
    where = system.slices[made.own_field]
    z = torch.randn(4, system.size, dtype=torch.float64)
    A = system.rhs(torch.eye(system.size, dtype=torch.float64), 0.0)
    norms = [z[:, where].norm(dim=1)]
    for h in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1):
        z = z @ torch.linalg.matrix_exp(h * A)
        norms.append(z[:, where].norm(dim=1))
    growth = torch.stack(norms).diff(dim=0).max() / norms[0].max()
    return Finding(float(growth.clamp(min=0.0)), 1e-12, "growth of the norm in a step of the exponential")


@check("block", group="dynamics", of=bound)
def energy_kept_along_flow(made: Bound) -> Finding:
    """With the invariant energy declared, the implicit midpoint rule keeps ½∫u²."""
    applies_if("energy" in made.traits.invariants, "energy (½∫u²) is not among its invariants")
    applies_if(
        made.traits.order <= 1 or made.traits.degree == 1,
        "it is stiff and nonlinear: the iteration of the midpoint rule would need very small steps",
    )
    integrator = component(made.subject.registry, "integrator", "midpoint", {}, dim=made.dim)
    run = realised(made, K=7)
    with torch.no_grad():
        states = rollout(run.system, integrator, run.initial, [0.0, 0.05], 0.01, 1e-6).states
    first, last = (float(z.norm()) for z in (states[0], states[-1]))
    return Finding(abs(last / first - 1), 1e-8, "relative change of the norm in five steps")
