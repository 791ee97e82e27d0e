"""Checks of the contract Basis, on small versions of the example in boxes Q that are shifted, turned and, where allowed, stretched."""

import math
from functools import partial
from itertools import product

import numpy as np
import torch
from torch import Tensor

from gleg_conformance.basis_settings import (
    INNER,
    basis_check,
    built,
    enlarged,
    frames,
    gauss_box,
    multi_indices,
    nodes_for,
    relative,
    settings,
    slope,
    some_points,
    table_of,
    upright,
)
from gleg_conformance.kit import Finding, Subject, Violation, applies_if, check, require, worst
from gleg_core.contracts.basis import Basis, Frame, Site, as_points
from gleg_core.contracts.jet import MultiIndex, unit

# --- declaration --------------------------------------------------------------------------------------------------------


@check("basis", group="declaration")
def basis_is_as_declared(subject: Subject) -> None:
    """Periodic, isotropic, dimension, frame and bandwidth are those of the entry and of the box given."""
    for setting in settings(subject):
        basis = setting.basis
        for word in ("periodic", "isotropic"):
            stated, found = getattr(subject.capabilities, word), getattr(basis, word)
            require(stated == found, f"the entry's capabilities say {word}: {stated}, the basis has {word} = {found}")
        require((basis.frame.half_widths > 0).all(), "the half widths of frame must be positive")
        corners = basis.frame.to_physical(np.eye(basis.dim))
        asked = dict(frames(basis.dim, False))[setting.label].to_physical(np.eye(basis.dim))
        require(np.allclose(corners, asked), f"frame is not the box the factory was given ({setting.label})")
        good = math.isfinite(basis.bandwidth) and basis.bandwidth > 0
        require(good, f"bandwidth must be a positive number (radians per unit length), found {basis.bandwidth!r}")


@check("basis", group="declaration")
def periodic_flag_is_true(subject: Subject) -> Finding:
    """Functions and slopes agree on opposite faces of Q if periodic is set, and some do not if it is not set."""

    def jump(basis: Basis) -> float:
        jumps, wanted = [], multi_indices(basis.dim, 1)
        for axis in range(basis.dim):
            xi = np.random.default_rng(6).uniform(-1, 1, (2, 5, basis.dim))
            xi[1] = xi[0]
            xi[:, :, axis] = [[-1.0], [1.0]]
            low, high = (basis.tabulate(as_points(basis.frame.to_physical(face)), wanted) for face in xi)
            for alpha in wanted:
                size = float(low[(0,) * basis.dim].abs().max()) * basis.bandwidth ** sum(alpha)
                jumps.append(relative(low[alpha], high[alpha], size))
        return max(jumps)

    found = {setting.label: jump(setting.basis) for setting in settings(subject)}
    if all(setting.basis.periodic for setting in settings(subject)):
        return Finding(max(found.values()), 1e-9, "periodic is True; largest relative jump between opposite faces of Q")
    for label, value in found.items():
        require(
            value > 1e-9,
            f"all functions repeat with period Q ({label}), but periodic is False: Ω would get no margin to the edge of Q",
        )
    return Finding(0.0, 1e-9, "periodic is False, and functions differ between opposite faces of Q")


@check("basis", group="declaration")
def bandwidth_sets_a_sufficient_quadrature(subject: Subject) -> Finding:
    """A volume rule for waves up to 2·bandwidth integrates all products of two functions over a box inside Q."""
    found = []
    for setting in upright(subject, (70, 330, 130)):
        basis, masses = setting.basis, []
        for factor in (2, 4):
            omega = factor * basis.bandwidth * INNER * float(basis.frame.half_widths.max())
            require(
                omega < 600, f"bandwidth {basis.bandwidth:.4g} is far too large for {basis.size} functions on this box"
            )
            points, weights = gauss_box(basis.frame, nodes_for(omega), INNER, turned=True)
            phi = table_of(basis, points)
            masses.append((phi * weights) @ phi.T)
        found.append((relative(masses[0], masses[1]), setting.label))
    return Finding.worst(found, 1e-10, "mass matrix by rules for 2 and for 4 times the bandwidth, relative difference")


# --- tables -------------------------------------------------------------------------------------------------------------


