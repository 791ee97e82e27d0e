"""Other ways to find the coefficients of a law, for comparison: what a regression gives without smooth paths, without the integral form,
without the boundary conditions, or without a space of functions at all."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import QhullError

from gleg_core.contracts.domain import Domain
from gleg_core.errors import GlegError, NumericsError
from gleg_core.stopwatch import Stopwatch
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.terms import Term
from gleg_discovery import finite_differences, snapshots
from gleg_discovery.legendre import Array
from gleg_discovery.observations import Recording, shown_range
from gleg_discovery.regression import Information, fit_coefficients, triangle
from gleg_discovery.responses import LabelledTerm
from gleg_discovery.selection import thresholded_ridge


@dataclass(frozen=True)
class Baseline:
    """Coefficients that a method found for the equation of ``field``; none if it failed, and ``note`` says why."""

    name: str
    field: str
    coefficients: Mapping[str, float]
    note: str
    seconds: float


@dataclass(frozen=True)
class Equation:
    """What a method is given. ``recordings`` without gaps."""

    recordings: Sequence[Recording]
    domain: Domain
    fields: Mapping[str, DiscreteField]
    field: str
    candidates: Sequence[LabelledTerm]
    known: Sequence[Term]

    @property
    def columns(self) -> list[tuple[Term, ...]]:
        return [c.terms for c in self.candidates]

    @property
    def given(self) -> dict[str, float]:
        """Coefficients that are known."""
        return {c.label: c.known for c in self.candidates if c.known is not None}

    @property
    def sensors(self) -> str:
        return f"{shown_range([len(r.points) for r in self.recordings])} sensors"


Found = tuple[dict[str, float], str]


def compare(
    recordings: Sequence[Recording],
    domain: Domain,
    fields: Mapping[str, DiscreteField],
    candidates: Mapping[str, Sequence[LabelledTerm]],
    known: Sequence[Term] = (),
) -> list[Baseline]:
    """Every method on the equation of every field that has candidates. ``fields`` are in the space that the law was found in
    (``Identification.paths[name].field``)."""
    kept, gaps = without_gaps(recordings, list(fields))
    found = []
    for field, own in candidates.items():
        equation = Equation(kept, domain, fields, field, own, [t for t in known if t.field == field])
        for name, method in METHODS.items():
            stopwatch = Stopwatch()
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                try:
                    if not kept:
                        raise NumericsError("no readings are left")
                    coefficients, note = method(equation)
                    coefficients = equation.given | coefficients
                except (GlegError, np.linalg.LinAlgError, QhullError) as error:
                    coefficients, note = {}, f"failed: {str(error).splitlines()[0]}"
            remarks = dict.fromkeys(str(w.message).partition(";")[0] for w in said)
            note = "; ".join(filter(None, (note, *remarks, gaps)))
            found.append(Baseline(name, field, coefficients, note, stopwatch.lap(name)))
    return found


def without_gaps(recordings: Sequence[Recording], fields: Sequence[str]) -> tuple[list[Recording], str]:
    """The recordings without missing values, and what was left out for that: the times or sensors with the largest share of gaps,
    until none is left; recordings of fewer than two times."""
    kept = []
    before = after = 0
    for recording in recordings:
        values = [np.asarray(recording.values[f], dtype=float) for f in fields if f in recording.values]
        before += sum(v.size for v in values)
        if len(values) < len(fields):
            continue
        gaps = np.isnan(np.sum(values, axis=0))
        times, sensors = np.arange(len(gaps)), np.arange(gaps.shape[1])
        while (left := gaps[np.ix_(times, sensors)]).any():
            by_time, by_sensor = left.mean(axis=1), left.mean(axis=0)
            if by_time.max() > by_sensor.max():
                times = times[by_time < by_time.max()]
            else:
                sensors = sensors[by_sensor < by_sensor.max()]
        if len(times) < 2 or not len(sensors):
            continue
        cut = {f: v[np.ix_(times, sensors)] for f, v in zip(fields, values, strict=True)}
        after += sum(v.size for v in cut.values())
        kept.append(replace(recording, times=recording.times[times], points=recording.points[sensors], values=cut))
    return kept, f"gaps: {100 * (1 - after / before):.2g} % of the readings left out" if after < before else ""


def _information(equation: Equation, rows: Iterable[Array]) -> Information:
    """[X | y] as a triangle, the columns of known coefficients moved to the left."""
    own = equation.candidates
    root, number = np.zeros((0, len(own) + 1)), 0
    for some in rows:
        if not np.isfinite(some).all():
            raise NumericsError("its equations are not finite")
        root, number = triangle(np.concatenate([root, some])), number + len(some)
    if number < len(own):
        raise NumericsError(f"the recordings give {number} equations, too few for {len(own)} candidates")
    labels = tuple(c.label for c in own)
    info = Information(labels, root, parts=(root,), layers=(), number=number, tested=number, sigma=1.0)
    return info.fixed(equation.given) if equation.given else info


def _least_squares(equation: Equation, rows: Iterable[Array]) -> dict[str, float]:
    info = _information(equation, rows)
    if not info.condition < np.finfo(float).eps ** -2:
        raise NumericsError("its equations do not tell the candidates apart")
    return dict(zip(info.labels, map(float, fit_coefficients(info).c), strict=True))


def _ambient_fourier(e: Equation) -> Found:
    fields = {name: snapshots.unconstrained(f) for name, f in e.fields.items()}
    columns = [tuple(map(snapshots.in_ambient_mode, own)) for own in e.columns]
    known = list(map(snapshots.in_ambient_mode, e.known))
    rows = snapshots.regression_rows(e.recordings, fields, e.field, columns, known, snapshots.simpson)
    return _least_squares(e, rows), f"{e.sensors}, the {fields[e.field].r} lowest waves of the box"


def _finite_differences(e: Equation) -> Found:
    terms = [*(t for own in e.columns for t in own), *e.known]
    grids = finite_differences.grids_for(e.recordings, e.domain, terms)
    rows = finite_differences.regression_rows(e.recordings, grids, e.field, list(e.fields), e.columns, e.known)
    spacing = max(float(g.h.max()) for g in grids.values())
    nodes = min(int(g.deep.sum()) for g in grids.values())
    return _least_squares(e, rows), f"{e.sensors}, spacing {spacing:.3g}, {nodes} nodes"


def _derivative_based(e: Equation) -> Found:
    rows = snapshots.regression_rows(e.recordings, e.fields, e.field, e.columns, e.known, snapshots.centred)
    return _least_squares(e, rows), f"{e.sensors}, {e.fields[e.field].r} functions"


def _thresholded_ridge(e: Equation) -> Found:
    penalty, ridge, threshold = 1e-8, 1e-10, 1e-7
    rows = snapshots.regression_rows(e.recordings, e.fields, e.field, e.columns, e.known, snapshots.simpson, penalty)
    info = _information(e, rows)
    unknown = [c for c in e.candidates if c.known is None]
    support, c = thresholded_ridge(info, threshold, ridge, keep=[p for p, own in enumerate(unknown) if own.keep])
    note = f"{e.sensors}, {e.fields[e.field].r} functions, λ_z {penalty:g}, λ {ridge:g}, threshold {threshold:g}"
    return {info.labels[p]: float(c[p]) for p in support}, note


METHODS: Mapping[str, Callable[[Equation], Found]] = {
    "ambient Fourier": _ambient_fourier,
    "finite differences": _finite_differences,
    "derivative-based": _derivative_based,
    "thresholded ridge on Simpson triples": _thresholded_ridge,
}
