"""The basis of a problem file that names none."""

from gleg_core.spec.defaults import Question, Suggestion


def basis(question: Question) -> Suggestion:
    """Fourier functions suit smooth solutions on any domain."""
    return Suggestion("fourier:fourier")
