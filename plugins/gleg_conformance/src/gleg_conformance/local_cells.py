"""Checks of the contract LocalBasis in Ω: what its cells say is what its functions are.

Edges are examined in :mod:`local_edges`, accuracy in :mod:`local_accuracy`.
"""

import numpy as np
import torch

from gleg_conformance.domain_parts import Array, extent_of
from gleg_conformance.kit import Finding, Subject, applies_if, check, require
from gleg_conformance.local_settings import (
    DOMAINS,
    LocalSetting,
    apart,
    domain_in,
    evaluated,
    gradients_on,
    local_check,
    local_settings,
    nodes_of,
    random_functions,
    site_on,
    smooth_function,
    values_on,
)
from gleg_core.contracts.basis import Basis, as_points
from gleg_core.contracts.jet import unit
from gleg_core.contracts.local_basis import Cells, EdgeCells, LocalBasis
from gleg_core.errors import SpecError

# --- declaration --------------------------------------------------------------------------------------------------------


@check("basis", group="declaration")
def local_capability_is_true(subject: Subject) -> None:
    """The entry states local if and only if the factory returns a LocalBasis, and a local basis describes itself in one line."""
    dims = [dim for dim in subject.dims if dim in DOMAINS]
    applies_if(dims, f"there is no first-party domain in {subject.dims} dimensions")
    for dim in dims:
        kind = next(iter(DOMAINS[dim]))
        site = site_on(domain_in(subject.registry, kind, dim), kind)
        basis: Basis = subject.make(site, dim=dim)
        is_local, stated = isinstance(basis, LocalBasis), subject.capabilities.local
        words = "a LocalBasis" if is_local else "no LocalBasis"
        require(
            is_local == stated, f"the entry's capabilities say local: {stated}, but {type(basis).__name__} is {words}"
        )
        if not isinstance(basis, LocalBasis):
            continue
        for word in ("periodic", "isotropic"):
            told, found = getattr(subject.capabilities, word), getattr(basis, word)
            require(told == found, f"the entry's capabilities say {word}: {told}, the basis has {word} = {found}")
        require(basis.frame is site.frame, "frame is not the box the factory was given")
        good = np.isfinite(basis.bandwidth) and basis.bandwidth > 0
        require(good, f"bandwidth must be a positive number (radians per unit length), found {basis.bandwidth!r}")
        line = basis.describe()
        require(isinstance(line, str) and line.strip() and line.isprintable(), f"describe must give one line: {line!r}")


# --- cells --------------------------------------------------------------------------------------------------------------


@check("basis", group="cells")
def cells_have_their_shape(subject: Subject) -> None:
    """Tables and rules of cells and edges are finite float64 of the shapes in the contract, and functions are numbered below M."""
    for setting in local_settings(subject):
        basis = setting.basis
        require(basis.cells, f"there are no cells on the {setting.label}")
        for i, cells in enumerate(basis.cells):
            _check_shapes(cells, f"cells[{i}] on the {setting.label}", basis)
        for i, edge in enumerate(basis.edges):
            _check_shapes(edge, f"edges[{i}] on the {setting.label}", basis)
        named = {e.segment for e in basis.edges if len(e.functions)}
        wanted = {s.name for s in setting.domain.segments}
        require(
            named == wanted, f"edges on the {setting.label} are of segments {sorted(named)}, it has {sorted(wanted)}"
        )


def _check_shapes(group: Cells | EdgeCells, told: str, basis: LocalBasis) -> None:
    (E, m), q, d = group.functions.shape, len(group.values), basis.dim
    shapes: dict[str, list[tuple[int, ...]]] = {"values": [(q, m)], "points": [(E, q, d)], "weights": [(E, q)]}
    if isinstance(group, Cells):
        shapes |= {"slopes": [(d, q, m)], "inverse": [(E, q, d, d), (E, 1, d, d)]}
    else:
        shapes |= {"normals": [(E, q, d)]}
    for name, allowed in shapes.items():
        found: Array = getattr(group, name)
        words = " or ".join(map(str, allowed))
        require(found.shape in allowed, f"{name} of {told} has shape {found.shape}, {words} is needed")
        require(found.dtype == np.float64, f"{name} of {told} is {found.dtype}, float64 is needed")
        require(np.isfinite(found).all(), f"{name} of {told} has entries that are not finite")
    numbers = group.functions
    good = np.issubdtype(numbers.dtype, np.integer) and (not E or (numbers.min() >= 0 and numbers.max() < basis.size))
    require(good, f"functions of {told} are not whole numbers from 0 to {basis.size - 1}")


