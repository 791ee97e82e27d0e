"""Smooth parametrised arcs γ(s) of a boundary, with Ω on the left of γ'."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gleg_core.contracts.domain import Curve
from gleg_core.expressions import Evaluator, Expression
from gleg_domains.gauss import legendre
from gleg_domains.reparametrize import Reparametrization, choose, density_modes

Array = np.ndarray
TWO_PI = 2.0 * np.pi


@dataclass(frozen=True, eq=False)
class Arc:
    """γ(s), start ≤ s ≤ stop, with ``point`` and ``velocity`` = γ' mapping (n,) → (n, 2).

    The domain lies on the left, so (γ'_y, −γ'_x)/|γ'| is the outward normal. ``closed`` promises that γ is smooth and
    periodic with period stop − start; then s may take any real value. ``together`` gives point and velocity at once, if that is faster.
    """

    point: Callable[[Array], Array]
    velocity: Callable[[Array], Array]
    start: float
    stop: float
    closed: bool = False
    straight: bool = False
    together: Callable[[Array], tuple[Array, Array]] | None = None
    image: "tuple[Arc, Array] | None" = None
    """The arc that this one, or a longer one, is the image of, and the matrix A."""
    kept: dict[int, Array] = field(default_factory=dict, init=False)
    """See :func:`gleg_domains.monotone.level_points`."""

    @property
    def span(self) -> float:
        return self.stop - self.start

    def at(self, fraction: Array | float) -> Array:
        """Points at parameters start + fraction · span, shape (n, 2)."""
        return self.point(self.start + self.span * np.atleast_1d(np.asarray(fraction, dtype=float)))

    def jet(self, s: Array) -> tuple[Array, Array]:
        """γ(s) and γ'(s), both (n, 2)."""
        return self.together(s) if self.together else (self.point(s), self.velocity(s))

    def speed(self, s: Array) -> Array:
        return np.hypot(*self.velocity(s).T)

    @cached_property
    def curve(self) -> Curve:
        """The arc with a parameter from 0 to 1."""
        return Curve(self.at, self.straight, lambda u: self.span * self.velocity(self.start + self.span * u))

    def reversed(self) -> "Arc":
        total = self.start + self.stop

        def together(s: Array) -> tuple[Array, Array]:
            point, velocity = self.jet(total - s)
            return point, -velocity

        return replace(
            self,
            point=lambda s: self.point(total - s),
            velocity=lambda s: -self.velocity(total - s),
            together=together if self.together else None,
            image=None,
        )

    def moved(self, matrix: Array, shift: Array) -> "Arc":
        """The image under x ↦ A x + b, det A > 0."""

        def together(s: Array) -> tuple[Array, Array]:
            point, velocity = self.jet(s)
            return point @ matrix.T + shift, velocity @ matrix.T

        return replace(
            self,
            point=lambda s: self.point(s) @ matrix.T + shift,
            velocity=lambda s: self.velocity(s) @ matrix.T,
            together=together if self.together else None,
            image=(self, matrix),
        )

    @cached_property
    def even_parameter(self) -> Reparametrization:
        """Of a closed arc: a parameter in which equal steps are nearly equally long."""
        return choose(self.speed, self.start, self.span, self.speed_modes)

    @cached_property
    def speed_modes(self) -> Array:
        """Of a closed arc: the Fourier coefficients of |γ'|, relative to its mean."""
        return density_modes(self.speed, self.start, self.span)

    @cached_property
    def length(self) -> float:
        """∫|γ'| ds."""
        if self.straight:
            return float(np.hypot(*(self.at(1.0) - self.at(0.0))[0]))
        return self._integral(self.speed)

    @cached_property
    def swept_area(self) -> float:
        """½∫(x dy − y dx): what the ray from the origin sweeps over."""
        if self.straight:
            (a, b), (c, d) = self.at(np.array([0.0, 1.0]))
            return 0.5 * float(a * d - b * c)

        def rate(s: Array) -> Array:
            p, v = self.jet(s)
            return 0.5 * (p[:, 0] * v[:, 1] - p[:, 1] * v[:, 0])

        return self._integral(rate)

    def _integral(self, f: Callable[[Array], Array]) -> float:
        """∫f ds by trapezoid sums (closed) or Gauss panels (open), refined until two agree."""
        last, n = np.inf, 64
        while True:
            u, w = (np.arange(n) / n, np.full(n, 1 / n)) if self.closed else panels(n)
            values = f(self.start + self.span * u)
            value = float(w @ values) * self.span
            if abs(value - last) <= 1e-14 * self.span * float(w @ np.abs(values)) or n >= 16384:
                return value
            last, n = value, 2 * n


