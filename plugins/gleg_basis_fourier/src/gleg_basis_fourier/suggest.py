"""The basis of a problem file that names none."""

from gleg_core.spec.defaults import Question, Suggestion


def basis(question: Question) -> Suggestion | None:
    """Fourier functions suit smooth solutions on any domain. Where elements cannot be used, in space and for equations of higher order,
    they are all there is."""
    if question.scope.dim <= 2 and question.order <= 2 and question.conditions <= 1 and question.roughness.reasons:
        return None
    return Suggestion("fourier:fourier")
