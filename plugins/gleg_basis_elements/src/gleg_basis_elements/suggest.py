"""The basis of a problem file that names none."""

from gleg_core.spec.defaults import Question, Suggestion


def basis(question: Question) -> Suggestion | None:
    """Elements suit what is not smooth: corners, jumps, changes of condition; and what other functions did not resolve, for they can be small
    where that is. They have no second derivatives."""
    if question.scope.dim > 2 or not question.first_derivatives_suffice:
        return None
    reason = question.unresolved or question.roughness.sentence
    return Suggestion("elements:elements", {}, reason) if question.unresolved or question.roughness.reasons else None
