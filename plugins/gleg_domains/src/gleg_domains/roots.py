"""Roots of many equations at once: brackets, and the inverse of a monotone function from a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


def bracketed(f: Callable[[Array], Array], a: Array, b: Array, f_a: Array, f_b: Array) -> Array:
    """A root of f between each a and b, (n,), where f changes sign: Ridders' method, to rounding."""
    if not len(a):
        return a
    resolution = 4e-16 * float(np.maximum(np.abs(a), np.abs(b)).max())
    root = a
    for _ in range(60):
        middle = 0.5 * (a + b)
        f_m = f(middle)
        scale = np.sqrt(f_m**2 - f_a * f_b)
        shift = np.where(scale > 0, f_m / np.where(scale > 0, scale, 1.0), 0.0)
        last, root = root, middle + (middle - a) * np.sign(f_a - f_b) * shift
        f_r = f(root)
        beyond = (f_m < 0) != (f_r < 0)  # the root lies between the middle and the new point, else on the side of it
        left = (f_a < 0) != (f_r < 0)
        a, f_a, b, f_b = (
            np.where(beyond, middle, np.where(left, a, root)),
            np.where(beyond, f_m, np.where(left, f_a, f_r)),
            np.where(beyond | left, root, b),
            np.where(beyond | left, f_r, f_b),
        )
        if ((np.abs(root - last) <= resolution) | (f_r == 0)).all():
            break
    return root


@dataclass(frozen=True, eq=False)
class Table:
    """A monotone function y(s) at some s, each (n,): ``y`` increases, ``s`` may fall; ``slope`` is dy/ds."""

    s: Array
    y: Array
    slope: Array

    def cell(self, y: Array) -> Array:
        """The last entry with its value ≤ y, (n,), the last but one at most."""
        return np.clip(np.searchsorted(self.y, y, side="right") - 1, 0, len(self.y) - 2)


def _near(asked: Sequence[tuple[Table, Array]]) -> tuple[Array, Array, Array, Array, Array]:
    """The values y asked for, one function after the other, a guess s, the root of the cubic in its cell of the table, the ends a and b of
    the cell with y(a) ≤ y ≤ y(b), and about y''(s), each (n,)."""
    y = np.concatenate([np.clip(values, table.y[0], table.y[-1]) for table, values in asked])
    cells = [table.cell(values) for table, values in asked]

    def entries(name: str, step: int) -> Array:
        return np.concatenate(
            [getattr(table, name)[cell + step] for (table, _), cell in zip(asked, cells, strict=True)]
        )

    (a, b), (bottom, top), (before, after) = ((entries(name, 0), entries(name, 1)) for name in ("s", "y", "slope"))
    rise = np.where(top > bottom, top - bottom, 1.0)
    begin, end = before * (b - a) / rise, after * (b - a) / rise
    target = (y - bottom) / rise
    # First the parabola with the slope at the left: exact up to an extremum at either end, where a line would be far off.
    root = np.sqrt(np.maximum(begin**2 + 4 * (1 - begin) * target, 0.0))
    u = np.clip(2 * target / np.maximum(begin + root, 1e-300), 0.0, 1.0)
    cubic = begin + end - 2
    value = u * (begin + u * (1 - begin - cubic + u * cubic))
    slope = begin + u * (2 * (1 - begin - cubic) + 3 * u * cubic)
    u = np.clip(u - np.where(slope > 1e-3, (value - target) / np.maximum(slope, 1e-3), 0.0), 0.0, 1.0)
    return y, a + (b - a) * u, a, b, (after - before) / (b - a)


def inverted(evaluate: Callable[[Array], tuple[Array, Array]], asked: Sequence[tuple[Table, Array]]) -> Array:
    """s with y(s) = y to rounding for the values y ``asked`` for with each table, one after the other, (n,); ``evaluate`` gives y(s) and
    dy/ds. Newton's method, safeguarded by the cells of the tables."""
    y, s, a, b, bend = _near(asked)
    rounding = 1e-15 * float(np.abs(y).max(initial=0.0))
    resolution = 2e-16 * float(np.abs(s).max(initial=0.0))
    rest = np.arange(len(y))
    for _ in range(60):
        at = s[rest]
        value, slope = evaluate(at)
        miss = value - y[rest]
        a[rest], b[rest] = np.where(miss < 0, at, a[rest]), np.where(miss < 0, b[rest], at)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = miss / slope
            inside = (at - step - a[rest]) * (at - step - b[rest]) <= 0
            final = inside & (step**2 * np.abs(bend[rest] / slope) <= resolution)  # ½ step² y''/y' is left of the error
        exact = np.abs(miss) <= rounding  # at an extremum the step divides rounding by rounding
        s[rest] = np.where(
            final, at - step, np.where(exact, at, np.where(inside, at - step, 0.5 * (a[rest] + b[rest])))
        )
        rest = rest[~(final | exact)]
        if not len(rest):
            break
    return s
