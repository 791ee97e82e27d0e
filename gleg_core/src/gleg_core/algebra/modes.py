"""A few smooth functions of a local space: eigenfunctions of the Laplacian with the field's own conditions, of the smallest eigenvalues.

    ∫ ∇φ_i·∇v + ∮ κ φ_i v = λ_i ∫ φ_i v   for all v of the space,     κ where a condition says ∂_n u = g − κu

They are coordinates with unit mass like those of global functions, so that all that is made for these works on any domain: rollouts of a
few functions, discovery, plans.
"""

from dataclasses import replace

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from gleg_core.algebra.cell_tables import CellTransform
from gleg_core.algebra.conditions import RangeFactors
from gleg_core.algebra.lift import Lift
from gleg_core.algebra.local_space import LocalSpace
from gleg_core.algebra.space import AdmissibleSpace
from gleg_core.algebra.sparse import Factorised
from gleg_core.contracts.jet import unit
from gleg_core.errors import NumericsError

_SHIFT = -1e-3
"""Where eigenvalues are looked for, in units of the smallest of a domain of this measure: below zero, which Neumann conditions have."""


def compact(space: LocalSpace, lift: Lift | None, count: int) -> tuple[AdmissibleSpace, Lift | None]:
    """The space of the ``count`` smoothest functions, and the lift made harmonic, so that what is left of a solution is smooth."""
    if count >= space.r - 1:
        raise NumericsError(
            f"{count} functions are as many as the cells have ({space.r:,}): a smaller rank is needed, or smaller elements"
        ).at("space", "rank")
    ambient, N, M = _stiffness(space), space.N.matrix, space.mass.matrix
    K = (N.T @ ambient @ N).tocsr()
    sigma = _SHIFT / float(space.weights.sum()) ** (2.0 / space.basis.dim)
    inverse = Factorised((K - sigma * M).tocsr(), symmetric=True)
    solve = LinearOperator(K.shape, lambda v: inverse.solved(torch.from_numpy(v.ravel()), False).numpy(), dtype=float)
    start = np.random.default_rng(0).standard_normal(space.r)
    values, vectors = eigsh(K, count, M, sigma, OPinv=solve, v0=start)
    columns = torch.from_numpy(np.ascontiguousarray(N @ vectors[:, np.argsort(values)]))
    if lift is not None:
        moments = torch.from_numpy(np.ascontiguousarray(-(N.T @ (ambient @ lift.columns.numpy())).T))
        lift = replace(lift, columns=lift.columns + space.expand(inverse.solved(moments, False)).T)
    nothing = torch.zeros(0, space.boundary.size, dtype=torch.float64)
    factors = RangeFactors(torch.zeros(space.basis.size, 0, dtype=torch.float64), nothing, nothing)
    ground, told = (space.basis, space.nodes, CellTransform(space.rules.inside)), {**space.diagnostics, "r": count}
    return AdmissibleSpace(*ground, boundary=space.boundary, N=columns, range=factors, diagnostics=told), lift


def _stiffness(space: LocalSpace) -> sparse.csr_array:
    """∫ ∇φ_i·∇φ_j + ∮ κ φ_i φ_j, (M, M)."""
    dim, boundary = space.basis.dim, space.boundary
    form = {(unit(dim, i), unit(dim, i)): space.weights for i in range(dim)}
    zero, kappa = (0,) * dim, boundary.flux[1]
    return space.rules.inside.matrix(form) + space.rules.edges.matrix({(zero, zero): kappa * boundary.points.weights})
