"""Sum factorisation: functions that are products of functions of one coordinate, at points on lines.

A table of M functions at n points costs M·n to apply. If the functions are products of functions of one coordinate,

    φ_j(x) = Σ_e s_e X_{p_e}(ξ_1) Y_{q_e}(ξ_2),

and the points lie on L lines ξ_2 = const, the sum over q is done once per line and the sum over p once per point: P·(Q·L + n)
for P × Q products (sum factorisation, Orszag 1980). Quadrature rules made of Gauss rules along parallel lines have such points on any
domain.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gleg_core.contracts.jet import MultiIndex
from gleg_core.contracts.transform import Transform
from gleg_core.matmul import matmul

_NUMBERS = 2_500_000
"""Intermediate sums of the rows of coefficients transformed together: bounds their memory."""
_FEWEST = 6.0
"""Fewest points per line for which lines are worth it."""
_SAME = 1e-12
"""Coordinates that differ by less than this fraction of their range are one line."""


@dataclass(frozen=True)
class Products:
    """φ_j = Σ_e s_e X_{p_e}(ξ_1) Y_{q_e}(ξ_2) over the entries e with ``function``_e = j.

    ``function``, ``first``, ``second`` (E,) are j_e, p_e, q_e, ``sign`` (E,) is s_e; ``sizes`` are M, P and Q.
    ``tables(axis, coordinates, order)`` gives the functions of one coordinate, differentiated, (P, n) or (Q, n).
    """

    function: Tensor
    first: Tensor
    second: Tensor
    sign: Tensor
    sizes: tuple[int, int, int]
    tables: Callable[[int, Tensor, int], Tensor]


def on_lines(products: Products, points: Tensor) -> Transform | None:
    """The transform at ``points`` (n, 2) in the coordinates ξ of the products; None unless they lie on few lines."""
    found = [(axis, *_lines(points[:, axis])) for axis in (0, 1)]
    axis, line, count = min(found, key=lambda f: f[2])
    return None if count * _FEWEST > len(points) else LineTransform(products, points, axis, line, count)


def _lines(coordinate: Tensor) -> tuple[Tensor, int]:
    """The number of each point's line, (n,), and how many lines there are."""
    order = coordinate.argsort()
    sorted_ = coordinate[order]
    gap = _SAME * float(sorted_[-1] - sorted_[0])
    number = torch.cat([torch.zeros(1, dtype=torch.long), (sorted_.diff() > gap).cumsum(0)])
    line = torch.empty_like(number)
    line[order] = number
    return line, int(number[-1]) + 1


@dataclass(frozen=True)
class Sums:
    """y_i = Σ_s sign_s,i x_{index_s,i}: each of the sums has few terms, padded with zeros to equally many. ``index``, ``sign`` (S, m)."""

    index: Tensor
    sign: Tensor

    @classmethod
    def of(cls, into: Tensor, read: Tensor, sign: Tensor, size: int) -> "Sums":
        """The sums y_{into_e} += sign_e x_{read_e} over the entries e; ``size`` is their number m."""
        order = into.argsort(stable=True)
        target = into[order]
        count = torch.bincount(into, minlength=size)
        slot = torch.arange(len(into)) - (count.cumsum(0) - count)[target]
        index = torch.zeros(int(count.max()), size, dtype=torch.long)
        signs = torch.zeros(index.shape, dtype=sign.dtype)
        index[slot, target], signs[slot, target] = read[order], sign[order]
        return cls(index, signs)

    def __call__(self, x: Tensor) -> Tensor:
        """(k, b) → (m, b)."""
        total = x[self.index[0]].mul_(self.sign[0, :, None])
        for index, sign in zip(self.index[1:], self.sign[1:], strict=True):
            total.addcmul_(x[index], sign[:, None])
        return total


