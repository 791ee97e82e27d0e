"""Invariants and budgets of a run: what should be conserved, what changes the energy, what should only fall."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra.tables import Tables
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.run import Run
from gleg_core.system.sources import ManufacturedForcing
from gleg_core.system.terms import Integrals, Term, choose_mode, integrate
from gleg_results.coordinates import coefficients, column, evenly, state_of, synthesis

_FORWARD = (-25 / 12, 4.0, -3.0, 4 / 3, -1 / 4)
"""Fourth-order one-sided difference: f'(0) ≈ Σ c_j f(jδ)/δ."""
_TINY = 1e-300


def invariants(run: Run, name: str, frames: Sequence[int]) -> dict[str, Any]:
    """∫u and ½∫u²: first and last value, largest change, and that relative to ∫|u| at the start or to the largest energy.

    ``declared``: every mechanism of the equation conserves it (under boundary conditions that let nothing through).
    """
    space, declared = run.discretisation.system.fields[name].space, _declared(run, name)
    u, w = synthesis(space.basis, coefficients(run, name, frames), space.nodes.x), space.weights
    energy = 0.5 * u**2 @ w
    histories = {"mass": (u @ w, u[0].abs() @ w), "energy": (energy, energy.max())}
    return {
        key: {
            "declared": key in declared,
            "start": float(values[0]),
            "end": float(values[-1]),
            "drift": (drift := float((values - values[0]).abs().max())),
            "relative_drift": drift / max(float(scale), _TINY),
        }
        for key, (values, scale) in histories.items()
    }


def _declared(run: Run, name: str) -> set[str]:
    """What every term of the equation declares to conserve; a factor that varies in space, or a source, conserves nothing."""
    own = _terms(run, name)
    if not own or _forced(run, name) or any(term.varies_in_space for term in own):
        return set()
    return set.intersection(*(set(term.block.traits.invariants) for term in own))


def _terms(run: Run, name: str) -> list[Term]:
    return [term for term in run.discretisation.terms if term.field == name]


def _forced(run: Run, name: str) -> bool:
    return run.problem.field(name).section.forcing != "none"


