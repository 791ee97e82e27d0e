"""Stiff nonlinear mechanisms on local functions: their derivative at a state joins the linear part.

    n(u) = J u + (n(u) − J u),     J = ∂n/∂u at a state u₀: Σ ∫ ∂^αv W_αβ ∂^βu,  W_αβ(x) = ∂F_α/∂(∂^βu)

Implicit steps take J u, explicit ones the rest, which is small beside it as long as W changes by less than its own size. Small cells make
nonlinear diffusion stiffer than any explicit step can follow, and so are fast reactions.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from gleg_core.contracts.block import Mode
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location
from gleg_core.system.assembly import Coupling
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.terms import Term, integrands

_FAST = 1e3
"""Rate of a reaction, times the duration of a run, from which on it is stiff."""
Stiffness = dict[tuple[str, str, MultiIndex, MultiIndex], Tensor]
"""(source, target, α, β) → W_αβ at the nodes, (n,)."""


def may_be_stiff(term: Term, mode: Mode) -> bool:
    """Whether a nonlinear term is by its derivatives, or may be as a reaction."""
    order = term.block.traits.order
    return term.block.traits.degree != 0 and ((mode == "weak" and order >= 2) or _is_reaction(term, mode))


def _is_reaction(term: Term, mode: Mode) -> bool:
    return mode == "pointwise" and term.block.traits.order == 0


def stiffness(
    terms: Sequence[tuple[Term, Mode]], jets: Mapping[str, Jet], at: Location, duration: float
) -> tuple[Stiffness, float]:
    """Of what may be stiff at a state with these jets, and the largest rate of its reactions, which are left out, and their rate 0, where
    explicit steps can follow them over this time."""
    reactions = _derivatives([one for one in terms if _is_reaction(*one)], jets, at)
    found = _derivatives([one for one in terms if not _is_reaction(*one)], jets, at)
    rate = max((float(W.abs().max()) for W in reactions.values()), default=0.0)
    if rate * duration <= _FAST:
        return found, 0.0
    for key, W in reactions.items():
        found[key] = found[key] + W if key in found else W
    return found, rate


def _derivatives(terms: Sequence[tuple[Term, Mode]], jets: Mapping[str, Jet], at: Location) -> Stiffness:
    """W of terms, coefficients included."""
    found: Stiffness = {}
    for term, mode in terms:
        asked: dict[tuple[str, MultiIndex], Tensor] = {}

        def leaf(name: str, beta: MultiIndex, asked: dict[tuple[str, MultiIndex], Tensor] = asked) -> Tensor:
            if (name, beta) not in asked:
                asked[name, beta] = jets[name].d(beta).detach().reshape(-1).requires_grad_()
            return asked[name, beta]

        with torch.enable_grad():
            own = {n: Jet(lambda beta, n=n: leaf(n, beta), at.dim) for n in jets}  # type: ignore[misc]
            for alpha, F in integrands(term, mode, own, at).items():
                if not F.requires_grad:
                    continue
                parts = torch.autograd.grad(F.sum(), list(asked.values()), retain_graph=True, allow_unused=True)
                for (name, beta), W in zip(asked, parts, strict=True):
                    if W is not None:
                        key = (name, term.field, alpha, beta)
                        found[key] = found.get(key, torch.zeros_like(W)) + term.factor(at) * W
    return found


def couplings(stiffness: Stiffness, fields: Mapping[str, DiscreteField]) -> list[Coupling]:
    """The matrices of J."""
    pairs = dict.fromkeys((s, t) for s, t, *_ in stiffness)
    made = []
    for source, target in pairs:
        own = {(a, b): W for (s, t, a, b), W in stiffness.items() if (s, t) == (source, target)}
        space, trial = fields[target].local, fields[source].local
        A = space.matrix(trial, {pair: W * space.weights for pair, W in own.items()}, None)
        made.append(Coupling(source, target, A))
    return made


def differs(new: Stiffness, old: Stiffness, by: float) -> bool:
    """Whether J has changed by a part of its size."""
    if new.keys() != old.keys():
        return True
    return any(float((W - old[key]).abs().max()) > by * float(old[key].abs().max()) for key, W in new.items())
