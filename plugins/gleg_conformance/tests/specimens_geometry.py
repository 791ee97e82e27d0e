"""Bases, boundary conditions and domains that are wrong in one way each, and healthy ones beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gleg_basis_fourier.fourier import FourierBasis
from gleg_bc.clamped import Clamped
from gleg_bc.dirichlet import Dirichlet
from gleg_bc.neumann import Neumann
from gleg_bc.robin import Robin
from gleg_core.contracts.basis import Basis, Site, as_points
from gleg_core.contracts.domain import ROUNDING, BoundarySample, Corner, Curve, Domain, Quadrature, Segment
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location
from gleg_core.contracts.transform import IntegratedProducts, Transform
from gleg_core.expressions import Expression, formula
from gleg_core.spec.params import PackParams
from gleg_domains.polar import Annulus
from gleg_domains.simple import Disk, Rectangle

Array = np.ndarray
Tables = dict[MultiIndex, Tensor]


class NoParams(PackParams):
    """No keys."""


CENTRE = np.array([0.2, -0.1])
MIDDLE = np.array([0.1, 0.0, -0.3])


# --- bases --------------------------------------------------------------------------------------------------------------


class NotSaidToRepeat(FourierBasis):
    periodic = False


class PeriodOfTwoBoxes(FourierBasis):
    """Half the wavenumbers it should have: functions repeat after two boxes."""

    def __init__(self, params: Any, site: Site):
        super().__init__(params, site)
        self._twice = FourierBasis(params, Site(replace(site.frame, half_widths=2 * site.frame.half_widths)))

    def tabulate(self, points: Tensor, derivatives: Iterable[MultiIndex]) -> Tables:
        return self._twice.tabulate(points, derivatives)


class BandwidthWithoutPi(FourierBasis):
    def __init__(self, params: Any, site: Site):
        super().__init__(params, site)
        self.bandwidth /= math.pi


class AnotherFrame(FourierBasis):
    """Lays its own box along the axes."""

    def __init__(self, params: Any, site: Site):
        super().__init__(params, Site(replace(site.frame, rotation=np.eye(site.frame.dim))))


class SinglePrecision(FourierBasis):
    def tabulate(self, points: Tensor, derivatives: Iterable[MultiIndex]) -> Tables:
        return {alpha: table.float() for alpha, table in super().tabulate(points, derivatives).items()}


class SharedTables(FourierBasis):
    """Keeps tables and hands out the same tensors again."""

    def __init__(self, params: Any, site: Site):
        super().__init__(params, site)
        self._kept: dict[Any, Tensor] = {}

    def tabulate(self, points: Tensor, derivatives: Iterable[MultiIndex]) -> Tables:
        wanted, place = list(derivatives), points.detach().numpy().tobytes()
        if points.requires_grad:
            return super().tabulate(points, wanted)
        for alpha in wanted:
            if (place, alpha) not in self._kept:
                self._kept[place, alpha] = super().tabulate(points, [alpha])[alpha]
        return {alpha: self._kept[place, alpha] for alpha in wanted}


class CentredOnThePoints(FourierBasis):
    """Subtracts the mean of the points instead of the centre of Q."""

    def tabulate(self, points: Tensor, derivatives: Iterable[MultiIndex]) -> Tables:
        return super().tabulate(points - points.mean(dim=0), derivatives)


class ReferenceDerivatives(FourierBasis):
    """Derivatives in reference coordinates: the factor 1/h per order is missing."""

    def tabulate(self, points: Tensor, derivatives: Iterable[MultiIndex]) -> Tables:
        h = float(self.frame.half_widths[0])
        return {alpha: table * h ** sum(alpha) for alpha, table in super().tabulate(points, derivatives).items()}


class DetachedPoints(FourierBasis):
    def tabulate(self, points: Tensor, derivatives: Iterable[MultiIndex]) -> Tables:
        return super().tabulate(points.detach(), derivatives)


class EvaluatesValuesOnly(FourierBasis):
    def evaluate(self, coefficients: Tensor, points: Tensor, derivative: MultiIndex | None = None) -> Tensor:
        return super().evaluate(coefficients, points)


class JetWithSwappedAxes(FourierBasis):
    def jet(self, points: Tensor) -> Jet:
        return Jet(lambda alpha: self.tabulate(points, [alpha[::-1]])[alpha[::-1]], self.dim)


class TransformOfValuesOnly(FourierBasis):
    """Its transform forgets derivatives."""

    def transform(self, points: Tensor) -> Transform | None:
        made = super().transform(points)
        if made is not None:
            synthesise = made.synthesise
            made.synthesise = lambda a, alpha: synthesise(a, (0,) * self.dim)  # type: ignore[method-assign]
        return made


class ProductsTransposed(FourierBasis):
    """Its integrals of products have the derivatives of the two functions exchanged."""

    def products(self, points: Tensor, weights: Tensor) -> IntegratedProducts:
        made = super().products(points, weights)
        return lambda alpha, beta: made(beta, alpha)


class WavevectorsWithoutPi(FourierBasis):
    def __init__(self, params: Any, site: Site):
        super().__init__(params, site)
        assert self.wavevectors is not None
        self.wavevectors = self.wavevectors / math.pi


class OneFunctionTwice(FourierBasis):
    def tabulate(self, points: Tensor, derivatives: Iterable[MultiIndex]) -> Tables:
        tables = super().tabulate(points, derivatives)
        return {alpha: torch.cat([table[:-1], table[-2:-1]]) for alpha, table in tables.items()}


class ProjectsWithoutNorm(FourierBasis):
    """The factor √2 of the waves is lost in the projection."""

    def project(self, function: Callable[[Tensor], Tensor]) -> Tensor:
        a = super().project(function)
        return torch.cat([a[..., :1], a[..., 1:] / math.sqrt(2)], dim=-1)


class ProjectsFromOneHalf(FourierBasis):
    """A least-squares fit on one half of Q: right for functions of the space, far off for others."""

    def project(self, function: Callable[[Tensor], Tensor]) -> Tensor:
        axis = np.linspace(-1, 1, 30)
        grid = np.stack(np.meshgrid(*[axis] * self.dim, indexing="ij"), axis=-1).reshape(-1, self.dim)
        x = as_points(self.frame.to_physical(grid[grid[:, 0] < 0]))
        phi = self.tabulate(x, [(0,) * self.dim])[(0,) * self.dim]
        return torch.linalg.lstsq(phi.T, function(x)[:, None], driver="gelsd").solution[:, 0]


class _Part(FourierBasis):
    """Some of the functions: those with these indices."""

    keep: slice
    evaluate = Basis.evaluate

    def __init__(self, params: Any, site: Site):
        super().__init__(params, site)
        assert self.wavevectors is not None
        self.wavevectors = self.wavevectors[self.keep]
        self.size = len(self.wavevectors)

    def tabulate(self, points: Tensor, derivatives: Iterable[MultiIndex]) -> Tables:
        return {alpha: table[self.keep] for alpha, table in super().tabulate(points, derivatives).items()}

    def project(self, function: Callable[[Tensor], Tensor]) -> Tensor:
        return super().project(function)[..., self.keep]


class WithoutConstant(_Part):
    keep = slice(1, None)


class CosinesOnly(_Part):
    """The sines are forgotten: all functions are even about the centre of Q."""

    def __init__(self, params: Any, site: Site):
        self.keep = slice(0, 1 + len(FourierBasis(params, site).k))
        super().__init__(params, site)


# --- boundary conditions ------------------------------------------------------------------------------------------------


class OneOfTwo(Clamped):
    conditions = 1


class OrderForgotten(Robin):
    order = 0


class OrderTooHigh(Robin):
    order = 2


class Squeezed(Robin):
    """Right for a single function and for a plain batch."""

    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        return [trace.squeeze(0) for trace in super().traces(u, at)]


class HalfPrecision(Robin):
    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        return [trace.float() for trace in super().traces(u, at)]


class MinusData(Robin):
    """The residual instead of the trace."""

    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        return [super().traces(u, at)[0] - at.moment(0.5)(self._value)]


class MeanRemoved(Robin):
    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        return [trace - trace.mean(-1, keepdim=True) for trace in super().traces(u, at)]


class GrowingCoefficient(Robin):
    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        assert at.normal is not None
        return [u.along(at.normal) + (1 + at.t) * at(self._kappa) * u.value]


class InPlace(Robin):
    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        assert at.normal is not None
        return [u.value.mul_(at(self._kappa)) + u.along(at.normal)]


class RemembersPoints(Robin):
    """κ at the first points it ever saw."""

    _seen: Tensor | None = None

    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        assert at.normal is not None
        if self._seen is None:
            self._seen = at(self._kappa)
        return [u.along(at.normal) + self._seen * u.value]


class NoGradient(Robin):
    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        return [trace.detach() for trace in super().traces(u, at)]


class DataAsFunction(Robin):
    def data(self) -> Sequence[Any]:
        return [lambda x, t: x]


class DataOfTheAngle(Robin):
    def data(self) -> Sequence[Expression]:
        return [formula("cos(theta)", ("theta",))]


class _Swing(Expression):
    """sin(2t) with a derivative written by hand, without its factor 2."""

    def d(self, *names: str) -> Expression:
        return formula("cos(2*t)") if names == ("t",) else super().d(*names)


class WrongRate(Robin):
    def data(self) -> Sequence[Expression]:
        return [_Swing("sin(2*t)", formula("sin(2*t)").node)]


class InwardNormal(Robin):
    def traces(self, u: Jet, at: Location) -> Sequence[Tensor]:
        assert at.normal is not None
        return [at(self._kappa) * u.value - u.along(at.normal)]


class ValuesSaidToVanish(Neumann):
    vanishing = (0, 1)


class NothingSaidToVanish(Dirichlet):
    vanishing = ()


# --- domains ------------------------------------------------------------------------------------------------------------


class Changed(Segment):
    """A segment with some of its answers changed."""

    curves: Sequence[Curve] | None = None  # type: ignore[assignment]

    def __init__(
        self,
        segment: Segment,
        sample: Callable[[BoundarySample, int], BoundarySample] = lambda sample, n: sample,
        outline: Callable[[Array], Array] = lambda points: points,
        name: str | None = None,
        most: int = 10**6,
    ):
        self.name, self.length = name or segment.name, segment.length
        self.arcs = getattr(segment, "arcs", ())
        self._segment, self._sample, self._outline, self._most = segment, sample, outline, most

    def sample(self, n: int) -> BoundarySample:
        return self._sample(self._segment.sample(n), n)

    def outline(self, n: int) -> Array:
        return self._outline(self._segment.outline(min(n, self._most)))


class _Params(PackParams):
    """Stands for the parameters of several domains of gleg-domains."""

    radius: float = 0.6
    centre: tuple[float, float] = (0.2, -0.1)
    outer: float = 0.7
    inner: float = 0.3
    x: tuple[float, float] = (-0.5, 0.6)
    y: tuple[float, float] = (-0.4, 0.4)


class Healthy(Disk):
    """A disk that returns copies."""

    def __init__(self, params: NoParams):
        super().__init__(_Params())  # type: ignore[arg-type]

    @property
    def bounds(self) -> Array:  # type: ignore[override]
        return super().bounds.copy()

    def quadrature(self, wavenumber: float, tolerance: float = ROUNDING) -> Quadrature:
        rule = super().quadrature(wavenumber, tolerance)
        return Quadrature(rule.points.copy(), rule.weights.copy())


class _HealthyRectangle(Rectangle):
    def __init__(self, params: NoParams):
        super().__init__(_Params())  # type: ignore[arg-type]


class _HealthyAnnulus(Annulus):
    def __init__(self, params: NoParams):
        super().__init__(_Params())  # type: ignore[arg-type]


class SameNames(_HealthyRectangle):
    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        return [Changed(segment, name="wall") for segment in super().segments]


class ReservedName(Healthy):
    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        return [Changed(segment, name="all") for segment in super().segments]


class SinglePrecisionSamples(Healthy):
    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        def sample(s: BoundarySample, n: int) -> BoundarySample:
            return BoundarySample(s.points.astype(np.float32), s.normals, s.weights)

        return [Changed(segment, sample) for segment in super().segments]


class LongNormals(Healthy):
    """The velocity turned, not divided by its length."""

    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        return [Changed(s, lambda s, n: BoundarySample(s.points, 0.6 * s.normals, s.weights)) for s in super().segments]


class HoleWithNormalsIntoOmega(_HealthyAnnulus):
    """The inner circle keeps the normals of an outer one."""

    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        outer, inner = super().segments
        return [outer, Changed(inner, lambda s, n: BoundarySample(s.points, -s.normals, s.weights))]


class WeightsOfTheAngle(Healthy):
    """Weights dθ instead of R dθ."""

    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        return [Changed(s, lambda s, n: BoundarySample(s.points, s.normals, s.weights / 0.6)) for s in super().segments]


class NestedNodes(Healthy):
    """Equispaced nodes that always start at angle 0: sample(2n) contains sample(n)."""

    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        def sample(s: BoundarySample, n: int) -> BoundarySample:
            angle = 2 * np.pi * np.arange(n) / n
            normals = np.column_stack([np.cos(angle), np.sin(angle)])
            return BoundarySample(CENTRE + 0.6 * normals, normals, np.full(n, 1.2 * np.pi / n))

        return [Changed(segment, sample) for segment in super().segments]


class OpenBox(_HealthyRectangle):
    """One side is missing."""

    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        return super().segments[:-1]


class NodesInTheBox(Healthy):
    """A grid on the bounding box, scaled to the area of the disk."""

    def quadrature(self, wavenumber: float, tolerance: float = ROUNDING) -> Quadrature:
        axis = 0.6 * np.polynomial.legendre.leggauss(24)[0]
        points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2) + CENTRE
        return Quadrature(points, np.full(len(points), np.pi * 0.36 / len(points)))


class NegativeWeights(Healthy):
    """Richardson's 2·fine − coarse: right integrals, weights of both signs."""

    def quadrature(self, wavenumber: float, tolerance: float = ROUNDING) -> Quadrature:
        fine, coarse = super().quadrature(2 * wavenumber, tolerance), super().quadrature(wavenumber, tolerance)
        weights = np.concatenate([2 * fine.weights, -coarse.weights])
        return Quadrature(np.concatenate([fine.points, coarse.points]), weights)


