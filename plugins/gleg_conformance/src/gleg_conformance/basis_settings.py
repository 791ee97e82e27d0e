"""Small versions of a basis on several boxes, and what the checks of bases measure with."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from itertools import product

import numpy as np
import torch
from pydantic import ValidationError
from torch import Tensor

from gleg_conformance.kit import Finding, Subject, applies_if, check, require
from gleg_core.contracts.basis import Basis, Frame, Site, as_points
from gleg_core.contracts.jet import MultiIndex

Sizes = dict[str, int]
Measure = Callable[[Basis], float]
INNER = 0.55
"""Half width of the turned box inside Q on which integrals over a domain are tried, in half widths of Q."""


@dataclass(frozen=True)
class Setting:
    """The basis of the example, made small, on one box Q; ``sizes`` are its whole-number parameters."""

    label: str
    basis: Basis
    sizes: Sizes


# --- small versions of the example --------------------------------------------------------------------------------------


def turn(dim: int) -> np.ndarray:
    """A rotation without special angles, shape (dim, dim)."""
    turn = np.eye(dim)
    for i, angle in enumerate((0.6, -0.35)[: dim - 1]):
        c, s = math.cos(angle), math.sin(angle)
        turn[:, i : i + 2] = turn[:, i : i + 2] @ np.array([[c, -s], [s, c]])
    return turn


def frames(dim: int, isotropic: bool) -> Iterator[tuple[str, Frame]]:
    centre, equal = np.array([0.3, -0.2, 0.5])[:dim], np.full(dim, 0.8)
    yield f"{dim}-D, along the axes", Frame(centre, equal, np.eye(dim))
    if dim > 1:
        yield f"{dim}-D, turned", Frame(centre, equal, turn(dim))
    if dim > 1 and not isotropic:
        yield f"{dim}-D, turned and oblong", Frame(centre, np.array([0.9, 0.5, 0.7])[:dim], turn(dim))


def built(subject: Subject, frame: Frame, sizes: Sizes) -> Basis:
    return _built_for(subject, Site(frame), sizes)


def _built_for(subject: Subject, site: Site, sizes: Sizes) -> Basis:
    changed = replace(subject, example={**subject.example, **sizes}, built={})
    return changed.make(site, dim=site.frame.dim)


def whole_numbers(subject: Subject, dim: int) -> Sizes:
    """The whole-number parameters of the example."""
    return {name: value for name, value in subject.params(dim=dim) if type(value) is int}


def enlarged(subject: Subject, site: Site, sizes: Sizes, size: int) -> Basis:
    """The basis with those of its parameters doubled that make it larger than ``size`` functions."""
    grown: Sizes = {}
    for name, value in sizes.items():
        try:
            if _built_for(subject, site, {**sizes, name: 2 * value}).size > size:
                grown[name] = 2 * value
        except ValidationError:
            continue
    applies_if(grown, "no whole-number parameter of the example makes the basis larger")
    return _built_for(subject, site, {**sizes, **grown})


def small(subject: Subject, label: str, frame: Frame, most: int) -> Setting:
    """The whole-number parameters are lowered together until the basis has at most ``most`` functions."""
    applies_if(not subject.capabilities.local, "its functions are local: checks of cells and edges examine it")
    sizes = whole_numbers(subject, frame.dim)
    basis = built(subject, frame, {})
    while basis.size > most:
        lower = {name: value - max(1, value // 5) for name, value in sizes.items()}
        try:
            smaller = built(subject, frame, lower)
        except ValidationError:
            break
        if smaller.size >= basis.size:
            break
        sizes, basis = lower, smaller
    require(
        basis.size <= 20_000, f"the smallest basis found for {label} has {basis.size} functions: give a smaller example"
    )
    return Setting(label, basis, sizes)


def settings(subject: Subject) -> list[Setting]:
    """One setting per declared dimension and box, with about 20, 80 and 60 functions in one, two and three dimensions."""

    def build() -> list[Setting]:
        found = []
        applies_if(not subject.capabilities.local, "its functions are local: checks of cells and edges examine it")
        for dim in subject.dims:
            isotropic = built(subject, next(frames(dim, True))[1], {}).isotropic
            found += [small(subject, *each, (20, 80, 60)[dim - 1]) for each in frames(dim, isotropic)]
        return found

    return subject.once("settings", build)


def upright(subject: Subject, most: tuple[int, int, int]) -> list[Setting]:
    """One setting per declared dimension, of another size."""
    return [small(subject, *next(frames(dim, True)), most[dim - 1]) for dim in subject.dims]


def some_points(basis: Basis, n: int = 7) -> Tensor:
    xi = np.random.default_rng(5).uniform(-0.9, 0.9, (n, basis.dim))
    return as_points(basis.frame.to_physical(xi))


def table_of(basis: Basis, points: Tensor, alpha: MultiIndex | None = None) -> Tensor:
    alpha = alpha or (0,) * basis.dim
    return basis.tabulate(points, [alpha])[alpha]


def multi_indices(dim: int, highest: int) -> list[MultiIndex]:
    return [alpha for alpha in product(range(highest + 1), repeat=dim) if sum(alpha) <= highest]


def relative(found: Tensor, right: Tensor, scale: float = 0.0) -> float:
    """max|found − right| divided by the larger of max|right| and ``scale``; infinite if that is not a number."""
    if not right.numel():
        return 0.0
    difference = float((found - right).abs().max())
    return math.inf if math.isnan(difference) else difference / (max(float(right.abs().max()), scale) or 1.0)


def basis_check(group: str, limit: float, what: str) -> Callable[[Measure], Measure]:
    """Add a check to the kit: a function that measures a basis, of which the largest value over all settings counts."""

    def add(measure: Measure) -> Measure:
        @wraps(measure)
        def run(subject: Subject) -> Finding:
            measured = ((measure(setting.basis), setting.label) for setting in settings(subject))
            return Finding.worst(measured, limit, what)

        check("basis", group=group)(run)
        return measure

    return add


def gauss_box(frame: Frame, n: int, half: float = 1.0, turned: bool = False) -> tuple[Tensor, Tensor]:
    """Tensor Gauss–Legendre rule with n nodes per axis on Q shrunk by ``half``: points (n^d, d), weights of sum 1."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    grid, mass = (
        np.stack(np.meshgrid(*[values] * frame.dim, indexing="ij"), axis=-1).reshape(-1, frame.dim)
        for values in (nodes, weights / 2)
    )
    xi = half * grid @ (turn(frame.dim).T if turned else np.eye(frame.dim))
    return as_points(frame.to_physical(xi)), as_points(mass.prod(axis=1))


def nodes_for(omega: float) -> int:
    """Fewest Gauss nodes that integrate waves cos(κ ξ), κ ≤ omega, over [−1, 1] to rounding."""
    kappa = omega * np.linspace(0.8, 1.0, 6)
    exact = 2 * np.sinc(kappa / np.pi)
    n = max(1, int(omega / 2))
    while True:
        nodes, weights = np.polynomial.legendre.leggauss(n)
        if np.abs(np.cos(np.outer(kappa, nodes)) @ weights - exact).max() < 1e-13:
            return n
        n += 1


def slope(f: Callable[[Tensor], Tensor], x: Tensor, direction: Tensor, h: float) -> Tensor:
    """direction·∇f at x by central differences of sixth order; ``f`` maps points (n, d) to (..., n)."""
    stencil = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))
    return torch.stack([c * (f(x + j * h * direction) - f(x - j * h * direction)) / h for j, c in stencil]).sum(0)