def panels(n: int, size: int = 16) -> tuple[Array, Array]:
    """A composite Gauss rule on [0, 1] with about ``n`` nodes."""
    count = max(1, round(n / size))
    u, w = legendre(min(n, size))
    return ((np.arange(count)[:, None] + u) / count).ravel(), np.tile(w, count) / count


def outward(velocity: Array) -> Array:
    """Unit normals from γ', both (n, 2)."""
    return velocity[:, ::-1] * [1.0, -1.0] / np.hypot(*velocity.T)[:, None]


def evaluated(expressions: Sequence[Expression], **coordinates: Array) -> list[Array]:
    """Formulas at points, each (n,), from their coordinates, each (n,); what they have in common is computed once."""
    shape = next(iter(coordinates.values())).shape
    values = Evaluator(coordinates).together(expressions)
    return [v if np.shape(v) == shape else np.full(shape, v, dtype=float) for v in values]


def line(a: Sequence[float], b: Sequence[float]) -> Arc:
    """The edge from a to b."""
    start, delta = np.asarray(a, dtype=float), np.asarray(b, dtype=float) - np.asarray(a, dtype=float)
    return Arc(
        lambda s: start + np.multiply.outer(s, delta), lambda s: np.tile(delta, (len(s), 1)), 0.0, 1.0, straight=True
    )


def polyline(vertices: Array) -> list[Arc]:
    """The closed chain of edges through (n, 2) vertices."""
    return [line(a, b) for a, b in zip(vertices, np.roll(vertices, -1, axis=0), strict=True)]


def ellipse_arc(
    a: float, b: float, centre: Sequence[float] = (0, 0), angle: float = 0.0, start: float = 0.0, stop: float = TWO_PI
) -> Arc:
    """c + Rot(angle)(a cos s, b sin s), counter-clockwise."""
    c, shape = np.asarray(centre, dtype=float), rotation(angle) @ np.diag([a, b])
    return Arc(
        lambda s: np.column_stack([np.cos(s), np.sin(s)]) @ shape.T + c,
        lambda s: np.column_stack([-np.sin(s), np.cos(s)]) @ shape.T,
        start,
        stop,
        closed=abs(stop - start - TWO_PI) < 1e-15,
    )


def rotation(angle: float) -> Array:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def polar_arc(
    radius: Callable[[Array], Array],
    both: Callable[[Array], tuple[Array, Array]],
    centre: Sequence[float] = (0, 0),
) -> Arc:
    """c + R(θ)(cos θ, sin θ), counter-clockwise; ``both`` gives R and R'."""
    x, y = map(float, centre)

    def columns(first: Array, second: Array) -> Array:
        pairs = np.empty((len(first), 2))
        pairs[:, 0], pairs[:, 1] = first, second
        return pairs

    def point(s: Array) -> Array:
        r = radius(s)
        return columns(r * np.cos(s) + x, r * np.sin(s) + y)

    def together(s: Array) -> tuple[Array, Array]:
        (r, dr), cos, sin = both(s), np.cos(s), np.sin(s)
        east, north = r * cos, r * sin
        return columns(east + x, north + y), columns(dr * cos - north, dr * sin + east)

    return Arc(point, lambda s: together(s)[1], 0.0, TWO_PI, closed=True, together=together)


def signed_area(arcs: Iterable[Arc]) -> float:
    """½∮(x dy − y dx), positive for a counter-clockwise loop."""
    return sum(arc.swept_area for arc in arcs)
