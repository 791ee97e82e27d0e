"""The integrator of a problem file that names none."""

from gleg_core.capabilities import BasisCapabilities
from gleg_core.spec.defaults import Question, Suggestion


def integrator(question: Question) -> Suggestion:
    """On global functions, for steps of the stated length a method of one evaluation per stage; for steps chosen by the tolerance one that
    estimates its error and takes long steps, with as many sweeps as each of them needs. On elements exponentials cost many solutions, so a
    method that solves once per stage, is stable for any step, damps what is stiff and estimates its error."""
    if question.problem is not None and question.problem.basis.installed.capabilities(BasisCapabilities).local:
        return Suggestion("integrators:imex-ark4")
    if question.section is not None and question.section.time.step != "auto":
        return Suggestion("integrators:etdrk4")
    return Suggestion("integrators:exponential-collocation", {"sweeps": "auto"})
