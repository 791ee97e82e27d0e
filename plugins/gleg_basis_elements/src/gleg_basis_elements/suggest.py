"""The basis of a problem file that names none."""

from gleg_core.spec.defaults import Question, Suggestion


def basis(question: Question) -> Suggestion | None:
    """Elements suit what is not smooth: corners, jumps, changes of condition; and what other functions did not resolve, for they can be
    small where that is. They have no second derivatives."""
    if question.scope.dim > 2 or not question.first_derivatives_suffice:
        return None
    if question.unresolved:
        return Suggestion("elements:elements", {}, question.unresolved)
    return Suggestion("elements:elements", {}, question.roughness.sentence) if question.roughness.reasons else None
