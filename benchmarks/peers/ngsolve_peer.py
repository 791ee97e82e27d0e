"""Peer: NGSolve. Curved triangles of order p, IMEX multistep in time, sparse Cholesky factorisation.

    python benchmarks/peers/ngsolve_peer.py PROBLEM --order P --maxh H --steps N --points points.npy --out out.json [--bdf K] [--bend B]

Geometry: every boundary edge is a Bézier curve of degree p that interpolates the exact boundary (shapes.py), so Netgen's curving to order p
reproduces it to rounding. Space: H¹ conforming of order p, Dirichlet unknowns eliminated by the factorisation (none for Allen–Cahn).
Values at quadrature points and load vectors: element matrices that do not know the geometry (NGSolve's geom_free forms) are the same for
all triangles of equal orientation, so that one dense product serves them all; the Jacobian is applied pointwise. Time: multistep.py.
"""

from __future__ import annotations

from outcome import Clock, Settings, read_task, write_outcome

CLOCK = Clock()
with CLOCK.stage("import"):
    from collections.abc import Callable
    from math import comb
    from typing import Any

    import netgen.occ as occ
    import ngsolve as ng
    import numpy as np
    import scipy.special  # noqa: F401  (used by multistep for Allen–Cahn; loaded here so that its time counts as import)
    from multistep import SOLVERS
    from ngsolve.comp import IntegrationRuleSpace
    from shapes import breakpoints, curve, lobatto

Array = np.ndarray


def boundary(problem: str, settings: Settings) -> occ.Face:
    """The face inside a closed chain of Bézier curves."""
    p, ends = settings.order, breakpoints(problem, settings.maxh, settings.bend)
    nodes = lobatto(p)
    points = curve(problem, ends[:-1, None] + np.diff(ends)[:, None] * nodes)  # (pieces, p + 1, 2)
    points[-1, -1] = points[0, 0]
    bernstein = np.array([[comb(p, j) * s**j * (1 - s) ** (p - j) for j in range(p + 1)] for s in nodes])
    poles = np.linalg.solve(bernstein, points)
    poles[:, 0], poles[:, -1] = points[:, 0], points[:, -1]
    edges = [occ.BezierCurve([occ.Pnt(px, py, 0.0) for px, py in piece]) for piece in poles.tolist()]
    return occ.Face(occ.Wire(edges))


def mesh_of(problem: str, settings: Settings) -> ng.Mesh:
    geometry = occ.OCCGeometry(boundary(problem, settings), dim=2)
    # curvature is already seen to by the pieces: Netgen shall put one edge on each
    mesh = ng.Mesh(geometry.GenerateMesh(maxh=settings.maxh, grading=0.5, curvaturesafety=0.05))
    mesh.Curve(settings.order)
    return mesh


class Space:
    """H¹ of order p with its mass and stiffness matrices.

    The quadrature has order 2p − 2, which keeps the order of convergence. A rule of order 2p changes errors by 2 % and costs a fifth more.
    """

    def __init__(self, mesh: ng.Mesh, order: int, dirichlet: bool, clock: Clock):
        self.mesh = mesh
        with clock.stage("realisation"):
            self.space = ng.H1(mesh, order=order, dirichlet=".*" if dirichlet else "")
            self.free = self.space.FreeDofs()
            u, v = self.space.TnT()
            self.mass = (
                ng.BilinearForm(u * v * ng.dx(bonus_intorder=-2), symmetric=True, symmetric_storage=True).Assemble().mat
            )
            self._stiffness = ng.BilinearForm(ng.grad(u) * ng.grad(v) * ng.dx, symmetric=True, symmetric_storage=True)
            self._stiffness = self._stiffness.Assemble().mat

    def factorised(self, mass: float, stiffness: float) -> Callable[[ng.BaseVector], ng.BaseVector]:
        total = self.mass.CreateMatrix()
        total.AsVector().data = float(mass) * self.mass.AsVector() + float(stiffness) * self._stiffness.AsVector()
        inverse = total.Inverse(self.free, inverse="sparsecholesky")
        return lambda right: (inverse * right).Evaluate()

    def at(self, state: ng.BaseVector, points: Array) -> Array:
        """u at points. Those that a coarse boundary leaves outside are moved towards the origin, a thousandth at a time."""
        u = ng.GridFunction(self.space)
        u.vec.data = state
        points = points.copy()
        places = self.mesh(points[:, 0], points[:, 1])
        for _ in range(100):
            missed = np.flatnonzero(places["nr"] < 0)
            if not len(missed):
                break
            points[missed] *= 0.999
            places[missed] = self.mesh(points[missed, 0], points[missed, 1])
        return u(places).ravel()


