"""Checks of how well local bases represent smooth functions, and what they say about it."""

from dataclasses import replace

import numpy as np
import torch
from pydantic import ValidationError
from torch import Tensor

from gleg_conformance.basis_settings import enlarged, whole_numbers
from gleg_conformance.domain_parts import Array
from gleg_conformance.kit import Finding, Subject, applies_if, check, not_applicable, require, worst
from gleg_conformance.local_settings import local_settings, site_on, smooth_function, values_on
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.local_basis import LocalBasis


def _projected(basis: LocalBasis) -> tuple[Tensor, Array]:
    """The projection of a smooth function, and what it leaves on every cell: ‖f − Pf‖, (E,)."""
    a, left = basis.project(smooth_function), []
    for cells in basis.cells:
        rest = values_on(cells, a.numpy()[None])[0] - smooth_function(as_points(cells.points)).numpy()
        left.append(np.sqrt((rest**2 * cells.weights).sum(axis=1)))
    return a, np.concatenate(left)


def _error(basis: LocalBasis) -> float:
    return float(np.linalg.norm(_projected(basis)[1]))


@check("basis", group="accuracy")
def more_functions_bring_convergence(subject: Subject) -> Finding:
    """Doubling the whole-number parameters of a local basis halves, at least, the error of a projection."""
    found = []
    for setting in local_settings(subject):
        coarse, site = setting.basis, site_on(setting.domain, setting.label)
        fine = enlarged(subject, site, whole_numbers(subject, setting.domain.dim), coarse.size)
        assert isinstance(fine, LocalBasis)
        errors = [_error(basis) for basis in (coarse, fine)]
        words = f"{setting.label}: {errors[0]:.1e} with {coarse.size} functions, {errors[1]:.1e} with {fine.size}"
        found.append((errors[1] / max(errors[0], 2e-10), words))
    ratio, words = worst(found)
    return Finding(ratio, 0.5, f"{words}; ratio of errors")


@check("basis", group="accuracy")
def errors_are_not_underestimated(subject: Subject) -> Finding:
    """A local basis that estimates its errors gives one for every cell, together at least a third of what a projection leaves."""
    found = []
    for setting in local_settings(subject):
        a, left = _projected(setting.basis)
        stated = setting.basis.errors(torch.stack([a, 2 * a]))
        if stated is None:
            not_applicable("it cannot tell its errors")
        shape = (2, len(left))
        require(stated.shape == shape, f"errors of two functions have shape {tuple(stated.shape)}, {shape} is needed")
        require((stated >= 0).all(), "there are errors that are negative, or no numbers")
        require(torch.allclose(2 * stated[0], stated[1]), "errors of twice a function are not twice as large")
        found.append((float(np.linalg.norm(left)) / max(float(stated[0].norm()), 1e-300), setting.label))
    return Finding.worst(found, 3.0, "error of a projection divided by its estimate")


@check("basis", group="accuracy")
def refined_parameters_leave_less(subject: Subject) -> Finding:
    """Parameters that a local basis proposes for a hundredth of the error are valid and halve, at least, what a projection leaves."""
    found = []
    for setting in local_settings(subject):
        basis = setting.basis
        stated = basis.errors(basis.project(smooth_function))
        if stated is None or (proposed := basis.refined(stated.numpy(), 0.01 * float(stated.norm()))) is None:
            continue
        try:
            finer = replace(subject, example=dict(proposed), built={})
            other = finer.make(site_on(setting.domain, setting.label), dim=basis.dim)
        except ValidationError as error:
            require(False, f"the parameters {dict(proposed)} it proposes are not valid: {error}")
        errors = _error(basis), _error(other)
        words = f"{setting.label}: {errors[0]:.1e} with {basis.size} functions, {errors[1]:.1e} with {other.size}"
        found.append((errors[1] / max(errors[0], 2e-10), words))
    applies_if(found, "it proposes no better parameters")
    ratio, words = worst(found)
    return Finding(ratio, 0.5, f"{words}; ratio of errors")