class AreaWithoutSquare(Healthy):
    @property
    def measure(self) -> float:  # type: ignore[override]
        return math.pi * 0.6


class CountedCells(Healthy):
    """Cells whose middle is inside, scaled to the right area: converges, but slowly."""

    def quadrature(self, wavenumber: float, tolerance: float = ROUNDING) -> Quadrature:
        axis = np.linspace(-0.6, 0.6, 2 * math.ceil(wavenumber) + 1)
        points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2) + CENTRE
        points = points[self.contains(points)]
        return Quadrature(points, np.full(len(points), np.pi * 0.36 / len(points)))


class WavenumberInCycles(Healthy):
    """Takes radians per length for cycles per length."""

    def quadrature(self, wavenumber: float, tolerance: float = ROUNDING) -> Quadrature:
        return super().quadrature(wavenumber / (2 * math.pi), tolerance)


class AlwaysTheSameRule(Healthy):
    def quadrature(self, wavenumber: float, tolerance: float = ROUNDING) -> Quadrature:
        return super().quadrature(200.0)


class TooTolerant(Healthy):
    """Asked for a tolerance, it gives the rule of a tenth of the wavenumber."""

    def quadrature(self, wavenumber: float, tolerance: float = ROUNDING) -> Quadrature:
        return super().quadrature(wavenumber if tolerance == ROUNDING else wavenumber / 10, tolerance)


