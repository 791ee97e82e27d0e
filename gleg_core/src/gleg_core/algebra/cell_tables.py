"""Fields on the cells of a local basis: synthesis at the nodes of its rules, the adjoint of that, and matrices.

Cells that share reference functions φ̂ (q, m) are evaluated together: coefficients are gathered cell by cell, (E, m), and multiplied by one
table. Nodes are numbered group by group, cell by cell. Derivatives with respect to place are ∂u/∂x_j = Σ_i ∂ξ_i/∂x_j ∂û/∂ξ_i.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from gleg_core.algebra.sparse import SparseMatrix
from gleg_core.contracts.jet import MultiIndex
from gleg_core.contracts.local_basis import Cells, EdgeCells, LocalBasis
from gleg_core.errors import SpecError
from gleg_core.matmul import matmul

Slot = int | None
"""None for the value of a reference function, i for ∂/∂ξ_i."""
_ROUNDING = 1e-14
"""Relative difference between weights of a cell and those of another one times a number that rounding explains."""


class CellGroup:
    """Cells with one reference table, as tensors."""

    def __init__(self, cells: Cells | EdgeCells):
        self.functions = torch.from_numpy(np.ascontiguousarray(cells.functions, dtype=np.int64))
        self.cells, self.each = self.functions.shape
        self.q = len(cells.values)
        slopes = getattr(cells, "slopes", np.zeros((0, *cells.values.shape)))
        self.tables: dict[Slot, Tensor] = {None: torch.from_numpy(np.ascontiguousarray(cells.values))}
        self.tables |= {i: torch.from_numpy(np.ascontiguousarray(table)) for i, table in enumerate(slopes)}
        self.inverse = torch.from_numpy(cells.inverse) if isinstance(cells, Cells) else None

    def chain(self, axis: int) -> dict[Slot, Tensor]:
        """∂ξ_i/∂x_axis for every i, each (E, q) or (E, 1)."""
        assert self.inverse is not None
        return {i: self.inverse[:, :, i, axis] for i in range(self.inverse.shape[-1])}

    def expand(self, own: Tensor) -> Callable[[MultiIndex], Tensor]:
        """α ↦ ∂^αu at the nodes, (..., E·q), for coefficients (..., E, m) of the functions on every cell."""
        known: dict[Slot, Tensor] = {}

        def slot(i: Slot) -> Tensor:
            if i not in known:
                known[i] = matmul(own, self.tables[i].T)
            return known[i]

        def values(alpha: MultiIndex) -> Tensor:
            if sum(alpha) == 0:
                return slot(None).flatten(-2)
            parts = [factor * slot(i) for i, factor in self.chain(alpha.index(1)).items()]
            return sum(parts[1:], parts[0]).flatten(-2)

        return values

    def adjoint(self, densities: Mapping[MultiIndex, Tensor]) -> Tensor:
        """Σ_α Σ_q g_αq ∂^αφ_k on every cell, (..., E, m), for densities (..., E·q)."""
        sums: dict[Slot, Tensor] = {}

        def add(i: Slot, values: Tensor) -> None:
            sums[i] = sums[i] + values if i in sums else values

        for alpha, density in densities.items():
            g = density.unflatten(-1, (self.cells, self.q))
            if sum(alpha) == 0:
                add(None, g)
            else:
                for i, factor in self.chain(alpha.index(1)).items():
                    add(i, factor * g)
        parts = [matmul(g, self.tables[i]) for i, g in sums.items()]
        return sum(parts[1:], parts[0])

    def matrices(self, form: Mapping[tuple[MultiIndex, MultiIndex], Tensor]) -> Tensor:
        """Σ_αβ Σ_q D_αβ ∂^βφ_k ∂^αφ_l on every cell, (E, m, m), for densities D_αβ (E·q,): coefficients times weights."""
        sums: dict[tuple[Slot, Slot], Tensor] = {}
        one: dict[Slot, Tensor] = {None: torch.ones(1, 1, dtype=torch.float64)}
        for (alpha, beta), density in form.items():
            g = density.reshape(self.cells, self.q)
            tested = self.chain(alpha.index(1)) if sum(alpha) else one
            tried = self.chain(beta.index(1)) if sum(beta) else one
            for j, of_test in tested.items():
                for k, of_trial in tried.items():
                    part = g * of_test * of_trial
                    sums[k, j] = sums[k, j] + part if (k, j) in sums else part
        total = torch.zeros(self.cells, self.each**2, dtype=torch.float64)
        for (k, j), g in sums.items():
            if (sizes := _multiples(g)) is not None:
                total += sizes * matmul((self.tables[k] * g[:1].T).T.contiguous(), self.tables[j]).flatten()
                continue
            products = (self.tables[k][:, :, None] * self.tables[j][:, None, :]).flatten(1)
            total += matmul(g, products)
        return total.reshape(self.cells, self.each, self.each)


def _taken(values: Tensor, numbers: Tensor) -> Tensor:
    """Those of values (..., M) with these numbers (E, m): (..., E, m). numpy takes them several times faster than torch."""
    if values.requires_grad and torch.is_grad_enabled():
        return values[..., numbers]
    return torch.from_numpy(values.detach().numpy().take(numbers.numpy(), axis=-1))


def _multiples(g: Tensor) -> Tensor | None:
    """Factors (E, 1) of the first row that give the rows of g (E, q), if there are such: constant coefficients on straight cells."""
    q = int(g[0].abs().argmax())
    if float(g[0, q]) == 0.0:
        return None
    sizes = g[:, q : q + 1] / g[0, q]
    return sizes if bool(((g - sizes * g[0]).abs() <= _ROUNDING * (sizes * g[0]).abs()).all()) else None


class CellRule:
    """All groups of a rule: the nodes in Ω, or those on ∂Ω."""

    def __init__(self, size: int, groups: Sequence[Cells] | Sequence[EdgeCells]):
        self.size, self.groups = size, [CellGroup(cells) for cells in groups]
        stops = np.cumsum([g.cells * g.q for g in self.groups]).tolist()
        self._spans = [slice(stop - g.cells * g.q, stop) for g, stop in zip(self.groups, stops, strict=True)]
        self._numbers = torch.cat([g.functions.flatten() for g in self.groups])

    def expand(self, a: Tensor) -> Callable[[MultiIndex], Tensor]:
        """α ↦ ∂^αu at all nodes, (..., n), |α| ≤ 1, for coefficients (..., M)."""
        return self.of_cells([_taken(a, group.functions) for group in self.groups])

    def of_cells(self, coefficients: Sequence[Tensor]) -> Callable[[MultiIndex], Tensor]:
        """The same for coefficients (..., E, m) of every group."""
        parts = [group.expand(own) for group, own in zip(self.groups, coefficients, strict=True)]
        if len(parts) == 1:
            return lambda alpha: parts[0](_possible(alpha))
        return lambda alpha: torch.cat([part(_possible(alpha)) for part in parts], dim=-1)

    def adjoint(self, densities: Mapping[MultiIndex, Tensor]) -> Tensor:
        """Σ_α Σ_q g_αq ∂^αφ_j(x_q), (..., M), for densities (..., n)."""
        return self.by_cell(densities) @ self.scatter

    def by_cell(self, densities: Mapping[MultiIndex, Tensor]) -> Tensor:
        """The same cell by cell, (..., Σ E·m), not yet added up."""
        batch = np.broadcast_shapes(*(g.shape[:-1] for g in densities.values()))  # torch.broadcast_shapes imports sympy
        whole = {_possible(alpha): g.expand(*batch, g.shape[-1]) for alpha, g in densities.items()}
        parts = [
            group.adjoint({alpha: g[..., span] for alpha, g in whole.items()}).flatten(-2)
            for group, span in zip(self.groups, self._spans, strict=True)
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)

    @cached_property
    def scatter(self) -> SparseMatrix:
        """(Σ E·m, M): adds what cells contribute to the functions they share."""
        n = len(self._numbers)
        ones = np.ones(n), self._numbers.numpy(), np.arange(n + 1)
        return SparseMatrix(sparse.csr_array(ones, shape=(n, self.size)))

    def blocks(self, form: Mapping[tuple[MultiIndex, MultiIndex], Tensor]) -> list[np.ndarray]:
        """Σ_αβ Σ_q D_αβ ∂^βφ_k ∂^αφ_l on every cell, (E, m, m) for every group, for densities D_αβ (n,)."""
        return [
            group.matrices({pair: D[span] for pair, D in form.items()}).numpy()
            for group, span in zip(self.groups, self._spans, strict=True)
        ]

    def matrix(self, form: Mapping[tuple[MultiIndex, MultiIndex], Tensor]) -> sparse.csr_array:
        """Σ_αβ Σ_q D_αβ ∂^βφ_i ∂^αφ_j, (M, M), for densities D_αβ (n,)."""
        data, rows, columns = [], [], []
        for group, blocks in zip(self.groups, self.blocks(form), strict=True):
            numbers = group.functions.numpy().astype(np.int32)
            data.append(blocks.ravel())
            rows.append(np.broadcast_to(numbers[:, :, None], blocks.shape).ravel())
            columns.append(np.broadcast_to(numbers[:, None, :], blocks.shape).ravel())
        entries = np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))
        return sparse.coo_array(entries, shape=(self.size, self.size)).tocsr()


class CellTransform:
    """A rule's evaluation as a :class:`gleg_core.contracts.transform.Transform`, for a few functions that are dense combinations."""

    def __init__(self, rule: CellRule):
        self._rule = rule
        self.work = float(sum(group.cells * group.q * group.each for group in rule.groups))

    def synthesise(self, coefficients: Tensor, alpha: MultiIndex) -> Tensor:
        return self._rule.expand(coefficients)(alpha)

    def adjoint(self, values: Tensor, alpha: MultiIndex) -> Tensor:
        return self._rule.adjoint({alpha: values})


