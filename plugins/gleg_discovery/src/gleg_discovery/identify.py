"""From recordings to a law: paths, responses, regression and selection for every field that has candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gleg_core.stopwatch import Stopwatch
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.terms import Term
from gleg_discovery.equations import Equation, equations
from gleg_discovery.observations import Recording
from gleg_discovery.paths import Paths, fit_paths
from gleg_discovery.regression import Fit, Information, fit_coefficients
from gleg_discovery.responses import LabelledTerm
from gleg_discovery.selection import Selection, select, thresholded_ridge


@dataclass(frozen=True)
class Options:
    """``rank``: number of functions per field, "all" for the space as it is, None to choose by generalised cross-validation.
    ``degree`` in time and ``noise`` (standard deviation of a reading): None to choose from the data.
    ``passes``: 1 for the plain integral form, 2 to propagate with the law of the first pass."""

    rank: int | Literal["all"] | None = "all"
    degree: int | None = None
    noise: float | None = None
    select: Literal["evidence", "threshold"] = "evidence"
    threshold: float = 1e-7
    ridge: float = 1e-10
    passes: int = 2


@dataclass(frozen=True)
class FieldLaw:
    """The law of one field. ``labels``: candidates whose coefficient was unknown; ``known``: coefficients that were given."""

    field: str
    labels: tuple[str, ...]
    known: Mapping[str, float]
    information: Information
    """Its ``condition``, ``chi2`` and ``lack`` say how far the numbers can be trusted."""
    full: Fit
    """With all candidates."""
    selection: Selection
    law: Fit
    """With those that were kept."""
    paths: Paths

    @property
    def coefficients(self) -> dict[str, float]:
        """Of the law, by label; candidates that were dropped are left out."""
        return {**self.known, **dict(zip(self.law.labels, map(float, self.law.c), strict=True))}


@dataclass(frozen=True)
class Identification:
    """``laws`` by field (those with candidates), ``paths`` of all fields, seconds per stage."""

    laws: Mapping[str, FieldLaw]
    paths: Mapping[str, Paths]
    seconds: Mapping[str, float]


def identify(
    recordings: Sequence[Recording],
    fields: Mapping[str, DiscreteField],
    candidates: Mapping[str, Sequence[LabelledTerm]],
    known: Sequence[Term] = (),
    options: Options = Options(),  # noqa: B008 (frozen)
) -> Identification:
    """The laws of all fields that have candidates. Each is a regression of its own; responses read the paths of all fields."""
    stopwatch = Stopwatch()
    paths = {
        name: fit_paths(f, recordings, f.r if options.rank == "all" else options.rank, options.degree, options.noise)
        for name, f in fields.items()
    }
    stopwatch.lap("paths")
    problems = equations(paths, candidates, known)
    stopwatch.lap("responses")
    laws = {name: _law(name, equation, options, stopwatch) for name, equation in problems.items()}
    return Identification(laws, paths, stopwatch.laps)


def _law(name: str, equation: Equation, options: Options, stopwatch: Stopwatch) -> FieldLaw:
    unknown = equation.unknown
    signs = [c.sign for c in unknown] if any(c.sign for c in unknown) else None
    info = equation.information()
    for _ in range(options.passes - 1):
        c = dict(zip(info.labels, fit_coefficients(info, signs=signs).c, strict=True))
        info = equation.information({**equation.known, **c})
    full = fit_coefficients(info, signs=signs)
    stopwatch.lap("regression")
    keep = [p for p, c in enumerate(unknown) if c.keep]
    selection = select(info, keep, signs)
    support = selection.support
    if options.select == "threshold":
        support, _ = thresholded_ridge(info, options.threshold, options.ridge, keep=keep)
    law = fit_coefficients(info, support, signs)
    stopwatch.lap("selection")
    return FieldLaw(name, info.labels, equation.known, info, full, selection, law, equation.paths)
