"""Sensor readings to discover a law from, made by curved finite elements of high order, not by the model that discovers.

    python benchmarks/references/discovery_sensors.py peanut|channel [--sensors 240] [--samples 41] [--noise 0] [--seed 1234]
        [--out examples/laws] [--quick]

    u_t = c1 Δu − c2 ∂x(u²/2) − c3 ∂y(u²/2) + c4 u + c5 u² + c6 u³ in Ω,   u = 0 on ∂Ω

Three files, named after the domain: -sensors has 16 recordings of 0.012 time units, -held-out a 17th solution until t = 1 at the
points of a quadrature of Ω, -states coefficients of all 17 initial states, to start runs from (restart).

Initial states: Σ_j z_j φ_j with random z and φ_j the 36 smoothest functions of a space of gleg, of which the elements keep the part in the
span of their own 36 lowest eigenfunctions of −Δ. That is a change by about 1e-5, after which Δu_0 = Δ²u_0 = … = 0 on ∂Ω. Without it a
layer would start at the edge that neither the elements nor a smooth space resolve. Only φ_j, the places of sensors, the quadrature and
the coefficients in -states come from gleg.

Space: continuous triangular elements of order p. Time: the semi-implicit Euler method, extrapolated to order 4. Errors of u and of the
change u(t) − u(0), which carries the law, are estimated by lower order on a coarser mesh, plus what half the step changes there.
Needs ngsolve: pip install -e '.[bench]'
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import pi, prod
from pathlib import Path

import netgen.occ as occ
import ngsolve as ng
import numpy as np
import torch
import xarray as xr
from ngsolve import dx, grad, x, y
from ngsolve.comp import IntegrationRuleSpace
from scipy.cluster.vq import kmeans2
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh
from scipy.spatial import KDTree

from gleg import load as load_problem
from gleg_core.contracts.basis import as_points
from gleg_core.system.discretise import Discretisation, discretise
from gleg_results.restart import basis_record

WINDOW, HORIZON, SAVED = 0.012, 1.0, 11
RECORDINGS, RANK, MODES, DECAY = 16, 80, 36, 0.35
AMPLITUDES, PERTURBATION, FADE = (0.08, 0.12, 0.16, 0.20, 0.24), 0.02, 0.72
CLEARANCE = 0.01
CURVED, KNOTS = 10, 2000
EXTRAPOLATED = 4
TERMS = ("Δu", "−∂x(u²/2)", "−∂y(u²/2)", "u", "u²", "u³")

Array = np.ndarray


@dataclass(frozen=True)
class Experiment:
    """``kind``: the domain's name in gleg; ``law``: c1, …, c6; ``corners``: how much finer the mesh is there (u is singular)."""

    kind: str
    law: tuple[float, ...]
    face: Callable[[], occ.Face]
    corners: float = 1.0


@dataclass(frozen=True)
class Setting:
    """Mesh size, polynomial order, largest time steps in the window and until the horizon, and a number to divide both by."""

    size: float
    order: int
    step: float
    long_step: float
    divided: int = 1


def spline(points: Array, velocity: Array | None = None) -> occ.Edge:
    """The cubic spline through points (n, 2): closed, or open with the velocities (2, 2) at its ends."""
    through = [occ.Pnt(*map(float, p), 0) for p in points]
    if velocity is None:
        return occ.SplineInterpolation(through, periodic=True, tol=1e-12)
    ends = dict(zip((0, len(points) - 1), (occ.Vec(*map(float, v), 0) for v in velocity), strict=True))
    return occ.SplineInterpolation(through, tangents=ends, tol=1e-12)


def peanut() -> occ.Face:
    """r < 0.52 (1 + 0.42 cos 2θ)."""
    theta = 2 * pi * np.arange(KNOTS) / KNOTS
    r = 0.52 * (1 + 0.42 * np.cos(2 * theta))
    return occ.Face(occ.Wire([spline(np.column_stack([r * np.cos(theta), r * np.sin(theta)]))]))


