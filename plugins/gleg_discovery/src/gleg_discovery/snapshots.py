"""Regression on states that are fitted snapshot by snapshot, as the integral form on smooth paths is not.

    z_n = argmin |y_n − Φ z|² + |P z|²,      G ż = Σ_p c_p q_p(z),   G_ij = ∫ φ_i φ_j

in time by Simpson's rule on consecutive triples of samples, or by centred differences. Rows are [q_1 … q_P | G ż], all recordings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.boundary_system import BoundaryPoints, BoundarySystem
from gleg_core.contracts.location import Location
from gleg_core.errors import NumericsError
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.terms import Term
from gleg_discovery.legendre import Array
from gleg_discovery.observations import Recording
from gleg_discovery.responses import prepared, respond
from gleg_discovery.series import Series, observe
from gleg_discovery.smooth_space import gradient_products

Rule = Callable[[Array, Array, Array], Array]
"""(times (T,), features (T, r, P), moments (T, r)) → rows (n, r, P + 1)."""


def simpson(times: Array, features: Array, moments: Array) -> Array:
    """m_{n+1} − m_{n−1} = ∫ q over every triple, q by its parabola; the trapezoidal rule for two times."""
    h = np.diff(times)[:, None, None]
    if len(times) == 2:
        return _rows(h / 2 * (features[1:] + features[:-1]), moments[1:] - moments[:-1])
    a, b = h[:-1], h[1:]
    ends = (2 - b / a) * features[:-2] + (2 - a / b) * features[2:]
    integral = (a + b) / 6 * (ends + (a + b) ** 2 / (a * b) * features[1:-1])
    return _rows(integral, moments[2:] - moments[:-2])


def centred(times: Array, features: Array, moments: Array) -> Array:
    """dm/dt at every inner sample by the parabola through three."""
    return _rows(features[1:-1], rates(times, moments))


def rates(times: Array, values: Array) -> Array:
    """Centred differences (T − 2, ...) of values (T, ...), of second order for any times."""
    return np.gradient(values, times, axis=0)[1:-1]


def _rows(features: Array, left: Array) -> Array:
    return np.concatenate([features, left[:, :, None]], axis=2)


def regression_rows(
    recordings: Sequence[Recording],
    fields: Mapping[str, DiscreteField],
    target: str,
    columns: Sequence[Sequence[Term]],
    known: Sequence[Term],
    rule: Rule,
    penalty: float = 0.0,
) -> Iterator[Array]:
    """Rows (n, P + 1) of the equation of ``target``, recording by recording; recordings must have no gaps. ``columns``: the terms of
    every candidate. ``penalty``: λ of :func:`roughness`."""
    series = {name: observe(field, recordings, 1) for name, field in fields.items()}
    states = {name: _states(fields[name], own, penalty) for name, own in series.items()}
    recorded = [s.sample_times.times for s in series[target]]
    times = torch.from_numpy(np.concatenate(recorded))[:, None]
    responses = respond(prepared(fields, dict(enumerate([*columns, known]))), states, times)
    features = torch.stack([q for _, q in sorted(responses.items())], dim=2).numpy()
    moments = _moments(fields[target], states[target], times).numpy()
    starts = np.cumsum([0, *map(len, recorded)])
    for own, start in zip(recorded, starts, strict=False):
        mine = slice(start, start + len(own))
        rows = rule(own, features[mine], moments[mine]).reshape(-1, features.shape[2] + 1)
        P = len(columns)
        yield np.column_stack([rows[:, :P], rows[:, -1] - rows[:, P:-1].sum(axis=1)])


def _moments(field: DiscreteField, z: Tensor, times: Tensor) -> Tensor:
    """∫ φ_i u for the whole of u, boundary data included: (T, r)."""
    zero = (0,) * field.space.basis.dim
    moments = z @ field.project_values(field.interior.functions(zero))
    theta = field.theta(times)
    return moments if theta is None or field.lift_mass is None else moments + theta @ field.lift_mass


def _states(field: DiscreteField, series: Sequence[Series], penalty: float) -> Tensor:
    """z at all samples of all recordings."""
    rough, found = roughness(field, penalty) if penalty else None, []
    for s in series:
        phi = s.sensors.phi
        if len(phi) < field.r:
            raise NumericsError(f"recording '{s.name}' has {len(phi)} sensors, too few for {field.r} functions")
        fit = np.linalg.pinv(phi) if rough is None else np.linalg.solve(phi.T @ phi + rough, phi.T)
        found.append(s.values @ fit.T)
    return torch.from_numpy(np.concatenate(found))


def roughness(field: DiscreteField, penalty: float) -> Array:
    """λ Σ_j j⁴ v_j v_jᵀ with v_j the functions by rising ∫|∇φ|²: the ridge of the paper's sensor fit."""
    V = torch.linalg.eigh(gradient_products(field, field.interior.functions)).eigenvectors.numpy()
    return penalty * (V * np.arange(1.0, field.r + 1) ** 4) @ V.T + 1e-14 * np.eye(field.r)


def unconstrained(field: DiscreteField) -> DiscreteField:
    """So many functions of the ambient basis as the field has, those of lowest |κ|: no boundary conditions, data or boundary terms."""
    space, basis = field.dense, field.space.basis
    if basis.wavevectors is None:
        raise NumericsError(f"{type(basis).__name__} has no wavevectors to choose the lowest from")
    squared = (basis.wavevectors**2).sum(dim=1)
    lowest = torch.argsort((squared / squared.max()).round(decimals=9), stable=True)[: field.r]
    N = torch.eye(basis.size, dtype=torch.float64)[:, lowest]
    nowhere = torch.zeros(0, basis.dim, dtype=torch.float64)
    none = torch.zeros(0, dtype=torch.float64)
    boundary = BoundarySystem(BoundaryPoints(Location(nowhere, normal=nowhere, weights=none), none, {}), ())
    return DiscreteField.make(field.name, replace(space, boundary=boundary, N=N), None)


def in_ambient_mode(term: Term) -> Term:
    """The term realised by its ambient map if it has one."""
    possible = "ambient" in term.block.traits.modes and not term.varies_in_space
    return replace(term, mode="ambient") if possible else term
