"""The shapes of pieces as polynomials, cheap to evaluate while a rule is sought; a piece that is not resolved is split."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from gleg_domains.pieces import Piece, ends_of

Array = np.ndarray
_SIZES = (16, 48, 144)


@dataclass(frozen=True, eq=False)
class Shape:
    """x_left and x_right as polynomials in u from their ``values`` (m, 2) at Chebyshev points."""

    values: Array

    def __call__(self, u: Array) -> Array:
        """Both ends, (n, 2), by the barycentric formula."""
        nodes, weights, _ = _chebyshev(len(self.values))
        gap = u[:, None] - nodes
        gap[gap == 0] = 1e-300
        kernel = weights / gap
        return (kernel @ self.values) / kernel.sum(axis=1)[:, None]


@cache
def _chebyshev(m: int) -> tuple[Array, Array, Array]:
    """First-kind nodes on [0, 1], barycentric weights, and the matrix values → coefficients. No node is an end, where x may be a
    square root of rounding; every third node, from the second, is one of m/3."""
    k = np.arange(m)
    angle = np.pi * (k + 0.5) / m
    transform = 2.0 / m * np.cos(np.outer(k, angle))
    transform[0] *= 0.5
    return 0.5 * (1 - np.cos(angle)), (-1.0) ** k * np.sin(angle), transform * (-1.0) ** k[:, None]


def resolved(pieces: Sequence[Piece], resolution: float, extent: float) -> list[tuple[Piece, Shape]]:
    """Pieces and their shapes, known within ``resolution``; those that need too many points are split."""
    result: list[tuple[Piece, Shape]] = []
    smallest = 1e-12 * sum(p.height for p in pieces)
    while pieces:
        halves: list[Piece] = []
        for piece, (values, fine) in zip(pieces, _sampled(pieces, resolution, extent), strict=True):
            if fine or piece.height <= smallest:
                result.append((piece, Shape(values)))
            else:
                halves += piece.split()
        pieces = halves
    return result


def _sampled(pieces: Sequence[Piece], resolution: float, extent: float) -> list[tuple[Array, bool]]:
    """Values at enough Chebyshev points of each piece, (m, 2), and whether they resolve it: all pieces advance together."""
    values: list[Array] = [np.zeros((0, 2))] * len(pieces)
    fine = [False] * len(pieces)
    for m in _SIZES:
        rest = [i for i in range(len(pieces)) if not fine[i]]
        known = np.zeros(m, dtype=bool)
        known[1::3] = m > _SIZES[0]
        u = _chebyshev(m)[0][~known]
        for i, ends in zip(rest, ends_of([(pieces[i], pieces[i].heights(u)) for i in rest]), strict=True):
            coarse, values[i] = values[i], np.empty((m, 2))
            values[i][known], values[i][~known] = coarse, ends
            straight = pieces[i].left.arc.straight and pieces[i].right.arc.straight
            fine[i] = straight or _is_resolved(values[i], resolution, extent)
    return list(zip(values, fine, strict=True))


def _is_resolved(values: Array, resolution: float, extent: float) -> bool:
    m = len(values)
    size = np.abs(_chebyshev(m)[2] @ values).max(axis=1)
    tail, middle = size[-max(3, m // 10) :].max(), size[m // 3 : m // 2].max()
    # A flat spectrum is rounding in the arcs themselves: splitting would not help.
    return bool(tail <= resolution or (tail <= 1e-8 * extent and tail > 0.2 * middle))
