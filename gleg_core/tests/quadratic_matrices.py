"""Mass and stiffness of quadratic triangles from closed forms, assembled triangle by triangle: a truth for the local spaces.

A grid of n × n squares on the unit square, cut along the diagonals from their right lower to their left upper corners. Functions belong
to the points (i, j)/2n and are numbered i (2n + 1) + j.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

Array = np.ndarray
_MASS = np.array([[6, -1, -1], [-1, 6, -1], [-1, -1, 6]]), np.array([[0, -4, 0], [0, 0, -4], [-4, 0, 0]]), 16.0
"""Times area/180: of vertices, of vertices with the edges (01), (12), (20), of edges (32 on the diagonal)."""
_EDGE = np.array([[4, 2, -1], [2, 16, 2], [-1, 2, 4]]) / 30


def triangle(corners: Array) -> tuple[Array, Array]:
    """(K, M), (6, 6), functions of the three vertices, then of the edges (01), (12), (20)."""
    sides = corners[[2, 0, 1]] - corners[[1, 2, 0]]
    area = 0.5 * abs(np.cross(np.append(sides[0], 0), np.append(sides[1], 0))[2])
    G = sides @ sides.T / (4 * area)  # ∫ ∇λ_i·∇λ_j
    pairs = [(0, 1), (1, 2), (2, 0)]
    K = np.zeros((6, 6))
    K[:3, :3] = -G / 3 + np.diag(4 / 3 * G.diagonal())
    for e, (i, j) in enumerate(pairs):
        K[i, 3 + e] = K[3 + e, i] = K[j, 3 + e] = K[3 + e, j] = 4 / 3 * G[i, j]
        for f, (k, m) in enumerate(pairs):
            if e == f:
                K[3 + e, 3 + e] = 8 / 3 * (G[i, i] + G[i, j] + G[j, j])
            else:
                (c,) = {i, j} & {k, m}
                (a,), (b,) = {i, j} - {c}, {k, m} - {c}
                K[3 + e, 3 + f] = 4 / 3 * (2 * G[a, b] + G[c, a] + G[c, b] + G[c, c])
    M = np.zeros((6, 6))
    M[:3, :3] = _MASS[0]
    M[3:, 3:] = _MASS[2] * (1 + np.eye(3))
    for e, pair in enumerate(pairs):
        for i in {0, 1, 2} - set(pair):
            M[i, 3 + e] = M[3 + e, i] = -4
    return K, M * area / 180


def square(n: int, without: Iterable[tuple[int, int]] = ()) -> tuple[Array, Array]:
    """(K, M) on the unit square ``without`` some of the grid's squares (their lower left corners in units of 1/n)."""
    size, missing = (2 * n + 1) ** 2, set(without)
    K, M = np.zeros((size, size)), np.zeros((size, size))
    for i in range(n):
        for j in range(n):
            if (i, j) in missing:
                continue
            for corners in ([[0, 0], [1, 0], [0, 1]], [[1, 1], [0, 1], [1, 0]]):
                vertices = np.array([i, j]) + np.array(corners)
                places = np.concatenate([2 * vertices, vertices + np.roll(vertices, -1, axis=0)])
                own = places[:, 0] * (2 * n + 1) + places[:, 1]
                k, m = triangle(vertices / n)
                K[np.ix_(own, own)] += k
                M[np.ix_(own, own)] += m
    return K, M


def places(n: int) -> Array:
    """The points that functions belong to, ((2n + 1)², 2)."""
    axis = np.arange(2 * n + 1) / (2 * n)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


def rim(n: int, kappa: Callable[[Array, Array], Array], sides: str = "left right bottom top") -> Array:
    """∮ κ φ_i φ_j along sides of the unit square; κ is interpolated as a quadratic function on every edge."""
    where, R = places(n), np.zeros(((2 * n + 1) ** 2,) * 2)
    x, w = np.polynomial.legendre.leggauss(4)
    s, w = (x + 1) / 2, w / 2 / n
    shapes = np.array([(1 - s) * (1 - 2 * s), 4 * s * (1 - s), s * (2 * s - 1)])
    for side in sides.split():
        axis, value = {"left": (0, 0.0), "right": (0, 1.0), "bottom": (1, 0.0), "top": (1, 1.0)}[side]
        own = np.flatnonzero(where[:, axis] == value)
        own = own[np.argsort(where[own, 1 - axis])]
        for k in range(n):
            three = own[2 * k : 2 * k + 3]
            weights = w * (kappa(*where[three].T) @ shapes)
            R[np.ix_(three, three)] += (shapes * weights) @ shapes.T
    return R
