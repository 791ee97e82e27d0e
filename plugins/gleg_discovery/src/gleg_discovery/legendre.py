"""Functions of time as Legendre series on a window, and as the samples of a recording see them.

    f(t) = Σ_{l<n} f_l P_l(s),   s = 2 (t − start)/length − 1

Coefficients are the first axis of an array: (n, ...).
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander

Array = np.ndarray


def integration(n: int, length: float) -> Array:
    """(n + 1, n): series of f → series of ∫_start^t f, exact."""
    S = np.zeros((n + 1, n))
    S[0, 0] = S[1, 0] = 1.0
    for j in range(1, n):
        S[j + 1, j], S[j - 1, j] = 1 / (2 * j + 1), -1 / (2 * j + 1)
    return S * (length / 2)


def gauss(m: int) -> tuple[Array, Array]:
    """m Gauss–Legendre nodes on [−1, 1] and the matrix (m, m) from values there to the series that interpolates them."""
    nodes, weights = leggauss(m)
    return nodes, (legvander(nodes, m - 1) * weights[:, None]).T * (np.arange(m)[:, None] + 0.5)


@dataclass(frozen=True)
class SampleTimes:
    """The times (T,) of a recording and an orthonormal basis ``Q`` (T, L) of the polynomials of degree < L on them.

    A series f has samples V f and *moments* QᵀV f; noise that is independent from sample to sample with standard deviation σ is so
    from moment to moment. Moment 0 is √T times the mean.
    """

    times: Array
    Q: Array

    @classmethod
    def of(cls, times: Array, most: int) -> "SampleTimes":
        times = np.asarray(times, dtype=float)
        n = min(len(times), most)
        Q, R = np.linalg.qr(_legendre(times, n))
        return cls(times, Q * np.sign(np.diag(R)))

    @property
    def length(self) -> float:
        return float(self.times[-1] - self.times[0])

    def values(self, n: int) -> Array:
        """V (T, n): P_0, …, P_{n−1} at the samples."""
        return _legendre(self.times, n)

    def moments(self, n: int) -> Array:
        """QᵀV (L, n): series with n coefficients → moments; upper triangular up to rounding."""
        return np.triu(self.Q.T @ self.values(n))

    def at(self, s: Array) -> Array:
        """Times of places s in [−1, 1] of the window."""
        return self.times[0] + self.length * (s + 1) / 2


def _legendre(times: Array, n: int) -> Array:
    length = float(times[-1] - times[0]) or 1.0
    return legvander(2 * (times - times[0]) / length - 1, n - 1)


def padded(series: Array, n: int) -> Array:
    """The same function with n coefficients (cut or filled with zeros)."""
    out = np.zeros((n, *series.shape[1:]))
    out[: len(series)] = series[:n]
    return out
