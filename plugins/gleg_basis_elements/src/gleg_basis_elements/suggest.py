"""The basis of a problem file that names none."""

from gleg_core.spec.defaults import Question, Suggestion


def basis(question: Question) -> Suggestion | None:
    """Elements suit what is not smooth: corners, jumps, changes of condition. They have no second derivatives."""
    if question.scope.dim > 2 or not question.first_derivatives_suffice or not question.roughness.reasons:
        return None
    return Suggestion("elements:elements", {}, question.roughness.sentence)
