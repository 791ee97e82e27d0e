"""Contract Block: one mechanism L(u) of an equation  u_t = Σ c_i L_i(u).

A block says what it *is* (:class:`Traits` and the exact interior operator, :meth:`Block.reference`) and in which of
three ways it may be realised on Ω, with test functions v = φ_i of the admissible space:

* ``pointwise``  q_i = ∫_Ω φ_i L(u) dx, L evaluated at the quadrature nodes by ``pointwise`` (the reference, unless overridden);
* ``weak``       q_i = Σ_α ∫_Ω ∂^αφ_i F_α(u) dx + ∮_∂Ω φ_i B(u) ds, with F_α from ``weak`` and B from ``weak_boundary``;
* ``ambient``    q = NᵀM_Ω F(a), F the coefficient-space map on Q from ``ambient``.

Every method acts on batches (values of shape (..., n), points last) and is differentiable. Because a linear mechanism
acts on a batch of basis functions too, core assembles its matrix by itself. A mechanism that is a sum, of a stiff linear
part and a nonlinear one say, names its ``parts``, and core realises each of them by itself. The factory of a block entry is
called as ``factory(params, binding)``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from gleg_core.contracts.basis import Basis
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location

Structure = Literal["E", "H", "R", "auxiliary"]
Mode = Literal["weak", "pointwise", "ambient"]
Fields = Mapping[str, Jet]


@dataclass(frozen=True)
class Traits:
    """What a mechanism declares about itself.

    ``structure``: E (dissipative, −G∇E), H (conservative, J∇H), R (reaction, forcing, closure) or auxiliary (a map
    used by other mechanisms). ``order``: highest derivative. ``degree``: polynomial degree in the fields; 1 means
    linear and homogeneous (core assembles a matrix), 0 independent of the fields, None not polynomial. ``modes``: admissible
    realisations, preferred first. ``invariants``: names of conserved quantities (``mass``, ``energy``).
    ``time_dependent``: True if L itself depends on t. ``weak_traces``: orders of the
    normal derivatives of the test functions that must vanish on all of ∂Ω for ``weak`` to be complete, (0, 1) for v = ∂_n v = 0;
    empty if ``weak_boundary`` supplies what remains. ``conditions``: the least number of boundary conditions the mechanism needs at
    every boundary point, if that is not order/2: a fourth-order weak form with a natural condition needs one, and admits two.
    """

    structure: Structure
    order: int
    degree: int | None
    modes: tuple[Mode, ...] = ("pointwise",)
    invariants: tuple[str, ...] = ()
    time_dependent: bool = False
    weak_traces: tuple[int, ...] = ()
    conditions: int | None = None


@dataclass(frozen=True)
class Binding:
    """Where a block stands in a problem: the ``target`` field whose equation it is in, all ``fields``, the ``dim``."""

    target: str
    fields: tuple[str, ...]
    dim: int


class Block(ABC):
    """A mechanism."""

    traits: Traits

    @abstractmethod
    def reference(self, fields: Fields, at: Location) -> Tensor:
        """L(u)(x, t), shape (..., n): the exact interior operator on smooth functions. It defines the mechanism:
        manufactured forcing, training targets, the pointwise realisation and conformance all use it."""

    def pointwise(self, fields: Fields, at: Location) -> Tensor:
        """L(u) at the quadrature nodes (mode ``pointwise``); learned blocks put their response here."""
        return self.reference(fields, at)

    def admit(self, basis: Basis) -> None:  # noqa: B027 (most blocks admit every basis)
        """Called once before the block is realised on a space over ``basis``: the place to warn or to refuse."""

    def weak(self, fields: Fields, at: Location) -> Mapping[MultiIndex, Tensor]:
        """{α: F_α} with ∫ v L(u) = Σ_α ∫ ∂^αv F_α(u) + boundary terms (mode ``weak``)."""
        raise NotImplementedError(f"{type(self).__name__} has no weak form")

    def weak_boundary(self, fields: Fields, at: Location) -> Tensor | None:
        """B(u) of the boundary term ∮ v B(u), shape (..., n_b), or None if there is none. Here ``jet.along(at.normal)``
        of a field is what its boundary condition prescribes, where it prescribes ∂_n u."""
        return None

    def ambient(self, basis: Basis, field: str) -> Callable[[Tensor], Tensor]:
        """F: coefficients (..., M) of ``field`` → coefficients (..., M) of L(u) on Q (mode ``ambient``)."""
        raise NotImplementedError(f"{type(self).__name__} has no ambient map")

    def symbol(self) -> Mapping[MultiIndex, float] | None:
        """For a constant-coefficient linear differential operator L = Σ_α s_α ∂^α of one field: {α: s_α}. It lets
        core compose mechanisms, e.g. (Δ + k²)². None for everything else."""
        return None

    @property
    def parts(self) -> "tuple[Block, ...]":
        """The mechanisms whose sum it is; their references sum to its own. Each becomes a term of the equation, with the same
        coefficient, so that linear parts are assembled although the whole is not linear."""
        return (self,)

    @property
    def law(self) -> "Block | None":
        """The exact mechanism with all its realisations: itself, the twin of a learned block, or None if only ``reference`` is known.
        Weak manufactured forcing is made from it, so that what a block has learned wrongly shows as an error."""
        return self

    @property
    def acts_on(self) -> str | None:
        """The single field a linear or ambient block reads; None if it reads several or none."""
        return None
