"""The exact solutions of MMS-I and MMS-V as plain functions of x, y, t, and the points at which a solver's error is measured.

MMS-I   u_t = ε²Δu + μu − βu³ + f on the rosette {q > 0},       u = 0 on the rim
MMS-V   u_t = νΔu − u u_x − u u_y + f on the pinwheel {q > 0},  u = 0 on the rim

Both solutions contain the factor q, a polynomial that vanishes on the boundary. Written from the formulas, with no thought of speed: the
solvers' sources (sources.py) are a different writing of the same functions.

Allen–Cahn on the disk has no exact solution. Its reference (examples/references/allen-cahn-disk.nc) holds u at 1536 fixed points, the
nodes of a polar quadrature with weights, at 21 times; its own error is 5e-13. ``reference`` returns those points, weights and values at
the last time. A solver is asked for u(T) at just these points, so that nothing has to be interpolated.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

Array = np.ndarray

END = {"mms-1-rosette": 1.0, "mms-5-pinwheel": 0.9, "allen-cahn-disk": 4.0}
REFERENCE = Path(__file__).parents[2] / "examples/references/allen-cahn-disk.nc"
DISK_RADIUS = 0.4


def rosette_level(x: Array, y: Array) -> Array:
    """0.53⁶ − ρ⁶ + 0.72 Re z⁶, positive inside."""
    z = x + 1j * y
    return 0.53**6 - np.abs(z) ** 6 + 0.72 * (z**6).real


def pinwheel_level(x: Array, y: Array) -> Array:
    """0.60⁸ − ρ⁸ + 0.30 Re z⁶ − 0.10 Im z⁵ + 0.12 ρ² Re z³, positive inside."""
    z = x + 1j * y
    rho = np.abs(z)
    return 0.60**8 - rho**8 + 0.30 * (z**6).real - 0.10 * (z**5).imag + 0.12 * rho**2 * (z**3).real


def disk_level(x: Array, y: Array) -> Array:
    return DISK_RADIUS**2 - x**2 - y**2


LEVELS: dict[str, Callable[[Array, Array], Array]] = {
    "mms-1-rosette": rosette_level,
    "mms-5-pinwheel": pinwheel_level,
    "allen-cahn-disk": disk_level,
}


def rosette(x: Array, y: Array, t: float) -> Array:
    """Four products of travelling waves under the hat q."""
    sin, cos, pi, phi = np.sin, np.cos, np.pi, 12.0 * t
    m1 = sin(2 * pi * x + phi) * cos(pi * y - 0.45 * phi)
    m2 = cos(pi * x - 0.75 * phi) * sin(3 * pi * y + 0.90 * phi)
    m3 = sin(2 * pi * (x + 0.40 * y) - 0.55 * phi) * sin(pi * (x - 2.10 * y) + 0.70 * phi)
    m4 = cos(3 * pi * x + 0.35 * phi) * cos(2 * pi * y - 1.20 * phi)
    waves = (
        (0.45 + 0.40 * sin(0.65 * phi)) * m1
        + (0.30 + 0.45 * cos(1.10 * phi + 0.35)) * m2
        + 0.34 * sin(0.95 * phi) * m3
        + 0.22 * cos(1.55 * phi) * m4
    )
    envelope = 1.05 + 0.35 * sin(0.40 * phi) + 0.25 * cos(1.25 * phi)
    return 0.42 * envelope * rosette_level(x, y) * waves


def hill(x: Array, y: Array, centre: tuple[float, float], widths: tuple[float, float]) -> Array:
    """exp(−((x − c_x)/w_x)² − ((y − c_y)/w_y)²)"""
    return np.exp(-(((x - centre[0]) / widths[0]) ** 2) - ((y - centre[1]) / widths[1]) ** 2)


def pinwheel(x: Array, y: Array, t: float) -> Array:
    """Fronts, bumps and a wake, with a faint packet of fine waves, under the hat q."""
    sin, cos, tanh, pi, phi = np.sin, np.cos, np.tanh, np.pi, 4.0 * t
    a1, a2 = 0.35 + 0.30 * sin(0.55 * t), -0.95 + 0.22 * cos(0.70 * t)
    s1, s2 = x * cos(a1) + y * sin(a1), x * cos(a2) - y * sin(a2)
    k1, k2 = 4.0 + 0.9 * sin(0.60 * t) ** 2, 3.4 + 0.8 * cos(0.75 * t) ** 2
    h1, h2 = -0.28 + 0.52 * t + 0.06 * sin(0.40 * phi), 0.12 * cos(0.35 * phi) - 0.08
    turning = tanh(k1 * (s1 - h1)) - 0.85 * tanh((k1 - 0.45) * (s1 - h1 - 0.24))
    crossing = tanh(k2 * (s2 - h2))
    bump1 = hill(x, y, (0.26 * cos(0.52 * phi + 0.3), 0.20 * sin(0.60 * phi - 0.4)), (0.23, 0.17))
    bump2 = hill(x, y, (-0.18 + 0.16 * sin(0.48 * phi + 0.9), 0.24 * cos(0.44 * phi + 0.1)), (0.18, 0.22))
    wake = sin(2 * pi * (0.72 * x + 0.30 * y) - 0.75 * phi) * np.exp(-(((s1 + 0.04 * cos(t)) / 0.44) ** 2))
    envelope = 1 + 0.24 * sin(0.35 * phi) + 0.18 * cos(0.80 * t)
    large = envelope * (0.72 * turning + 0.35 * crossing + 0.52 * bump1 - 0.42 * bump2 + 0.18 * wake)
    xi1 = 0.74 * x - 0.36 * y - 0.14 * sin(0.43 * phi)
    xi2 = 0.29 * x + 0.81 * y + 0.11 * cos(0.37 * phi)
    e1 = hill(x, y, (-0.06 + 0.18 * cos(0.41 * phi + 0.5), 0.03 - 0.16 * sin(0.46 * phi - 0.2)), (0.44, 0.34))
    e2 = hill(x, y, (0.14 * sin(0.57 * phi + 0.8), -0.17 * cos(0.49 * phi - 0.4)), (0.24, 0.24))
    strip = np.exp(-(((0.52 * x - 0.61 * y + 0.10 * cos(0.33 * phi)) / 0.28) ** 2))
    fine = (
        0.022 * e1 * sin(21 * pi * xi1) * sin(17 * pi * xi2)
        + 0.013 * sin(19 * pi * (0.63 * x + 0.28 * y) - 0.95 * phi) * strip
        + 0.010 * cos(17 * pi * (x + 0.22 * y) + 0.61 * phi) * e2
    )
    return 2.6 * pinwheel_level(x, y) / 0.45 * (0.82 * large + (1 + 0.08 * sin(0.31 * phi)) * fine)


SOLUTIONS: dict[str, Callable[[Array, Array, float], Array]] = {"mms-1-rosette": rosette, "mms-5-pinwheel": pinwheel}


def reference(path: Path = REFERENCE) -> tuple[Array, Array, Array]:
    """Points (n, 2), weights (n,) of sum 1 and u(T) (n,) of the Allen–Cahn reference."""
    import xarray as xr

    data = xr.load_dataset(path, engine="h5netcdf", decode_times=False)
    weights = data["weights"].values / data["weights"].values.sum()
    return np.column_stack([data["x"].values, data["y"].values]), weights, data["u"].values[-1]


def points_inside(problem: str, count: int = 4000, seed: int = 7) -> Array:
    """The first ``count`` points of a scrambled Halton sequence on [−1, 1]² that lie inside the domain, shape (count, 2)."""
    from scipy.stats import qmc

    sequence = qmc.Halton(2, seed=seed)
    found = np.empty((0, 2))
    while len(found) < count:
        candidates = 2 * sequence.random(4 * count) - 1
        # the levels of rosette and pinwheel grow again far away, but not within the square
        inside = LEVELS[problem](*candidates.T) > 1e-12
        found = np.concatenate([found, candidates[inside]])
    return found[:count]


def truth(problem: str) -> tuple[Array, Array, Array]:
    """Points (n, 2), weights (n,) of sum 1 and u(T) (n,) to compare with."""
    if problem == "allen-cahn-disk":
        return reference()
    points = points_inside(problem)
    return points, np.full(len(points), 1 / len(points)), SOLUTIONS[problem](points[:, 0], points[:, 1], END[problem])


def relative_error(values: Array, true: Array, weights: Array) -> float:
    """(Σ w (u_h − u)²)^{1/2} / (Σ w u²)^{1/2}; infinite where a solver gave no numbers."""
    if not np.isfinite(values).all():
        return float("inf")
    return float(np.sqrt(weights @ (values - true) ** 2 / (weights @ true**2)))
