"""Where and when an operator is evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from gleg_core.coordinates import COORDINATES
from gleg_core.expressions import Evaluator, Expression
from gleg_core.expressions.program import spans


@dataclass(frozen=True)
class Location:
    """Points ``x`` of shape ``(n, dim)`` in physical units and a time ``t``.

    ``t`` is a number, or a tensor of shape ``(T, 1)`` to evaluate many times at once. On ∂Ω ``normal`` holds the
    outward unit normals, shape ``(n, dim)``. Where the points are those of a quadrature, ``weights`` (n,) are its weights, so that
    a non-local mechanism can form integrals: ``(f * at.weights).sum(-1)``. ``at(formula)`` evaluates a formula of x, y, z, t here; parts of
    a formula that do not depend on t are computed once per point set, those that depend on t alone once for all the pieces of a column
    (:meth:`moments`).
    """

    x: Tensor
    t: float | Tensor = 0.0
    normal: Tensor | None = None
    weights: Tensor | None = None
    static: dict = field(default_factory=dict, repr=False)
    clock: tuple[Evaluator, slice] | None = field(default=None, repr=False)

    @property
    def dim(self) -> int:
        return self.x.shape[1]

    def moment(self, t: float | Tensor) -> Location:
        """The same points at another time, sharing what does not depend on time."""
        return Location(self.x, t, self.normal, self.weights, self.static)

    def moments(self, times: Tensor, most: int) -> list[Location]:
        """The same points at a column of times (T, 1), in pieces of at most ``most`` points × times (or one time each)."""
        clock, size = Evaluator({"t": times.numpy() if _plain(times) else times}), max(1, most // len(self.x))
        pieces = spans(len(times), size)
        return [Location(self.x, times[s], self.normal, self.weights, self.static, (clock, s)) for s in pieces]

    def evaluator(self) -> Evaluator:
        """An evaluator whose intermediate results are shared by all formulas evaluated with it. It gives arrays of numpy, which is faster
        than torch on short ones, unless there is something to differentiate."""
        if not (_plain(self.x) and _plain(self.t)):
            return Evaluator({**dict(zip(COORDINATES, self.x.unbind(1), strict=False)), "t": self.t})
        if "coordinates" not in self.static:
            columns = [c.contiguous().numpy() for c in self.x.unbind(1)]
            self.static["coordinates"] = dict(zip(COORDINATES, columns, strict=False))
        t = self.t.numpy() if isinstance(self.t, Tensor) else self.t
        return Evaluator({**self.static["coordinates"], "t": t}, self.static, self.clock)

    def __call__(self, formula: Expression | float) -> Tensor:
        """Value of a formula at these points, shape ``(n,)`` or ``(T, n)``; 0-d if it does not depend on the place."""
        value = self.evaluator().together([formula])[0] if isinstance(formula, Expression) else formula
        return torch.as_tensor(value, dtype=self.x.dtype, device=self.x.device)


def _plain(value: float | Tensor) -> bool:
    """True for numbers, and for tensors that numpy can read: in main memory, and not to be differentiated."""
    return not isinstance(value, Tensor) or not (value.requires_grad or value.device.type != "cpu")
