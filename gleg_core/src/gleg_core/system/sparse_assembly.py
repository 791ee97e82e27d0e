"""The linear part of a system on local spaces: sparse blocks of all fields, steady fields solved for, steady lifts.

    M ż = K z + M n(z, t)

Every linear mechanism with a constant coefficient is part of K, whatever its order: implicit steps take them all at one price. Matrices
multiply rows of states from the right.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from operator import add

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from gleg_core.algebra.sparse import Factorised, SparseMatrix
from gleg_core.algebra.sparse_linear import SparsePart
from gleg_core.contracts.integrator import Operator
from gleg_core.errors import NumericsError, SpecError
from gleg_core.system.assembly import Assembly, Coupling, Matrices, check_steady, with_lifts_moved
from gleg_core.system.discrete_field import DiscreteField, DiscreteFields
from gleg_core.system.responses import kind
from gleg_core.system.terms import Realised, sparse_state_matrix

_SINGULAR = 1e-12
"""A steady operator whose inverse enlarges a random load more than 1/_SINGULAR times its own size has a kernel."""
_AWAY, _INVERSE_STEPS = 0.25, 5
"""Part of the rate σ by which eigenvalues have to be away from it, and steps of the inverse iteration that finds out."""


def state_matrices(fields: DiscreteFields, terms: Realised) -> Matrices:
    """Those of all linear terms that act locally, with coefficient one unless it varies in space."""
    found = {}
    for p, (term, mode) in enumerate(terms):
        made = sparse_state_matrix(term.unit, mode, fields[term.field], fields) if kind(term) == "linear" else None
        if made is not None:
            found[p] = made
    return found


def gathered(couplings: Iterable[Coupling], rows: Mapping[str, slice], columns: Mapping[str, slice]) -> SparseMatrix:
    """Couplings between fields in one sparse matrix; those of other fields are left out."""
    couplings = list(couplings)
    if len(rows) == len(columns) == 1:
        own = [c.matrix for c in couplings if (c.source, c.target) == (*rows, *columns)]
        if own:
            return _sum(own)
    blocks = {(c.source, c.target): None for c in couplings}
    sums = {pair: _sum(c.matrix for c in couplings if (c.source, c.target) == pair).matrix for pair in blocks}

    def block(s: str, t: str) -> sparse.csr_array:
        shape = rows[s].stop - rows[s].start, columns[t].stop - columns[t].start
        return sums.get((s, t), sparse.csr_array(shape))

    return SparseMatrix(sparse.csr_array(sparse.block_array([[block(s, t) for t in columns] for s in rows])))


def _sum(matrices: Iterable[SparseMatrix]) -> SparseMatrix:
    return reduce(add, matrices)


def linear_part(fields: DiscreteFields, parts: Assembly, where: Mapping[str, slice]) -> SparsePart:
    """A = M⁻¹K of the evolving fields ``where`` says are in a state."""
    spaces = [fields[name].local for name in where]
    mass = spaces[0].mass
    if len(spaces) > 1:
        mass = SparseMatrix(sparse.csr_array(sparse.block_diag([s.mass.matrix for s in spaces])), symmetric=True)
    for _, coupling in parts.varied:
        if not {coupling.source, coupling.target} <= set(where):
            raise SpecError("on cells there are no gradients in coefficients that steady fields depend on")
    varied = [(c, gathered([coupling], where, where)) for c, coupling in parts.varied]
    return SparsePart(gathered(parts.stiff, where, where), mass, [space.mass_factors for space in spaces], varied)


def steady_solvers(parts: Assembly, fields: DiscreteFields, steady: Collection[str]) -> dict[str, Operator]:
    """Of every steady field: its load → its coordinates. Its equation must be linear, and refer to no other steady field."""
    found: dict[str, Operator] = {}
    for name in steady:
        check_steady(parts, name)
        if any(c.target == name and c.source in steady and c.source != name for c in parts.stiff):
            raise SpecError(
                f"'{name}' is steady: its equation may have linear terms of its own and terms of evolving fields"
            )
        own = [c.matrix for c in parts.stiff if c.source == c.target == name]
        if not own:
            raise no_solution(name)
        found[name] = _invertible(name, _sum(own)).solve
    return found


def _invertible(name: str, matrix: SparseMatrix) -> Factorised:
    try:
        factors = Factorised(matrix, symmetric=False)
    except np.linalg.LinAlgError:
        raise no_solution(name) from None
    load = torch.randn(matrix.shape[0], dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    size = float(factors.solve(load).norm() / load.norm()) * max(float(abs(part).max()) for part in matrix.parts)
    if not size < 1.0 / _SINGULAR:
        raise no_solution(name)
    return factors


def no_solution(name: str) -> NumericsError:
    return NumericsError(
        f"the steady equation of '{name}' has no unique solution (its operator has a kernel, as with Neumann conditions "
        "everywhere): prescribe its value on part of the boundary"
    )


def with_steady_lifts(
    fields: DiscreteFields, parts: Assembly, where: Mapping[str, slice], duration: float
) -> tuple[dict[str, DiscreteField], Assembly]:
    """Move every lift within the affine space to the steady state of the linear part, damped at a rate σ of about 1/duration so that a
    kernel does no harm: Y (K − σM) = −B. Data then enter through θ̇ and through B + Y K = σ Y M, both of which stay bounded as cells shrink;
    B alone does not, and costs every integrator its order (:func:`gleg_core.system.assembly.with_steady_lifts`)."""

    def steady(name: str, B: Tensor) -> tuple[Tensor, list[Coupling]] | None:
        stiff = [c.matrix for c in parts.stiff if c.source == c.target == name]
        if not stiff or name not in where:
            return None
        M = fields[name].local.mass
        sigma, factors = _damped(_sum(stiff), M, 1.0 / duration)
        Y = factors.solve(-B)
        others = [c for c in (*parts.stiff, *parts.mild) if c.source == name and c.target != name]
        return Y, [Coupling(name, name, sigma * (Y @ M)), *(Coupling(name, c.target, Y @ c.matrix) for c in others)]

    return with_lifts_moved(fields, parts, steady, instead=True)


def _damped(K: SparseMatrix, M: SparseMatrix, sigma: float) -> tuple[float, Factorised]:
    """σ and K − σM, factorised: twice as large until no mode grows at about that rate, which would make the matrix singular."""
    while True:
        try:
            factors = Factorised(K - sigma * M, symmetric=False)
        except np.linalg.LinAlgError:
            sigma *= 2.0
            continue
        v = torch.randn(M.shape[0], dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        for _ in range(_INVERSE_STEPS):
            v = factors.solve((v / v.norm()) @ M)
        if not float(v.norm()) * _AWAY * sigma > 1.0:
            return sigma, factors
        sigma *= 2.0
