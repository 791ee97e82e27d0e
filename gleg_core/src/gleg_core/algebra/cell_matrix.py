"""Matrices on local functions, kept cell by cell, and their solution by static condensation.

    S = Σ_e P_eᵀ B_e Q_e + R,     P_e, Q_e: which unknowns the functions of cell e are,  R: what the boundary adds

Functions inside a cell touch no other cell. With o for the other unknowns of a cell and i for those inside it,

    (S_oo − Σ_e B_oi B_ii⁻¹ B_io) x_o = b_o − Σ_e B_oi B_ii⁻¹ b_i,     x_i = B_ii⁻¹ (b_i − B_io x_o)

so that only the unknowns on vertices and edges are factorised as a sparse matrix; all else are products of small dense ones.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from torch import Tensor

from gleg_core.algebra.sparse import SYMMETRY, Direct, SparseMatrix, is_symmetric, on_columns
from gleg_core.contracts.local_basis import LocalBasis

Array = np.ndarray
_SINGULAR = 1e10
"""Condition of the matrix inside a cell from which on it is not eliminated by itself: other unknowns have to be pivots then."""
_WORTH_CONDENSING = 6
"""Functions inside a cell, at least: with fewer, those on the edges are nearly all."""


@dataclass(frozen=True, eq=False)
class Numbering:
    """The unknowns that the functions of cells are: ``groups`` of numbers (E, m), ``size`` for a function that is none. The last
    ``inside`` functions of every cell of a group are in no other cell."""

    size: int
    groups: tuple[Array, ...]
    inside: tuple[int, ...]

    @classmethod
    def of(cls, basis: LocalBasis, N: sparse.csr_array) -> "Numbering | None":
        """That of the coordinates z of a = N z; None if some are no coefficients of single functions, or no function is inside a cell."""
        if N.nnz != N.shape[1] or (np.diff(N.indptr) > 1).any() or (N.data != 1.0).any():
            return None
        number = np.full(basis.size, N.shape[1])
        number[np.diff(N.indptr) > 0] = N.indices
        everywhere = [c.functions.ravel() for c in basis.cells] + [e.functions.ravel() for e in basis.edges]
        counts = np.bincount(np.concatenate(everywhere), minlength=basis.size)
        inside = []
        for cells in basis.cells:
            shared = np.flatnonzero((counts[cells.functions] > 1).any(axis=0))
            inside.append(cells.functions.shape[1] - 1 - int(shared.max(initial=-1)))
        if not all(inside):
            return None
        return cls(N.shape[1], tuple(number[cells.functions] for cells in basis.cells), tuple(inside))

    def gathered(self, columns: Array) -> list[Array]:
        """What columns (size, k) are on the cells, (E, m, k) for every group."""
        padded = np.zeros((self.size + 1, columns.shape[1]))
        padded[:-1] = columns
        return [padded[numbers] for numbers in self.groups]

    def added(self, parts: Sequence[Array]) -> Array:
        """Sums (size, k) of what the cells contribute, (E, m, k) for every group."""
        k = parts[0].shape[-1]
        if k > 1:
            return self._incidence @ np.concatenate([part.reshape(-1, k) for part in parts])
        total = np.zeros(self.size + 1)
        for numbers, part in zip(self.groups, parts, strict=True):
            total += np.bincount(numbers.ravel(), part.ravel(), self.size + 1)
        return total[:-1, None]

    @cached_property
    def _incidence(self) -> sparse.csr_array:
        numbers = np.concatenate([own.ravel() for own in self.groups])
        entries = np.ones(len(numbers)), (numbers, np.arange(len(numbers)))
        return sparse.coo_array(entries, shape=(self.size + 1, len(numbers))).tocsr()[:-1]

    @cached_property
    def outer(self) -> tuple[Array, "Numbering"]:
        """The unknowns (n,) that are not inside a cell, and their own numbering of what is left of the cells."""
        alone = np.zeros(self.size + 1, dtype=bool)
        for numbers, k in zip(self.groups, self.inside, strict=True):
            alone[numbers[:, -k:]] = True
        kept = np.flatnonzero(~alone[:-1])
        place = np.full(self.size + 1, len(kept))
        place[kept] = np.arange(len(kept))
        left = tuple(place[numbers[:, :-k]] for numbers, k in zip(self.groups, self.inside, strict=True))
        return kept, Numbering(len(kept), left, (0,) * len(left))


class CellMatrix(SparseMatrix):
    """S (m, n) from its ``blocks`` (E, m, m) for every group of cells and a sparse ``rest``, if there is one."""

    def __init__(
        self,
        rows: Numbering,
        columns: Numbering,
        blocks: Sequence[Array],
        rest: sparse.csr_array | None = None,
        symmetric: bool = False,
    ):
        self.rows, self.columns, self.blocks, self.rest, self.symmetric = rows, columns, blocks, rest, symmetric

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.size, self.columns.size

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """S in one array, where blocks are of no use."""
        return _assembled(self.rows, self.columns, self.blocks, self.rest)

    @property
    def parts(self) -> list[Array]:
        return [*self.blocks, *([] if self.rest is None else [self.rest.data])]

    def diagonal(self) -> Array:
        assert self.rows is self.columns
        own = self.rows.added([np.diagonal(block, axis1=1, axis2=2)[..., None] for block in self.blocks])[:, 0]
        return own if self.rest is None else own + self.rest.diagonal()

    def is_symmetric(self) -> bool:
        if self.rows is not self.columns or not (self.rest is None or is_symmetric(self.rest)):
            return False
        largest = max(float(np.abs(block).max(initial=0.0)) for block in self.blocks)
        beside = max(float(np.abs(block - _flipped(block)).max(initial=0.0)) for block in self.blocks)
        return beside <= SYMMETRY * largest

    def marked(self, symmetric: bool) -> "CellMatrix":
        return CellMatrix(self.rows, self.columns, self.blocks, self.rest, symmetric)

    def __mul__(self, number: float) -> "CellMatrix":
        rest = None if self.rest is None else self.rest * number
        return CellMatrix(self.rows, self.columns, [block * number for block in self.blocks], rest, self.symmetric)

    __rmul__ = __mul__

    def __add__(self, other: SparseMatrix) -> SparseMatrix:
        if not isinstance(other, CellMatrix) or (self.rows, self.columns) != (other.rows, other.columns):
            return super().__add__(other)
        rests = [part.rest for part in (self, other) if part.rest is not None]
        rest = sum(rests[1:], rests[0]) if rests else None
        blocks = [a + b for a, b in zip(self.blocks, other.blocks, strict=True)]
        return CellMatrix(self.rows, self.columns, blocks, rest, self.symmetric and other.symmetric)

    @cached_property
    def T(self) -> SparseMatrix:
        if self.symmetric:
            return self
        rest = None if self.rest is None else sparse.csr_array(self.rest.T)
        return CellMatrix(self.columns, self.rows, [_flipped(block) for block in self.blocks], rest)

    def times(self, z: Tensor) -> Tensor:
        return on_columns(self._applied, z, self.shape[1])

    def _applied(self, columns: Array) -> Array:
        """Sᵀ applied to columns (m, k)."""
        own = zip(self.blocks, self.rows.gathered(columns), strict=True)
        total = self.columns.added([np.matmul(_flipped(block), x) for block, x in own])
        return total if self.rest is None else total + self.rest.T @ columns

    def factors(self, symmetric: bool) -> "Condensed | Direct":
        if min(self.rows.inside) >= _WORTH_CONDENSING:
            with contextlib.suppress(np.linalg.LinAlgError):
                return Condensed(self, symmetric)
        return Direct(self.matrix, symmetric)


class Condensed:
    """S⁻¹ by static condensation."""

    def __init__(self, matrix: CellMatrix, symmetric: bool):
        numbering = matrix.rows
        assert numbering is matrix.columns
        self._kept, self._numbering = numbering.outer
        self._inside = [own[:, -k:] for own, k in zip(numbering.groups, numbering.inside, strict=True)]
        self._inverse: list[Array] = []
        self._lift: list[Array] = []  # B_ii⁻¹ B_io
        self._tested: list[Array] = []  # (B_oi B_ii⁻¹)ᵀ
        left = []
        for block, k in zip(matrix.blocks, numbering.inside, strict=True):
            oo, oi, io, ii = block[:, :-k, :-k], block[:, :-k, -k:], block[:, -k:, :-k], block[:, -k:, -k:]
            inverse = np.linalg.inv(ii)
            if not (_largest(inverse) * _largest(ii) < _SINGULAR).all():
                raise np.linalg.LinAlgError("singular inside a cell")
            lift = inverse @ io
            self._inverse.append(inverse)
            self._lift.append(lift)
            self._tested.append(lift if symmetric else _flipped(inverse) @ _flipped(oi))
            left.append(oo - oi @ lift)
        rest = None if matrix.rest is None else matrix.rest[self._kept][:, self._kept]
        self._skeleton = Direct(_assembled(self._numbering, self._numbering, left, rest), symmetric)
        self.numbers = self._skeleton.numbers + sum(part.size for part in (*self._inverse, *self._lift))

    def solve(self, columns: Array, transposed: bool) -> Array:
        """S⁻¹ or S⁻ᵀ applied to columns (m, k)."""
        lifts, tested = (self._tested, self._lift) if transposed else (self._lift, self._tested)
        inverses = [_flipped(inverse) if transposed else inverse for inverse in self._inverse]
        columns = np.ascontiguousarray(columns)
        own = [columns[numbers] for numbers in self._inside]
        reduced = columns[self._kept] - self._numbering.added(
            [np.matmul(_flipped(T), b) for T, b in zip(tested, own, strict=True)]
        )
        outer = self._skeleton.solve(reduced, transposed)
        found = np.empty(columns.shape)
        found[self._kept] = outer
        around = self._numbering.gathered(outer)
        for numbers, inverse, lift, b, x in zip(self._inside, inverses, lifts, own, around, strict=True):
            found[numbers] = np.matmul(inverse, b) - np.matmul(lift, x)
        return found


def _flipped(blocks: Array) -> Array:
    """The transposes of blocks (E, m, n)."""
    return np.swapaxes(blocks, 1, 2)


def _largest(blocks: Array) -> Array:
    return np.abs(blocks).max(axis=(1, 2))


def _assembled(
    rows: Numbering, columns: Numbering, blocks: Sequence[Array], rest: sparse.csr_array | None
) -> sparse.csr_array:
    """Σ_e P_eᵀ B_e Q_e + R in one array."""
    entries: list[tuple[Array, Array, Array]] = []
    for own, other, block in zip(rows.groups, columns.groups, blocks, strict=True):
        i, j = (
            np.broadcast_to(numbers, block.shape).ravel()
            for numbers in (own.astype(np.int32)[:, :, None], other.astype(np.int32)[:, None, :])
        )
        entries.append((block.ravel(), i, j))
    data, i, j = (np.concatenate(part) for part in zip(*entries, strict=True))
    known = (i < rows.size) & (j < columns.size)
    if not known.all():
        data, i, j = data[known], i[known], j[known]
    whole = sparse.coo_array((data, (i, j)), shape=(rows.size, columns.size)).tocsr()
    return whole if rest is None else sparse.csr_array(whole + rest)
