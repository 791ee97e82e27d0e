"""What coefficients that vary faster than the functions of a space do to fluxes: thin membranes, narrow channels.

In u_t = ∇·(D∇u) + … the flux σ = D∇u is smooth even where D is not, and ∇u = σ/D. A space that knows D at all its nodes may still not know
1/D. Its flux D∇u_h then varies as D does; with the flux σ* nearest to it that is smooth in every small part of Ω, in the norm ∫|σ|²/D,

    η² = ∫ |D∇u_h − σ*|²/D  /  ∫ D|∇u_h|²

is about the relative error in energy, squared (Prager & Synge 1947), and so is the effect of what is missing there on u everywhere, since
resistances add up in energies. On a cell of a local basis, polynomials of its gradients' degree are smooth; of global functions, what is
linear in a box of a few nodes.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from gleg_accuracy.nodes import parts_of
from gleg_core.contracts.jet import Jet, MultiIndex, unit
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.contracts.location import Location
from gleg_core.run import Run
from gleg_core.system.terms import Term

_IN_A_BOX = 8
"""Nodes of global functions in a box, about."""
_VARIES = 1.5
"""Ratio of the largest D of a part to its smallest from which on it counts."""
_FROM_BELOW = 4.0
"""How much more there may be: σ* is free of sources, but need not have the divergence that the equation asks for."""
_TINY = 1e-300


def flux_errors(run: Run, name: str, times: list[float]) -> np.ndarray | None:
    """_FROM_BELOW η² of every part of Ω (cells of a local basis, boxes of other nodes), at every time, (times, parts), in units of the
    largest ∫D|∇u_h|² over them; None if D hardly varies."""
    terms = [term for term in run.discretisation.terms if _diffuses(term, name)]
    if not terms:
        return None
    system, basis = run.discretisation.system, run.discretisation.basis
    field = system.fields[name]
    weights, parts = field.space.weights.numpy(), list(_parts(run, name))
    found, energies = [], []
    for t in times:
        z = run.state(t)
        jets = {
            n: f.interior.of_state(z[..., s], f.theta(t)) for n, s in system.slices.items() for f in (system.fields[n],)
        }
        D = _diffusivity(terms, jets, field.interior.at.moment(t)).numpy()
        if not D.min() > 0 or D.max() < _VARIES * D.min():
            return None
        slopes = np.stack([jets[name].d(unit(basis.dim, i)).numpy() for i in range(basis.dim)])
        energies.append(float((slopes**2).sum(axis=0) @ (weights * D)))
        found.append(np.concatenate([_left(D[rows], weights[rows], slopes[:, rows], smooth) for rows, smooth in parts]))
    return _FROM_BELOW * np.array(found) / max(*energies, _TINY)


def _diffuses(term: Term, name: str) -> bool:
    """Whether a term is second derivatives of the field in its own equation, with a coefficient that may vary."""
    block, law = term.block, term.block.law
    own = (
        term.field == name
        and block.acts_on in (None, name)
        and block.traits.order == 2
        and "weak" in block.traits.modes
    )
    return own and law is not None and (term.varies_in_space or block.symbol() is None)


def _diffusivity(terms: list[Term], jets: Mapping[str, Jet], at: Location) -> Tensor:
    """D at points, (n,): the mean over directions of how the fluxes answer to a unit gradient of the field."""
    dim, total = at.dim, torch.zeros(len(at.x), dtype=torch.float64)
    zero = torch.zeros_like(total)
    for term in terms:
        for i in range(dim):
            F = term.block.weak({**jets, term.field: _tilted(jets[term.field], unit(dim, i))}, at)
            total = total - term.factor(at) * F.get(unit(dim, i), zero) / dim
    return total


def _tilted(u: Jet, along: MultiIndex) -> Jet:
    """The values of u with a unit gradient."""
    return Jet(lambda alpha: u.d(alpha) if not sum(alpha) else torch.full_like(u.value, float(alpha == along)), u.dim)


def _parts(run: Run, name: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of nodes, (parts, k), and functions that are smooth there, (parts, k, m) or the same for all (k, m)."""
    basis = run.discretisation.basis
    nodes = run.discretisation.system.fields[name].space.nodes.x.numpy()
    if isinstance(basis, LocalBasis):
        first = 0
        for cells in basis.cells:
            numbers = np.arange(first, first + cells.weights.size)
            first += cells.weights.size
            directions, sizes, _ = np.linalg.svd(cells.slopes[0], full_matrices=False)
            yield numbers.reshape(cells.weights.shape), directions[:, sizes > 1e-10 * sizes[0]]
        return
    across = max(1, int((len(nodes) / _IN_A_BOX) ** (1 / basis.dim)))
    box = parts_of(nodes, run.discretisation.domain, across)
    for number in np.unique(box):
        rows = np.flatnonzero(box == number)
        if len(rows) > basis.dim + 1:
            x = nodes[rows] - nodes[rows].mean(axis=0)
            yield rows[None], np.column_stack([np.ones(len(rows)), x / max(np.abs(x).max(), _TINY)])


def _left(D: np.ndarray, weights: np.ndarray, slopes: np.ndarray, smooth: np.ndarray) -> np.ndarray:
    """∫|D∇u − σ*|²/D of every part, (parts,), for D and weights (parts, k) and slopes (dim, parts, k)."""
    root = np.sqrt(weights / D)
    flux = slopes * (D * root)
    Q, _ = np.linalg.qr(root[..., None] * smooth)  # (parts, k, m)
    nearest = (Q @ (np.swapaxes(Q, 1, 2) @ flux[..., None]))[..., 0]
    left = ((flux - nearest) ** 2).sum(axis=(0, 2))
    return np.where(D.max(axis=1) > _VARIES * D.min(axis=1), left, 0.0)
