"""The basis of a problem file that names none."""

from gleg_core.spec.defaults import Question, Suggestion


def basis(question: Question) -> Suggestion | None:
    """Elements suit what is not smooth: corners, jumps, changes of condition. They have no second derivatives."""
    if question.order > 2 or question.conditions > 1 or question.scope.dim > 2 or not question.roughness.reasons:
        return None
    return Suggestion("elements:elements", {}, question.roughness.sentence)
