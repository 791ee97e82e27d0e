"""Candidates in the spelling of a problem file, every block by its full key and every field by its name."""

from collections.abc import Mapping

from gleg_core.contracts.dictionary import Candidate

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def laplacian(field: str) -> Candidate:
    """Δu."""
    return Candidate(f"Δ{field}", {"block": "diffusion:diffusion", "of": field})


def transport(field: str, axis: str) -> Candidate:
    """−∂_i(u²/2) = −u ∂_i u; the block itself is +u ∂_i u."""
    term = {"block": "transport:transport", "direction": axis, "of": field, "coefficient": -1}
    return Candidate(f"−∂{axis}({field}²/2)", term)


def monomial(powers: Mapping[str, int]) -> Candidate:
    """u^p v^q …, powers by field."""
    label = "·".join(name + (str(p).translate(_SUPERSCRIPTS) if p > 1 else "") for name, p in powers.items())
    if len(powers) > 1:
        return Candidate(label, {"block": "polynomial:product", "powers": dict(powers)})
    ((field, p),) = powers.items()
    return Candidate(label, {"block": "polynomial:power", "p": p, "of": field})


def constant() -> Candidate:
    """1."""
    return Candidate("1", {"block": "polynomial:constant"})
