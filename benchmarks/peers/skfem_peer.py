"""Peer: scikit-fem with a mesh by gmsh. Curved triangles of order p, IMEX multistep in time, static condensation and SuperLU.

    python benchmarks/peers/skfem_peer.py PROBLEM --order P --maxh H --steps N --points points.npy --out out.json [--bdf K] [--bend B]

Geometry: gmsh meshes the polygon through the break points of the exact boundary (shapes.py), then each edge on the boundary is bent to the
polynomial of degree p that interpolates the boundary, and the bend is carried into the triangle as a polynomial of degree p
(MappingIsoparametric). Space: scikit-fem has Lagrange triangles up to order 4 only, so the element of any order is written here as one of
its Element classes; nodes, degrees of freedom, mapping and quadrature (symmetric rules of order 2p − 2, there up to
19, so p ≤ 10) are scikit-fem's.

A vector is kept element by element, shape (elements, functions): values at quadrature points and load vectors are then single dense
products with the reference element's table. In (mass M + stiffness K) u = b the unknowns inside the elements are eliminated by small dense
products, what is left on the edges is factorised by SuperLU with an ordering for symmetric matrices. Time: multistep.py.
"""

from __future__ import annotations

from outcome import Clock, Settings, read_task, write_outcome

CLOCK = Clock()
with CLOCK.stage("import"):
    from collections.abc import Callable
    from functools import cached_property
    from typing import Any

    import gmsh
    import numpy as np
    import skfem
    from multistep import SOLVERS
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu
    from scipy.spatial import KDTree
    from scipy.special import jv  # noqa: F401  (multistep needs it for Allen–Cahn; loaded here to count as import)
    from shapes import breakpoints, curve, lobatto
    from skfem.mapping import MappingIsoparametric
    from skfem.quadrature import get_quadrature
    from skfem.refdom import RefTri

Array = np.ndarray


def warped_nodes(order: int) -> tuple[Array, Array]:
    """Lagrange nodes (n, 2) with Gauss–Lobatto points on the edges, and their kind (n, 3): the numerators of barycentric coordinates.

    Ordered as scikit-fem wants them: vertices 0, 1, 2, edges 01, 12, 02 from the lower vertex to the higher, interior.
    """
    p, v = order, lobatto(order)
    kinds = [(p, 0, 0), (0, p, 0), (0, 0, p)]
    kinds += [(p - i, i, 0) for i in range(1, p)]
    kinds += [(0, p - i, i) for i in range(1, p)]
    kinds += [(p - i, 0, i) for i in range(1, p)]
    kinds += [(p - i - j, i, j) for j in range(1, p) for i in range(1, p - j)]
    kind = np.array(kinds)
    spread = v[kind]
    barycentric = (1 + 3 * spread - spread.sum(axis=1, keepdims=True)) / 3
    return barycentric[:, 1:], kind


def homogeneous_legendre(order: int, a: Array, c: Array) -> tuple[Array, Array, Array]:
    """c^n P_n(a/c) for n = 0 … p and its derivatives by a and by c, each (p + 1, points). No division, so c = 0 is no exception."""
    value, by_a, by_c = (np.zeros((order + 1, len(a))) for _ in range(3))
    value[0], value[1], by_a[1] = 1.0, a, 1.0
    for n in range(1, order):
        f, g = (2 * n + 1) / (n + 1), n / (n + 1)
        value[n + 1] = f * a * value[n] - g * c * c * value[n - 1]
        by_a[n + 1] = f * (value[n] + a * by_a[n]) - g * c * c * by_a[n - 1]
        by_c[n + 1] = f * a * by_c[n] - g * (2 * c * value[n - 1] + c * c * by_c[n - 1])
    return value, by_a, by_c


def jacobi(order: int, alpha: int, z: Array) -> tuple[Array, Array]:
    """P_j^{(α, 0)}(z) for j = 0 … order and its derivative by z, each (order + 1, points)."""
    value, slope = np.zeros((order + 1, len(z))), np.zeros((order + 1, len(z)))
    value[0] = 1.0
    if order:
        value[1], slope[1] = (alpha + (alpha + 2) * z) / 2, (alpha + 2) / 2
    for j in range(2, order + 1):
        m = 2 * j + alpha
        scale = 2 * j * (j + alpha) * (m - 2)
        f, g, k = (m - 1) * m * (m - 2) / scale, (m - 1) * alpha**2 / scale, 2 * (j + alpha - 1) * (j - 1) * m / scale
        value[j] = (f * z + g) * value[j - 1] - k * value[j - 2]
        slope[j] = f * value[j - 1] + (f * z + g) * slope[j - 1] - k * slope[j - 2]
    return value, slope


