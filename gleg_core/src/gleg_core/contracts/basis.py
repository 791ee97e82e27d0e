"""Contract Basis: the ambient trial space V_K(Q) = span{φ_1, …, φ_M} on a box Q around the domain.

    u_a(x) = Σ_j a_j φ_j(x),      coefficients a of shape (..., M),  tables Φ of shape (M, n)

Derivatives are with respect to *physical* coordinates: the basis owns the map from Q to the user's units, so no other
part of gleg ever rescales a coefficient. The factory of a basis entry is called as ``factory(params, site)``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gleg_core.contracts.domain import Domain, RoughPoint
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.transform import IntegratedProducts, Transform
from gleg_core.matmul import matmul


@dataclass(frozen=True)
class Frame:
    """The box Q in physical space: x = centre + R (h ∘ ξ) for ξ ∈ [−1, 1]^d.

    ``half_widths`` h has shape (d,); all equal when the basis needs isotropic scaling. ``rotation`` R is (d, d), orthogonal.
    """

    centre: np.ndarray
    half_widths: np.ndarray
    rotation: np.ndarray

    @property
    def dim(self) -> int:
        return len(self.centre)

    def to_reference(self, points: np.ndarray) -> np.ndarray:
        """ξ = Rᵀ(x − centre) / h, shape (n, d)."""
        return (points - self.centre) @ self.rotation / self.half_widths

    def to_physical(self, xi: np.ndarray) -> np.ndarray:
        """x = centre + R (h ∘ ξ), shape (n, d)."""
        return self.centre + (xi * self.half_widths) @ self.rotation.T


@dataclass(frozen=True)
class Site:
    """What a basis is made for: the box ``frame`` and the ``domain`` inside it. A block is trained and checked on a bare box, ``domain``
    None; a basis that cannot do without a domain refuses it. What else core knows of the problem helps a basis that can adapt to it:

    * ``rough``: points where solutions are not smooth;
    * ``interfaces``: functions of points (n, dim) → (n,) at whose zeros coefficients or data jump;
    * ``regions``: domains at whose boundaries they jump;
    * ``known``: points (n, dim) → values (k, n) of functions that belong to the solution or force it;
    * ``known_on``: segment, points (n, dim) → values (k, n) of the data there.

    Later versions may add to it."""

    frame: Frame
    domain: Domain | None = None
    rough: tuple[RoughPoint, ...] = ()
    interfaces: tuple[Callable[[np.ndarray], np.ndarray], ...] = ()
    known: Callable[[np.ndarray], np.ndarray] | None = None
    known_on: Callable[[str, np.ndarray], np.ndarray] | None = None
    regions: tuple[Domain, ...] = ()


class Basis(ABC):
    """Ambient trial functions on Q."""

    frame: Frame
    size: int
    """M, the number of functions."""
    bandwidth: float
    """Largest wavenumber resolved, radians per physical unit length; sets boundary samples and quadrature."""
    periodic: bool = False
    """True if the functions repeat with period Q: then Ω needs a margin to the edge of Q."""
    isotropic: bool = True
    """True if Q must be a cube (equal half widths)."""
    wavevectors: Tensor | None = None
    """For bases that diagonalise constant-coefficient operators: physical wavevectors κ_j, shape (M, dim)."""

    @property
    def dim(self) -> int:
        return self.frame.dim

    @abstractmethod
    def tabulate(self, points: Tensor, derivatives: Iterable[MultiIndex]) -> dict[MultiIndex, Tensor]:
        """∂^α φ_j at ``points`` (n, dim) for every α, each of shape (M, n); differentiable in ``points``."""

    @abstractmethod
    def project(self, function: Callable[[Tensor], Tensor]) -> Tensor:
        """Coefficients (..., M) of the orthogonal projection onto V_K(Q), in the basis' own inner product on Q,
        of ``function``: points (n, dim) → values (..., n)."""

    def transform(self, points: Tensor) -> Transform | None:
        """A faster way than tables to evaluate many functions of this basis at ``points`` (n, dim), if it has one for them."""
        return None

    def products(self, points: Tensor, weights: Tensor) -> IntegratedProducts | None:
        """Integrals of products of the functions by the rule ``points`` (n, dim), ``weights`` (n,), if this basis knows a way to them that
        needs no table of its functions at the points."""
        return None

    def evaluate(self, coefficients: Tensor, points: Tensor, derivative: MultiIndex | None = None) -> Tensor:
        """Synthesis ∂^α u_a at points, shape (..., n)."""
        alpha = derivative or (0,) * self.dim
        return matmul(coefficients, self.tabulate(points, [alpha])[alpha])

    def jet(self, points: Tensor) -> Jet:
        """The basis functions themselves as a jet: a batch of M functions, values of shape (M, n)."""
        return Jet(lambda alpha: self.tabulate(points, [alpha])[alpha], self.dim)


def as_points(array: np.ndarray, device: torch.device | str = "cpu") -> Tensor:
    """numpy points → double-precision tensor on ``device``."""
    return torch.as_tensor(np.ascontiguousarray(array), dtype=torch.float64, device=device)
