"""Reference for examples/burgers-square.yaml: Chebyshev collocation on the square. It shares no code with gleg.

    u_t + u u_x + v u_y = ν Δu,   v_t + u v_x + v v_y = ν Δv,   u = v = 0 on the boundary of [−h, h]²

Values at the interior Chebyshev points (n − 1)². The Laplacian is diagonal in the eigenvectors of the second derivative, applied along
both coordinates; time: ETDRK4 (Cox and Matthews) in them. The error is estimated by doubling the step and by coarsening the grid.

    python benchmarks/references/burgers_square.py        # writes examples/references/burgers-square.nc
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr
from scipy.interpolate import BarycentricInterpolator

H, NU, END, FRAMES = 0.55, 1e-2, 0.5, 5


def initial(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(u_0, v_0), shape (2, …)."""
    a, b = np.pi * (x + H) / (2 * H), np.pi * (y + H) / (2 * H)
    return np.stack([np.sin(a) * np.sin(b), np.sin(2 * a) * np.sin(b)])


def chebyshev_matrix(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points cos(iπ/n), i = 0 … n, and the differentiation matrix (n+1, n+1) on them."""
    i = np.arange(n + 1)
    x = np.cos(np.pi * i / n)
    c = (-1.0) ** i * np.where(np.isin(i, [0, n]), 2.0, 1.0)
    # x_i − x_j by a product of sines: no cancellation
    gaps = 2 * np.sin(np.pi * (i[:, None] + i) / (2 * n)) * np.sin(np.pi * (i - i[:, None]) / (2 * n))
    D = np.outer(c, 1 / c) / (gaps + np.eye(n + 1))
    D -= np.diag(np.diag(D))
    return x, D - np.diag(D.sum(axis=1))


class Square:
    """Chebyshev grid with n intervals per side; states are values (2, n − 1, n − 1) inside, x first."""

    def __init__(self, n: int):
        x, D = chebyshev_matrix(n)
        self.x, self.D = H * x, D[1:-1, 1:-1] / H
        values, self.V = np.linalg.eig((D @ D)[1:-1, 1:-1] / H**2)
        self.W = np.linalg.inv(self.V)
        self.eigenvalues = NU * (values[:, None] + values[None, :])
        assert np.isrealobj(values) and values.max() < 0

    def into(self, w: np.ndarray) -> np.ndarray:
        return self.W @ w @ self.W.T

    def out(self, c: np.ndarray) -> np.ndarray:
        return self.V @ c @ self.V.T

    def force(self, c: np.ndarray) -> np.ndarray:
        """−(u ∂_x + v ∂_y)(u, v) in the eigenvectors."""
        w = self.out(c)
        return -self.into(w[0] * (self.D @ w) + w[1] * (w @ self.D.T))

    def rollout(self, steps: int) -> list[np.ndarray]:
        """Values at FRAMES + 1 equal times, by ETDRK4 with ``steps`` steps."""
        h, L = END / steps, self.eigenvalues
        E, E2 = np.exp(h * L), np.exp(h * L / 2)
        half_step, f1, f2, f3 = etdrk4_weights(h, L)
        inside = self.x[1:-1]
        state = self.into(initial(inside[:, None], inside[None, :]))
        saved = [self.out(state)]
        for step in range(1, steps + 1):
            n0 = self.force(state)
            a = E2 * state + half_step * n0
            n1 = self.force(a)
            n2 = self.force(E2 * state + half_step * n1)
            n3 = self.force(E2 * a + half_step * (2 * n2 - n0))
            state = E * state + f1 * n0 + f2 * (n1 + n2) + f3 * n3
            if step % (steps // FRAMES) == 0:
                saved.append(self.out(state))
        return saved

    def at(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Values (2, len(x), len(x)) at the tensor points x × x by interpolation."""
        whole = np.pad(w, ((0, 0), (1, 1), (1, 1)))
        table = BarycentricInterpolator(self.x, np.eye(len(self.x)))(x)
        return table @ whole @ table.T


def etdrk4_weights(h: float, L: np.ndarray) -> tuple[np.ndarray, ...]:
    """Q, f1, f2, f3 of Kassam and Trefethen, by means over a half circle around each real hL."""
    circle = np.exp(1j * np.pi * (np.arange(16) + 0.5) / 16)
    z = h * L[..., None] + circle
    e = np.exp(z)
    q = (np.exp(z / 2) - 1) / z
    f1 = (-4 - z + e * (4 - 3 * z + z**2)) / z**3
    f2 = 2 * (2 + z + e * (z - 2)) / z**3
    f3 = (-4 - 3 * z - z**2 + e * (4 - z)) / z**3
    return tuple(h * f.mean(axis=-1).real for f in (q, f1, f2, f3))


def main() -> None:
    nodes, line = np.polynomial.legendre.leggauss(60)
    x, weights = H * nodes, H**2 * np.outer(line, line)

    def solve(n: int, steps: int) -> np.ndarray:
        square = Square(n)
        return np.stack([square.at(w, x) for w in square.rollout(steps)])

    def apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.sqrt((weights * (a - b) ** 2).sum((1, 2, 3)) / (weights * b**2).sum((1, 2, 3)))

    fine = solve(160, 2000)
    in_time, in_space = (apart(solve(*s), fine) for s in ((160, 1000), (144, 2000)))
    estimate = float(in_time[-1] + in_space[-1])
    print(f"step doubled {in_time[-1]:.1e} (max {in_time.max():.1e}); "
          f"coarser grid {in_space[-1]:.1e} (max {in_space.max():.1e}); estimate {estimate:.1e}")  # fmt: skip

    X, Y = np.meshgrid(x, x, indexing="ij")
    fields = {name: (("time", "point"), fine[:, i].reshape(FRAMES + 1, -1)) for i, name in enumerate("uv")}
    data = xr.Dataset(
        {**fields, "weights": ("point", weights.ravel())},
        {"time": np.linspace(0, END, FRAMES + 1), "x": ("point", X.ravel()), "y": ("point", Y.ravel())},
        {
            "title": "Vector Burgers on the square",
            "method": "Chebyshev collocation, 160² intervals, ETDRK4, 2000 steps",
            "made_by": "benchmarks/references/burgers_square.py",
            "estimated_error": estimate,
            "error_estimate": "difference to twice the step plus difference to 144² intervals, both fields, at the final time",
        },
    )
    target = Path(__file__).parents[2] / "examples" / "references" / "burgers-square.nc"
    target.parent.mkdir(exist_ok=True)
    unfinished = target.with_suffix(".part")
    packed = {name: {"zlib": True, "complevel": 9, "shuffle": True} for name in ("u", "v", "weights", "x", "y")}
    data.to_netcdf(unfinished, engine="h5netcdf", encoding=packed)
    unfinished.replace(target)
    print(f"{target.name}: {target.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