def orthogonal(order: int, x: Array, y: Array, slopes: bool) -> tuple[Array, Array]:
    """The orthonormal polynomials of degree ≤ p on the triangle (Koornwinder): values (functions, n) and slopes (2, functions, n).

    c^i P_i(a/c) P_j^{(2i+1, 0)}(2y − 1) with a = 2x − 1 + y, c = 1 − y. Slopes that are not asked for are an empty array.
    """
    legendre, by_a, by_c = homogeneous_legendre(order, 2 * x - 1 + y, 1 - y)
    values, along_x, along_y = [], [], []
    for i in range(order + 1):
        factor, steep = jacobi(order - i, 2 * i + 1, 2 * y - 1)
        scale = np.sqrt((2 * i + 1) * (2 * i + 2 * np.arange(order + 1 - i) + 2))[:, None]
        factor, steep = scale * factor, scale * steep
        values.append(legendre[i] * factor)
        if slopes:
            along_x.append(2 * by_a[i] * factor)
            along_y.append((by_a[i] - by_c[i]) * factor + 2 * legendre[i] * steep)
    if not slopes:
        return np.concatenate(values), np.empty((2, 0, len(x)))
    return np.concatenate(values), np.stack([np.concatenate(along_x), np.concatenate(along_y)])


class TriangleLagrange(skfem.ElementH1):
    """Continuous piecewise polynomials of degree p; triangles must have sorted vertices, so that neighbours agree about their edge."""

    refdom = RefTri
    nodal_dofs = 1

    def __init__(self, order: int):
        self.order = self.maxdeg = order
        self.facet_dofs = order - 1
        self.interior_dofs = (order - 1) * (order - 2) // 2
        self.dofnames = ["u"] * (1 + self.facet_dofs + self.interior_dofs)
        self.doflocs, self.kinds = warped_nodes(order)
        self._to_nodal = np.linalg.inv(orthogonal(order, self.doflocs[:, 0], self.doflocs[:, 1], slopes=False)[0])
        self._at: Array | None = None

    def table(self, points: Array) -> tuple[Array, Array]:
        """All functions (functions, n) and their slopes (2, functions, n) at points (2, n) of the reference triangle."""
        values, slopes = orthogonal(self.order, points[0], points[1], slopes=True)
        return self._to_nodal @ values, self._to_nodal @ slopes

    def functions(self, points: Array) -> Array:
        """Without slopes."""
        return self._to_nodal @ orthogonal(self.order, points[0], points[1], slopes=False)[0]

    def lbasis(self, X: Array, i: int) -> tuple[Array, Array]:
        if self._at is None or self._at.shape != X.shape or (self._at != X).any():
            flat = X.reshape(2, -1)
            self._at = X.copy()
            values, slopes = self.table(flat)
            self._values = values.reshape(-1, *X.shape[1:])
            self._slopes = slopes.reshape(2, -1, *X.shape[1:])
        return self._values[i], self._slopes[:, i]