@local_check("cells", 0.0, "functions that are in no cell, vanish in all of them, or are twice in one")
def numbering_is_complete(setting: LocalSetting) -> float:
    """Every function is in some cell and does not vanish there, and no cell has a function twice."""
    basis, size, twice = setting.basis, np.zeros(setting.basis.size), 0
    for cells in basis.cells:
        np.add.at(size, cells.functions, np.einsum("eq,qm->em", cells.weights, cells.values**2))
        ordered = np.sort(cells.functions, axis=1)
        twice += int((np.diff(ordered, axis=1) == 0).any(axis=1).sum())
    return float((size <= 0).sum() + twice)


@local_check("cells", 1e-10, "largest relative difference between cells and evaluate")
def cells_agree_with_evaluate(setting: LocalSetting) -> float:
    """At the nodes of cells, tables give the values and first derivatives that evaluate gives."""
    basis, a = setting.basis, random_functions(setting.basis)
    found, right = [[] for _ in range(basis.dim + 1)], [[] for _ in range(basis.dim + 1)]  # type: ignore[var-annotated]
    for cells in basis.cells:
        tables = np.concatenate([values_on(cells, a)[:, None], gradients_on(cells, a)], axis=1)
        for i, table in enumerate(np.moveaxis(tables, 1, 0)):
            found[i].append(table.reshape(len(a), -1))
            right[i].append(evaluated(basis, a, nodes_of(cells), i - 1 if i else None))
    return max(apart(np.concatenate(f, axis=1), np.concatenate(r, axis=1)) for f, r in zip(found, right, strict=True))


@local_check(
    "cells", 1e-6, "difference between derivatives by tables and differences of evaluate, relative in every cell"
)
def derivatives_on_cells_match_differences(setting: LocalSetting) -> float:
    """Slopes and inverse give the derivatives of evaluate, by finite differences in the middle of every cell."""
    basis, a, errors = setting.basis, random_functions(setting.basis), [0.0]
    for cells in basis.cells:
        if not len(cells.functions):
            continue
        centre = (cells.points * cells.weights[..., None]).sum(axis=1) / cells.weights.sum(axis=1)[:, None]
        middle = np.argmin(((cells.points - centre[:, None]) ** 2).sum(axis=2), axis=1)
        rows = np.arange(len(middle))
        x, h = cells.points[rows, middle], 3e-3 * cells.weights.sum(axis=1) ** (1 / basis.dim)
        slopes = gradients_on(cells, a)[:, :, rows, middle]
        for axis in range(basis.dim):
            difference = np.zeros((len(a), len(x)))
            for j, c in ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60)):
                step = j * h[:, None] * np.eye(basis.dim)[axis]
                plus, minus = (evaluated(basis, a, as_points(x + s * step)) for s in (1, -1))
                difference += c * (plus - minus) / h
            size = np.abs(slopes).max(axis=(0, 1))
            errors.append(float((np.abs(slopes[:, axis] - difference).max(axis=0) / size).max()))
    return max(errors)


@check("basis", group="cells")
def cells_cover_the_domain(subject: Subject) -> Finding:
    """Weights of cells are positive and sum to the area by the domain's own rule, and nodes lie in Ω."""
    found = []
    for setting in local_settings(subject):
        cells, domain = setting.basis.cells, setting.domain
        require(
            all((c.weights > 0).all() for c in cells), f"there are weights that are not positive on the {setting.label}"
        )
        outside = sum(int((~domain.contains(nodes_of(c).numpy())).sum()) for c in cells)
        require(not outside, f"{outside} nodes of cells are not in Ω ({setting.label})")
        area = float(domain.quadrature(40.0 / extent_of(domain)).weights.sum())
        found.append((abs(sum(float(c.weights.sum()) for c in cells) / area - 1), setting.label))
    return Finding.worst(found, 1e-6, "sum of the weights of cells against the area, relative difference")


