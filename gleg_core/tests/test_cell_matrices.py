"""Matrices that are kept cell by cell, and solutions by static condensation, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from gleg_core.algebra.cell_matrix import CellMatrix, Condensed, Numbering
from gleg_core.algebra.sparse import Direct, Factorised

INSIDE, SHARED = 6, 3
RNG = np.random.default_rng(3)


def numbering() -> Numbering:
    """Seven cells in a ring, in two groups: neighbours share an unknown, one function of every cell but the first is none."""
    cells = np.arange(7)
    size = 8 + 7 * INSIDE
    outer = np.column_stack([cells, (cells + 1) % 7, np.where(cells == 0, 7, size)])
    whole = np.concatenate([outer, 8 + cells[:, None] * INSIDE + np.arange(INSIDE)], axis=1)
    return Numbering(size, (whole[:4], whole[4:]), (INSIDE, INSIDE))


def matrix(own: Numbering, symmetric: bool) -> CellMatrix:
    """Diagonally dominant, with a sparse rest that touches unknowns on edges only."""
    blocks = [RNG.standard_normal((len(n), n.shape[1], n.shape[1])) + 12 * np.eye(n.shape[1]) for n in own.groups]
    rest = RNG.standard_normal((8, 8))
    if symmetric:
        blocks, rest = [b + np.swapaxes(b, 1, 2) for b in blocks], rest + rest.T
    beside = sparse.csr_array(np.pad(rest, (0, own.size - 8)))
    return CellMatrix(own, own, blocks, beside, symmetric)


def dense(A: CellMatrix) -> np.ndarray:
    """Entry by entry."""
    whole = np.zeros((A.rows.size + 1, A.columns.size + 1))
    for rows, columns, blocks in zip(A.rows.groups, A.columns.groups, A.blocks, strict=True):
        for i, j, block in zip(rows, columns, blocks, strict=True):
            np.add.at(whole, np.ix_(i, j), block)
    return whole[:-1, :-1] + (0.0 if A.rest is None else A.rest.toarray())


def close(found: object, expected: np.ndarray) -> None:
    assert np.allclose(np.asarray(found), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("batch", [(), (1,), (5,), (40,)])
@pytest.mark.parametrize("symmetric", [True, False])
def test_products_and_solutions(symmetric: bool, batch: tuple[int, ...]) -> None:
    own = numbering()
    A, B = matrix(own, symmetric), matrix(own, symmetric)
    S = A - 0.3 * B
    truth = dense(A) - 0.3 * dense(B)
    z = torch.from_numpy(RNG.standard_normal((*batch, own.size)))
    close(S.matrix.toarray(), truth)
    close(S.diagonal(), truth.diagonal())
    assert S.is_symmetric() is symmetric
    close(z @ S, z.numpy() @ truth)
    close(z @ S.T, z.numpy() @ truth.T)
    factors = Factorised(S, symmetric)
    assert isinstance(factors._factors, Condensed)
    close(factors.solve(z), np.linalg.solve(truth.T, z.numpy().T).T)
    close(factors.solved(z, transposed=False), np.linalg.solve(truth, z.numpy().T).T)


def test_gradients() -> None:
    own = numbering()
    S = matrix(own, symmetric=False)
    z = torch.from_numpy(RNG.standard_normal((2, own.size))).requires_grad_()
    factors = Factorised(S, symmetric=False)
    assert torch.autograd.gradcheck(lambda z: (factors.solve(z), z @ S), z)


def test_a_cell_that_is_singular_inside() -> None:
    """Its unknowns cannot be eliminated by themselves, though the whole matrix can be inverted."""
    own = numbering()
    A = matrix(own, symmetric=False)
    A.blocks[1][2, -INSIDE:, -INSIDE:] = 0.0
    A.blocks[1][2, -INSIDE:, :2] += 3.0 * RNG.standard_normal((INSIDE, 2))
    A.blocks[1][2, -INSIDE:-2, -INSIDE:-2] = np.eye(INSIDE - 2)
    factors = Factorised(A, symmetric=False)
    assert isinstance(factors._factors, Direct)
    z = RNG.standard_normal(own.size)
    close(factors.solve(torch.from_numpy(z)), np.linalg.solve(dense(A).T, z))


def test_fields_with_different_unknowns() -> None:
    """From all functions to those that are not in the first place of a cell."""
    rows = numbering()
    place = np.cumsum(np.arange(rows.size) >= 7) - 1
    columns = Numbering(
        rows.size - 7,
        tuple(
            np.where((n >= 7) & (n < rows.size), place[np.minimum(n, rows.size - 1)], rows.size - 7)
            for n in rows.groups
        ),
        rows.inside,
    )
    whole = matrix(rows, symmetric=False)
    part = CellMatrix(rows, columns, whole.blocks)
    z = RNG.standard_normal((3, rows.size))
    truth = dense(CellMatrix(rows, rows, whole.blocks))[:, 7:]
    close(torch.from_numpy(z) @ part, z @ truth)
    close(part.matrix.toarray(), truth)
    assert not part.is_symmetric()
