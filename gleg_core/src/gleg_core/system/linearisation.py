"""The derivative of what is evaluated at every stage, at a state: what linearly implicit steps and Newton's method need.

    ∂/∂u_j  Σ_α ∫ ∂^αv F_α(u) + ∮ v B(u)  =  Σ_αβ ∫ ∂^αv W_αβ ∂^β(δu_j) + ∮ v w δu_j,      W_αβ(x) = ∂F_α/∂(∂^βu_j),  w = ∂B/∂u_j

of mechanisms that act pointwise on the jets of the fields. Of others, such as those with a mean over Ω, it is the local part, nearly.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from gleg_core.algebra.linear import DensePart
from gleg_core.algebra.sparse import SparseMatrix
from gleg_core.algebra.sparse_linear import SparsePart
from gleg_core.contracts.block import Mode
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location
from gleg_core.errors import GlegError, NumericsError
from gleg_core.system import local_form
from gleg_core.system.assembly import Coupling, gather
from gleg_core.system.discrete_field import DiscreteField, FluxJet
from gleg_core.system.prepared import Prepared
from gleg_core.system.sparse_assembly import gathered
from gleg_core.system.terms import Term, boundary_weights, edge_integrand, integrands

_ROUNDING, _SINGULAR = 1e-9, 1e6
"""Part of its size by which a diffusivity may be negative, and times its median that it may be."""

Jets = Mapping[str, Jet]
Derivatives = dict[tuple[str, str], dict[tuple[MultiIndex, MultiIndex], Tensor]]
"""(source, target) → (α, β) → W_αβ at the nodes, (n,)."""


def linearised(
    prepared: Prepared,
    jets: tuple[Jets, Jets],
    t: float,
    member: Callable[[Any], Any],
    full: Callable[[Tensor], Tensor],
) -> SparsePart | DensePart:
    """A with the derivatives of n at a state, whose jets in Ω and on ∂Ω are given; ``member`` chooses a part of what differs within a
    batch, ``full`` adds steady fields to states."""
    found, linear, states = _couplings(prepared, jets, t, member), prepared.linear, prepared.slices
    if isinstance(linear, SparsePart):
        own = [c for c in found if {c.source, c.target} <= states.keys()]
        return linear.with_stiffness(linear.stiffness + gathered(own, states, states))
    unit, eigenvalues = torch.eye(linear.size, dtype=torch.float64), member(linear.eigenvalues)
    A = linear.apply(unit) if eigenvalues is None else eigenvalues.diag()
    whole = gather(found, prepared.columns)[:, : linear.size]
    if prepared.explicit is not None:
        whole += prepared.explicit
    chain = full(unit) - full(torch.zeros_like(unit))  # ∂(all fields)/∂z: steady ones follow
    return DensePart((A + chain @ whole).T.contiguous())


def _couplings(prepared: Prepared, jets: tuple[Jets, Jets], t: float, member: Callable[[Any], Any]) -> list[Coupling]:
    fields, parts = prepared.fields, prepared.parts
    at = next(iter(fields.values())).interior.at.moment(t)
    staged = [(replace(term, scale=member(term.scale)), mode) for term, mode in parts.staged]
    make = _sparse if isinstance(prepared.linear, SparsePart) else _dense
    found = [
        Coupling(source, target, make(form, fields[source], fields[target], rim))
        for rim, derivatives in (
            (False, _inside(staged, jets[0], at)),
            (True, _on_boundary(staged, jets[1], fields, t)),
        )
        for (source, target), form in derivatives.items()
    ]
    modulated = [Coupling(m.source, m.target, float(member(m.at(t))) * m.A) for m in parts.modulated if m.A is not None]
    return found + modulated


def member(value: Any, batch: Sequence[int], i: int) -> Any:
    """The i-th row of what may differ within a batch, (..., k)."""
    return value.expand(*batch, -1).flatten(0, -2)[i] if isinstance(value, Tensor) and value.ndim > 1 else value


def _inside(terms: Sequence[tuple[Term, Mode]], jets: Jets, at: Location) -> Derivatives:
    """W of some terms at a state, coefficients included."""
    found: Derivatives = {}
    for term, mode in terms:
        if mode == "ambient":  # acts on Q, not at points
            continue
        own, asked = _leaves(jets)
        with torch.enable_grad():
            for alpha, F in integrands(term, mode, own, at).items():
                _add(found, term, at, alpha, F, asked)
    return found


def _on_boundary(
    terms: Sequence[tuple[Term, Mode]], jets: Jets, fields: Mapping[str, DiscreteField], t: float
) -> Derivatives:
    """w of some terms; of the slopes that no condition states there is none."""
    found: Derivatives = {}
    for term, mode in terms:
        target = fields[term.field]
        if mode != "weak" or target.space.boundary.tests_vanish:
            continue
        own, asked = _leaves(jets)
        stated = {
            n: FluxJet(own[n], u.stated, u.kappa, u.g) if isinstance(u, FluxJet) else own[n] for n, u in jets.items()
        }
        at, edge = target.interior.at.moment(t), target.boundary.at.moment(t)
        with torch.enable_grad():
            B = edge_integrand(term.scaled_by(1.0), mode, stated, at, edge)
            if B is not None:
                zero = (0,) * edge.dim
                _add(found, term, at, zero, B, {(n, beta): u for (n, beta), u in asked.items() if beta == zero})
    return found


def _leaves(jets: Jets) -> tuple[dict[str, Jet], dict[tuple[str, MultiIndex], Tensor]]:
    """Jets of the same values that derivatives are taken in, and those that have been asked for."""
    asked: dict[tuple[str, MultiIndex], Tensor] = {}

    def leaf(name: str, beta: MultiIndex) -> Tensor:
        if (name, beta) not in asked:
            asked[name, beta] = jets[name].d(beta).detach().requires_grad_()
        return asked[name, beta]

    return {n: Jet(lambda beta, n=n: leaf(n, beta), jet.dim) for n, jet in jets.items()}, asked  # type: ignore[misc]


def _add(
    found: Derivatives,
    term: Term,
    at: Location,
    alpha: MultiIndex,
    F: Tensor,
    asked: Mapping[tuple[str, MultiIndex], Tensor],
) -> None:
    """The derivatives of F_α at one point in the leaves at the same point: where F reads others too, as means do, random signs leave
    about a part 1/√n of what they contribute."""
    if not F.requires_grad or not asked:
        return
    signs = torch.randint(0, 2, F.shape, generator=torch.Generator().manual_seed(0)).to(F.dtype) * 2 - 1
    slopes = torch.autograd.grad((signs * F).sum(), list(asked.values()), retain_graph=True, allow_unused=True)
    for (name, beta), W in zip(asked, slopes, strict=True):
        if W is not None:
            own, W = found.setdefault((name, term.field), {}), (term.factor(at) * signs * W).detach()
            own[alpha, beta] = own[alpha, beta] + W if (alpha, beta) in own else W


def _sparse(form: local_form.LocalForm, source: DiscreteField, target: DiscreteField, rim: bool) -> SparseMatrix:
    trial, space = source.local, target.local
    if not rim:
        return space.matrix(trial, {pair: W * space.weights for pair, W in form.items()}, None)
    A = space.rules.edges.matrix({pair: W * boundary_weights(target) for pair, W in form.items()})
    return SparseMatrix((trial.N.matrix.T @ A @ space.N.matrix).tocsr())


def _dense(form: local_form.LocalForm, source: DiscreteField, target: DiscreteField, rim: bool) -> Tensor:
    if not rim and (A := local_form.matrix(form, source, target)) is not None:
        return A
    weights = boundary_weights(target) if rim else target.space.weights
    of, by = (source.boundary, target.boundary) if rim else (source.interior, target.interior)
    parts = [(of.functions(beta) * (W * weights)) @ by.functions(alpha).T for (alpha, beta), W in form.items()]
    return sum(parts[1:], parts[0])


def reaction_rate(terms: Sequence[tuple[Term, Mode]], jets: Jets, at: Location, names: Sequence[str]) -> float:
    """The largest modulus of the eigenvalues of ∂F_i/∂u_j at any node, of mechanisms without derivatives: at a state, and where all fields
    are as large as its largest, for what is not there yet may be what reacts. What is learned is certified near states only."""
    reactions = [(term, mode) for term, mode in terms if mode == "pointwise" and term.block.traits.order == 0]
    exact = [(term, mode) for term, mode in reactions if term.block.law is term.block]
    most = max(float(jet.value.abs().max()) for jet in jets.values())
    uniform = Jet(lambda alpha: torch.full_like(at.x[:, 0], 0.0 if sum(alpha) else most), at.dim)
    found = 0.0
    for own, state in ((reactions, jets), (exact, dict.fromkeys(jets, uniform))):
        matrices = torch.zeros(len(at.x), len(names), len(names), dtype=torch.float64)
        with suppress(GlegError):  # a block that fails is found and named by the rollout, if it meets such a state
            for (source, target), W in _inside(own, state, at).items():
                if source in names:
                    matrices[:, names.index(target), names.index(source)] = next(iter(W.values()))
        moduli = torch.linalg.eigvals(matrices[torch.isfinite(matrices).all(dim=(1, 2))]).abs() if own else matrices
        found = max(found, float(moduli.max()) if moduli.numel() else 0.0)
    return found


def check_diffusion(terms: Sequence[tuple[Term, Mode]], jets: Jets, at: Location) -> None:
    """Say which term, if any, diffuses backwards at a state, or at one place very much faster than elsewhere."""
    for term, mode in terms:
        for (source, target), form in _inside([(term, mode)], jets, at).items():
            along = [-W for (alpha, beta), W in form.items() if alpha == beta and sum(beta) == 1]
            if source != target or not along:
                continue
            D = torch.stack(along).amin(dim=0)
            backwards = float(D.min()) < -_ROUNDING * float(D.abs().max())
            if backwards or float(D.max()) > _SINGULAR * float(D.median()):
                i = int(D.argmin() if backwards else D.argmax())
                place, u = ", ".join(f"{c:.3g}" for c in at.x[i].tolist()), float(jets[source].value[i])
                raise NumericsError(
                    f"{term.where}: no step is short enough at t = {float(at.t):.6g}, where near ({place}) {source} = {u:.3g} and the "
                    f"diffusivity is {float(D[i]):.3g}: the equation has no smooth solution beyond, or {source} is not resolved there"
                )
