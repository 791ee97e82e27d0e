"""The integrator of a problem file that names none."""

from gleg_core.capabilities import BasisCapabilities
from gleg_core.spec.defaults import Question, Suggestion

_FAST = 1e3
"""Rate of reactions, times the duration of a run, from which on explicit steps are too many."""


def integrator(question: Question) -> Suggestion:
    """Where nonlinear terms are stiff, a linearly implicit method. Otherwise, on global functions, for steps of the stated length a method
    of one evaluation per stage; for steps chosen by the tolerance one that estimates its error and takes long steps, with as many sweeps as
    each of them needs. On elements exponentials cost many solutions, so a method that solves once per stage, is stable for any step, damps
    what is stiff and estimates its error."""
    if question.is_stiff:
        return Suggestion("integrators:rosenbrock", {}, "diffusion is nonlinear")
    if question.reactions > _FAST:
        return Suggestion("integrators:rosenbrock", {}, f"reactions run {question.reactions:.1g} times in the duration")
    if question.problem is not None and question.problem.basis.installed.capabilities(BasisCapabilities).local:
        return Suggestion("integrators:imex-ark4")
    if question.section is not None and question.section.time.step != "auto":
        return Suggestion("integrators:etdrk4")
    return Suggestion("integrators:exponential-collocation", {"sweeps": "auto"})
