"""Contract Integrator: one step of  ż = A z + n(z, t)  given the split into linear and remaining responses.

States have shape (..., R): leading dimensions are a batch. The factory of an integrator entry is called as
``factory(params)``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

Operator = Callable[[Tensor], Tensor]
"""A linear map on states (..., R) → (..., R)."""


class LinearPart(Protocol):
    """The stiff linear operator A (R × R), with the functions of it that integrators need."""

    size: int

    @property
    def radius(self) -> float:
        """Spectral radius of A (or an upper estimate), 1/time."""

    @property
    def eigenvalues(self) -> Tensor | None:
        """λ, (..., R), if A is diagonal in the coordinates of the state: functions of A are then products with functions of λ."""

    def apply(self, z: Tensor) -> Tensor:
        """A z."""

    def phi(self, k: int, h: float) -> Operator:
        """φ_k(hA): φ_0(w) = e^w, φ_{k+1}(w) = (φ_k(w) − 1/k!)/w. Computed once per (k, h)."""

    def resolvent(self, g: float) -> Operator:
        """(I − g A)^{-1}. Factorised once per g."""

    def solution(self, g: float) -> Operator:
        """(M − g K)^{-1} of the weak form A = M⁻¹K; the resolvent where M = 1."""


class WeakForm(Protocol):
    """The same system before it is solved for ż:  M ż = K z + f(z, t),  A = M⁻¹K, n = M⁻¹f.

    On local functions M is sparse and each evaluation of n costs a solution with it, which implicit methods can do without: their
    equations are in terms of f.
    """

    def mass(self, z: Tensor) -> Tensor:
        """M z."""

    def riesz(self, f: Tensor) -> Tensor:
        """M⁻¹ f."""

    def stiffness(self, z: Tensor) -> Tensor:
        """K z."""

    def load(self, z: Tensor, t: float | Tensor) -> Tensor:
        """f(z, t)."""

    def solution(self, g: float) -> Operator:
        """(M − g K)^{-1}. Factorised once per g."""


class SplitSystem(Protocol):
    """ż = A z + n(z, t)."""

    linear: LinearPart

    @property
    def weak(self) -> WeakForm | None:
        """The weak form, if M is not the identity; see :func:`weak_form`."""

    def nonlinear(self, z: Tensor, t: float | Tensor) -> Tensor:
        """n(z, t): everything but A z, forcing and moving boundary data included. ``t`` is a number, or a column (m, 1) of times, one
        for each of m states z (m, R): evaluated together they are matrix–matrix products."""

    def rhs(self, z: Tensor, t: float) -> Tensor:
        """A z + n(z, t)."""

    @property
    def autonomous(self) -> bool:
        """Whether n does not depend on t."""

    def linearised(self, z: Tensor, t: float) -> LinearPart:
        """∂(A z + n)/∂z at a state, as far as mechanisms act pointwise. At states (..., R) it has ``solution`` alone, which acts member by
        member."""


@dataclass(frozen=True)
class _Orthonormal:
    """The weak form of a system with M = 1."""

    system: SplitSystem

    def mass(self, z: Tensor) -> Tensor:
        return z

    def riesz(self, f: Tensor) -> Tensor:
        return f

    def stiffness(self, z: Tensor) -> Tensor:
        return self.system.linear.apply(z)

    def load(self, z: Tensor, t: float | Tensor) -> Tensor:
        return self.system.nonlinear(z, t)

    def solution(self, g: float) -> Operator:
        return self.system.linear.resolvent(g)


def weak_form(system: SplitSystem) -> WeakForm:
    """The weak form of any system."""
    return system.weak or _Orthonormal(system)


Stepper = Callable[[Tensor, float], tuple[Tensor, Tensor | None]]
"""(z, t) → (z at t + h, local error estimate of the shape of z, or None). What a step takes over from earlier ones is in its ``memory``,
see :class:`RememberingStepper`; the stepper of a one-step method has none."""


class RememberingStepper(Protocol):
    """A stepper whose steps depend on earlier ones.

    ``memory`` is all it remembers, as plain tensors: set as the memory of a fresh stepper for the same step it gives the same further
    steps, bit by bit, from a state with the same bits. It can be read and set between steps; steps do not write into what was read.
    """

    memory: dict[str, Tensor]

    def __call__(self, z: Tensor, t: float) -> tuple[Tensor, Tensor | None]: ...


class Integrator(ABC):
    """A method for one step at a time."""

    order: int
    """Nominal order of convergence."""
    nodes: tuple[float, ...]
    """Abscissae c_i ∈ [0, 1] at which ``nonlinear`` is evaluated: core evaluates forcing there for many steps at once."""
    starting_nodes: tuple[float, ...] = ()
    """Further abscissae that only the first steps (at most ``order`` of them) need, those of a multistep method."""
    embedded: bool = False
    """True if steps return an error estimate; core then controls the step with it, otherwise by step doubling."""

    @abstractmethod
    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        """Prepare steps of length ``h``: factorise, exponentiate, allocate here, not in the step."""

    def stable_step(self, system: SplitSystem) -> float:
        """Largest step for which A alone is stable; infinite for implicit and exponential methods."""
        return float("inf")
