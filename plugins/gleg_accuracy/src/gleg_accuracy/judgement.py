"""What a finished run is off by: the packs' judges look at it, and an unresolved one says so.

A judge is called with the run and returns parts of its error (:class:`gleg_core.estimate.Part`). Those of a stranger's pack are asked
about runs that use the pack. What trials have found for an accuracy (``run.choice``) is in the estimate already.
"""

import warnings
from collections.abc import Iterator

from gleg_core.errors import GlegError, NumericsError
from gleg_core.estimate import Estimate, Part
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
            parts = list(registry.target(offered)(run))
            if not all(isinstance(part, Part) for part in parts):
                raise TypeError("it returns something else than parts of an estimate")
        except GlegError:
            raise
        except (Exception, SystemExit) as error:
            if offered.pack.first_party:
                raise
            warnings.warn(failure(offered.pack, "while it judged the run", error), stacklevel=4)
        else:
            yield from parts


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