class Elements(Space):
    """Values at quadrature points and load vectors as dense products; see multistep.Elements."""

    def __init__(self, mesh: ng.Mesh, order: int, dirichlet: bool, clock: Clock):
        super().__init__(mesh, order, dirichlet, clock)
        with clock.stage("realisation"):
            v = self.space.TestFunction()
            quadrature = IntegrationRuleSpace(mesh, order=order - 1)
            rules = quadrature.GetIntegrationRules()
            triple = quadrature**3
            w, w3 = quadrature.TrialFunction(), triple.TrialFunction()
            # divided by the measure and with slopes along the reference axes the integrands are the same on every element
            jacobian = ng.specialcf.JacobianMatrix(2)
            measure = ng.Det(jacobian)
            density = ng.BilinearForm(trialspace=quadrature, testspace=self.space, geom_free=True)
            density += w * v / measure * ng.dx(intrules=rules)
            self._density = density.Assemble().mat
            both = ng.BilinearForm(trialspace=triple, testspace=self.space, geom_free=True)
            slopes = jacobian.trans * ng.grad(v)
            both += (w3[0] * v + w3[1] * slopes[0] + w3[2] * slopes[1]) / measure * ng.dx(intrules=rules)
            self._both = both.Assemble().mat
            self._values_transposed = self._density.T
        with clock.stage("geometry"):
            field = ng.GridFunction(quadrature)

            def table(function: ng.CoefficientFunction) -> Array:
                field.Interpolate(function)
                return field.vec.FV().NumPy().copy()

            self.x, self.y = table(ng.x), table(ng.y)
            xx, xy, yx, yy = (table(jacobian[i, j]) for i in (0, 1) for j in (0, 1))
            self._determinant = xx * yy - xy * yx
            # |J| J⁻¹ carries a flux to the reference triangle
            self._cofactors = yy, -xy, -yx, xx
            reference = np.tile([point.weight for point in rules[ng.TRIG]], mesh.ne)
            self.weights = self._determinant * reference
            self._per_weight = 1 / reference
        self._one, self._three = self._density.CreateRowVector(), self._both.CreateRowVector()
        self._one_array = self._one.FV().NumPy()
        self._three_array = self._three.FV().NumPy().reshape(3, -1)

    def values(self, state: ng.BaseVector) -> Array:
        # the transposed load takes u to u times the reference weights
        self._one.data = self._values_transposed * state
        return self._one_array * self._per_weight

    def load(self, density: Array, flux: tuple[Array, Array] | None = None) -> ng.BaseVector:
        if flux is None:
            np.multiply(density, self._determinant, out=self._one_array)
            return (self._density * self._one).Evaluate()
        a, b, c, d = self._cofactors
        np.multiply(density, self._determinant, out=self._three_array[0])
        np.add(a * flux[0], b * flux[1], out=self._three_array[1])
        np.add(c * flux[0], d * flux[1], out=self._three_array[2])
        return (self._both * self._three).Evaluate()

    @staticmethod
    def array(vector: ng.BaseVector) -> Array:
        """The numbers of a vector, not a copy."""
        return vector.FV().NumPy()


def solve(problem: str, settings: Settings, points: Array, clock: Clock) -> tuple[Array, int, dict[str, Any]]:
    """u(T) at the points (n, 2), the number of unknowns, and what else to record."""
    ng.SetNumThreads(1)
    with clock.stage("geometry"):
        mesh = mesh_of(problem, settings)
    elements = Elements(mesh, settings.order, problem != "allen-cahn-disk", clock)
    state = SOLVERS[problem](elements, settings, clock)
    with clock.stage("output"):
        values = elements.at(state, points)
    return values, elements.free.NumSet(), {"elements": mesh.ne, "version": ng.__version__}


def main() -> None:
    task = read_task(__doc__)
    values, unknowns, details = solve(task.problem, task.settings, np.load(task.points), CLOCK)
    write_outcome("ngsolve", task, CLOCK, unknowns, values, details)


if __name__ == "__main__":
    main()