@check("basis", group="interface")
def tables_have_their_shape(subject: Subject) -> None:
    """Tables are finite float64 of shape (size, n) for the derivatives asked for, also for the example itself and for no points."""
    small_ones = [setting.basis for setting in settings(subject)]
    whole = [built(subject, next(frames(dim, True))[1], {}) for dim in subject.dims]
    for basis in [*whole, *small_ones]:
        require(
            isinstance(basis.size, int) and basis.size > 0, f"size must be a whole number > 0, found {basis.size!r}"
        )
        wanted = [(0,) * basis.dim, unit(basis.dim, basis.dim - 1), unit(basis.dim, 0, 2)]
        for n in (3, 1, 0):
            tables = basis.tabulate(some_points(basis, n), iter(wanted))
            require(set(tables) == set(wanted), f"asked for the derivatives {wanted}, tabulate gave {sorted(tables)}")
            for alpha, table in tables.items():
                told = f"the table of {alpha} in {basis.dim}-D"
                require(
                    table.shape == (basis.size, n),
                    f"{told} has shape {tuple(table.shape)}, (size, n) = ({basis.size}, {n}) is needed",
                )
                require(table.dtype == torch.float64, f"{told} is {table.dtype}, float64 is needed")
                require(torch.isfinite(table).all(), f"{told} has entries that are not finite")


@check("basis", group="interface")
def tabulating_leaves_no_trace(subject: Subject) -> None:
    """Tables repeat bit by bit, leave the points alone, and do not change when a caller writes into an earlier one."""
    for setting in settings(subject):
        basis = setting.basis
        x = some_points(basis)
        before, wanted = x.clone(), multi_indices(basis.dim, 1)
        first = {alpha: table.clone() for alpha, table in basis.tabulate(x, wanted).items()}
        require((x == before).all(), "tabulate modifies the points it is given")
        for table in basis.tabulate(x, wanted).values():
            table.mul_(0)
        basis.tabulate(some_points(basis, 4), wanted)
        state = torch.random.get_rng_state()
        again = basis.tabulate(x, wanted)
        require((state == torch.random.get_rng_state()).all(), "tabulate draws from the global random generator")
        require(
            all(torch.equal(again[alpha], first[alpha]) for alpha in wanted),
            "the same tables asked for again differ: tables must not be shared with callers or depend on earlier calls",
        )


@basis_check("interface", 1e-12, "relative difference between tables of all points and of three of them")
def points_are_tabulated_independently(basis: Basis) -> float:
    """A point's column is the same whichever other points and derivatives are asked for."""
    x, wanted = some_points(basis, 9), multi_indices(basis.dim, 2)
    together = basis.tabulate(x, wanted)
    order = torch.tensor([7, 2, 4])
    return max(relative(table_of(basis, x[order], alpha), together[alpha][:, order]) for alpha in wanted)


@basis_check("derivatives", 1e-6, "relative difference between a table and differences of one of lower order")
def derivatives_match_differences(basis: Basis) -> float:
    """Tables up to order four are the derivatives of tables one order lower, along every axis: mixed ones commute."""
    x, tables = some_points(basis), partial(_all_tables, basis)
    axes = torch.eye(basis.dim, dtype=x.dtype)
    differences = torch.stack([slope(tables, x, axis, 0.05 / basis.bandwidth) for axis in axes])
    return _from_lower_orders(basis, tables(x), differences)


@basis_check("derivatives", 1e-9, "relative difference between gradients through the points and tables of derivatives")
def tables_are_differentiable_in_the_points(basis: Basis) -> float:
    """Automatic differentiation of a table with respect to the points gives the tables of the next order, up to four."""
    x = some_points(basis, 4).requires_grad_(True)
    weights = torch.randn(basis.size, dtype=torch.float64)
    tables = (weights @ _all_tables(basis, x))[:, None]
    gradients = [
        torch.autograd.grad(table.sum(), x, retain_graph=True, allow_unused=True, materialize_grads=True)[0].T
        if tables.requires_grad
        else torch.zeros_like(x).T
        for table in tables
    ]
    return _from_lower_orders(basis, tables.detach(), torch.stack(gradients, dim=1)[:, :, None])


def _all_orders(dim: int) -> list[MultiIndex]:
    return multi_indices(dim, 4 if dim < 3 else 3)


def _all_tables(basis: Basis, x: Tensor) -> Tensor:
    """All tables up to the highest order tried, shape (number of α, M, n)."""
    tables = basis.tabulate(x, _all_orders(basis.dim))
    return torch.stack([tables[alpha] for alpha in _all_orders(basis.dim)])