def channel() -> occ.Face:
    """|ξ| < 0.78, |η − 0.12 sin(2πξ/0.78)| < 0.18 in axes turned by π/6."""
    xi, wave = np.linspace(-0.78, 0.78, KNOTS), 2 * pi / 0.78
    turn = np.array([[np.cos(pi / 6), np.sin(pi / 6)], [-np.sin(pi / 6), np.cos(pi / 6)]])
    walls = [np.column_stack([xi, 0.12 * np.sin(wave * xi) + side]) @ turn for side in (-0.18, 0.18)]
    velocity = np.array([[1.0, 0.12 * wave]] * 2) @ turn
    lower, upper = (spline(wall, velocity) for wall in walls)
    caps = [occ.Segment(*(occ.Pnt(*map(float, wall[end]), 0) for wall in walls)) for end in (0, -1)]
    return occ.Face(occ.Wire([lower, caps[1], upper, caps[0]]))


EXPERIMENTS = {
    "peanut": Experiment("peanut", (0.04, 0.0, 0.0, 0.06, 0.0, -0.35), peanut),
    "channel": Experiment("oblique-channel", (0.02, -0.06, 0.09, -0.03, 0.025, -0.30), channel, corners=100.0),
}


def smooth_functions(kind: str) -> tuple[Discretisation, Array]:
    """A space of gleg, and its functions: coefficients (RANK, M), smoothest (least ∫|∇φ|²) first."""
    field = {"initial": 0, "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}
    problem = {
        "domain": {"kind": kind},
        "basis": {"kind": "fourier", "K": 30},
        "fields": {"u": field},
        "time": {"end": HORIZON},
        "space": {"rank": RANK, "box": [-0.8, 0.8]},
    }
    made = discretise(load_problem(problem))
    admissible = made.system.fields["u"].space
    slopes = made.basis.tabulate(admissible.nodes.x, [(1, 0), (0, 1)]).values()
    stiffness = torch.stack([(admissible.N.T @ slope) ** 2 @ admissible.weights for slope in slopes]).sum(0)
    return made, admissible.N.T[stiffness.argsort()].numpy()


def random_states(values: Array, rng: np.random.Generator) -> Array:
    """Coordinates z (RECORDINGS + 1, MODES) of the initial states, the last one held out; ``values`` (MODES, n) of the modes on Ω."""
    weight = np.arange(1, MODES + 1) ** -DECAY
    states = []
    for k in range(RECORDINGS + 1):
        amplitude = AMPLITUDES[k % 5] * FADE ** (k // 5)
        z = weight * rng.standard_normal(MODES)
        z *= amplitude / np.abs(z @ values).max()
        z += PERTURBATION * weight * rng.standard_normal(MODES)
        states.append(z * amplitude / np.abs(z @ values).max())
    return np.array(states)


def sensor_places(made: Discretisation, count: int, rng: np.random.Generator) -> Array:
    """Centres (count, 2) of equal shares of Ω without its edge, as random points fall."""
    domain = made.domain
    edge = KDTree(np.concatenate([segment.outline(20_000) for segment in domain.segments]))

    def allowed(points: Array) -> Array:
        return domain.contains(points) & (edge.query(points)[0] > CLEARANCE)

    pool = rng.uniform(*domain.bounds.T, (max(200 * count, 20_000), 2))
    places = kmeans2(pool[allowed(pool)], count, iter=20, minit="points", rng=rng)[0]
    if not (inside := allowed(places)).all():
        raise SystemExit(f"{(~inside).sum()} of {count} sensors are not inside or closer than {CLEARANCE} to the edge")
    return places


class Evolution:
    """The semi-discrete problem  M u̇ = −c1 K u + n(u)  on the free degrees of freedom."""

    def __init__(self, experiment: Experiment, setting: Setting):
        face = experiment.face()
        face.edges.maxh = setting.size
        face.vertices.maxh = setting.size / experiment.corners
        self.mesh = ng.Mesh(occ.OCCGeometry(face, dim=2).GenerateMesh(maxh=setting.size, grading=0.25))
        self.mesh.Curve(CURVED)
        self.space = ng.H1(self.mesh, order=setting.order, dirichlet=".*")
        u, v = self.space.TnT()
        self.mass = ng.BilinearForm(u * v * dx(bonus_intorder=CURVED)).Assemble().mat
        self.stiffness = ng.BilinearForm(grad(u) * grad(v) * dx(bonus_intorder=CURVED)).Assemble().mat
        self.u = ng.GridFunction(self.space)
        self.c1, c2, c3, c4, c5, c6 = experiment.law
        w = self.u
        flux = ng.CF((c2, c3)) * (w * w / 2)
        body = (c4 * w + c5 * w * w + c6 * w * w * w) * v + (flux * grad(v) if c2 or c3 else 0)
        self._rest = ng.LinearForm(body * dx(bonus_intorder=2 * setting.order))

    def inverse(self, matrix: ng.BaseMatrix) -> ng.BaseMatrix:
        return matrix.Inverse(self.space.FreeDofs(), inverse="sparsecholesky")

    def lowest(self) -> Array:
        """The MODES lowest eigenfunctions of −Δ, (unknowns, MODES), VᵀMV = I."""
        free = np.flatnonzero(self.space.FreeDofs())
        matrices = (csr_array(tuple(map(np.asarray, m.CSR()))) for m in (self.stiffness, self.mass))
        stiffness, mass = (m[free][:, free].tocsc() for m in matrices)
        modes = np.zeros((self.space.ndof, MODES))
        modes[free] = eigsh(stiffness, MODES, mass, sigma=0.0)[1]
        return modes

    def start(self, function: Callable[[Array], Array]) -> list[ng.BaseVector]:
        """V Vᵀ∫ f v for every f; ``function``: points (n, 2) → values (states, n)."""
        points = IntegrationRuleSpace(self.mesh, order=2 * self.space.globalorder + 4)
        f = ng.GridFunction(points)
        where = []
        for coordinate in (x, y):
            f.Interpolate(coordinate)
            where.append(f.vec.FV().NumPy().copy())
        load = ng.LinearForm(f * self.space.TestFunction() * dx(intrules=points.GetIntegrationRules()))
        modes, states = self.lowest(), []
        for values in function(np.column_stack(where)):
            f.vec.FV().NumPy()[:] = values
            state = self.u.vec.CreateVector()
            state.FV().NumPy()[:] = modes @ (modes.T @ load.Assemble().vec.FV().NumPy())
            states.append(state)
        return states

    def stepper(self, h: float) -> Callable[[ng.BaseVector], ng.BaseVector]:
        """One step h of the semi-implicit Euler method with 1, 2, … substeps, extrapolated to infinitely many."""
        counts = range(1, EXTRAPOLATED + 1)
        weights = [prod(j / (j - i) for i in counts if i != j) for j in counts]
        shifted = self.mass.CreateMatrix()
        solves = []
        for j in counts:
            shifted.AsVector().data = self.mass.AsVector() + h / j * self.c1 * self.stiffness.AsVector()
            solves.append(self.inverse(shifted))

        def step(u: ng.BaseVector) -> ng.BaseVector:
            change = u.CreateVector()
            change[:] = 0
            for j, weight, solve in zip(counts, weights, solves, strict=True):
                self.u.vec.data = u
                for _ in range(j):
                    rate = (self._rest.Assemble().vec - self.c1 * self.stiffness * self.u.vec).Evaluate()
                    increment = (h / j * (solve * rate)).Evaluate()
                    self.u.vec.data += increment
                    change.data += weight * increment
            return (u + change).Evaluate()

        return step


def run(
    experiment: Experiment, setting: Setting, function: Callable[[Array], Array], samples: int, points: Array
) -> tuple[Array, Array]:
    """u at the points (n, 2): the recordings (RECORDINGS, samples, n), the held-out solution (SAVED, n)."""
    began = time.perf_counter()
    evolution = Evolution(experiment, setting)
    where = evolution.mesh(points[:, 0], points[:, 1])
    states = evolution.start(function)

    def recorded(states: list[ng.BaseVector], interval: float, step: float, saved: int) -> Array:
        substeps = setting.divided * int(np.ceil(interval / step - 1e-9))
        advance = evolution.stepper(interval / substeps)
        values = np.zeros((len(states), saved, len(points)))
        for k, u in enumerate(states):
            for n in range(saved):
                for _ in range(substeps if n else 0):
                    u = advance(u)
                evolution.u.vec.data = u
                values[k, n] = evolution.u(where).ravel()
        return values

    recordings = recorded(states[:-1], WINDOW / (samples - 1), setting.step, samples)
    held_out = recorded(states[-1:], HORIZON / (SAVED - 1), setting.long_step, SAVED)[0]
    took = time.perf_counter() - began
    print(f"{setting}: {evolution.mesh.ne} elements, {evolution.space.ndof} unknowns, {took:.0f} s", flush=True)
    return recordings, held_out


def norm(values: Array, weights: Array) -> Array:
    """‖u‖ in L²(Ω) over the last axis."""
    return np.sqrt((values**2 * weights).sum(-1))


def differences(a: tuple[Array, Array], b: tuple[Array, Array], weights: Array) -> Array:
    """Largest relative L² differences of two runs: u and u(t) − u(0) at the end of the window, held-out u at the end, and ever."""
    pairs = [
        (a[0][:, -1], b[0][:, -1]),
        (a[0][:, -1] - a[0][:, 0], b[0][:, -1] - b[0][:, 0]),
        (a[1][-1], b[1][-1]),
        (a[1], b[1]),
    ]
    n = len(weights)  # the points of the quadrature come last
    return np.array([(norm((p - q)[..., -n:], weights) / norm(q[..., -n:], weights)).max() for p, q in pairs])


def rounded(values: Array, digits: int) -> Array:
    """Values to a number of digits of their largest, in binary so that they compress."""
    unit = 2.0 ** np.floor(np.log2(np.abs(values).max() * 10.0**-digits))
    return np.round(values / unit) * unit


def write(path: Path, data: xr.Dataset) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    packed = {"zlib": True, "complevel": 9, "shuffle": True}
    data.to_netcdf(part, engine="h5netcdf", encoding={str(v): packed for v in data.variables if data[v].size > 100})
    part.replace(path)
    print(f"{path}: {path.stat().st_size // 1000} kB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domain", choices=EXPERIMENTS)
    parser.add_argument("--sensors", type=int, default=240)
    parser.add_argument("--samples", type=int, default=41, help="readings of each sensor, the first at t = 0")
    parser.add_argument(
        "--noise", type=float, default=0.0, help="standard deviation relative to the rms of all readings"
    )
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "examples/laws", help="a folder")
    parser.add_argument("--quick", action="store_true", help="coarse meshes and steps, to try the script")
    arguments = parser.parse_args()
    experiment, samples = EXPERIMENTS[arguments.domain], arguments.samples
    for_states, for_sensors, for_noise = np.random.default_rng(arguments.seed).spawn(3)
    fine, coarse = Setting(0.07, 9, 3e-4, 2e-3), Setting(0.08, 8, 3e-4, 2e-3)
    if arguments.quick:
        fine, coarse = Setting(0.12, 5, 3e-3, 2e-2), Setting(0.15, 4, 3e-3, 2e-2)

    made, functions = smooth_functions(experiment.kind)
    rule = made.domain.quadrature(80.0)
    sensors = sensor_places(made, arguments.sensors, for_sensors)
    points, weights = np.concatenate([sensors, rule.points]), rule.weights

    def evaluated(coefficients: Array, points: Array) -> Array:
        pieces = torch.split(as_points(points), 4096)  # the table of all functions at all points would be large
        return torch.cat([made.basis.evaluate(torch.from_numpy(coefficients), p) for p in pieces], dim=-1).numpy()

    table = evaluated(functions, rule.points)
    z = random_states(table[:MODES], for_states)
    rough = z @ functions[:MODES]
    settings = (fine, coarse, replace(coarse, divided=2))
    best, other, half = (run(experiment, s, lambda p: evaluated(rough, p), samples, points) for s in settings)

    in_space, in_time = differences(other, best, weights), differences(other, half, weights)
    print("                u  change  held-out end  ever")
    print("mesh, order", *(f"{e:8.1e}" for e in in_space))
    print("step       ", *(f"{e:8.1e}" for e in in_time))
    of_u, of_change, of_end, _ = (in_space + in_time).tolist()

    clean = best[0][..., : len(sensors)]
    spread = float(arguments.noise * np.sqrt((clean**2).mean()))
    readings = clean + spread * for_noise.standard_normal(clean.shape)
    start = np.concatenate([best[0][:, 0], best[1][:1]])[:, len(sensors) :]
    root = np.sqrt(weights)
    fitted = np.linalg.lstsq((table * root).T, (start * root).T, rcond=None)[0].T
    unfitted = float((norm(fitted @ table - start, weights) / norm(start, weights)).max())
    print(f"initial states in {RANK} functions: {unfitted:.1e}")

    common = {
        "law": "u_t = " + " + ".join(f"({c:g}) ({t})" for c, t in zip(experiment.law, TERMS, strict=True) if c),
        "made_by": f"benchmarks/references/discovery_sensors.py {arguments.domain}, seed {arguments.seed}",
    }
    method = (
        f"curved triangular finite elements of order {fine.order}, mesh size {fine.size}, "
        f"semi-implicit Euler method extrapolated to order {EXTRAPOLATED}"
    )
    how = f"largest relative L2 difference to order {coarse.order} on mesh size {coarse.size}, plus that made there by half the step"
    write(
        arguments.out / f"{arguments.domain}-sensors.nc",
        xr.Dataset(
            {"u": (("trajectory", "time", "sensor"), readings if spread else rounded(readings, 12))},
            {
                "time": np.linspace(0, WINDOW, samples),
                "x": (("sensor",), sensors[:, 0]),
                "y": (("sensor",), sensors[:, 1]),
            },
            {
                "title": f"Readings of {len(sensors)} sensors in {RECORDINGS} experiments, {experiment.kind}",
                **common,
                "method": method,
                "estimated_error": of_u,
                "estimated_error_of_change": of_change,
                "error_estimate": f"{how}; at the end, of u and of u(t) - u(0)",
                "noise": spread,  # standard deviation
            },
        ),
    )
    write(
        arguments.out / f"{arguments.domain}-held-out.nc",
        xr.Dataset(
            {
                "u": (("time", "point"), rounded(best[1][:, len(sensors) :], 10)),
                "weights": (("point",), weights),
            },
            {
                "time": np.linspace(0, HORIZON, SAVED),
                "x": (("point",), rule.points[:, 0]),
                "y": (("point",), rule.points[:, 1]),
            },
            {
                "title": f"A solution that is not among the recordings, {experiment.kind}",
                **common,
                "method": method,
                "estimated_error": of_end,
                "error_estimate": f"{how}; at the end",
            },
        ),
    )
    write(
        arguments.out / f"{arguments.domain}-states.nc",
        xr.Dataset(
            {"u_coefficients": (("trajectory", "time", "coefficient"), (fitted @ functions)[:, None])},
            {"time": [0.0]},
            {
                "title": f"Initial states of the recordings and, as trajectory {RECORDINGS}, of the held-out solution",
                **common,
                "basis": basis_record(made.problem, made.basis),
                "fit_error": unfitted,
            },
        ),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
