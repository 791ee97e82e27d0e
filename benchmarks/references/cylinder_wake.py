"""Reference of examples/cylinder-wake.yaml: curved finite elements of high order, fitted to the cylinder.

    python benchmarks/references/cylinder_wake.py [--output examples/references/cylinder-wake.nc] [--quick]

    ω_t + (u_bg + ∇^⊥ψ)·∇ω = νΔω + f,   −Δψ = ω,   ω = ψ = 0 on ∂Ω,   ∇^⊥ψ = (ψ_y, −ψ_x)

Space: continuous triangular elements of order p on a mesh graded to the cylinder and to the outlet, where ω falls to zero in a layer of
thickness ν/U = 0.01. Time: the implicit–explicit Runge–Kutta method ARS(4,4,3) of order 3, diffusion implicit. The estimated error is a
sum: the difference to a run of lower order on a coarser mesh, an upper estimate of the error in space, and 4/3 of the difference made
there by half the step, which supposes order 2 only. Nothing of gleg is used. Needs ngsolve, and xarray with h5netcdf.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi, sin
from pathlib import Path

import netgen.occ as occ
import ngsolve as ng
import numpy as np
import xarray as xr
from ngsolve import dx, exp, grad, x, y

X, H, R, CENTRE = 0.95, 0.2375, 0.0523, (-0.6769, 0.0)
NU, U, DELTA, A, F, WIDTH, PERIOD = 0.01, 1.0, 0.08, 12.0, 20.0, 0.07, 0.6
VORTICES = ((-0.50, 0.07), (-0.38, -0.07), (-0.22, 0.07), (-0.06, -0.07))
TIMES = np.linspace(0.0, 1.8, 7)
CURVED = 8

q = 1 - y**2 / H**2
gap = (x - CENTRE[0]) ** 2 + (y - CENTRE[1]) ** 2 - R**2
s = gap / (DELTA**2 * q)
decay = ng.IfPos(s - 600, 0, exp(-ng.IfPos(s - 600, 600, s)))  # e^{−s}, s → ∞ at the walls
chi = 1 - (1 + s) * decay
poiseuille = U * (y - y**3 / (3 * H**2))
s_x = 2 * (x - CENTRE[0]) / (DELTA**2 * q)
s_y = 2 * (y - CENTRE[1]) / (DELTA**2 * q) + gap * 2 * y / (H**2 * DELTA**2 * q**2)
background = ng.CF((U * q * chi + poiseuille * s * decay * s_y, -poiseuille * s * decay * s_x))  # ∇^⊥(poiseuille χ)
beta = (1 - x**2 / X**2) * q * (1 - decay)


def bump(px: float, py: float) -> ng.CoefficientFunction:
    return exp(-((x - px) ** 2 + (y - py) ** 2) / (2 * WIDTH**2))


vorticity = A * beta * sum(((-1) ** i * bump(*p) for i, p in enumerate(VORTICES)), ng.CF(0))
force_upper, force_lower = F * beta * bump(-0.58, 0.06), -F * beta * bump(-0.58, -0.06)


@dataclass(frozen=True)
class Setting:
    """Mesh size in the channel (finer by ``graded`` at cylinder and outlet), polynomial order, time step."""

    size: float
    order: int
    step: float
    graded: float = 3.0


def channel(size: float, graded: float) -> ng.Mesh:
    face = occ.MoveTo(-X, -H).Rectangle(2 * X, 2 * H).Face() - occ.MoveTo(*CENTRE).Circle(R).Face()
    face.edges.maxh = size
    face.edges.Max(occ.X).maxh = size / graded
    for edge in face.edges:
        if abs(edge.center.x) < X - 1e-6 and abs(edge.center.y) < H - 1e-6:
            edge.maxh = size / graded
    mesh = ng.Mesh(occ.OCCGeometry(face, dim=2).GenerateMesh(maxh=size, grading=0.2))
    mesh.Curve(CURVED)
    return mesh


def rotated_gradient(psi: ng.GridFunction) -> ng.CoefficientFunction:
    return ng.CF((grad(psi)[1], -grad(psi)[0]))


class Flow:
    """The semi-discrete problem  M ω̇ = −ν K ω + n(ω, t)  on the free degrees of freedom."""

    def __init__(self, setting: Setting):
        self.mesh = channel(setting.size, setting.graded)
        self.space = ng.H1(self.mesh, order=setting.order, dirichlet=".*")
        w, v = self.space.TnT()
        self.mass = ng.BilinearForm(w * v * dx(bonus_intorder=4)).Assemble().mat
        self.stiffness = ng.BilinearForm(grad(w) * grad(v) * dx(bonus_intorder=4)).Assemble().mat
        self._background = ng.BilinearForm(-(background * grad(w)) * v * dx(bonus_intorder=8)).Assemble().mat
        self._poisson = self.inverse(self.stiffness)
        self._forces = [ng.LinearForm(f * v * dx(bonus_intorder=8)).Assemble().vec for f in (force_upper, force_lower)]
        self.omega, self.psi = ng.GridFunction(self.space), ng.GridFunction(self.space)
        advected = rotated_gradient(self.psi) * grad(self.omega)
        self._advection = ng.LinearForm(-advected * v * dx(bonus_intorder=setting.order))

    def inverse(self, matrix: ng.BaseMatrix) -> ng.BaseMatrix:
        return matrix.Inverse(self.space.FreeDofs(), inverse="sparsecholesky")

    def start(self) -> ng.BaseVector:
        """The L² projection of ω_0."""
        load = ng.LinearForm(vorticity * self.space.TestFunction() * dx(bonus_intorder=10)).Assemble().vec
        return (self.inverse(self.mass) * load).Evaluate()

    def look(self, w: ng.BaseVector) -> None:
        """Put the state into ``omega`` and solve for ``psi``."""
        self.omega.vec.data = w
        self.psi.vec.data = self._poisson * (self.mass * w).Evaluate()

    def explicit(self, w: ng.BaseVector, t: float) -> ng.BaseVector:
        self.look(w)
        self._advection.Assemble()
        upper, lower = cos(pi * t / PERIOD) ** 2, sin(pi * t / PERIOD) ** 2
        forces = upper * self._forces[0] + lower * self._forces[1]
        return (self._background * w + self._advection.vec + forces).Evaluate()


def shifted(flow: Flow, g: float) -> ng.BaseMatrix:
    """M + g ν K as one sparse matrix."""
    total = flow.mass.CreateMatrix()
    total.AsVector().data = flow.mass.AsVector() + g * NU * flow.stiffness.AsVector()
    return total


def ars443(flow: Flow, h: float) -> Callable[[ng.BaseVector, float], ng.BaseVector]:
    """One step of order 3 (Ascher, Ruuth & Spiteri 1997)."""
    implicit = ((0.5,), (1 / 6, 0.5), (-0.5, 0.5, 0.5), (1.5, -1.5, 0.5, 0.5))
    explicit = ((0.5,), (11 / 18, 1 / 18), (5 / 6, -5 / 6, 0.5), (0.25, 1.75, 0.75, -1.75))
    nodes = (0.0, 0.5, 2 / 3, 0.5)
    solve = flow.inverse(shifted(flow, 0.5 * h))

    def step(w: ng.BaseVector, t: float) -> ng.BaseVector:
        linear: list[ng.BaseVector] = []
        remaining = [flow.explicit(w, t)]
        stage = w
        for i, (a, b) in enumerate(zip(implicit, explicit, strict=True)):
            load = (flow.mass * w).Evaluate()
            for c, k in zip(b, remaining, strict=True):
                load += h * c * k
            for c, k in zip(a[:-1], linear, strict=True):
                load += h * c * k
            stage = (solve * load).Evaluate()
            if i < 3:
                linear.append((-NU * (flow.stiffness * stage)).Evaluate())
                remaining.append(flow.explicit(stage, t + nodes[i + 1] * h))
        return stage

    return step


def run(setting: Setting, points: np.ndarray) -> np.ndarray:
    """ω and ψ at the points (n, 2) for all TIMES, shape (2, times, n)."""
    began = time.perf_counter()
    flow = Flow(setting)
    where = flow.mesh(points[:, 0], points[:, 1])
    values = np.zeros((2, len(TIMES), len(points)))
    step, w = ars443(flow, setting.step), flow.start()
    per_frame = round((TIMES[1] - TIMES[0]) / setting.step)
    for n in range(per_frame * (len(TIMES) - 1) + 1):
        if n % per_frame == 0:
            flow.look(w)
            values[:, n // per_frame] = flow.omega(where).ravel(), flow.psi(where).ravel()
        w = step(w, n * setting.step)
    print(
        f"{setting}: {flow.mesh.ne} elements, {flow.space.ndof} unknowns, {time.perf_counter() - began:.0f} s",
        flush=True,
    )
    return values


def quadrature(size: float = 0.11, order: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 2) inside Ω and positive weights (n,): a rule on a coarse curved mesh of its own."""
    mesh, rule = channel(size, 2.5), ng.IntegrationRule(ng.TRIG, order)
    everywhere = mesh.MapToAllElements(rule, ng.VOL)
    measure = ng.Det(ng.specialcf.JacobianMatrix(2))
    weights = np.abs(measure(everywhere)).ravel() * np.tile([i.weight for i in rule], mesh.ne)
    return np.column_stack([x(everywhere), y(everywhere)]), weights