class HoleForgottenInside(_HealthyAnnulus):
    def contains(self, points: Array) -> Array:
        return np.hypot(*(np.atleast_2d(points) - CENTRE).T) < 0.7


class LooseBounds(Healthy):
    @property
    def bounds(self) -> Array:  # type: ignore[override]
        return 1.1 * super().bounds


class BoundsTooSmall(Healthy):
    @property
    def bounds(self) -> Array:  # type: ignore[override]
        return 0.9 * super().bounds


class OutlineWithoutLastPoint(Healthy):
    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        return [Changed(segment, outline=lambda points: points[:-1]) for segment in super().segments]


class CoarseOutline(Healthy):
    """Sixteen points however many are asked for."""

    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        return [Changed(segment, most=16) for segment in super().segments]


class OutlineAtTheOrigin(Healthy):
    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        return [Changed(segment, outline=lambda points: points - CENTRE) for segment in super().segments]


class RandomPhase(Healthy):
    """Nodes start at a random angle, drawn anew for every sample."""

    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        def sample(s: BoundarySample, n: int) -> BoundarySample:
            angle = 2 * np.pi * (np.arange(n) + np.random.default_rng().uniform()) / n
            normals = np.column_stack([np.cos(angle), np.sin(angle)])
            return BoundarySample(CENTRE + 0.6 * normals, normals, np.full(n, 1.2 * np.pi / n))

        return [Changed(segment, sample) for segment in super().segments]


