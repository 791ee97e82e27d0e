"""Does the equation have a solution at all? Short waves must not grow without bound.

The equations u_t = L(u), linearised at a state and with their coefficients frozen at a point x, let waves e^{ik·x} grow at the rates Re λ,
λ the eigenvalues of the matrix P(x, k) of the symbols of ∂L_i/∂u_j. If these rates grow with |k|, there is no solution that depends
continuously on the data (a negative diffusivity, for instance), and what a computation gives is made of its own errors.
"""

import itertools

import numpy as np
import torch
from torch import Tensor

from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location
from gleg_core.system.discretise import Discretisation
from gleg_core.system.terms import Term

_POINTS = 100
"""Nodes that are looked at."""
_WAVES = 1e3, 1e5
"""Wavenumbers times the extent of Ω between which rates are compared."""
_SMALL = 1e-3
"""Change of the highest derivatives by the wave, in units of their size."""
_GROWS, _RATE = 3.0, 1e-2
"""Growth of the rate from the first to the second, and its part of the largest |λ|, from which on it is no rounding."""


def ill_posed(d: Discretisation) -> str | None:
    """A sentence about the term at fault, if there is one. Of mechanisms whose exact response is not known nothing is said."""
    if any(term.block.law is None for term in d.terms):
        return None
    names = [f.name for f in d.problem.fields if not f.section.steady]
    nodes = d.fields[0].space.nodes.x
    rows = torch.from_numpy(np.unique(np.linspace(0, len(nodes) - 1, _POINTS).round().astype(int)))
    states = _states(d, names, rows)
    terms = [term for term in d.terms if term.field in names]
    start, end = d.problem.section.time.start, d.problem.section.time.end
    moments = (start, (start + end) / 2, end) if any(term.varies_in_time for term in terms) else (start,)
    extent = float(np.ptp(d.domain.bounds, axis=1).max())
    waves = torch.stack([kappa / extent * _directions(d.domain.dim) for kappa in _WAVES])  # (2, D, dim)
    for t in moments:
        at = Location(nodes[rows], t, weights=d.fields[0].space.weights[rows])
        try:
            parts = [_symbol(term, names, states, at, waves) for term in terms]
        except (
            Exception
        ):  # a block that fails, or takes no batch of jets: the rollout finds and names it where that matters
            return None
        P = sum(parts[1:], start=parts[0])
        if not np.isfinite(P).all():  # the same of one that is not finite
            return None
        eigenvalues = np.linalg.eigvals(P)  # (2, D, n, fields)
        slow, fast = eigenvalues.real.max(axis=-1)
        bad = (fast > _GROWS * np.maximum(slow, 0.0)) & (fast > _RATE * np.abs(eigenvalues[1]).max(axis=-1))
        if bad.any():
            worst = np.unravel_index(np.where(bad, fast, -np.inf).argmax(), bad.shape)
            guilty = max(zip(terms, parts, strict=True), key=lambda pair: pair[1][1][worst].trace().real)[0]
            place = ", ".join(f"{c:.3g}" for c in at.x[worst[1]].tolist())
            return (
                f"{guilty.where}: the shorter a wave, the faster it grows, near ({place}) at t = {t:.3g}. The problem is ill-posed: its "
                "solution, if there is one, does not depend continuously on the data. Is the sign of this term right? "
                "(unresolved: ignore lets it pass)"
            )
    return None


def _directions(dim: int) -> Tensor:
    """The axes and the diagonals, (D, dim)."""
    diagonals = [(1.0, *signs) for signs in itertools.product((1.0, -1.0), repeat=dim - 1)]
    return torch.cat([torch.eye(dim, dtype=torch.float64), torch.tensor(diagonals, dtype=torch.float64) / dim**0.5])


def _states(d: Discretisation, names: list[str], rows: Tensor) -> dict[str, Jet]:
    """The fields at the start: values and first derivatives; equations are linear in those of higher order, mostly."""
    system, z, t = d.system, d.initial, d.problem.section.time.start
    nothing = torch.zeros(len(rows), dtype=torch.float64)

    def jet(name: str) -> Jet:
        field = system.fields[name]
        u = (
            field.interior.of_state(z[..., system.slices[name]], field.theta(t))
            if name in names
            else field.interior.zero()
        )
        return Jet(lambda alpha: u.d(alpha)[..., rows] if sum(alpha) < 2 else nothing, u.dim)

    return {name: jet(name) for name in system.fields}


def _symbol(term: Term, names: list[str], states: dict[str, Jet], at: Location, waves: Tensor) -> np.ndarray:
    """A term's part of P(x, k), (2, D, n, fields, fields)."""
    block = term.block.law or term.block
    size = _SMALL * waves.norm(dim=-1) ** -max(block.traits.order, 1)
    P = np.zeros((*size.shape, len(at.x), len(names), len(names)), dtype=complex)
    for j, name in enumerate(names):
        for parity in (0, 1) if block.acts_on in (None, name) else ():
            u = _with_wave(states[name], size, waves, parity)
            up, down = torch.broadcast_to(block.reference({**states, name: u}, at), (2, *P.shape[:3]))
            P[..., names.index(term.field), j] += (
                1j**parity * (at(term.coefficient) * (up - down) / (2 * size[..., None])).numpy()
            )
    return P


def _with_wave(u: Jet, size: Tensor, waves: Tensor, parity: int) -> Jet:
    """u plus and minus waves (2, 2, D, n), whose derivatives ∂^α, |α| even or odd, are those of ``size`` e^{ik·x} at its crest, or
    between crests without their factor i."""
    signs = torch.tensor([1.0, -1.0], dtype=torch.float64)[:, None, None, None]

    def derivative(alpha: MultiIndex) -> Tensor:
        order = sum(alpha)
        if order % 2 != parity:
            return u.d(alpha)
        amplitude = size * (-1.0) ** (order // 2) * (waves ** torch.tensor(alpha)).prod(dim=-1)
        return u.d(alpha) + signs * amplitude[..., None]

    return Jet(derivative, u.dim)