def distance(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Relative L² distance per time, shape (times,)."""
    return np.sqrt(((a - b) ** 2 * weights).sum(-1) / (b**2 * weights).sum(-1))


def rounded(values: np.ndarray, digits: int = 8) -> np.ndarray:
    """Values to a number of digits of their largest, in binary so that they compress."""
    unit = 2.0 ** np.floor(np.log2(np.abs(values).max() * 10.0**-digits))
    return np.round(values / unit) * unit


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parents[2] / "examples/references/cylinder-wake.nc"
    )
    parser.add_argument("--quick", action="store_true", help="coarse meshes and steps, to try the script")
    arguments = parser.parse_args()
    fine, mesh, step = Setting(0.06, 6, 2e-3), Setting(0.08, 5, 2e-3), Setting(0.08, 5, 1e-3)
    if arguments.quick:
        fine, mesh, step = Setting(0.10, 5, 4e-3), Setting(0.12, 4, 4e-3), Setting(0.12, 4, 2e-3)
    points, weights = quadrature()
    assert (weights > 0).all()
    area = 4 * X * H - pi * R**2
    print(f"{len(points)} points, area {weights.sum() - area:+.1e} of {area:.6f}")
    best, other, half = (run(setting, points) for setting in (fine, mesh, step))
    in_space = distance(other[0], best[0], weights)
    in_time = distance(other[0], half[0], weights) * 4 / 3
    print("times      ", *(f"{t:8.1f}" for t in TIMES))
    print("mesh, order", *(f"{e:8.1e}" for e in in_space))
    print("step       ", *(f"{e:8.1e}" for e in in_time))
    dataset = xr.Dataset(
        {
            "omega": (("time", "point"), rounded(best[0])),
            "psi": (("time", "point"), rounded(best[1])),
            "weights": (("point",), rounded(weights, 10)),
        },
        {"time": TIMES, "x": (("point",), points[:, 0]), "y": (("point",), points[:, 1])},
        {
            "title": "Vorticity and streamfunction of the cylinder wake",
            "method": f"curved triangular finite elements of order {fine.order}, mesh size {fine.size}/{fine.graded:g}, "
            f"IMEX Runge–Kutta method ARS(4,4,3), step {fine.step:g}",
            "made_by": "benchmarks/references/cylinder_wake.py",
            "estimated_error": float(in_space[-1] + in_time[-1]),
            "error_estimate": f"final relative L² difference of omega to order {mesh.order} on mesh size {mesh.size}/{mesh.graded:g} "
            f"({in_space[-1]:.1e}) plus the difference made there by step {step.step:g}, times 4/3 ({in_time[-1]:.1e})",
        },
    )
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    part = arguments.output.with_suffix(".part")
    packed = {"zlib": True, "complevel": 9, "shuffle": True}
    dataset.to_netcdf(
        part, engine="h5netcdf", encoding={str(name): packed for name in dataset.variables if name != "time"}
    )
    part.replace(arguments.output)
    print(f"{arguments.output}: {arguments.output.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
