"""One field of a problem in its admissible space, as the assembly sees it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from gleg_core.algebra.cell_tables import LocalTables
from gleg_core.algebra.lift import Lift, check_represented
from gleg_core.algebra.local_space import LocalSpace
from gleg_core.algebra.space import AdmissibleSpace
from gleg_core.algebra.tables import Tables, tabulate
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.contracts.location import Location
from gleg_core.matmul import matmul


class FluxJet(Jet):
    """A jet on ∂Ω whose normal derivative is what the boundary condition says: ∂_n u = g − κ u where it says so."""

    def __init__(self, jet: Jet, stated: Tensor, kappa: Tensor, g: Tensor | float):
        super().__init__(jet.d, jet.dim)
        self.stated, self.kappa, self.g = stated, kappa, g

    def along(self, direction: Tensor) -> Tensor:
        said = self.g - self.kappa * self.value
        if bool(self.stated.all()):
            return said
        return torch.where(self.stated, said, super().along(direction))


@dataclass(frozen=True)
class PointValues:
    """A field on one set of points: tables of its r basis functions and of its lift columns."""

    at: Location
    functions: Tables | LocalTables
    lift: Tables | LocalTables | None

    def of_functions(self) -> Jet:
        """The r basis functions as a batch, values (r, n)."""
        return Jet(self.functions, self.at.dim)

    def of_lift(self) -> Jet:
        """The k lift columns as a batch, values (k, n)."""
        assert self.lift is not None
        return Jet(self.lift, self.at.dim)

    def of_state(self, z: Tensor, theta: Tensor | None) -> Jet:
        """The field u = N z + lift·θ for a batch of states z (..., r), values (..., n)."""
        homogeneous = self.functions.expand(z)
        if self.lift is None or theta is None:
            return Jet(homogeneous, self.at.dim)
        lifted = self.lift.expand(theta)
        return Jet(lambda alpha: homogeneous(alpha) + lifted(alpha), self.at.dim)

    def zero(self) -> Jet:
        """The zero function."""
        return Jet(lambda alpha: torch.zeros_like(self.at.x[:, 0]), self.at.dim)


@dataclass(frozen=True)
class DiscreteField:
    """A field: its space, lift, and values at volume nodes and boundary points."""

    name: str
    space: AdmissibleSpace | LocalSpace
    lift: Lift | None
    interior: PointValues
    boundary: PointValues

    @classmethod
    def make(cls, name: str, space: AdmissibleSpace | LocalSpace, lift: Lift | None) -> "DiscreteField":
        def values(at: Location) -> PointValues:
            return PointValues(at, space.tables(at), None if lift is None else space.tables(at, lift.columns))

        return cls(name, space, lift, values(space.nodes), values(space.boundary.points.at))

    def rotated(self, Q: Tensor) -> "DiscreteField":
        """The field in coordinates z' = Qᵀz."""

        def rotated(old: PointValues) -> PointValues:
            assert isinstance(old.functions, Tables)
            return replace(old, functions=old.functions.rotated(Q))

        return self._changed(rotated, space=self.dense.rotated(Q))

    def with_coordinates(self, N: Tensor, key: str) -> "DiscreteField":
        """The field in other coordinates of the same space, N = N_old Q with Q orthogonal."""
        space = replace(self.dense, N=N, key=key)
        return self._changed(lambda old: replace(old, functions=space.tables(old.at)), space=space)

    def with_lift_moved(self, Y: Tensor) -> "DiscreteField":
        """The field with lift columns L + N Yᵀ, Y of shape (k, r): the same affine space, another origin in it."""
        assert self.lift is not None
        lift = replace(self.lift, columns=self.lift.columns + self.space.expand(Y).T, orthogonal=False)
        return self._changed(lambda old: replace(old, lift=self.space.tables(old.at, lift.columns)), lift=lift)

    def _changed(self, values: Callable[[PointValues], PointValues], **parts: Any) -> "DiscreteField":
        """The field with other parts, and other values in Ω and on ∂Ω."""
        return replace(self, interior=values(self.interior), boundary=values(self.boundary), **parts)

    @property
    def r(self) -> int:
        return self.space.r

    @property
    def dense(self) -> AdmissibleSpace:
        """Its space, where only that of global functions can be meant."""
        assert isinstance(self.space, AdmissibleSpace)
        return self.space

    @property
    def local(self) -> LocalSpace:
        """Its space, where only that of local functions can be meant."""
        assert isinstance(self.space, LocalSpace)
        return self.space

    def theta(self, t: float | Tensor, rate: bool = False) -> Tensor | None:
        """θ(t), or θ̇(t): shape (k,), or (T, k) for a column of times; None without a lift."""
        if self.lift is None:
            return None
        if self.lift.moving:
            data = self.space.boundary.data(t, rate)
            theta = matmul(data, self.lift.to_theta.T)
            if isinstance(self.space.basis, LocalBasis) and not rate:
                check_represented(self.lift, data, theta)
            return theta
        times = (t.shape[0],) if isinstance(t, Tensor) and t.ndim else ()
        return torch.full((*times, 1), 0.0 if rate else 1.0, dtype=torch.float64)

    @cached_property
    def flux(self) -> tuple[Tensor, Tensor, Tensor]:
        """(stated, κ, G) on the boundary points: where the conditions state ∂_n u = θ @ G − κ u.

        ``stated`` (n_b,) boolean, κ (n_b,), G (k, n_b); k = 0 without a lift.
        """
        system = self.space.boundary
        k = 0 if self.lift is None else len(self.lift.to_data)
        G = torch.zeros(k, len(system.points.weights), dtype=torch.float64)
        for condition, rows in zip(system.conditions, system.row_spans, strict=True):
            if (flux := condition.operator.flux) is not None and self.lift is not None:
                G[:, system.points.spans[condition.segment]] = flux.factor * self.lift.to_data[:, rows[flux.trace]]
        return *system.flux, G

    def boundary_jets(self) -> tuple[Jet, Jet | None]:
        """Boundary jets of the basis functions and of the lift columns, normal derivatives as the conditions state them."""
        stated, kappa, G = self.flux
        functions = FluxJet(self.boundary.of_functions(), stated, kappa, 0.0)
        lifted = None if self.lift is None else FluxJet(self.boundary.of_lift(), stated, kappa, G)
        return functions, lifted

    def boundary_jet(self, z: Tensor, theta: Tensor | None) -> Jet:
        """The boundary jet of a state."""
        stated, kappa, G = self.flux
        g = 0.0 if theta is None else theta @ G
        return FluxJet(self.boundary.of_state(z, theta), stated, kappa, g)

    def ambient_coefficients(self, z: Tensor, theta: Tensor | None) -> Tensor:
        """a = a_bc + N z, shape (..., M)."""
        a = self.space.expand(z)
        return a if theta is None or self.lift is None else a + theta @ self.lift.columns.T

    @cached_property
    def ambient_projection(self) -> Tensor:
        """M_ΩN, shape (M, r): q = F(a) @ M_ΩN projects an ambient response."""
        zero = (0,) * self.space.basis.dim
        weighted = self.interior.functions(zero) * self.space.weights
        if self.dense.transform is not None:
            return self.dense.transform.adjoint(weighted, zero).T
        return matmul(tabulate(self.space.basis, self.space.nodes.x, zero), weighted.T)

    @cached_property
    def lift_mass(self) -> Tensor | None:
        """(k, r): NᵀM_Ω of the lift columns, so that −NᵀM_Ω ȧ_bc = −θ̇ @ lift_mass; None if that is zero."""
        if self.lift is None or self.lift.orthogonal:
            return None
        if isinstance(self.space, LocalSpace):
            assert self.interior.lift is not None
            return self.project_values(self.interior.lift((0,) * self.space.basis.dim))
        return matmul(self.lift.columns.T, self.ambient_projection)

    def state_of(self, values: Tensor, theta: Tensor | None) -> Tensor:
        """z of the function a_bc + N z with boundary data θ that is closest in L²(Ω) to nodal values (..., n): shape (..., r)."""
        moments = self.project_values(values)
        if theta is not None and self.lift_mass is not None:
            moments = moments - theta @ self.lift_mass
        return self.space.riesz(moments)

    def project_values(self, values: Tensor) -> Tensor:
        """∫ φ_i f for nodal values f (..., n): shape (..., r)."""
        zero = (0,) * self.space.basis.dim
        return self.interior.functions.moments({zero: values * self.space.weights})


DiscreteFields = Mapping[str, DiscreteField]
"""The fields of a problem, or some of them, by name."""