class LineTransform:
    """Sum factorisation on lines along which coordinate ``axis`` is constant; ``line`` (n,) numbers each point's line.

    Rows of coefficients stand last throughout, (…, b), so that both sums are products of matrices as they lie in memory.
    """

    def __init__(self, products: Products, points: Tensor, axis: int, line: Tensor, count: int):
        self._M, P, Q = products.sizes
        along, across = (products.first, products.second) if axis == 1 else (products.second, products.first)
        self._P, self._Q = (P, Q) if axis == 1 else (Q, P)
        place = across * self._P + along
        self._to_products = Sums.of(place, products.function, products.sign, self._P * self._Q)
        self._to_functions = Sums.of(products.function, place, products.sign, self._M)
        self._axis, self._tables = axis, products.tables
        length = torch.bincount(line, minlength=count)
        order = line.argsort(stable=True)
        within = torch.arange(len(points)) - (length.cumsum(0) - length)[line[order]]
        self._width = int(length.max())
        self._position = torch.empty(len(points), dtype=torch.long)
        self._position[order] = line[order] * self._width + within
        level = torch.zeros(count, dtype=points.dtype).index_add_(0, line, points[:, axis]) / length
        self._along = points[:, 1 - axis]
        self._across = level
        self._count = count
        self._known: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}
        self.work = float(self._P * (self._Q * count + self._width * count))
        self._rows = max(64, _NUMBERS // (count * max(self._width, self._P)))

    def synthesise(self, coefficients: Tensor, alpha: MultiIndex) -> Tensor:
        return self._in_parts(self._synthesise, coefficients, self._M, len(self._along), alpha)

    def adjoint(self, values: Tensor, alpha: MultiIndex) -> Tensor:
        return self._in_parts(self._adjoint, values, len(self._along), self._M, alpha)

    def _in_parts(self, step: Callable[..., Tensor], x: Tensor, size: int, wanted: int, alpha: MultiIndex) -> Tensor:
        """(..., size) → (..., wanted), some rows at a time."""
        X, Y = self._factors(alpha)
        rows = x.reshape(math.prod(x.shape[:-1]), size)
        if not len(rows):
            return x.new_zeros(*x.shape[:-1], wanted)
        parts = [step(part.T.contiguous(), X, Y) for part in rows.split(self._rows)]
        return _joined(parts).reshape(*x.shape[:-1], wanted)

    def _synthesise(self, a: Tensor, X: Tensor, Y: Tensor) -> Tensor:
        """(M, b) → (n, b)."""
        per_line = matmul(Y.T, self._to_products(a).reshape(self._Q, -1))  # (L, P·b)
        return matmul(X, per_line.reshape(self._count, self._P, -1)).reshape(-1, a.shape[1])[self._position]

    def _adjoint(self, f: Tensor, X: Tensor, Y: Tensor) -> Tensor:
        """(n, b) → (M, b)."""
        padded = f.new_zeros(self._count * self._width, f.shape[1]).index_copy_(0, self._position, f)
        per_line = matmul(X.mT, padded.reshape(self._count, self._width, -1))  # (L, P, b)
        return self._to_functions(matmul(Y, per_line.reshape(self._count, -1)).reshape(self._P * self._Q, -1))

    def _factors(self, alpha: MultiIndex) -> tuple[Tensor, Tensor]:
        """X^{(α)} along the lines, padded, (L, width, P), and Y^{(α)} on the lines, (Q, L)."""
        orders = alpha[1 - self._axis], alpha[self._axis]
        if orders not in self._known:
            table = self._tables(1 - self._axis, self._along, orders[0])
            X = table.new_zeros(self._count * self._width, self._P).index_copy(0, self._position, table.T)
            Y = self._tables(self._axis, self._across, orders[1])
            self._known[orders] = X.reshape(self._count, self._width, self._P), Y.contiguous()
        return self._known[orders]


def _joined(parts: list[Tensor]) -> Tensor:
    """Parts (k, b_1), (k, b_2), … as rows, (b, k); in memory they stay as they are."""
    return (parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)).T