class SharedArrays(Healthy):
    """Gives its own array of bounds away."""

    def __init__(self, params: NoParams):
        super().__init__(params)
        self._box = np.array([[-0.4, 0.8], [-0.7, 0.5]])

    @property
    def bounds(self) -> Array:  # type: ignore[override]
        return self._box


class NotBuilt(Healthy):
    def __init__(self, params: NoParams):
        raise ValueError("the radius is missing")


class ExteriorAngles(_HealthyRectangle):
    """Tells by how much the boundary turns."""

    @property
    def corners(self) -> Sequence[Corner]:  # type: ignore[override]
        return [replace(corner, angle=2 * math.pi - corner.angle) for corner in super().corners]


class SegmentsShifted(_HealthyRectangle):
    """Names the sides that follow."""

    @property
    def corners(self) -> Sequence[Corner]:  # type: ignore[override]
        names = [corner.segments for corner in super().corners]
        return [replace(c, segments=n) for c, n in zip(super().corners, names[1:] + names[:1], strict=True)]


class CornerForgotten(_HealthyRectangle):
    @property
    def corners(self) -> Sequence[Corner]:  # type: ignore[override]
        return super().corners[1:]


class CornerInside(_HealthyRectangle):
    """One more corner, in Ω."""

    @property
    def corners(self) -> Sequence[Corner]:  # type: ignore[override]
        return [*super().corners, Corner(np.array([0.1, 0.0]), math.pi, ("left",))]


