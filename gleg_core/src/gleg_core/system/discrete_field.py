"""One field of a problem in its admissible space, as the assembly sees it."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from gleg_core.algebra.space import AdmissibleSpace
from gleg_core.algebra.tables import Tables, tabulate
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.matmul import matmul


class FluxJet(Jet):
    """A jet on ∂Ω whose normal derivative is what the boundary condition says: ∂_n u = g − κ u where it says so."""

    def __init__(self, jet: Jet, stated: Tensor, kappa: Tensor, g: Tensor | float):
        super().__init__(jet.d, jet.dim)
        self._stated, self._kappa, self._g = stated, kappa, g

    def along(self, direction: Tensor) -> Tensor:
        free = super().along(direction)
        return torch.where(self._stated, self._g - self._kappa * self.value, free)


@dataclass(frozen=True)
class Lift:
    """a_bc(t) = columns · θ(t): θ = Σ⁻¹UᵀS d(t) for moving data, θ = 1 with one column for data fixed in time.

    ``columns`` (M, k); ``to_data`` (k, N_b) turns θ back into boundary data, d = θ @ to_data; ``orthogonal`` says that the columns have
    no part in range(N), so that ȧ_bc does not enter the reduced equation.
    """

    columns: Tensor
    to_data: Tensor
    moving: bool
    orthogonal: bool

    @classmethod
    def of(cls, space: AdmissibleSpace, start: float, mass_minimal: bool) -> "Lift | None":
        """The minimum-norm lift C⁺d, None for zero data. ``mass_minimal`` subtracts its part in range(N) (and only there: minimising
        over all of ker C would alter the components that the mass cut discards)."""
        boundary, factors = space.boundary, space.range
        if boundary.homogeneous:
            return None
        columns, to_data = factors.V, factors.to_data
        if not boundary.moving:
            data = boundary.data(start)
            columns, to_data = factors.V @ (factors.to_theta @ data)[:, None], data[None]
        if mass_minimal:
            columns = columns - matmul(space.N, space.coordinates(columns.T).T)
        return cls(columns, to_data, boundary.moving, mass_minimal)


@dataclass(frozen=True)
class PointValues:
    """A field on one set of points: tables of its r basis functions and of its lift columns."""

    at: Location
    functions: Tables
    lift: Tables | None

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
    space: AdmissibleSpace
    lift: Lift | None
    interior: PointValues
    boundary: PointValues

    @classmethod
    def make(cls, name: str, space: AdmissibleSpace, lift: Lift | None) -> "DiscreteField":
        def values(at: Location) -> PointValues:
            return PointValues(at, space.tables(at), None if lift is None else space.tables(at, lift.columns))

        return cls(name, space, lift, values(space.nodes), values(space.boundary.points.at))

    def rotated(self, Q: Tensor) -> "DiscreteField":
        """The field in coordinates z' = Qᵀz."""
        return replace(
            self,
            space=self.space.rotated(Q),
            interior=replace(self.interior, functions=self.interior.functions.rotated(Q)),
            boundary=replace(self.boundary, functions=self.boundary.functions.rotated(Q)),
        )

    def with_coordinates(self, N: Tensor, key: str) -> "DiscreteField":
        """The field in other coordinates of the same space, N = N_old Q with Q orthogonal."""
        space = replace(self.space, N=N, key=key)
        return replace(
            self,
            space=space,
            interior=replace(self.interior, functions=space.tables(self.interior.at)),
            boundary=replace(self.boundary, functions=space.tables(self.boundary.at)),
        )

    def with_lift_moved(self, Y: Tensor) -> "DiscreteField":
        """The field with lift columns L + N Yᵀ, Y of shape (k, r): the same affine space, another origin in it."""
        assert self.lift is not None
        lift = replace(self.lift, columns=self.lift.columns + matmul(self.space.N, Y.T), orthogonal=False)

        def values(old: PointValues) -> PointValues:
            return replace(old, lift=self.space.tables(old.at, lift.columns))

        return replace(self, lift=lift, interior=values(self.interior), boundary=values(self.boundary))

    @property
    def r(self) -> int:
        return self.space.r

    def theta(self, t: float | Tensor, rate: bool = False) -> Tensor | None:
        """θ(t), or θ̇(t): shape (k,), or (T, k) for a column of times; None without a lift."""
        if self.lift is None:
            return None
        if self.lift.moving:
            return matmul(self.space.boundary.data(t, rate), self.space.range.to_theta.T)
        times = (t.shape[0],) if isinstance(t, Tensor) and t.ndim else ()
        return torch.full((*times, 1), 0.0 if rate else 1.0, dtype=torch.float64)

    @cached_property
    def flux(self) -> tuple[Tensor, Tensor, Tensor]:
        """(stated, κ, G) on the boundary points: where the conditions state ∂_n u = θ @ G − κ u.

        ``stated`` (n_b,) boolean, κ (n_b,), G (k, n_b); k = 0 without a lift.
        """
        system = self.space.boundary
        n_b = len(system.points.weights)
        stated = torch.zeros(n_b, dtype=torch.bool)
        kappa = torch.zeros(n_b, dtype=torch.float64)
        G = torch.zeros(0 if self.lift is None else self.lift.to_data.shape[0], n_b, dtype=torch.float64)
        for condition, at, rows in zip(system.conditions, system.locations, system.row_spans, strict=True):
            flux = condition.operator.flux
            if flux is None:
                continue
            span = system.points.spans[condition.segment]
            stated[span] = True
            kappa[span] = at(flux.kappa)
            if self.lift is not None:
                G[:, span] = flux.factor * self.lift.to_data[:, rows[flux.trace]]
        return stated, kappa, G

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
        a = matmul(z, self.space.N.T)
        return a if theta is None or self.lift is None else a + theta @ self.lift.columns.T

    @cached_property
    def ambient_projection(self) -> Tensor:
        """M_ΩN, shape (M, r): q = F(a) @ M_ΩN projects an ambient response."""
        zero = (0,) * self.space.basis.dim
        weighted = self.interior.functions(zero) * self.space.weights
        if self.space.transform is not None:
            return self.space.transform.adjoint(weighted, zero).T
        return matmul(tabulate(self.space.basis, self.space.nodes.x, zero), weighted.T)

    @cached_property
    def lift_mass(self) -> Tensor | None:
        """(k, r): NᵀM_Ω of the lift columns, so that −NᵀM_Ω ȧ_bc = −θ̇ @ lift_mass; None if that is zero."""
        if self.lift is None or self.lift.orthogonal:
            return None
        return matmul(self.lift.columns.T, self.ambient_projection)

    def state_of(self, values: Tensor, theta: Tensor | None) -> Tensor:
        """z of the function a_bc + N z with boundary data θ that is closest in L²(Ω) to nodal values (..., n): shape (..., r)."""
        return self.state_of_moments(self.project_values(values), theta)

    def state_of_moments(self, moments: Tensor, theta: Tensor | None) -> Tensor:
        """The same from the moments ∫ φ_i u (..., r) of the function u to approach."""
        return moments if theta is None or self.lift_mass is None else moments - theta @ self.lift_mass

    def project_values(self, values: Tensor) -> Tensor:
        """∫ φ_i f for nodal values f (..., n): shape (..., r)."""
        zero = (0,) * self.space.basis.dim
        return self.interior.functions.moments({zero: values * self.space.weights})