def polygon(problem: str, settings: Settings) -> tuple[skfem.MeshTri, Array]:
    """A mesh of straight triangles, and the angles of the break points: vertices 0 … n − 1 of the mesh, in order."""
    ends = breakpoints(problem, settings.maxh, settings.bend)
    corners = curve(problem, ends[:-1])
    n = len(corners)
    gmsh.initialize(interruptible=False)
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.option.setNumber("General.NumThreads", 1)
    lengths = np.hypot(*(np.roll(corners, -1, axis=0) - corners).T)
    near = np.minimum((lengths + np.roll(lengths, 1)) / 2, settings.maxh)
    for i, (px, py) in enumerate(corners.tolist(), start=1):
        gmsh.model.geo.addPoint(px, py, 0.0, float(near[i - 1]), i)
    for i in range(1, n + 1):
        gmsh.model.geo.addLine(i, i % n + 1, i)
        gmsh.model.geo.mesh.setTransfiniteCurve(i, 2)
    gmsh.model.geo.addPlaneSurface([gmsh.model.geo.addCurveLoop(list(range(1, n + 1)))], 1)
    gmsh.model.geo.synchronize()
    gmsh.option.setNumber("Mesh.MeshSizeMax", settings.maxh)
    gmsh.option.setNumber("Mesh.Algorithm", 6)
    gmsh.model.mesh.generate(2)
    tags, coordinates, _ = gmsh.model.mesh.getNodes()
    _, triangles = gmsh.model.mesh.getElementsByType(2)
    gmsh.finalize()
    place = np.empty(int(tags.max()) + 1, dtype=int)
    place[tags.astype(int)] = np.arange(len(tags))
    points, t = coordinates.reshape(-1, 3)[:, :2].T, place[triangles.astype(int)].reshape(-1, 3).T
    # gmsh gives the corners of the model the first tags; the bending below relies on it
    assert np.abs(points[:, :n] - corners.T).max() < 1e-12
    return skfem.MeshTri(np.ascontiguousarray(points), t), ends


def bent_nodes(problem: str, mesh: skfem.MeshTri, ends: Array, element: TriangleLagrange) -> Array:
    """Where the Lagrange nodes of every element lie, shape (elements, functions, 2).

    On an edge ab of the boundary the curve is chord + D(s), s from a to b. D = s (1 − s) E, and λ_a λ_b E((1 + λ_b − λ_a)/2) is a
    polynomial of degree p on the triangle that equals D on that edge and vanishes on the others.
    """
    p, n = element.order, len(ends) - 1
    x, y = element.doflocs.T
    barycentric = np.stack([1 - x - y, x, y])
    nodes = np.einsum("an,dae->end", barycentric, mesh.p[:, mesh.t])
    inner = lobatto(p)[1:-1]
    for local, (a, b) in enumerate(((0, 1), (1, 2), (0, 2))):
        facets = mesh.t2f[local]
        chosen = np.flatnonzero(mesh.f2t[1, facets] < 0)
        if not len(chosen):
            continue
        # vertices are sorted, so a piece runs from first to last = first + 1; only the closing one joins n − 1 and 0
        first, last = mesh.t[a, chosen], mesh.t[b, chosen]
        wraps = last - first != 1
        start = np.where(wraps, ends[n], ends[first])
        stop = np.where(wraps, ends[n - 1], ends[last])
        theta = start[:, None] + (stop - start)[:, None] * inner
        chord = mesh.p[:, first].T[:, None] * (1 - inner[:, None]) + mesh.p[:, last].T[:, None] * inner[:, None]
        # E at the inner nodes (pieces, p − 1, 2), and its interpolation from there to all nodes (p − 1, functions)
        scaled = (curve(problem, theta) - chord) / (inner * (1 - inner))[:, None]
        where = (1 + barycentric[b] - barycentric[a]) / 2
        interpolation = np.linalg.solve(np.vander(2 * inner - 1).T, np.vander(2 * where - 1, p - 1).T)
        bump = (barycentric[a] * barycentric[b])[:, None]
        nodes[chosen] += bump * np.einsum("mkd,kn->mnd", scaled, interpolation)
    return nodes


class Nodes:
    """What MappingIsoparametric asks of a mesh: nodes of any order, numbered like the degrees of freedom."""

    def __init__(self, nodes: Array, dofs: skfem.Dofs):
        self.dofs = dofs
        self.doflocs = np.empty((2, dofs.N))
        self.doflocs[:, dofs.element_dofs.T] = np.moveaxis(nodes, 2, 0)

    @staticmethod
    def dim() -> int:
        return 2