def _from_lower_orders(basis: Basis, tables: Tensor, derivatives: Tensor) -> float:
    """Largest difference between ∂^α and ∂_i of ∂^(α − e_i), relative to both; ``derivatives`` (dim, number of α, ..., n)."""
    known, errors = _all_orders(basis.dim), [0.0]
    for alpha, axis in product(known, range(basis.dim)):
        if alpha[axis]:
            lower = known.index(tuple(a - (i == axis) for i, a in enumerate(alpha)))
            scale = basis.bandwidth * float(tables[lower].abs().max())
            errors.append(relative(derivatives[axis, lower], tables[known.index(alpha)], scale))
    return max(errors)


@basis_check("interface", 1e-12, "relative difference between evaluate and a @ table")
def evaluate_agrees_with_tables(basis: Basis) -> float:
    """evaluate gives a @ ∂^αΦ for coefficients of any batch shape, with a gradient in the coefficients."""
    x, errors = some_points(basis), []
    for batch in ((), (2,), (2, 3), (0,)):
        a = torch.randn(*batch, basis.size, dtype=torch.float64).requires_grad_(True)
        for alpha in (None, unit(basis.dim, 0), unit(basis.dim, basis.dim - 1, 2)):
            value = basis.evaluate(a, x) if alpha is None else basis.evaluate(a, x, alpha)
            require(value.shape == (*batch, len(x)), f"evaluate gives shape {tuple(value.shape)} for a batch {batch}")
            require(value.requires_grad, "evaluate cuts the gradient with respect to the coefficients")
            errors.append(relative(value.detach(), a.detach() @ table_of(basis, x, alpha)))
    return max(errors)


@basis_check("interface", 1e-12, "relative difference between the jet and the tables")
def jet_agrees_with_tables(basis: Basis) -> float:
    """The jet of the basis holds the tables: value, gradient, Laplacian, mixed derivatives."""
    x, dim = some_points(basis), basis.dim
    jet = basis.jet(x)
    pairs = [(jet.d(alpha), table_of(basis, x, alpha)) for alpha in multi_indices(dim, 2)]
    pairs.append((jet.value, table_of(basis, x)))
    pairs += [(jet.grad[i], table_of(basis, x, unit(dim, i))) for i in range(dim)]
    pairs.append((jet.laplacian, torch.stack([table_of(basis, x, unit(dim, i, 2)) for i in range(dim)]).sum(0)))
    return max(relative(found, right) for found, right in pairs)


@check("basis", group="structure")
def wavevectors_diagonalise(subject: Subject) -> Finding:
    """With wavevectors κ_j every function satisfies ∂_a ∂_b φ_j = −κ_ja κ_jb φ_j."""
    stated = [setting.basis.wavevectors for setting in settings(subject)]
    applies_if(any(kappa is not None for kappa in stated), "the basis states no wavevectors")
    found = []
    for setting, kappa in zip(settings(subject), stated, strict=True):
        if kappa is None:
            raise Violation("wavevectors are stated on some boxes only")
        basis, shape = setting.basis, (setting.basis.size, setting.basis.dim)
        require(kappa.shape == shape, f"wavevectors have shape {tuple(kappa.shape)}, (size, dim) = {shape} is needed")
        x = some_points(basis)
        for a, b in product(range(basis.dim), repeat=2):
            alpha = tuple((i == a) + (i == b) for i in range(basis.dim))
            right = -(kappa[:, a] * kappa[:, b])[:, None] * table_of(basis, x)
            found.append((relative(table_of(basis, x, alpha), right), setting.label))
    return Finding.worst(found, 1e-11, "relative difference between second derivatives and −κκᵀφ")


# --- the space ----------------------------------------------------------------------------------------------------------


def _dense_rule(basis: Basis) -> tuple[Tensor, Tensor]:
    """A rule on Q that integrates products of two functions, with room to spare."""
    omega = 2 * basis.bandwidth * float(basis.frame.half_widths.max())
    return gauss_box(basis.frame, min(nodes_for(omega) + 6, (400, 80, 26)[basis.dim - 1]))


@basis_check("structure", 1e8, "condition number of the Gram matrix on Q")
def functions_are_independent(basis: Basis) -> float:
    """The Gram matrix of the functions on Q, by a Gauss rule of the kit's own, is well conditioned."""
    points, weights = _dense_rule(basis)
    phi = table_of(basis, points)
    values = torch.linalg.eigvalsh((phi * weights) @ phi.T)
    return float(values[-1] / values[0].clamp(min=1e-300)) if values[0] > 0 else math.inf


