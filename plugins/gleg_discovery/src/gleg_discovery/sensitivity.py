"""What observations tell about the coefficients of a law: sensitivities along its rollout, and the Fisher information.

    δz(t) = S(t) (δz_0, δc),   Ṡ = [∂ż/∂z  ∂ż/∂c] S,   S(0) = [1 0]        information = Σ_n |Φ S(t_n)|²/σ²

With z_0 eliminated, standard errors are those of the Cramér–Rao bound. Nothing is neglected, whatever the law and the window: this is
the information of :mod:`gleg_discovery.regression` with the Jacobian of all terms in the place of J, that of the linear ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import torch
from torch import Tensor

from gleg_discovery.dynamics import Dynamics, Flow, hermite
from gleg_discovery.legendre import Array
from gleg_discovery.regression import triangle
from gleg_discovery.series import Series


@dataclass(frozen=True)
class Readings:
    """One field in one recording as seen from the nodes of a rollout: |W x Φᵀ − Y|² + const for x (2(n + 1), r).

    ``W`` (rows, 2(n + 1)), ``phi`` (S, r), ``Y`` (rows, S); ``seen`` (rows, S) where not everything was observed. With complete readings
    both factors are triangular: neither the number of times nor that of sensors matters any more.
    """

    W: Array
    phi: Array
    Y: Array
    seen: Array | None

    @classmethod
    def of(cls, s: Series, nodes: Array, sigma: float) -> "Readings":
        H = hermite(s.sample_times.times, nodes)
        if s.observed is not None:
            return cls(H, s.sensors.phi / sigma, s.values / sigma, s.observed)
        Q, U = s.sensors.qr
        T, W = scipy.linalg.qr(H, mode="economic", check_finite=False)
        return cls(W, U / sigma, T.T @ (s.values @ Q) / sigma, None)

    @property
    def count(self) -> int:
        return self.Y.size if self.seen is None else int(self.seen.sum())

    def rows(self, S: Array) -> Iterator[Array]:
        """Derivatives of W x Φᵀ for those of x, (2(n + 1), r, m): pieces (…, m)."""
        at_once = max(1, 20_000 // len(self.phi))
        for first in range(0, len(self.W), at_once):
            some = slice(first, first + at_once)
            rows = self.phi @ np.tensordot(self.W[some], S, axes=1)
            yield rows.reshape(-1, S.shape[2]) if self.seen is None else rows[self.seen[some]]


def sensitivities(dynamics: Dynamics, flow: Flow, c: Tensor, k: int) -> Array:
    """S and Ṡ at the nodes of recording k, (2(n + 1), R, R + P), by the Magnus method of order 4."""
    n, R = flow.steps, dynamics.size
    h = float(flow.windows.lengths[k]) / n
    times = torch.from_numpy(flow.windows.nodes(k, 2 * n))[:, None]
    states = torch.empty(2 * n + 1, R, dtype=torch.float64)
    states[::2], states[1::2] = flow.states[:, k], flow.middles[:, k]
    A = dynamics.tangent(states, times, c)
    start, middle, end = A[:-2:2], A[1::2], A[2::2]
    exponent = h / 6 * (start + 4 * middle + end) - h**2 / 12 * (start @ end - end @ start)
    S = [torch.eye(A.shape[1], dtype=torch.float64)]
    for G in torch.linalg.matrix_exp(exponent):
        S.append(G @ S[-1])
    found = torch.stack(S)
    return torch.cat([found, A[::2] @ found])[:, :R].numpy()


@dataclass(frozen=True)
class Metric:
    """Square root of the information on (z_0 of every recording, c): |δ|² = Σ_k |w_k|² + |w|² with

    w_k = A_k δz_k + B_k δc,  w = C δc        A_k (R, R) and C (P, P) triangular.
    """

    starts: tuple[tuple[Array, Array], ...]
    law: Array

    @classmethod
    def of(cls, pieces: Sequence[Array], R: int) -> "Metric":
        """From triangular factors (R + P, R + P) of the recordings."""
        return cls(
            tuple((own[:R, :R], own[:R, R:]) for own in pieces),
            triangle(np.concatenate([own[R:, R:] for own in pieces])),
        )

    @property
    def covariance(self) -> Array:
        """Of c, (P, P): the inverse of the information that is left when the z_0 are unknown."""
        norms = np.linalg.norm(self.law, axis=0)
        norms[norms == 0] = 1.0
        _, s, Vt = np.linalg.svd(self.law / norms)
        root = Vt.T / np.maximum(s, np.finfo(float).eps * s[0]) / norms[:, None]
        return root @ root.T


def factor(readings: Mapping[str, Readings], dynamics: Dynamics, S: Array) -> Array:
    """Triangular factor (R + P, R + P) of the information of one recording on (z_0, c)."""
    found = np.zeros((0, S.shape[2]))
    for name, own in readings.items():
        for rows in own.rows(S[:, dynamics.slices[name]]):
            found = triangle(np.concatenate([found, rows]))
    return found