class Elements:
    """See multistep.Elements. A vector has the shape (elements, functions)."""

    def __init__(self, problem: str, settings: Settings, clock: Clock):
        with clock.stage("geometry"):
            self.mesh, ends = polygon(problem, settings)
            self.element = TriangleLagrange(settings.order)
            self.dofs = skfem.Dofs(self.mesh, self.element)
            nodes = bent_nodes(problem, self.mesh, ends, self.element)
            boundary = self.mesh.f2t[1, self.mesh.t2f] < 0
            self._bent = boundary.any(axis=0)
            self.mapping = MappingIsoparametric(Nodes(nodes, self.dofs), self.element)
            points, reference_weights = get_quadrature(RefTri, 2 * settings.order - 2)
            place, slope = self.mapping.F(points), self.mapping.DF(points)
            self._shape = place.shape[1:]
            self.x, self.y = (c.ravel() for c in place)
            (xx, xy), (yx, yy) = slope
            # gmsh's triangles turn left, but scikit-fem's sorted vertices may turn right: the sign goes with the cofactors
            determinant = xx * yy - xy * yx
            sign = np.sign(determinant)
            self._measure = np.abs(determinant) * reference_weights
            self._cofactors = tuple(c * sign * reference_weights for c in (yy, -xy, -yx, xx))
            self.weights = self._measure.ravel()
        with clock.stage("realisation"):
            self._phi, (self._phi_x, self._phi_y) = self.element.table(points)
            # the products below want them next to each other
            self._load_table = np.ascontiguousarray(np.concatenate([self._phi, self._phi_x, self._phi_y], axis=1).T)
            self._phi_transposed = np.ascontiguousarray(self._phi.T)
            self._edge = 3 * settings.order
            self.numbers = self.dofs.element_dofs.T.astype(np.int64)  # (elements, functions)
            rim = (
                np.zeros(0, dtype=int)
                if problem == "allen-cahn-disk"
                else self.dofs.get_facet_dofs(self.mesh.boundary_facets()).flatten()
            )
            self._free = np.ones(self.dofs.N, dtype=bool)
            self._free[rim] = False
            self.unknowns = int(self._free.sum())
            self._outer = self.numbers[:, : self._edge]
            outer_count = int(self._outer.max()) + 1  # vertices and edges are numbered before interiors
            self._kept = np.flatnonzero(self._free[:outer_count])
            self._place = np.full(
                outer_count, len(self._kept)
            )  # all that is not free goes to one more slot, which is dropped
            self._place[self._kept] = np.arange(len(self._kept))
            self._slots = self._place[self._outer]
            self._mass, self._stiffness = self._element_matrices()

    def _element_matrices(self) -> tuple[Array, Array]:
        phi, dx, dy = self._phi, self._phi_x, self._phi_y
        mass = (phi * self._measure[:, None, :]) @ phi.T
        a, b, c, d = self._cofactors
        # |J| J⁻¹J⁻ᵀ w: the cofactors carry one w and |J| J⁻¹, so that two of them are divided by |J| w
        gxx, gxy, gyy = ((p * r + q * s) / self._measure for p, q, r, s in ((a, b, a, b), (a, b, c, d), (c, d, c, d)))
        stiffness = (dx * gxx[:, None, :] + dy * gxy[:, None, :]) @ dx.T + (
            dx * gxy[:, None, :] + dy * gyy[:, None, :]
        ) @ dy.T
        return mass, stiffness

    def values(self, state: Array) -> Array:
        return (state @ self._phi).ravel()

    def load(self, density: Array, flux: tuple[Array, Array] | None = None) -> Array:
        weighted = density.reshape(self._shape) * self._measure
        if flux is None:
            return weighted @ self._phi_transposed
        a, b, c, d = self._cofactors
        fx, fy = flux[0].reshape(self._shape), flux[1].reshape(self._shape)
        return np.concatenate([weighted, a * fx + b * fy, c * fx + d * fy], axis=1) @ self._load_table

    @staticmethod
    def array(vector: Array) -> Array:
        """The numbers of a vector, not a copy."""
        return vector.reshape(-1)

    def factorised(self, mass: float, stiffness: float) -> Callable[[Array], Array]:
        local, e = mass * self._mass + stiffness * self._stiffness, self._edge
        inside = np.linalg.inv(local[:, e:, e:])
        lift = inside @ local[:, e:, :e]  # (elements, interior, edge)
        schur = local[:, :e, :e] - local[:, :e, e:] @ lift
        count, slots = len(self._kept), self._slots
        rows, columns = np.broadcast_to(slots[:, :, None], schur.shape), np.broadcast_to(slots[:, None, :], schur.shape)
        free = (rows < count) & (columns < count)
        matrix = csc_array((schur[free], (rows[free], columns[free])), shape=(count, count))
        factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        flat, solution = slots.ravel(), np.zeros(count + 1)
        state = np.empty((len(slots), local.shape[1]))
        # one batched product does b_i ↦ (A_ii⁻¹ b_i, liftᵀ b_i), the other lift u_b; einsum would be slower
        both = np.concatenate([inside, np.swapaxes(lift, 1, 2)], axis=1)
        inner = local.shape[1] - e

        def solve(right: Array) -> Array:
            reduced = (both @ right[:, e:, None])[:, :, 0]
            gathered = np.bincount(flat, (right[:, :e] - reduced[:, inner:]).ravel(), count + 1)
            solution[:count] = factors.solve(gathered[:count])
            state[:, :e] = solution[slots]
            state[:, e:] = reduced[:, :inner] - (lift @ state[:, :e, None])[:, :, 0]
            return state

        return solve

    @cached_property
    def _centres(self) -> KDTree:
        return KDTree(self.mesh.p[:, self.mesh.t].mean(axis=1).T)

    def at(self, state: Array, points: Array) -> Array:
        """u at points: the nearest elements are tried in turn until one contains the point."""
        element, place = np.zeros(len(points), dtype=int), np.zeros((2, len(points)))
        outside = np.full(len(points), np.inf)
        # most points lie in one of the three nearest; more are looked up for the others only
        for first, last in ((0, 3), (3, 16)):
            rest = np.flatnonzero(outside > 1e-10)
            last = min(last, self.mesh.t.shape[1])
            nearest = self._centres.query(points[rest], k=last)[1]
            for attempt in range(first, last):
                lost = outside[rest] > 1e-10
                left, chosen = rest[lost], nearest[lost, attempt]
                found = self._inverse(chosen, points[left])
                far = np.maximum(-found.min(axis=0, initial=0.0), found.sum(axis=0) - 1)
                better = far < outside[left]
                left = left[better]
                outside[left], element[left], place[:, left] = far[better], chosen[better], found[:, better]
        return np.einsum("fn,nf->n", self.element.functions(place), state[element])

    def _inverse(self, chosen: Array, points: Array) -> Array:
        """Places (2, n) in the reference triangle of points in the given elements: affine, then Newton's method in bent elements."""
        corners = self.mesh.p[:, self.mesh.t[:, chosen]]  # (2, 3, n)
        edge = np.stack([corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]], axis=1)
        place = solved(edge, points.T - corners[:, 0])
        close = (place > -0.5).all(axis=0) & (place.sum(axis=0) < 1.5)
        active = np.flatnonzero(self._bent[chosen] & close)
        nodes = self.mapping.mesh.doflocs
        for _ in range(12):
            if not len(active):
                break
            phi, slopes = self.element.table(place[:, active])
            own = nodes[:, self.numbers[chosen[active]]]  # (2, n, functions)
            here = np.einsum("fn,dnf->dn", phi, own)
            jacobian = np.einsum("afn,dnf->dan", slopes, own)
            step = solved(jacobian, points[active].T - here)
            place[:, active] += step
            active = active[(np.abs(step) > 1e-10).any(axis=0) & (np.abs(place[:, active]) < 3).all(axis=0)]
        return place


def solved(matrix: Array, right: Array) -> Array:
    """2 × 2 systems: matrix (2, 2, n), right (2, n)."""
    (a, b), (c, d) = matrix
    return np.stack([d * right[0] - b * right[1], a * right[1] - c * right[0]]) / (a * d - b * c)


def solve(problem: str, settings: Settings, points: Array, clock: Clock) -> tuple[Array, int, dict[str, Any]]:
    """u(T) at the points (n, 2), the number of unknowns, and what else to record."""
    elements = Elements(problem, settings, clock)
    state = SOLVERS[problem](elements, settings, clock)
    with clock.stage("output"):
        values = elements.at(state, points)
    return values, elements.unknowns, {"elements": int(elements.mesh.t.shape[1]), "version": skfem.__version__}


def main() -> None:
    task = read_task(__doc__)
    values, unknowns, details = solve(task.problem, task.settings, np.load(task.points), CLOCK)
    write_outcome("skfem", task, CLOCK, unknowns, values, details)


if __name__ == "__main__":
    main()
