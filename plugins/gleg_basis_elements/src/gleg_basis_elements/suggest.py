"""The basis of a problem file that names none."""

from gleg_core.spec.defaults import Question, Suggestion


def basis(question: Question) -> Suggestion | None:
    """Elements suit what is not smooth: corners, jumps, changes of condition; nonlinear diffusion, which is part of their implicit steps;
    and what other functions did not resolve, for they can be small where that is. They have no second derivatives."""
    if question.scope.dim > 2 or not question.first_derivatives_suffice:
        return None
    reason = question.unresolved
    if not reason and question.is_stiff:
        reason = "nonlinear diffusion, which implicit steps follow here"
    if not reason and question.roughness.reasons:
        reason = question.roughness.sentence
    return Suggestion("elements:elements", {}, reason) if reason else None
