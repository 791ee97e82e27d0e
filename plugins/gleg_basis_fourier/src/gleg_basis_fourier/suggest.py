"""The basis of a problem file that names none."""

from gleg_core.spec.defaults import Question, Suggestion


def basis(question: Question) -> Suggestion | None:
    """Fourier functions suit smooth solutions on any domain. Where elements cannot be used, in space or where higher derivatives are
    needed, they are all there is."""
    if question.scope.dim <= 2 and question.first_derivatives_suffice and question.roughness.reasons:
        return None
    return Suggestion("fourier:fourier")