class LongestFeature(_HealthyRectangle):
    feature_size = 1.1


def _with_curves(segment: Segment, change: Callable[[Curve], Curve]) -> Segment:
    """The segment with each of its curves changed."""
    changed = Changed(segment)
    changed.curves = [change(curve) for curve in segment.curves or ()]  # type: ignore[misc]
    return changed


class ClockwiseCurve(Healthy):
    """The circle in the other direction."""

    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        return [_with_curves(s, lambda c: Curve(lambda u: c.point(1 - u))) for s in super().segments]


class HalfACircle(Healthy):
    """The angle goes to π."""

    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        return [_with_curves(s, lambda c: Curve(lambda u: c.point(0.5 * u))) for s in super().segments]


class CurveAtTheOrigin(Healthy):
    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        return [_with_curves(s, lambda c: Curve(lambda u: c.point(u) - CENTRE)) for s in super().segments]


class CurvesWithGaps(_HealthyRectangle):
    """Curves stop short of the corners."""

    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        return [_with_curves(s, lambda c: Curve(lambda u: c.point(0.999 * u))) for s in super().segments]


class VelocityInTheAngle(Healthy):
    """dγ/dθ instead of dγ/ds."""

    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        def change(curve: Curve) -> Curve:
            velocity = curve.velocity
            assert velocity is not None
            return replace(curve, velocity=lambda u: velocity(u) / (2 * math.pi))

        return [_with_curves(s, change) for s in super().segments]


class CircleSaidStraight(Healthy):
    @property
    def segments(self) -> Sequence[Segment]:  # type: ignore[override]
        return [_with_curves(s, lambda c: replace(c, straight=True)) for s in super().segments]


# --- a healthy domain in three dimensions -------------------------------------------------------------------------------


def _sphere(n: int) -> tuple[Array, Array]:
    """Gauss nodes in height, equal steps in angle: unit vectors (m, 3) and weights of sum 4π, m ≥ n."""
    rings = max(2, math.ceil(math.sqrt(n / 2)))
    height, mass = np.polynomial.legendre.leggauss(rings)
    angle = 2 * np.pi * (np.arange(2 * rings) + 0.38) / (2 * rings)
    z, a = (g.ravel() for g in np.meshgrid(height, angle, indexing="ij"))
    points = np.column_stack([np.sqrt(1 - z**2) * np.cos(a), np.sqrt(1 - z**2) * np.sin(a), z])
    return points, np.repeat(mass, 2 * rings) * np.pi / rings


class Sphere(Segment):
    name = "surface"
    length = 4 * math.pi * 0.25

    def sample(self, n: int) -> BoundarySample:
        normals, weights = _sphere(n)
        return BoundarySample(MIDDLE + 0.5 * normals, normals, 0.25 * weights)

    def outline(self, n: int) -> Array:
        return np.concatenate([self.sample(n).points, MIDDLE + 0.5 * np.vstack([np.eye(3), -np.eye(3)])])


class Ball(Domain):
    """|x − c| < 0.5 in space."""

    dim = 3

    def __init__(self, params: NoParams):
        pass

    @property
    def segments(self) -> Sequence[Segment]:
        return [Sphere()]

    @property
    def bounds(self) -> Array:
        return np.array([[-0.4, 0.6], [-0.5, 0.5], [-0.8, 0.2]])

    def contains(self, points: Array) -> Array:
        return np.linalg.norm(np.atleast_2d(points) - MIDDLE, axis=1) < 0.5

    def quadrature(self, wavenumber: float, tolerance: float = ROUNDING) -> Quadrature:
        n = math.ceil(0.25 * wavenumber) + 14
        u, mass = np.polynomial.legendre.leggauss(n)
        unit_vectors, weights = _sphere(2 * n * n)
        r = 0.25 * (1 + u)
        points = MIDDLE + (r[:, None, None] * unit_vectors).reshape(-1, 3)
        return Quadrature(points, np.outer(0.25 * mass * r**2, weights).ravel())
