"""A discovered law: in words, and as a problem file that rolls it out."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gleg_core.spec.problem import Problem
from gleg_discovery.candidates import CandidateTerm
from gleg_results.resolved import resolved, term_data


@dataclass(frozen=True)
class Coefficient:
    """c with its standard error and 95 % interval. ``error`` is 0 for a coefficient that was given."""

    candidate: CandidateTerm
    value: float
    error: float
    interval: tuple[float, float]


Law = Mapping[str, Sequence[Coefficient]]
"""Field → the terms of its equation that were found or given, apart from those the file states under ``equation``."""


def with_uncertainty(value: float, error: float) -> str:
    """``0.0400(2)``: the error, to one digit (two if the first is 1), in units of the last digit of the value."""
    if not (math.isfinite(error) and math.isfinite(value)) or error <= abs(value) * 1e-12:
        return f"{value:.6g}"
    digits = 1 if f"{error:.1e}"[0] == "1" else 0
    place = math.floor(math.log10(float(f"{error:.{digits}e}"))) - digits
    if place > 0 or place < -12:
        return f"{value:.3g} ± {error:.1g}"
    return f"{value:.{-place}f}({round(error * 10.0**-place)})"


def in_words(field: str, terms: Sequence[Coefficient]) -> str:
    """``u_t = 0.0400(2) Δu + 0.061(4) u − 0.34(3) u³``."""
    if not terms:
        return f"{field}_t = 0"
    sizes = [f"{with_uncertainty(abs(c.value), c.error)} {c.candidate.label}" for c in terms]
    signed = [f" {'−' if c.value < 0 else '+'} {size}" for c, size in zip(terms[1:], sizes[1:], strict=True)]
    return f"{field}_t = {'−' if terms[0].value < 0 else ''}{sizes[0]}{''.join(signed)}"


def law_data(problem: Problem, law: Law, rank: int | None, states: str, start: float) -> dict[str, Any]:
    """Plain data of a problem file with the law in the place of the candidates, from the states in the file ``states``, in the
    ``rank`` smoothest functions (None: in the whole space). Every field must have a term."""
    data = resolved(problem)
    data["title"] = f"law discovered: {problem.section.title or problem.document.name}"
    for name, field in data["fields"].items():
        field.pop("candidates", None)
        field.pop("initial", None)
        field["equation"] = [*field.get("equation", []), *(_term(c) for c in law[name])]
    for key in ("discover", "plan", "reference"):
        data.pop(key, None)
    data["space"] |= {"rank": rank or "auto", "keep": "smoothest"}
    data["restart"] = {"file": states}
    data["time"]["start"] = start
    return data


def _term(c: Coefficient) -> dict[str, Any]:
    term = term_data(c.candidate.spec)
    own = c.candidate.spec.section.coefficient
    term["coefficient"] = c.value * own.number if own.number is not None else f"({c.value!r})*({own})"
    return term
