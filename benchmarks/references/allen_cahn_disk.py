"""Reference for examples/allen-cahn-disk.yaml: Fourier in the angle, Chebyshev in the radius. It shares no code with gleg.

    u_t = ε² Δu + f − ⟨f⟩,   f = u − u³,   ⟨f⟩ the mean of f over the disk,   ∂_r u = 0 at r = R

u = Σ_m û_m(r) e^{imθ}. Each û_m is known at the points r > 0 of a Chebyshev grid on [−R, R] and continued with the parity of m, so
that nothing special happens at r = 0. The value at r = R is eliminated by ∂_r û_m = 0. Time: ETDRK4 (Cox and Matthews) in the
eigenvectors of the radial operators. The error is estimated by doubling the step and by coarsening the grid.

    python benchmarks/references/allen_cahn_disk.py        # writes examples/references/allen-cahn-disk.nc
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr
from scipy.interpolate import BarycentricInterpolator
from scipy.special import jv

R, EPS2, END, FRAMES = 0.4, 5e-3, 4.0, 20
MODES = [  # amplitude, m, positive zero of J_m', trigonometric function of mθ
    (1.00, 1, 1.841183781340659, np.cos),
    (-0.28, 2, 3.05423692822714, np.cos),
    (0.06, 0, 3.831705970207512, np.cos),
    (-0.08, 3, 4.201188941210528, np.sin),
    (0.05, 2, 3.05423692822714, np.sin),
    (0.04, 4, 5.317553126083994, np.cos),
]
LARGEST = 1.298937202109348  # of |Σ modes| over the disk, at r = R, θ = 2.94736


def initial(r: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """A sum of Neumann modes J_m(j' r/R)/max|J_m| · cos or sin mθ, scaled to max |u| = 0.7; its mean is zero."""
    total = np.zeros(np.broadcast(r, theta).shape)
    for amplitude, m, zero, trig in MODES:
        peak = jv(m, zero) if m else 1.0
        total += amplitude * jv(m, zero * r / R) / peak * trig(m * theta)
    return 0.7 / LARGEST * total


def chebyshev_matrix(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points cos(iπ/n), i = 0 … n, and the differentiation matrix (n+1, n+1) on them."""
    x = np.cos(np.pi * np.arange(n + 1) / n)
    c = (-1.0) ** np.arange(n + 1) * np.where(np.isin(np.arange(n + 1), [0, n]), 2.0, 1.0)
    D = np.outer(c, 1 / c) / (x[:, None] - x[None, :] + np.eye(n + 1))
    return x, D - np.diag(D.sum(axis=1))


class Disk:
    """Grid of ``half`` radii r_0 = R > r_1 > … > 0 and ``angles`` angles; modes m = 0 … angles/2 − 1."""

    def __init__(self, half: int, angles: int):
        n = 2 * half - 1  # odd: r = 0 is not a point
        x, D = chebyshev_matrix(n)
        self.x, self.r, self.theta = R * x, R * x[:half], 2 * np.pi * np.arange(angles) / angles
        self.modes = np.arange(angles // 2)
        # with û(−r) = ±û(r) a matrix on the whole grid folds to one on r > 0
        parts = []
        for m in self.modes:
            parity = (-1) ** m
            D1, D2 = (A[:half, :half] + parity * A[:half, : half - 1 : -1] for A in (D / R, D @ D / R**2))
            L = D2 + D1 / self.r[:, None] - np.diag(m**2 / self.r**2)
            wall = -D1[0, 1:] / D1[0, 0]  # û(R) from ∂_r û(R) = 0
            values, V = np.linalg.eig(L[1:, 1:] + np.outer(L[1:, 0], wall))
            assert values.real.max() < 1e-6
            parts.append((wall, EPS2 * values, V, np.linalg.inv(V)))
        self.lift, self.eigenvalues, self.vectors, self.inverses = map(np.array, zip(*parts, strict=True))
        self.mean_weights = self._mean_weights(half)

    def _mean_weights(self, half: int) -> np.ndarray:
        """w with ⟨f⟩ = 2/R² ∫_0^R f̂_0 r dr = Σ w_i f̂_0(r_i), exact for even polynomials of degree 2 half − 2."""
        nodes, weights = np.polynomial.legendre.leggauss(2 * half)
        s, k = (nodes + 1) / 2, 2 * np.arange(half)
        moments = np.cos(k[:, None] * np.arccos(s)) @ (weights * s)
        return np.linalg.solve(np.cos(k[:, None] * np.arccos(self.r / R)), moments)

    def mean(self, modes: np.ndarray) -> float:
        return float((self.mean_weights @ self.with_wall(modes)[0]).real)

    def with_wall(self, modes: np.ndarray) -> np.ndarray:
        """û_m at all radii (modes, half) from those inside (modes, half − 1)."""
        return np.concatenate([np.sum(self.lift * modes, axis=1, keepdims=True), modes], axis=1)

    def values(self, modes: np.ndarray) -> np.ndarray:
        """u on the grid (half, angles)."""
        n = len(self.theta)
        spectrum = np.zeros((n // 2 + 1, len(self.r)), complex)
        spectrum[:-1] = self.with_wall(modes)
        return np.fft.irfft(spectrum, n=n, axis=0).T * n

    def transform(self, u: np.ndarray) -> np.ndarray:
        """û_m at the radii inside, (modes, half − 1)."""
        return np.fft.rfft(u, axis=1).T[:-1, 1:] / len(self.theta)

    def reaction(self, modes: np.ndarray) -> np.ndarray:
        """Modes of f − ⟨f⟩."""
        u = self.values(modes)
        f = u - u**3
        return self.transform(f - self.mean_weights @ f.mean(axis=1))

    def at(self, modes: np.ndarray, r: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """u at the tensor points (len(r), len(theta)) by interpolation."""
        all_radii = self.with_wall(modes)
        parity = (-1.0) ** self.modes[:, None]
        whole = np.concatenate([all_radii, parity * all_radii[:, ::-1]], axis=1)
        radial = BarycentricInterpolator(self.x, whole, axis=1)(r)
        twice = np.where(self.modes == 0, 1.0, 2.0)[:, None]
        return (radial.T @ (twice * np.exp(1j * self.modes[:, None] * theta))).real

    def rollout(self, steps: int) -> list[np.ndarray]:
        """Modes at FRAMES + 1 equal times, by ETDRK4 with ``steps`` steps."""
        h, L = END / steps, self.eigenvalues
        E, E2 = np.exp(h * L), np.exp(h * L / 2)
        half_step, f1, f2, f3 = etdrk4_weights(h, L)
        V, W = self.vectors, self.inverses

        def into(modes: np.ndarray) -> np.ndarray:
            return np.matmul(W, modes[:, :, None])[:, :, 0]

        def out(coordinates: np.ndarray) -> np.ndarray:
            return np.matmul(V, coordinates[:, :, None])[:, :, 0]

        def force(coordinates: np.ndarray) -> np.ndarray:
            return into(self.reaction(out(coordinates)))

        state = into(self.transform(initial(self.r[:, None], self.theta[None, :])))
        saved = [out(state)]
        for step in range(1, steps + 1):
            n0 = force(state)
            a = E2 * state + half_step * n0
            n1 = force(a)
            n2 = force(E2 * state + half_step * n1)
            n3 = force(E2 * a + half_step * (2 * n2 - n0))
            state = E * state + f1 * n0 + f2 * (n1 + n2) + f3 * n3
            if step % (steps // FRAMES) == 0:
                saved.append(out(state))
        return saved


def etdrk4_weights(h: float, L: np.ndarray) -> tuple[np.ndarray, ...]:
    """Q, f1, f2, f3 of Kassam and Trefethen, by means over a circle around each hL."""
    circle = np.exp(2j * np.pi * (np.arange(32) + 0.5) / 32)
    z = h * L[..., None] + circle
    e = np.exp(z)
    q = (np.exp(z / 2) - 1) / z
    f1 = (-4 - z + e * (4 - 3 * z + z**2)) / z**3
    f2 = 2 * (2 + z + e * (z - 2)) / z**3
    f3 = (-4 - 3 * z - z**2 + e * (4 - z)) / z**3
    return tuple(h * f.mean(axis=-1) for f in (q, f1, f2, f3))


def evaluation_points() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Radii, angles and weights (radii, angles): Gauss in r, equispaced and turned in θ, none on the rim."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    r, n = R * (nodes + 1) / 2, 64
    theta = 2 * np.pi * (np.arange(n) + 0.3) / n
    return r, theta, np.outer(weights * R / 2 * r, np.full(n, 2 * np.pi / n))


def main() -> None:
    r, theta, weights = evaluation_points()

    def solve(half: int, angles: int, steps: int) -> tuple[np.ndarray, float]:
        disk = Disk(half, angles)
        saved = disk.rollout(steps)
        drift = max(abs(disk.mean(m) - disk.mean(saved[0])) for m in saved)
        return np.stack([disk.at(m, r, theta) for m in saved]), drift

    def apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.sqrt((weights * (a - b) ** 2).sum((1, 2)) / (weights * b**2).sum((1, 2)))

    fine, drift = solve(48, 160, 3200)
    in_time, in_space = (apart(solve(*s)[0], fine) for s in ((48, 160, 1600), (40, 128, 3200)))
    estimate = float(in_time[-1] / 15 + in_space[-1])
    print(f"drift of the mean {drift:.1e}; step doubled {in_time[-1]:.1e} (max {in_time.max():.1e}); "
          f"coarser grid {in_space[-1]:.1e} (max {in_space.max():.1e}); estimate {estimate:.1e}")  # fmt: skip

    X, Y = r[:, None] * np.cos(theta), r[:, None] * np.sin(theta)
    data = xr.Dataset(
        {"u": (("time", "point"), fine.reshape(FRAMES + 1, -1)), "weights": ("point", weights.ravel())},
        {"time": np.linspace(0, END, FRAMES + 1), "x": ("point", X.ravel()), "y": ("point", Y.ravel())},
        {
            "title": "Volume-constrained Allen–Cahn on the disk",
            "method": "Fourier (160 angles) × Chebyshev (48 radii, double cover), ETDRK4, 3200 steps",
            "made_by": "benchmarks/references/allen_cahn_disk.py",
            "estimated_error": estimate,
            "error_estimate": "difference to twice the step over 15, plus difference to 128 angles × 40 radii, at the final time",
        },
    )
    target = Path(__file__).parents[2] / "examples" / "references" / "allen-cahn-disk.nc"
    target.parent.mkdir(exist_ok=True)
    unfinished = target.with_suffix(".part")
    packed = {name: {"zlib": True, "complevel": 9, "shuffle": True} for name in ("u", "weights", "x", "y")}
    data.to_netcdf(unfinished, engine="h5netcdf", encoding=packed)
    unfinished.replace(target)
    print(f"{target.name}: {target.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
