"""Jets: a function known through its derivatives at a set of points.

Everything in gleg that reads a field reads a :class:`Jet`: a block's reference operator, a pointwise response,
a boundary trace. The same formula therefore acts on an exact solution (symbolic derivatives), on the basis
functions (which gives matrices and boundary rows) and on a batch of states (which gives responses).

Shape convention: values have shape ``(..., n)``, points last. A batch of coefficient rows ``a`` of shape
``(..., M)`` meets a table of basis functions ``Φ`` of shape ``(M, n)`` as ``a @ Φ``.
"""

from collections.abc import Callable
from functools import cached_property

from torch import Tensor

MultiIndex = tuple[int, ...]
"""Derivative orders per coordinate: ``(2, 0)`` is ∂²/∂x² in two dimensions."""


def unit(dim: int, axis: int, order: int = 1) -> MultiIndex:
    """The multi-index of ∂^order/∂x_axis^order."""
    return tuple(order if i == axis else 0 for i in range(dim))


class Jet:
    """Derivatives of one function at fixed points; each is computed when first asked for, once.

    ``partner`` is the jet of the same function at the points ``at.partner``, in the traces of a condition that joins two segments.
    """

    def __init__(self, derivative: Callable[[MultiIndex], Tensor], dim: int):
        self._derivative = derivative
        self._known: dict[MultiIndex, Tensor] = {}
        self._powers: dict[int, Tensor] = {}
        self.dim = dim
        self.partner: Jet | None = None

    def d(self, alpha: MultiIndex) -> Tensor:
        """∂^α u at the points, shape ``(..., n)``."""
        if alpha not in self._known:
            self._known[alpha] = self._derivative(alpha)
        return self._known[alpha]

    @property
    def dims(self) -> int:
        """Number of dimensions of what was asked for so far, points included: 1 for a single function."""
        return max((values.dim() for values in self._known.values()), default=1)

    @cached_property
    def value(self) -> Tensor:
        """u, shape ``(..., n)``."""
        return self.d((0,) * self.dim)

    def power(self, p: int) -> Tensor:
        """uᵖ, p ≥ 1, shape ``(..., n)``: products of lower powers, each computed once however many mechanisms read it."""
        if p == 1:
            return self.value
        if p not in self._powers:
            half, rest = self.power(p // 2), self.power(p - p // 2)
            self._powers[p] = half * rest
        return self._powers[p]

    @cached_property
    def grad(self) -> tuple[Tensor, ...]:
        """(∂u/∂x₁, …, ∂u/∂x_d), each of shape ``(..., n)``."""
        return tuple(self.d(unit(self.dim, i)) for i in range(self.dim))

    @cached_property
    def laplacian(self) -> Tensor:
        """Δu = Σ ∂²u/∂x_i²."""
        first, *others = (self.d(unit(self.dim, i, 2)) for i in range(self.dim))
        return sum(others, first)

    def along(self, direction: Tensor) -> Tensor:
        """Directional derivative direction·∇u for ``direction`` of shape ``(n, dim)``."""
        first, *others = (slope * direction[:, i] for i, slope in enumerate(self.grad))
        return sum(others, first)