@local_check(
    "cells", 1e-11, "∫ ∇·(x u v) against ∮ u v x·n, relative to the integral of the absolute value", affine=True
)
def rules_integrate_products(setting: LocalSetting) -> float:
    """On affine cells the rules are exact for products of two functions: ∫ ∇·(x u v) = ∮ u v x·n, an integrand of that degree."""
    basis, total, size = setting.basis, np.zeros(3), np.zeros(3)
    u, v = random_functions(basis, 6).reshape(2, 3, -1)
    for cells in basis.cells:
        (f, g), (df, dg) = ([of(cells, w) for w in (u, v)] for of in (values_on, gradients_on))
        x = np.moveaxis(cells.points, 2, 0)
        density = (basis.dim * f * g + (x * (df * g[:, None] + f[:, None] * dg)).sum(axis=1)) * cells.weights
        total, size = total + density.sum(axis=(1, 2)), size + np.abs(density).sum(axis=(1, 2))
    for edge in basis.edges:
        outward = (edge.points * edge.normals).sum(axis=2)
        total = total - (values_on(edge, u) * values_on(edge, v) * outward * edge.weights).sum(axis=(1, 2))
    return float((np.abs(total) / size).max())


@local_check("cells", 1e-9, "∫ ∂u/∂x_i against ∮ u n_i, relative to ‖∂u/∂x_i‖ times the root of the area")
def divergence_theorem_on_cells(setting: LocalSetting) -> float:
    """∫ ∂u/∂x_i = ∮ u n_i for functions of the basis: cells and edges fit, and functions do not jump between cells."""
    basis, a = setting.basis, random_functions(setting.basis)
    total, square, area = np.zeros((3, basis.dim)), np.zeros((3, basis.dim)), 0.0
    for cells in basis.cells:
        g = gradients_on(cells, a)
        total, square = total + (g * cells.weights).sum(axis=(2, 3)), square + (g**2 * cells.weights).sum(axis=(2, 3))
        area += float(cells.weights.sum())
    for edge in basis.edges:
        total = total - np.einsum("keq,eqi,eq->ki", values_on(edge, a), edge.normals, edge.weights)
    return float((np.abs(total) / np.sqrt(square * area)).max())


# --- the functions ------------------------------------------------------------------------------------------------------

_CLOSE = 10_000
"""Points of a line across Ω."""


@local_check(
    "structure", 5.0, "change of a function between close points, divided by their distance times its slopes there"
)
def functions_are_continuous(setting: LocalSetting) -> float:
    """Functions do not jump between cells, along lines across Ω."""
    basis, domain, a, errors = setting.basis, setting.domain, random_functions(setting.basis), [0.0]
    low, high = domain.bounds.T
    for start, stop in (([0.13, 0.17], [0.91, 0.83]), ([0.12, 0.88], [0.89, 0.21])):
        ends = [low + np.array(s)[: basis.dim] * (high - low) for s in (start, stop)]
        x = ends[0] + np.linspace(0.0, 1.0, _CLOSE)[:, None] * (ends[1] - ends[0])
        x = x[domain.contains(x)]
        points, steps = as_points(x), np.linalg.norm(np.diff(x, axis=0), axis=1)
        near = steps < 1.5 * np.linalg.norm(ends[1] - ends[0]) / _CLOSE  # both in one piece of the line
        change = np.abs(np.diff(evaluated(basis, a, points), axis=1))
        slope = np.sqrt(sum(evaluated(basis, a, points, axis) ** 2 for axis in range(basis.dim)))
        allowed = steps * (slope[:, 1:] + slope[:, :-1]) + 1e-3
        errors.append(float((change / allowed)[:, near].max(initial=0.0)))
    return max(errors)


