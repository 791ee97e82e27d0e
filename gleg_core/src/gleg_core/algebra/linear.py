"""The stiff linear operator A of  ż = A z + n(z, t)  and the functions of it that integrators need.

    φ_0(w) = e^w,   φ_{k+1}(w) = (φ_k(w) − 1/k!)/w,   φ_k(w) = Σ_n wⁿ/(n + k)!

Two implementations of :class:`gleg_core.contracts.integrator.LinearPart`: :class:`DiagonalPart` in the eigenbasis of A,
where every function costs O(R), and :class:`DensePart` for any real matrix.
Gradients flow through z and through the eigenvalues; a dense A is a constant.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Generic, TypeVar

import torch
from torch import Tensor

from gleg_core.contracts.integrator import LinearPart, Operator
from gleg_core.errors import NumericsError

LARGEST_K = 8
"""φ_0 … φ_8 are available."""
_SERIES = 28
"""Terms of the series of φ_8 for |w| < 4, whose first one left out is below 1e-19 of the first."""
_NUMBERS_KEPT = 4_000_000
"""Values of φ_k(hA) of a diagonal A that are kept, of the latest steps h."""


class DiagonalPart:
    """A = diag(λ_1, …, λ_R) with real eigenvalues, (R,), or (..., R) for a batch whose members differ; differentiable in them."""

    def __init__(self, eigenvalues: Tensor) -> None:
        if eigenvalues.ndim < 1:
            raise ValueError(f"eigenvalues of shape (..., R) are needed, found {tuple(eigenvalues.shape)}")
        self.eigenvalues: Tensor = _finite_entries(eigenvalues)
        self.size = eigenvalues.shape[-1]
        self.radius = float(self.eigenvalues.detach().abs().max()) if self.size else 0.0
        numbers = max(1, (LARGEST_K + 1) * eigenvalues.numel())
        self._phis: Recent[float, Tensor] = Recent(min(max(_NUMBERS_KEPT // numbers, 2), 16))

    def apply(self, z: Tensor) -> Tensor:
        return z * self.eigenvalues

    def phi(self, k: int, h: float) -> Operator:
        check_phi(k)
        # what gradients pass through belongs to one computation of them, and is not kept for the next
        kept = not self.eigenvalues.requires_grad
        phis = self._phis.get(h, lambda: phis_real(h * self.eigenvalues)) if kept else phis_real(h * self.eigenvalues)
        factors = finite(phis[k], k, h)
        return lambda z: z * factors

    def resolvent(self, g: float) -> Operator:
        denominators = 1.0 - g * self.eigenvalues
        if not bool((denominators != 0).all()):
            raise NumericsError(singular(g))
        return lambda z: z / denominators

    solution = resolvent


class DensePart:
    """A is a real R × R matrix, symmetric or not.

    φ_k(hA) by scaling and doubling: φ_8 from its Taylor polynomial of degree 15 at a scaled argument, the others from
    φ_{k−1}(w) = w φ_k(w) + 1/(k−1)!, then  φ_k(2w) = 2^{−k} [e^w φ_k(w) + Σ_{j=1}^{k} φ_j(w)/(k−j)!]
    (Skaflestad & Wright 2009). The scaling follows ‖A⁴‖^{1/4} and ‖A⁵‖^{1/5} rather than ‖A‖, which spares non-normal
    matrices needless doublings (Al-Mohy & Higham 2009). The error is that of perturbing A by a few ulp of ‖A‖.
    """

    CACHE_BYTES = 2**29
    eigenvalues: Tensor | None = None

    def __init__(self, matrix: Tensor) -> None:
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"a matrix of shape (R, R) is needed, found {tuple(matrix.shape)}")
        self.matrix = _finite_entries(matrix.detach())
        self.size = len(matrix)
        room = self.CACHE_BYTES // max(1, 8 * self.size**2)
        self._phis: Recent[float, list[Tensor]] = Recent(min(max(room // LARGEST_K, 4), 32))
        self._factors: Recent[float, tuple[Tensor, Tensor]] = Recent(min(max(room // LARGEST_K, 2), 32))

    @cached_property
    def _radii(self) -> tuple[float, float]:
        return _radii(self.matrix)

    @property
    def radius(self) -> float:
        return self._radii[0]

    def apply(self, z: Tensor) -> Tensor:
        return z @ self.matrix.mT

    def phi(self, k: int, h: float) -> Operator:
        check_phi(k)
        phis = self._phis.get(h, lambda: self._scale_and_double(h, max(k, 3)))
        if k >= len(phis):
            phis = self._phis.put(h, self._scale_and_double(h, k))
        transposed = phis[k].mT
        return lambda z: z @ transposed

    def resolvent(self, g: float) -> Operator:
        lu, pivots = self._factors.get(g, lambda: self._factorise(g))

        def solve(z: Tensor) -> Tensor:
            columns = z.reshape(-1, self.size).mT
            return torch.linalg.lu_solve(lu, pivots, columns).mT.reshape(z.shape) if z.numel() else z

        return solve

    solution = resolvent

    def _factorise(self, g: float) -> tuple[Tensor, Tensor]:
        identity = torch.eye(self.size, dtype=self.matrix.dtype, device=self.matrix.device)
        lu, pivots, info = torch.linalg.lu_factor_ex(identity - g * self.matrix)
        if int(info) != 0 or not bool(torch.isfinite(lu).all()):
            raise NumericsError(singular(g))
        return lu, pivots

    def _scale_and_double(self, h: float, top: int) -> list[Tensor]:
        """φ_0 … φ_top at hA. Those at hA/2 and hA/4 come on the way and are kept: exponential methods ask for them."""
        reach = abs(h) * self._radii[1]
        doublings = max(0, math.ceil(math.log2(reach))) if reach > 0 else 0
        phis = _phis_by_taylor(self.matrix * (h / 2.0**doublings))[: top + 1]
        for level in range(doublings, 0, -1):
            if level <= 2:
                self._phis.put(h / 2.0**level, phis)
            phis = _doubled(phis)
        finite(torch.stack([m.abs().sum() for m in phis]), top, h)
        return phis


class PartOfEach:
    """The linear parts of all members of a batch: their solutions, member by member."""

    def __init__(self, parts: Sequence[LinearPart]) -> None:
        self.parts = parts

    def solution(self, g: float) -> Operator:
        solve = [part.solution(g) for part in self.parts]

        def each(f: Tensor) -> Tensor:
            rows = f.reshape(-1, f.shape[-1])
            return (
                torch.stack([one(row) for one, row in zip(solve, rows, strict=True)]).reshape(f.shape) if solve else f
            )

        return each


def phis_real(w: Tensor) -> Tensor:
    """φ_0(w) … φ_8(w) elementwise for real w, stacked first. For |w| < 4 the series of φ_8 and the recurrence downwards, in which errors
    shrink beside the functions; elsewhere e^w − 1 and the recurrence upwards, which is stable there."""
    near = w.abs() < 4.0
    small, large = torch.where(near, w, 0.0), torch.where(near, 4.0, w)
    series = torch.full_like(w, 1.0 / math.factorial(_SERIES + LARGEST_K))
    for n in range(_SERIES - 1, -1, -1):
        series = series * small + 1.0 / math.factorial(n + LARGEST_K)
    downwards = [series]
    for k in range(LARGEST_K - 1, 0, -1):
        downwards.append(downwards[-1] * small + 1.0 / math.factorial(k))
    upwards = [torch.expm1(large) / large]
    for k in range(1, LARGEST_K):
        upwards.append((upwards[-1] - 1.0 / math.factorial(k)) / large)
    pairs = zip(reversed(downwards), upwards, strict=True)
    return torch.stack([torch.exp(w), *(torch.where(near, inner, outer) for inner, outer in pairs)])


def _phis_by_taylor(w: Tensor) -> list[Tensor]:
    """φ_0 … φ_8 of a matrix with ‖wⁿ‖ ≲ 1 for n ≥ 4; the polynomial in powers of w⁴ (Paterson & Stockmeyer 1973)."""
    identity = torch.eye(len(w), dtype=w.dtype, device=w.device)
    square = w @ w
    powers = [identity, w, square, square @ w]
    fourth = square @ square

    def block(first: int) -> Tensor:
        terms = (p / float(math.factorial(first + i + LARGEST_K)) for i, p in enumerate(powers))
        return sum(terms, torch.zeros_like(w))

    phi = block(12)
    for first in (8, 4, 0):
        phi = phi @ fourth + block(first)
    phis = [phi]
    for k in range(LARGEST_K - 1, -1, -1):
        phis.insert(0, w @ phis[0] + identity / math.factorial(k))
    return phis


def _doubled(phis: list[Tensor]) -> list[Tensor]:
    """φ_k(w) → φ_k(2w)."""
    exponential = phis[0]
    doubled = [exponential @ exponential]
    for k in range(1, len(phis)):
        total = exponential @ phis[k]
        for j in range(1, k + 1):
            total = total + phis[j] / math.factorial(k - j)
        doubled.append(total / 2.0**k)
    return doubled


def _radii(matrix: Tensor) -> tuple[float, float]:
    """‖A⁶⁴‖^{1/64} and max(‖A⁴‖^{1/4}, ‖A⁵‖^{1/5}): bounds of the spectral radius and of the Taylor terms."""
    size = float(matrix.abs().max()) if len(matrix) else 0.0
    if size == 0.0:
        return 0.0, 0.0
    unit = matrix / size
    fourth = torch.linalg.matrix_power(unit, 4)
    fifth = fourth @ unit
    taylor = min(max(a ** (1 / 4), b ** (1 / 5)) for a, b in zip(_norms(fourth), _norms(fifth), strict=True))
    power, log_scale = fourth, 0.0  # A^n = e^{log_scale} · power, up to the unit
    for _ in range(4):
        norm = float(power.abs().max())
        if norm == 0.0:
            return 0.0, taylor * size
        power, log_scale = (power / norm) @ (power / norm), 2.0 * (log_scale + math.log(norm))
    smallest = min(_norms(power))
    radius = math.exp((log_scale + math.log(smallest)) / 64.0) if smallest > 0.0 else 0.0
    return radius * size, taylor * size


def _norms(matrix: Tensor) -> tuple[float, float]:
    magnitude = matrix.abs()
    return float(magnitude.sum(0).max()), float(magnitude.sum(1).max())


def _finite_entries(values: Tensor) -> Tensor:
    values = values.to(torch.float64)
    if not bool(torch.isfinite(values).all()):
        raise NumericsError("the linear part of the system has entries that are not finite").at("fields")
    return values


def finite(values: Tensor, k: int, h: float) -> Tensor:
    """The values of φ_k(hA), refused if they overflow."""
    if not bool(torch.isfinite(values).all()):
        raise NumericsError(
            f"φ_{k}(hA) overflows at step h = {h:g}: the linear part grows too fast for this step, use a smaller one"
        )
    return values


def check_phi(k: int) -> None:
    if not 0 <= k <= LARGEST_K:
        raise ValueError(f"φ_k is available for k = 0 … {LARGEST_K}, not {k}")


def singular(g: float) -> str:
    return f"I − gA is singular at g = {g:g}: the linear part grows at the rate 1/g, use a smaller step"


Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """The most recently used values, at most ``room`` of them."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        if key in self._values:
            self._values.move_to_end(key)
            return self._values[key]
        return self.put(key, make())

    def put(self, key: Key, value: Value) -> Value:
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._room:
            self._values.popitem(last=False)
        return value
