"""Where and when an operator is evaluated."""

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from gleg_core.coordinates import COORDINATES
from gleg_core.expressions import Evaluator, Expression
from gleg_core.expressions.program import spans


@runtime_checkable
class Datum(Protocol):
    """A function of x, y, z, t that is no formula: a table, a file, a measured series, a function of the user's.

    Where a contract takes a formula it takes a datum as well, and ``at(datum)`` evaluates both.
    """

    @property
    def key(self) -> str:
        """Says all that its values depend on, a hash of the data say: what is made from it is kept on disk under it."""

    @property
    def free(self) -> frozenset[str]:
        """The variables among x, y, z, t that it depends on."""

    @property
    def number(self) -> float | None:
        """Its value if it is a constant, else None."""

    def d(self, *names: str) -> "Datum":
        """Its derivative with respect to each name in turn."""

    def at(self, location: "Location") -> Tensor:
        """Values ``(n,)``, or ``(T, n)`` for a column of times; 0-d or ``(T, 1)`` if they are the same at all points."""


Data = Expression | Datum | float
"""What is given as a function of place and time: a formula, a datum, a number."""


@dataclass(frozen=True)
class Location:
    """Points ``x`` of shape ``(n, dim)`` in physical units and a time ``t``.

    ``t`` is a number, or a tensor of shape ``(T, 1)`` to evaluate many times at once. On ∂Ω ``normal`` holds the
    outward unit normals, shape ``(n, dim)``, and ``partner`` the points of a second segment for a condition that joins two. Where the
    points are those of a quadrature, ``weights`` (n,) are its weights, so that a non-local mechanism can form integrals:
    ``(f * at.weights).sum(-1)``. ``at(formula)`` evaluates a formula, or any :data:`Data`, here; parts of a formula that do not depend
    on t are computed once per point set, those that depend on t alone once for all the pieces of a column (:meth:`moments`).
    """

    x: Tensor
    t: float | Tensor = 0.0
    normal: Tensor | None = None
    weights: Tensor | None = None
    static: dict = field(default_factory=dict, repr=False)
    clock: tuple[Evaluator, slice] | None = field(default=None, repr=False)
    partner: "Location | None" = None

    @property
    def dim(self) -> int:
        return self.x.shape[1]

    def moment(self, t: float | Tensor) -> "Location":
        """The same points at another time, sharing what does not depend on time."""
        partner = None if self.partner is None else self.partner.moment(t)
        return Location(self.x, t, self.normal, self.weights, self.static, partner=partner)

    def moments(self, times: Tensor, most: int) -> "list[Location]":
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

    def __call__(self, data: Data) -> Tensor:
        """Value of a formula or datum at these points, shape ``(n,)`` or ``(T, n)``; 0-d if it does not depend on the place."""
        value: Any = data
        if isinstance(data, Expression):
            value = self.evaluator().together([data])[0]
        elif isinstance(data, Datum):
            value = data.at(self)
        return torch.as_tensor(value, dtype=self.x.dtype, device=self.x.device)


def _plain(value: float | Tensor) -> bool:
    """True for numbers, and for tensors that numpy can read: in main memory, and not to be differentiated."""
    return not isinstance(value, Tensor) or not (value.requires_grad or value.device.type != "cpu")