@basis_check("structure", 1e-10, "relative difference between coefficients and their projection")
def projection_gives_the_coefficients_back(basis: Basis) -> float:
    """project(Σ a_j φ_j) = a for any batch of coefficients, and the function is asked for in Q only."""
    errors = []
    for batch in ((), (2,), (2, 1), (0,)):
        a = torch.randn(*batch, basis.size, dtype=torch.float64)

        def function(x: Tensor, a: Tensor = a) -> Tensor:
            require(x.ndim == 2 and x.shape[1] == basis.dim, f"project asks at points of shape {tuple(x.shape)}")
            require(x.dtype == torch.float64, f"project asks at points of type {x.dtype}, float64 is needed")
            reach = float(np.abs(basis.frame.to_reference(x.numpy())).max())
            require(reach <= 1 + 1e-9, f"project asks for values outside Q, at {reach:.4g} of its half width")
            return basis.evaluate(a, x)

        found = basis.project(function)
        require(found.shape == a.shape, f"values (..., n) of batch {batch} give coefficients {tuple(found.shape)}")
        errors.append(relative(found, a))
    return max(errors)


@basis_check("structure", 3.0, "error of the projection divided by that of the best approximation")
def projection_is_nearly_best(basis: Basis) -> float:
    """The projection of a smooth function is within a factor 3 of the best approximation in the mean square on Q."""

    def f(x: Tensor) -> Tensor:  # repeats with Q, so that periodic bases approximate it too
        return torch.exp(0.6 * torch.cos(math.pi * _to_reference(basis.frame, x) + 0.3)).prod(dim=1)

    points, weights = _dense_rule(basis)
    root, phi, values = weights.sqrt(), table_of(basis, points), f(points)
    best = torch.linalg.lstsq((phi * root).T, (values * root)[:, None], driver="gelsd").solution[:, 0]
    errors = [(root * (a @ phi - values)).norm() for a in (basis.project(f), best)]
    return float(errors[0] / (errors[1] + 1e-10 * (root * values).norm()))


def _to_reference(frame: Frame, x: Tensor) -> Tensor:
    return (x - as_points(frame.centre)) @ as_points(frame.rotation / frame.half_widths)


@basis_check("structure", 1e-10, "largest difference between 1 and its projection")
def constants_lie_in_the_span(basis: Basis) -> float:
    """The projection of 1 is 1 everywhere in Q."""
    one = basis.project(lambda x: torch.ones(len(x), dtype=torch.float64))
    return float((basis.evaluate(one, some_points(basis, 40)) - 1).abs().max())


@check("basis", group="accuracy")
def resolution_brings_convergence(subject: Subject) -> Finding:
    """Doubling the parameters that set the size halves, at least, the best error for a smooth function inside Q."""
    found = []
    for setting in upright(subject, (10, 40, 40)):
        size = setting.basis.size
        fine = enlarged(subject, Site(setting.basis.frame), setting.sizes, size)
        coarse_error, fine_error = (_best_error(basis) for basis in (setting.basis, fine))
        words = f"{setting.label}: {coarse_error:.1e} with {size} functions, {fine_error:.1e} with {fine.size}"
        found.append((fine_error / max(coarse_error, 2e-10), words))
    ratio, words = worst(found)
    return Finding(ratio, 0.5, f"{words}; ratio of errors")


def _best_error(basis: Basis) -> float:
    """Relative mean-square error of the best approximation, on a box inside Q, of a function that neither repeats with Q nor is
    even, odd or of one variable."""
    nodes = max(24, math.ceil(1.5 * float(basis.size) ** (1 / basis.dim))) if basis.dim < 3 else 16
    points, weights = gauss_box(basis.frame, nodes, INNER, turned=True)
    xi, root = _to_reference(basis.frame, points), weights.sqrt()
    a, b, c = as_points(np.array([[0.5, 1.0, 0.7], [2.0, -2.5, 2.2], [0.4, 0.3, -0.2]])[:, : basis.dim])
    f = (torch.exp(xi @ a) * torch.sin(xi @ b + 0.4) + 1 / (1.5 + xi @ c)) * root
    matrix = (table_of(basis, points) * root).T
    best = torch.linalg.lstsq(matrix, f[:, None], rcond=1e-13, driver="gelsd").solution[:, 0]
    return float((matrix @ best - f).norm() / f.norm())