def _possible(alpha: MultiIndex) -> MultiIndex:
    if sum(alpha) > 1:
        raise SpecError(
            "functions on cells have no second derivatives: the mechanism that asks for them needs another basis"
        )
    return alpha


@dataclass(eq=False)
class LocalTables:
    """The functions f_k = Σ_j X_jk φ_j of a local basis at the nodes of one of its rules; X is sparse, or dense with few columns.
    ``numbers`` (E, m) for every group of cells: which f_k their functions are, if each is one of them or (by the number of all) none."""

    _basis: LocalBasis
    _columns: SparseMatrix | Tensor
    _rule: CellRule
    _points: Tensor
    _on_edges: bool
    numbers: InitVar[Sequence[np.ndarray] | None] = None
    _known: dict[MultiIndex, Tensor] = field(default_factory=dict, init=False)

    def __post_init__(self, numbers: Sequence[np.ndarray] | None) -> None:
        self._numbers = None if numbers is None else [torch.from_numpy(own) for own in numbers]

    @property
    def rows(self) -> int:
        return self._columns.shape[1]

    def __call__(self, alpha: MultiIndex) -> Tensor:
        """The table (k, n). Large, unless there are few functions."""
        if alpha not in self._known:
            self._known[alpha] = self.made(alpha)
        return self._known[alpha]

    def made(self, alpha: MultiIndex) -> Tensor:
        unit = torch.eye(self.rows, dtype=torch.float64)
        return self.expand(unit)(alpha)

    def expand(self, z: Tensor) -> Callable[[MultiIndex], Tensor]:
        """α ↦ Σ_k z_k ∂^αf_k at the nodes, (..., n), for coordinates z (..., k)."""
        if self._numbers is not None:
            padded = torch.cat([z, z.new_zeros(*z.shape[:-1], 1)], dim=-1)
            return self._rule.of_cells([_taken(padded, own) for own in self._numbers])
        a = matmul(z, self._columns.T)
        inside = self._rule.expand(a)
        if not self._on_edges:
            return inside
        # derivatives on ∂Ω are those of the cells beside it
        return lambda alpha: inside(alpha) if sum(alpha) == 0 else self._basis.evaluate(a, self._points, alpha)

    def moments(self, densities: Mapping[MultiIndex, Tensor], by_tables: bool = False) -> Tensor:
        """Σ_α Σ_q g_αq ∂^αf_k(x_q), (..., k), for densities g_α (..., n): integrands times weights."""
        if isinstance(self._columns, Tensor):
            return matmul(self._rule.adjoint(densities), self._columns)
        return self._rule.by_cell(densities) @ self._sums

    @cached_property
    def _sums(self) -> SparseMatrix:
        """What cells contribute → what functions f_k get, where X is sparse."""
        assert isinstance(self._columns, SparseMatrix)
        return SparseMatrix(self._rule.scatter.matrix @ self._columns.matrix)
