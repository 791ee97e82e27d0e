"""Discovering the law of a problem file from a file of observations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gleg_core.capabilities import BasisCapabilities
from gleg_core.contracts.basis import Basis
from gleg_core.errors import SpecError
from gleg_core.spec.problem import Problem, TermSpec, load_problem
from gleg_core.stopwatch import Stopwatch
from gleg_core.system.discretise import realised_terms
from gleg_core.system.spaces import Report, Spaces, build_spaces
from gleg_core.system.terms import Term
from gleg_core.threads import one_thread
from gleg_discovery import guards
from gleg_discovery.candidates import CandidateTerm, candidates_of
from gleg_discovery.guards import Remark, warning
from gleg_discovery.identify import FieldLaw, Identification, Options, identify
from gleg_discovery.law import Coefficient, Law
from gleg_discovery.observations import Recording, read_observations, shown_point, shown_range
from gleg_discovery.refine import Refinement, refine
from gleg_discovery.regression import Fit
from gleg_discovery.responses import LabelledTerm
from gleg_discovery.sections import DiscoverSection, ProblemKeys, candidate_specs

_MODES = 300
"""Functions that stand for the whole of a space of elements."""

Stage = Callable[[str, str, float], None]
"""Called with the name of a stage that is done, a line of facts, and its seconds."""


@dataclass(frozen=True)
class Discovery:
    """What was found, and what it was found from."""

    problem: Problem
    spaces: Spaces
    recordings: Sequence[Recording]
    candidates: Mapping[str, Sequence[CandidateTerm]]
    terms: Mapping[str, Sequence[LabelledTerm]]
    known: Sequence[Term]
    identification: Identification
    law: Law
    remarks: Sequence[Remark]
    refinement: Refinement | None = None
    """By maximum likelihood through the rollout, if that was asked for; the law is then its."""

    @property
    def basis(self) -> Basis:
        return self.spaces.basis


def discover(
    source: str | Path | Mapping[str, Any] | Problem,
    observations: str | Path,
    stage: Stage = lambda name, facts, seconds: None,
    refined: bool = False,
) -> Discovery:
    """The laws of all fields with candidates; ``refined`` by maximum likelihood. Mistakes in the problem file and in the observations
    each name their file."""
    problem, stopwatch = load_problem(source), Stopwatch()

    def report(name: str, facts: str) -> None:
        stage(name, facts, stopwatch.lap(name))

    with problem.located(), torch.no_grad():
        candidates, terms, known = labelled(problem)
    recordings = read_observations(Path(observations), [f.name for f in problem.fields], problem.scope.dim)
    readings = sum(int(np.isfinite(v).sum()) for r in recordings for v in r.values.values())
    sensors = shown_range([len(r.points) for r in recordings])
    report("data", f"{len(recordings)} recordings, {readings:,} readings of {sensors} sensors")
    flat = [t for own in terms.values() for c in own for t in c.terms]
    with problem.located(), torch.no_grad():
        spaces = whole_spaces(problem, [*known, *flat], report)
    remarks = guards.data_remarks(recordings, spaces.domain)
    rank = problem.section.space.rank
    if rank != "auto":
        remarks += guards.few_sensors(recordings, {f.name: min(rank, f.r) for f in spaces.fields})
    if wrong := [r.text for r in remarks if r.level == "error"]:
        raise SpecError("\n".join(f"{observations}: {text}" for text in wrong))
    with problem.located(), torch.no_grad(), one_thread():
        found = identify(recordings, {f.name: f for f in spaces.fields}, terms, known, _options(problem))
    for name, paths in found.paths.items():
        facts = f"{name}: r {paths.rank}, degree {paths.degree} in time, noise {paths.sigma:.3g}"
        stage("paths", facts, found.seconds["paths"])
    seconds = sum(found.seconds.values()) - found.seconds["paths"]
    stage("law", f"{len(flat)} responses along {len(recordings)} paths", seconds)
    remarks += [r for law in found.laws.values() for r in _doubts(law, recordings)]
    fits, refinement = {name: law.law for name, law in found.laws.items()}, None
    if refined and any(law.law.labels for law in found.laws.values()):
        stopwatch.lap("identify")
        with problem.located(), one_thread():
            refinement = refine(recordings, found, terms, known)
        fits = {name: refinement.fit(name) for name in fits}
        report("refine", f"χ² {refinement.before:.4g} → {refinement.after:.4g}, {refinement.evaluations} rollouts")
        if not refinement.converged:
            remarks += warning("the refinement did not converge; the law is as far as it came")
    law = {name: _coefficients(candidates[name], found.laws[name].known, fits[name]) for name in candidates}
    return Discovery(problem, spaces, recordings, candidates, terms, known, found, law, remarks, refinement)


def whole_spaces(problem: Problem, terms: Sequence[Term], report: Report = lambda stage, facts: None) -> Spaces:
    """The spaces without the cut of space.rank: what is cut is chosen together with the lift (see smooth_space). On elements the whole is
    too much, and its smoothest functions stand for it."""
    local = problem.basis.installed.capabilities(BasisCapabilities).local
    rank = problem.section.space.rank
    kept = "auto" if not local else _MODES if rank == "auto" else max(_MODES, 2 * rank)
    return build_spaces(load_problem(problem, {"space": {"rank": kept}}), terms, report)


def _options(problem: Problem) -> Options:
    section = problem.keys(ProblemKeys).discover or DiscoverSection()
    said = ("rank", problem.section.space.rank), *section
    options: dict[str, Any] = {key: None if value == "auto" else value for key, value in said}
    return Options(**options)


def labelled(
    problem: Problem,
) -> tuple[dict[str, list[CandidateTerm]], dict[str, list[LabelledTerm]], list[Term]]:
    """The candidates of every field that has some, as terms with one unknown coefficient each, and the known terms of all fields."""
    candidates = {f.name: candidates_of(problem, f) for f in problem.fields if candidate_specs(f)}
    if not candidates:
        raise SpecError(
            f"{problem.document.name}: no field has 'candidates', the terms a law may contain, such as "
            "candidates: [{dictionary: polynomial-diffusion}] in the place of 'equation'"
        )
    if steady := [f.name for f in problem.fields if f.section.steady]:
        place = problem.document.locate(("fields", steady[0], "steady"))
        raise SpecError(f"{place}: laws are discovered for fields that change in time, '{steady[0]}' is steady")

    def realised(field: str, spec: TermSpec) -> tuple[Term, ...]:
        return tuple(realised_terms(problem, problem.field(field), spec, problem.scope.dim))

    terms = {
        name: [LabelledTerm(c.label, realised(name, c.spec), c.keep, c.sign, c.known) for c in own]
        for name, own in candidates.items()
    }
    known = [term for f in problem.fields for t in f.terms for term in realised(f.name, t)]
    return candidates, terms, known


def _coefficients(candidates: Sequence[CandidateTerm], known: Mapping[str, float], fit: Fit) -> list[Coefficient]:
    found = fit.estimates | {label: (value, 0.0, (value, value)) for label, value in known.items() if value != 0}
    return [Coefficient(c, *found[c.label]) for c in candidates if c.label in found]


def _doubts(law: FieldLaw, recordings: Sequence[Recording]) -> list[Remark]:
    """What the numbers of a fit say against it."""
    info, paths, first = law.information, law.paths, law.paths.series[0]
    remarks = guards.ill_placed_sensors(first.sensors.phi, first.name)
    by_place = _residuals(law, recordings)
    if paths.misfit < 10 * paths.sigma:  # else it is the space that does not fit, not a sensor
        scale = float(np.sqrt(np.nanmean([np.nanmean(r.values[law.field] ** 2) for r in recordings])))
        for name, points, residual in by_place:
            remarks += guards.outlying_sensors(residual, points, name, rounding=1e-9 * scale)
    remarks += guards.quantised_values(recordings, {law.field: paths.sigma})
    norms = np.linalg.norm(info.design, axis=0)
    correlation = np.abs(info.F / np.where(norms > 0, np.outer(norms, norms), 1.0))
    for i, j in zip(*np.nonzero(np.triu(correlation > 0.999, 1)), strict=True):
        remarks += warning(
            f"{law.field}: '{info.labels[i]}' and '{info.labels[j]}' act almost alike on these data (correlation "
            f"{correlation[i, j]:.5f}): their coefficients cannot be told apart; record other states, or leave one out"
        )
    for label, c, error in zip(law.full.labels, law.full.c, law.full.errors, strict=True):
        if label in law.law.labels and error > abs(c) / 2:
            remarks += warning(
                f"{law.field}: the window is too short, or the noise too large, for '{label}': its coefficient {c:.3g} has the "
                f"standard error {error:.2g}; gleg plan tells what would suffice"
            )
    if info.chi2 > 1.5:
        _, points, residual = max(by_place, key=lambda place: float(np.nanmax(place[2])))
        remarks += warning(
            f"{law.field}: the candidates do not explain the data: what is left is {info.chi2:.2g} times what noise of "
            f"{paths.sigma:.2g} leaves. A mechanism may be missing, or the space may be too coarse (misfit at the sensors "
            f"{paths.misfit:.2g}, largest at {shown_point(points[int(np.nanargmax(residual))])}). The uncertainties are raised accordingly"
        )
    return remarks


def _residuals(law: FieldLaw, recordings: Sequence[Recording]) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """(name, points (S, dim), RMS residual (S,)) of every set of sensors, over all recordings that have it."""
    by_name = {r.name: r for r in recordings}
    sets: dict[bytes, list[tuple[str, np.ndarray]]] = {}
    for s, residual in zip(law.paths.series, law.paths.residuals, strict=True):
        sets.setdefault(by_name[s.name].points.tobytes(), []).append((s.name, residual))
    found = []
    for own in sets.values():
        name = own[0][0] if len(own) == 1 else f"{own[0][0]} and {len(own) - 1} more"
        squares = np.array([residual**2 for _, residual in own])
        with np.errstate(invalid="ignore"):  # a sensor that never reports: NaN
            rms = np.sqrt(np.nansum(squares, axis=0) / np.isfinite(squares).sum(axis=0))
        found.append((name, by_name[own[0][0]].points, rms))
    return found
