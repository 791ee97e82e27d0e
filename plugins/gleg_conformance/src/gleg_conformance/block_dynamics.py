"""Checks of the isolated flow of a block on a domain."""

import torch
from torch import Tensor

from gleg_conformance.block_spaces import realised
from gleg_conformance.block_states import bound, component
from gleg_conformance.kit import Finding, Subject, check, not_applicable
from gleg_core.system.rollout import rollout


@check("block", group="dynamics")
def energy_decays_along_flow(subject: Subject) -> Finding:
    """½∫u² never grows along the exact flow of a linear E-block."""
    made = bound(subject)
    traits = made.block.traits
    if traits.structure != "E" or traits.degree != 1 or traits.time_dependent:
        not_applicable("it is not a linear E-block that is constant in time")
    run = realised(subject, made, K=7)
    system = run.system
    where = system.slices[made.block.acts_on or made.target]
    z = torch.randn(4, system.size, dtype=torch.float64)
    energies: list[Tensor] = [z[:, where].norm(dim=1)]
    for h in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1):
        A = system.rhs(torch.eye(system.size, dtype=torch.float64), 0.0)
        z = z @ torch.linalg.matrix_exp(h * A)
        energies.append(z[:, where].norm(dim=1))
    growth = torch.stack(energies).diff(dim=0).max() / energies[0].max()
    return Finding(max(0.0, float(growth)), 1e-12, "growth of the norm in a step of the exponential")


@check("block", group="dynamics")
def energy_kept_along_flow(subject: Subject) -> Finding:
    """With the invariant energy declared, the implicit midpoint rule keeps ½∫u²."""
    made = bound(subject)
    if "energy" not in made.block.traits.invariants:
        not_applicable("energy (½∫u²) is not among its invariants")
    if made.block.traits.order > 1 and made.block.traits.degree != 1:
        not_applicable("it is stiff and nonlinear: the iteration of the midpoint rule would need very small steps")
    integrator = component(subject.registry, "integrator", "midpoint", {}, dim=made.dim)
    run = realised(subject, made, K=7)
    with torch.no_grad():
        states = rollout(run.system, integrator, run.initial, [0.0, 0.05], 0.01, 1e-6).states
    first, last = (float(z.norm()) for z in (states[0], states[-1]))
    return Finding(abs(last / first - 1), 1e-8, "relative change of the norm in five steps")
