"""What a finished run is off by: the packs' judges look at it, and an unresolved one says so.

A judge is called with the run and returns parts of its error (:class:`gleg_core.estimate.Part`). Those of a stranger's pack are asked
about runs that use the pack. What trials have found for an accuracy (``run.choice``) is in the estimate already.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from numbers import Real

from gleg_core.errors import GlegError, NumericsError
from gleg_core.estimate import CAUSES, Estimate, Part
from gleg_core.registry.containment import contained
from gleg_core.run import Run
from gleg_core.spec.blame import failure
from gleg_core.spec.problem import packs_of

_TOLD = 3
"""Sentences about one run, at most."""


def judged(run: Run, known: Estimate | None) -> Estimate:
    """The estimate with what the judges find added to what is ``known``."""
    return Estimate((*(() if known is None else known.parts), *_found(run)))


def _found(run: Run) -> Iterator[Part]:
    registry = run.problem.registry
    for offered in registry.own_tools("gleg_judges", also=packs_of(run.problem)):
        try:
            judge = registry.target(offered)
            parts = list(judge(run)) if offered.pack.first_party else _by_stranger(judge, run)
        except GlegError:
            raise
        except (Exception, SystemExit) as error:
            if offered.pack.first_party:
                raise
            warnings.warn(failure(offered.pack, "while it judged the run", error), stacklevel=4)
        else:
            yield from parts


def _by_stranger(judge: Callable[[Run], Iterable[Part]], run: Run) -> list[Part]:
    """What a stranger's judge returns, if all of it can be added to an estimate and told."""
    with contained():
        parts = list(judge(run))
        for part in parts:
            if not isinstance(part, Part):
                raise TypeError(f"it returns {type(part).__name__} among parts of an estimate")
            if part.cause not in CAUSES:
                raise ValueError(f"the cause of a part is {part.cause!r}, it must be one of {', '.join(CAUSES)}")
            if not (isinstance(part.error, Real) and math.isfinite(part.error) and part.error >= 0):
                raise ValueError(f"the error of a part is {part.error!r}, a number from 0 on is needed")
            _ = part.resolved, str(part)  # fails now, and not where it is told
    return parts


def tell(run: Run) -> None:
    """Say what is not resolved, as the problem asks for."""
    if run.estimate is None or not (unresolved := run.estimate.unresolved):
        return
    name = run.problem.document.name
    sentences = [f"not resolved: {part}" for part in unresolved[:_TOLD]]
    if run.problem.section.unresolved == "fail":
        error = NumericsError("; ".join(sentences)).at("unresolved")
        error.run = run
        raise error
    for sentence in sentences:
        warnings.warn(f"{name}: {sentence}", stacklevel=4)
