"""The integrator of a problem file that names none."""

from gleg_core.spec.defaults import Question, Suggestion


def integrator(question: Question) -> Suggestion:
    """For steps of the stated length a method of one evaluation per stage; for steps chosen by the tolerance one that estimates its error
    and takes long steps, with as many sweeps as each of them needs."""
    if question.section is not None and question.section.time.step != "auto":
        return Suggestion("integrators:etdrk4")
    return Suggestion("integrators:exponential-collocation", {"sweeps": "auto"})