@local_check(
    "structure",
    1e-9,
    "coefficients against those projected, or what a projection leaves against functions of the basis",
)
def projection_is_orthogonal(setting: LocalSetting) -> float:
    """project(Σ a_j φ_j) = a for any batch, and what a projection leaves of a smooth function is orthogonal to all functions."""
    basis, errors = setting.basis, []
    for batch in ((), (2, 3)):
        a = torch.rand(*batch, basis.size, dtype=torch.float64) - 0.5
        back = basis.project(lambda x, a=a: basis.evaluate(a, x))  # type: ignore[misc]
        require(back.shape == a.shape, f"values (..., n) of batch {batch} give coefficients {tuple(back.shape)}")
        errors.append(apart(back.numpy(), a.numpy()))
    best = basis.project(smooth_function).numpy()[None]
    left, size = np.zeros(basis.size), np.zeros(basis.size)
    for cells in basis.cells:
        rest = values_on(cells, best)[0] - smooth_function(as_points(cells.points)).numpy()
        np.add.at(left, cells.functions, (rest * cells.weights) @ cells.values)
        np.add.at(size, cells.functions, cells.weights @ np.abs(cells.values))
    return max(*errors, float((np.abs(left) / size).max()))


# --- evaluate -----------------------------------------------------------------------------------------------------------


@local_check("interface", 1e-12, "relative difference between evaluate of a batch and sums of single functions")
def evaluate_on_cells_keeps_batches(setting: LocalSetting) -> float:
    """evaluate gives a @ ∂^αΦ for coefficients of any batch shape, at points of Ω and ∂Ω, with a gradient in the coefficients."""
    basis, errors = setting.basis, []
    x = torch.cat([setting.inside, setting.rim])
    for alpha in ((0,) * basis.dim, unit(basis.dim, 0), unit(basis.dim, basis.dim - 1)):
        table = basis.tabulate(x, [alpha])[alpha]
        require(table.shape == (basis.size, len(x)), f"the table of {alpha} has shape {tuple(table.shape)}")
        require(torch.isfinite(table).all(), f"the table of {alpha} has entries that are not finite")
        for batch in ((), (2,), (2, 3), (0,)):
            a = (torch.rand(*batch, basis.size, dtype=torch.float64) - 0.5).requires_grad_(True)
            value = basis.evaluate(a, x, alpha)
            require(value.shape == (*batch, len(x)), f"evaluate gives shape {tuple(value.shape)} for a batch {batch}")
            require(value.requires_grad, "evaluate cuts the gradient with respect to the coefficients")
            require(value.dtype == torch.float64, f"evaluate gives {value.dtype}")
            errors.append(apart(value.detach().numpy(), (a.detach() @ table).numpy()))
        require(basis.evaluate(a.detach(), x[:0], alpha).shape[-1] == 0, "evaluate at no points gives some values")
    return max(errors)


@local_check("interface", 1e-13, "relative difference between the same values asked for at different times")
def evaluating_leaves_no_trace(setting: LocalSetting) -> float:
    """evaluate leaves points and coefficients alone, does not share what it returns, and depends on no earlier call."""
    basis, x = setting.basis, setting.inside
    a, other = torch.from_numpy(random_functions(basis, 2))
    first, points, coefficients = basis.evaluate(a, x), x.clone(), a.clone()
    kept = first.clone()
    basis.evaluate(a, x).mul_(0)
    basis.evaluate(other, x.flip(0))
    same = torch.equal(x, points) and torch.equal(a, coefficients)
    require(same, "evaluate modifies the points or the coefficients it is given")
    require(torch.equal(first, kept), "evaluate returns the same memory again")
    again = basis.evaluate(a, x)
    moved = x.clone()
    basis.evaluate(a, moved)
    moved.copy_(x.flip(0))  # the points it was given have changed since
    pairs = [(again, first), (basis.evaluate(a, moved), first.flip(0))]
    return max(apart(found.numpy(), right.numpy()) for found, right in pairs)


@check("basis", group="interface")
def second_derivatives_are_refused(subject: Subject) -> None:
    """A second derivative is refused by a SpecError: it is no function, and zero would be a wrong answer."""
    for setting in local_settings(subject):
        basis, x = setting.basis, setting.inside[:3]
        for alpha in {unit(basis.dim, 0, 2), tuple(2 // basis.dim for _ in range(basis.dim))}:
            for name in ("evaluate", "tabulate"):
                try:
                    if name == "evaluate":
                        basis.evaluate(torch.ones(basis.size, dtype=torch.float64), x, alpha)
                    else:
                        basis.tabulate(x, [alpha])
                except SpecError:
                    continue
                require(
                    False, f"{name} gives values for the derivative {alpha} instead of a SpecError ({setting.label})"
                )
