"""Contract BoundaryOperator: one boundary condition B u = g(x, t) on a segment of ∂Ω.

An operator is stated once, as linear *traces* of a jet. Applied to the basis functions the traces are the rows of C;
applied to an exact solution they are its data; applied to a state they are the residual:

    C a = d(t),      C_{(τ,b), j} = B_τ φ_j (x_b),      d_{(τ,b)}(t) = g_τ(x_b, t).

The factory of a boundary entry is called as ``factory(params)``; params hold the data.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Data, Location


@dataclass(frozen=True)
class Flux:
    """What a condition says about the normal derivative:  ∂_n u = factor · g − kappa(x) · u,  g the data of trace ``trace``.

    With it a weak form replaces ∮ v ∂_n u by known quantities, so that Neumann and Robin problems keep a symmetric operator. A nonlinear
    condition (radiation, a reaction on the surface) adds ``response`` to the right-hand side, a function of u and the place, (..., n),
    while its traces stay the linear part; it holds through the weak form alone, and its traces are no rows of C.
    """

    trace: int
    kappa: Data = 0.0
    factor: float = 1.0
    response: Callable[[Jet, Location], Tensor] | None = None


class BoundaryOperator(ABC):
    """A boundary condition; ``order`` is the highest normal derivative in it."""

    order: int
    vanishing: tuple[int, ...] = ()
    """Orders of the normal derivatives that are zero for every homogeneous admissible function: (0,) for Dirichlet, (1,) for
    Neumann, (0, 1) for clamped, () for Robin. Weak forms drop boundary terms that contain such a trace of the test function."""
    flux: Flux | None = None
    partner: str | None = None
    """The segment that the traces read besides their own, in a condition that joins two: ``u.partner`` and ``at.partner`` are the function
    and the place there, point by point. The segments are run through in opposite directions, as ∂Ω does on both sides of a strip."""

    @property
    @abstractmethod
    def conditions(self) -> int:
        """Number of traces, i.e. scalar conditions per boundary point."""

    @abstractmethod
    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        """(B_1 u, B_2 u, …) at boundary points, each (..., n), linear in u; ``at.normal`` is the outward normal,
        ``at.weights`` are those of arclength on the segment (a condition on means may use them).
        Traces must not depend on time: only the data may."""

    @abstractmethod
    def data(self) -> Sequence[Data]:
        """(g_1, g_2, …), one formula or datum of x, y, z, t per trace."""
