"""Heat on a polygon with many re-entrant corners, for plugins/gleg_basis_elements/tests/test_rough_domains.py. It shares no code with gleg.

    u_t = Δu,   u = exp(−3(x² + y²))(1 + x) at t = 0

Space: NGSolve, triangles that shrink towards every corner. Time: exp(tA) is a contour integral over resolvents (Talbot's contour as in
Weideman, SIAM J. Numer. Anal. 44, 2006), so that there are no steps and no order to lose. A second mesh and order give the error.

    python benchmarks/references/coast_heat.py             # prints, for every condition, u(x, 0.1) at the points of the test
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from netgen.geom2d import SplineGeometry
from ngsolve import H1, BilinearForm, GridFunction, LinearForm, Mesh, ds, dx, exp, grad, x, y

COAST = [
    (1.0, 0.0), (0.69, 0.16), (0.35, 0.26), (0.17, 0.59), (0.31, 0.95), (-0.03, 0.88), (-0.34, 1.05), (-0.73, 0.97), (-0.81, 0.59),
    (-0.66, 0.27), (-0.44, 0.0), (-0.6, -0.31), (-0.81, -0.59), (-0.54, -0.74), (-0.3, -0.92), (0.0, -1.01), (0.31, -0.95),
    (0.38, -0.64), (0.65, -0.47), (0.89, -0.28),
]  # fmt: skip
POINTS = [(0.0, 0.0), (0.3, 0.2), (-0.4, 0.05), (-0.6, 0.7), (0.35, -0.6), (0.9, -0.05)]
END, NODES = 0.1, 24
HARBOUR = range(2, 7)
"""Edges where the mixed problem prescribes u = ½; elsewhere ∂u/∂n = 0.3."""
CONDITIONS = ("dirichlet", "neumann", "robin", "mixed")


def coast_mesh(largest: float, corner: float) -> Mesh:
    geometry = SplineGeometry()
    numbers = [geometry.AppendPoint(*p, maxh=corner) for p in COAST]
    for i, number in enumerate(numbers):
        name = "harbour" if i in HARBOUR else "rest"
        geometry.Append(["line", number, numbers[(i + 1) % len(numbers)]], leftdomain=1, rightdomain=0, bc=name)
    return Mesh(geometry.GenerateMesh(maxh=largest, grading=0.3))


def solution(mesh: Mesh, order: int, condition: str) -> np.ndarray:
    """u at the points, t = END."""
    fixed = {"dirichlet": "harbour|rest", "mixed": "harbour"}.get(condition, "")
    space = H1(mesh, order=order, dirichlet=fixed)
    u, v = space.TnT()
    stiffness, mass = BilinearForm(grad(u) * grad(v) * dx), BilinearForm(u * v * dx)
    flux = LinearForm(space)
    if condition == "robin":
        stiffness += 2.0 * u * v * ds
    if condition == "mixed":
        flux += 0.3 * v * ds("rest")
    start = LinearForm(exp(-3 * (x * x + y * y)) * (1 + x) * v * dx(bonus_intorder=10))
    for form in (stiffness, mass, flux, start):
        form.Assemble()
    found = GridFunction(space)
    if condition == "mixed":
        found.Set(0.5, definedon=mesh.Boundaries(fixed))
    free = np.array(list(space.FreeDofs()), dtype=bool)
    lift = np.where(free, 0.0, found.vec.FV().NumPy())
    K, M = (_matrix(form.mat, space.ndof) for form in (stiffness, mass))
    load, moments = ((form.vec.FV().NumPy() - A @ lift)[free] for form, A in ((flux, K), (start, M)))
    K, M = (A[free][:, free].tocsc() for A in (K, M))
    values = lift.copy()
    for z, weight in _contour():
        factors = sl.splu(
            z * M + K, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01, options={"SymmetricMode": True}
        )
        values[free] += np.real(weight * factors.solve(moments + load / z))
    found.vec.FV().NumPy()[:] = values
    return np.array([found(mesh(*p)) for p in POINTS])


def _matrix(matrix: object, size: int) -> sp.csr_matrix:
    rows, columns, entries = matrix.COO()
    return sp.csr_matrix((np.array(entries), (np.array(rows), np.array(columns))), shape=(size, size))


def _contour() -> list[tuple[complex, complex]]:
    """Poles and weights: the half of the contour in the upper half plane."""
    angle = (np.arange(NODES // 2) + 0.5) * 2 * np.pi / NODES
    a = 0.6407 * angle
    z = NODES / END * (-0.4814 + 0.6122 * angle / np.tan(a) + 0.2645j * angle)
    slope = NODES / END * (0.6122 / np.tan(a) - 0.6122 * a / np.sin(a) ** 2 + 0.2645j)
    return list(zip(z, 2 * np.exp(z * END) * slope / (1j * NODES), strict=True))


if __name__ == "__main__":
    for condition in CONDITIONS:
        coarse, fine = (solution(coast_mesh(0.2, c), p, condition) for c, p in ((1e-4, 5), (1e-5, 7)))
        print(f'    "{condition}": {fine.round(9).tolist()},  # ± {np.abs(fine - coarse).max():.0e}', flush=True)