def budgets(run: Run) -> dict[str, dict[str, Any]]:
    """d/dt ½∫u² of every evolving field at several times: ``rate`` measured by a fourth-order difference over five tiny steps;
    ``terms`` the ∫ u c L(u) of every mechanism, L exact; of functions without second derivatives by its weak form.

    ``closes``: largest difference between the rate and, ``system``: ∫ u u_t with the right-hand side of the reduced system;
    ``equation``: the sum of the terms. Relative to the sum of absolute values of the terms.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in run.discretisation.system.slices:
        labels = [f"{i}: {t.coefficient} · {type(t.block).__name__}" for i, t in enumerate(_terms(run, name))]
        labels += ["forcing"] if _forced(run, name) else []
        found[name] = {"times": [], "rate": [], "terms": {label: [] for label in labels}}
        found[name]["closes"] = {"system": 0.0, "equation": 0.0}
    for i in evenly(len(run.times), 5):
        t, z = run.trajectory.times[i], run.trajectory.states[i]
        rates = _rates(run, z, t)
        for name, entry in found.items():
            parts, galerkin = _parts(run, name, z, t)
            entry["times"].append(t)
            entry["rate"].append(rates[name])
            for history, part in zip(entry["terms"].values(), parts, strict=True):
                history.append(part)
            scale = max(abs(rates[name]), sum(map(abs, parts)), _TINY)
            for key, other in (("system", galerkin), ("equation", sum(parts))):
                entry["closes"][key] = float(np.maximum(entry["closes"][key], abs(rates[name] - other) / scale))
    return found


def _rates(run: Run, z: Tensor, t: float) -> dict[str, float]:
    """d/dt ½∫u² of every field, from states at t, t + δ, … by the run's own integrator, δ 1e-4 of the time in which the state changes by
    its own size."""
    system, integrator = run.discretisation.system, run.integrator
    size, speed = float(system.norm(z)), float(system.norm(system.rhs(z, t)))
    duration = float(run.times[-1] - run.times[0]) or 1.0
    h = 1e-4 * min(size / speed if speed > 0 else duration, duration)
    h = min(h or 1e-4 * duration, integrator.stable_step(system) / 2)
    system.prepare([t + (j + c) * h for j in range(len(_FORWARD)) for c in (0.0, *integrator.nodes)], h * 1e-6)
    step, states = integrator.stepper(system, h), [z]
    for j in range(len(_FORWARD) - 1):
        states.append(step(states[-1], t + j * h)[0])
    rates, times = {}, column([t + j * h for j in range(len(states))])
    for name, where in system.slices.items():
        field = system.fields[name]
        z, theta = torch.stack(states)[:, where], field.theta(times)
        u = field.interior.of_state(z, theta).value
        change = field.interior.of_state(z - z[0], None if theta is None else theta - theta[0]).value
        growth = (0.5 * change * (u + u[0])) @ field.space.weights  # ½∫u² − ½∫u₀² without cancellation
        rates[name] = float(growth @ torch.tensor(_FORWARD, dtype=torch.float64)) / h
    return rates


def _parts(run: Run, name: str, z: Tensor, t: float) -> tuple[list[float], float]:
    """∫ u c L(u) per term and for the forcing, and ∫ u u_t with u_t from the reduced system."""
    d = run.discretisation
    field, terms = d.system.fields[name], _terms(run, name)
    at, w = field.space.nodes.moment(t), field.space.weights
    parts = (_weak if isinstance(d.basis, LocalBasis) else _strong)(run, name, z, t)
    where = d.system.slices[name]
    u = field.interior.of_state(z[where], field.theta(t)).value
    if _forced(run, name):
        exact = {f.name: f.section.exact for f in run.problem.fields if f.section.exact is not None}
        parts.append(float((u * ManufacturedForcing(name, exact, terms)(at) * w).sum()))
    u_t = field.interior.of_state(d.system.rhs(z, t)[where], field.theta(t, rate=True)).value
    return parts, float((u * u_t * w).sum())


def _strong(run: Run, name: str, z: Tensor, t: float) -> list[float]:
    """∫ u c L(u) per term from its exact L."""
    d = run.discretisation
    at, w = d.system.fields[name].space.nodes.moment(t), d.system.fields[name].space.weights

    def jet(other: str) -> Jet:
        a = d.system.coefficients(other, z, t)
        return Jet(lambda alpha: Tables(d.basis, a[:, None], at.x)(alpha)[0], d.basis.dim)

    jets = {other: jet(other) for other in d.system.fields}
    return [float((jets[name].value * term.reference(jets, at) * w).sum()) for term in _terms(run, name)]


class _TestedWithState(Integrals):
    """Integrands tested with the state itself, which need not vanish on ∂Ω where test functions do."""

    edge_counts = True


def _weak(run: Run, name: str, z: Tensor, t: float) -> list[float]:
    """The same per term from its weak form, Σ_α ∫ ∂^αu F_α + ∮ u B, with normal derivatives as the conditions state them."""
    system = run.discretisation.system
    inside, rim = {}, {}
    for other, field in system.fields.items():
        theta = field.theta(t)
        own = state_of(field, system.coefficients(other, z, t), theta)
        inside[other], rim[other] = field.interior.of_state(own, theta), field.boundary_jet(own, theta)
    target = system.fields[name]
    at, edge = target.interior.at.moment(t), target.boundary.at.moment(t)
    found: list[float] = []
    for term in _terms(run, name):
        tested = _TestedWithState(target)
        integrate(tested, term, choose_mode(term, target), inside, rim, at, edge)
        found.append(sum(float((inside[name].d(a) * F) @ target.space.weights) for a, F in tested.interior.items()))
        if tested.boundary is not None:
            found[-1] += float((rim[name].value * tested.boundary) @ target.space.boundary.points.weights)
    return found


def lyapunov(run: Run, frames: Sequence[int]) -> dict[str, Any] | None:
    """The functional that falls along the run, if the reduced system is a gradient flow ż = −∇E(z); None if it is none.

    E(z) − E(z₀) = −∫₀¹ F(z₀ + s(z − z₀))·(z − z₀) ds, F the right-hand side; products and gradients are those of L²(Ω). It is looked for
    where a mechanism is declared dissipative (E), nothing depends on time, and DF is symmetric along the run: ``asymmetry`` is what was
    measured.
    """
    system, terms = run.discretisation.system, run.discretisation.terms
    moving = any(f.space.boundary.moving or _forced(run, name) for name, f in system.fields.items())
    if moving or any(t.varies_in_time for t in terms) or not any(t.block.traits.structure == "E" for t in terms):
        return None
    t, z0 = run.trajectory.times[0], run.trajectory.states[0]
    states = torch.stack([run.trajectory.states[i] for i in frames])
    asymmetry = _asymmetry(run, states, t)
    if not asymmetry <= 1e-6:
        return None
    s, w = np.polynomial.legendre.leggauss(12)
    nodes, weights = torch.from_numpy((s + 1) / 2)[:, None], torch.from_numpy(w / 2)
    values = torch.stack([-(weights @ (system.rhs(z0 + nodes * (z - z0), t) @ system.moments(z - z0))) for z in states])
    rises = values.diff().clamp_min(0.0)
    return {
        "asymmetry": asymmetry,
        "change": float(values[-1] - values[0]),
        "largest_rise": float(rises.max()) if len(rises) else 0.0,
        "times": [run.trajectory.times[i] for i in frames],
        "history": values.tolist(),
    }


def _asymmetry(run: Run, states: Tensor, t: float) -> float:
    """|v·DF w − w·DF v| / (|v·DF w| + |w·DF v|) for directions v, w in which the run moves, the largest over some states."""
    system = run.discretisation.system
    count = len(states)
    if count < 3:
        return 0.0
    worst = 0.0
    for i in evenly(count, 3):
        z = states[i]
        v, w = (states[j] - z for j in ((i + count // 3) % count, (i + 2 * count // 3) % count))
        small = 1e-4 * float(z.norm()) or 1e-4
        products = []
        for a, b in ((v, w), (w, v)):  # a·DF b
            e = b * (small / (float(b.norm()) or 1.0))
            change = system.rhs(z + e, t) - system.rhs(z - e, t)
            products.append(float(system.moments(a) @ change) * (float(b.norm()) or 1.0) / (2 * small))
        one, other = products
        worst = float(np.maximum(worst, abs(one - other) / max(abs(one) + abs(other), _TINY)))  # or NaN
    return worst
