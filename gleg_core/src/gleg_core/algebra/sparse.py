"""Sparse matrices that multiply rows of states, and factorisations of them.

Products and solutions are differentiable in the state; the matrix is a constant. scipy does the work: its products are five times
faster than those of torch's sparse tensors.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse.linalg
import torch
from scipy import sparse
from torch import Tensor

from gleg_core.errors import NumericsError

_PIVOT = 1e-3
"""Part of the largest entry of a column that a pivot on the diagonal must have where a matrix is not symmetric."""
_AT_ONCE = 32
"""Columns that are solved for together: more no longer fit into the caches."""
SYMMETRY = 1e-12
"""Relative asymmetry that rounding explains."""


class SparseMatrix:
    """S (m, n), constant. ``z @ S`` maps rows (..., m) to rows (..., n)."""

    def __init__(self, matrix: sparse.csr_array, symmetric: bool = False):
        self.matrix = sparse.csr_array(matrix)
        self.symmetric = symmetric

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    @property
    def parts(self) -> list[np.ndarray]:
        """Arrays that hold its entries, or those of its summands."""
        return [self.matrix.data]

    def diagonal(self) -> np.ndarray:
        return self.matrix.diagonal()

    def is_symmetric(self) -> bool:
        return is_symmetric(self.matrix)

    def marked(self, symmetric: bool) -> "SparseMatrix":
        """The same, said to be symmetric or not."""
        return SparseMatrix(self.matrix, symmetric)

    def factors(self, symmetric: bool) -> Any:
        """What solves with it: ``numbers`` it keeps, and ``solve`` of columns (m, k)."""
        return Direct(self.matrix, symmetric)

    @cached_property
    def _transposed(self) -> sparse.csr_array:
        return self.matrix if self.symmetric else sparse.csr_array(self.matrix.T)

    def __rmatmul__(self, z: Tensor) -> Tensor:
        return _Product.apply(z, self)

    def __mul__(self, number: float) -> "SparseMatrix":
        return SparseMatrix(self.matrix * number, self.symmetric)

    __rmul__ = __mul__

    def __add__(self, other: "SparseMatrix") -> "SparseMatrix":
        return SparseMatrix(self.matrix + other.matrix, self.symmetric and other.symmetric)

    def __sub__(self, other: "SparseMatrix") -> "SparseMatrix":
        return self + -1.0 * other

    @cached_property
    def T(self) -> "SparseMatrix":
        return SparseMatrix(self._transposed, self.symmetric)

    def times(self, z: Tensor) -> Tensor:
        """z @ S of a batch (..., m), with no gradient."""
        return on_columns(self._transposed.__matmul__, z, self.shape[1])


class Factorised:
    """S⁻¹ of a square sparse matrix: ``solve(z)`` is z @ S⁻¹ for rows (..., m), differentiable in z."""

    def __init__(self, matrix: SparseMatrix | sparse.csr_array, symmetric: bool):
        own = matrix if isinstance(matrix, SparseMatrix) else SparseMatrix(matrix)
        if not all(np.isfinite(part).all() for part in own.parts):
            raise NumericsError("the linear part of the system has entries that are not finite").at("fields")
        self._factors = own.factors(symmetric)
        self.numbers, self.size = self._factors.numbers, own.shape[0]

    def solve(self, z: Tensor, known: Tensor | None = None) -> Tensor:
        """z @ S⁻¹, which may be ``known``."""
        return _Solution.apply(z, self, True, known)

    def solved(self, z: Tensor, transposed: bool) -> Tensor:
        """z @ S⁻¹ (columns are solved for with Sᵀ) if ``transposed``, else z @ S⁻ᵀ, with no gradient."""
        return on_columns(lambda columns: self._solved(columns, transposed), z, self.size)

    def _solved(self, columns: np.ndarray, transposed: bool) -> np.ndarray:
        count = columns.shape[1]
        if count <= _AT_ONCE:
            return self._factors.solve(columns, transposed)
        found = np.empty(columns.shape, order="F")
        for first in range(0, count, _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            found[:, some] = self._factors.solve(columns[:, some], transposed)
        return found


class Direct:
    """A sparse LU factorisation of S. A symmetric matrix is ordered for its own fill-in and its diagonal scaled to one: masses on graded
    meshes span twenty decades."""

    def __init__(self, matrix: sparse.csr_array, symmetric: bool):
        self._symmetric = symmetric
        if not matrix.has_canonical_format:  # splu would sort the indices that it is given, and those alone
            matrix = matrix.copy()
            matrix.sum_duplicates()
        diagonal = np.abs(matrix.diagonal())
        self._scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        scaled = matrix.data * self._scale[matrix.indices] * np.repeat(self._scale, np.diff(matrix.indptr))
        try:
            self._lu = scipy.sparse.linalg.splu(
                # rows of S are columns of Sᵀ
                sparse.csc_array((scaled, matrix.indices, matrix.indptr), shape=matrix.shape),
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0 if symmetric else _PIVOT,
                options={"SymmetricMode": True},
            )
        except RuntimeError as error:  # exactly singular
            raise np.linalg.LinAlgError(str(error)) from None
        self.numbers = self._lu.nnz

    def solve(self, columns: np.ndarray, transposed: bool) -> np.ndarray:
        """S⁻¹ or S⁻ᵀ applied to columns (m, k)."""
        # factorised is Sᵀ. SuperLU solves one transposed system faster, many plain ones
        single = columns.shape[1] == 1
        plain = (transposed or self._symmetric) and not (single and self._symmetric)
        found = self._lu.solve(np.asfortranarray(self._scale[:, None] * columns), "N" if plain else "T")
        found *= self._scale[:, None]
        return found


def is_symmetric(matrix: sparse.csr_array) -> bool:
    beside = abs(matrix - matrix.T)
    return float(beside.max() if beside.nnz else 0.0) <= SYMMETRY * float(abs(matrix).max() if matrix.nnz else 0.0)


def on_columns(linear: Callable[[np.ndarray], np.ndarray], z: Tensor, size: int) -> Tensor:
    """A map of columns (m, k) → (n, k) applied to rows (..., m)."""
    columns = z.detach().reshape(-1, z.shape[-1]).numpy().T
    return torch.from_numpy(np.ascontiguousarray(linear(columns).T)).reshape(*z.shape[:-1], size)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        return matrix.times(z)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None]:
        return _Product.apply(grad[0], ctx.matrix.T), None


class _Solution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, factors: Factorised, transposed: bool, known: Tensor | None) -> Tensor:
        ctx.factors, ctx.transposed = factors, transposed
        return factors.solved(z, transposed) if known is None else known.clone()

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None, None, None]:
        return _Solution.apply(grad[0], ctx.factors, not ctx.transposed, None), None, None, None
