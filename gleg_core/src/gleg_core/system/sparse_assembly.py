"""The linear part of a system on local spaces: sparse blocks of all fields, steady fields solved for, steady lifts.

    M ż = K z + M n(z, t)

Every linear mechanism with a constant coefficient is part of K, whatever its order: implicit steps take them all at one price. Matrices
multiply rows of states from the right.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from gleg_core.algebra.local_space import LocalSpace
from gleg_core.algebra.sparse import Factorised, SparseMatrix
from gleg_core.algebra.sparse_linear import SparsePart
from gleg_core.contracts.block import Mode
from gleg_core.errors import NumericsError, SpecError
from gleg_core.system.assembly import Assembly, Coupling, Matrices, merged
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.responses import kind
from gleg_core.system.terms import Term, sparse_state_matrix

_SINGULAR = 1e-12
"""A steady operator whose inverse enlarges a random load more than 1/_SINGULAR times its own size has a kernel."""
_AWAY, _INVERSE_STEPS = 0.25, 5
"""Part of the rate σ by which eigenvalues have to be away from it, and steps of the inverse iteration that finds out."""


def is_local(fields: Mapping[str, DiscreteField]) -> bool:
    """All fields of a problem have one basis, so all spaces are of one kind."""
    return any(isinstance(field.space, LocalSpace) for field in fields.values())


def state_matrices(fields: Mapping[str, DiscreteField], terms: Sequence[tuple[Term, Mode]]) -> Matrices:
    """Those of all linear terms that act locally, with coefficient one unless it varies in space."""
    found = {}
    for p, (term, mode) in enumerate(terms):
        if kind(term) == "linear":
            unit = term if term.varies_in_space else term.scaled_by(1.0)
            if (A := sparse_state_matrix(unit, mode, fields[term.field], fields)) is not None:
                found[p] = A
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
    grid = [
        [
            sums.get((s, t), sparse.csr_array((rows[s].stop - rows[s].start, columns[t].stop - columns[t].start)))
            for t in columns
        ]
        for s in rows
    ]
    return SparseMatrix(sparse.csr_array(sparse.block_array(grid)))


def _sum(matrices: Iterable[SparseMatrix]) -> SparseMatrix:
    return reduce(add, matrices)


def linear_part(fields: Mapping[str, DiscreteField], parts: Assembly, where: Mapping[str, slice]) -> SparsePart:
    """A = M⁻¹K of the evolving fields ``where`` says are in a state."""
    spaces = [fields[name].local for name in where]
    mass = spaces[0].mass
    if len(spaces) > 1:
        mass = SparseMatrix(sparse.csr_array(sparse.block_diag([s.mass.matrix for s in spaces])), symmetric=True)
    for _, coupling in parts.varied:
        if not {coupling.source, coupling.target} <= set(where):
            raise SpecError("on elements there are no gradients in coefficients that steady fields depend on")
    varied = [(c, gathered([coupling], where, where)) for c, coupling in parts.varied]
    return SparsePart(gathered(parts.stiff, where, where), mass, [space.mass_factors for space in spaces], varied)


def steady_solvers(
    parts: Assembly, fields: Mapping[str, DiscreteField], steady: Collection[str]
) -> dict[str, Factorised]:
    """Of every steady field: its own operator, factorised. Its equation must be linear, and refer to no other steady field."""
    found = {}
    for name in steady:
        where = [t.where for t, _ in parts.staged if t.field == name]
        if where or any(m.target == name for m in parts.modulated):
            raise SpecError(
                f"{where[0] if where else name}: '{name}' is steady: its terms must be linear with constant coefficients"
            )
        if any(c.target == name and c.source in steady and c.source != name for c in parts.stiff):
            raise SpecError(
                f"'{name}' is steady: its equation may have linear terms of its own and terms of evolving fields"
            )
        own = [c.matrix for c in parts.stiff if c.source == c.target == name]
        found[name] = _invertible(name, _sum(own)) if own else _no_solution(name)
    return found


def _invertible(name: str, matrix: SparseMatrix) -> Factorised:
    try:
        factors = Factorised(matrix, symmetric=False)
    except np.linalg.LinAlgError:
        return _no_solution(name)
    load = torch.randn(matrix.shape[0], dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    size = float(factors.solve(load).norm() / load.norm()) * max(float(abs(part).max()) for part in matrix.parts)
    if not size < 1.0 / _SINGULAR:
        return _no_solution(name)
    return factors


def _no_solution(name: str) -> Factorised:
    raise NumericsError(
        f"the steady equation of '{name}' has no unique solution (its operator has a kernel, as with Neumann conditions "
        "everywhere): prescribe its value on part of the boundary"
    )


def with_steady_lifts(
    fields: Mapping[str, DiscreteField], parts: Assembly, where: Mapping[str, slice], duration: float
) -> tuple[dict[str, DiscreteField], Assembly]:
    """Move every lift within the affine space to the steady state of the linear part, damped at a rate σ of about 1/duration so that a
    kernel does no harm: Y (K − σM) = −B. Data then enter through θ̇ and through B + Y K = σ Y M, both of which stay bounded as cells shrink;
    B alone does not, and costs every integrator its order (:func:`gleg_core.system.assembly.with_steady_lifts`)."""
    moved, data, modulated = dict(fields), list(parts.data), list(parts.modulated)
    for name, field in fields.items():
        own = [c.matrix for c in parts.data if c.source == c.target == name]
        stiff = [c.matrix for c in parts.stiff if c.source == c.target == name]
        if not own or not stiff or name not in where:
            continue
        K, M = _sum(stiff), field.local.mass
        sigma, factors = _damped(K, M, 1.0 / duration)
        B = torch.stack(own).sum(dim=0)
        Y = factors.solve(-B)
        moved[name] = field.with_lift_moved(Y)
        data = [c for c in data if not c.source == c.target == name]
        data.append(Coupling(name, name, sigma * (Y @ M)))
        data += [
            Coupling(name, c.target, Y @ c.matrix)
            for c in (*parts.stiff, *parts.mild)
            if c.source == name and c.target != name
        ]
        modulated = [
            replace(m, B=m.B + Y @ m.A) if m.source == name and m.B is not None and m.A is not None else m
            for m in modulated
        ]
    return moved, replace(parts, data=merged(data), modulated=modulated)


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


def norms(fields: Mapping[str, DiscreteField], where: Mapping[str, slice], z: Tensor) -> Tensor:
    """‖u‖ in L²(Ω) of every field of a state without its lift, (..., fields)."""
    return torch.stack([fields[name].space.norm(z[..., s]) for name, s in where.items()], dim=-1)
