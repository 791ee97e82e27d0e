"""The candidates of a problem file: terms whose coefficients are to be found, listed one by one or by dictionaries."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gleg_core.contracts.dictionary import Dictionary
from gleg_core.errors import SpecError, did_you_mean, listing
from gleg_core.spec.problem import FieldSpec, Problem, TermSpec
from gleg_core.spec.validation import read_term
from gleg_discovery.sections import CandidateSpec, candidate_specs

_SIGNS = {"positive": 1, "negative": -1, None: 0}


@dataclass(frozen=True)
class CandidateTerm:
    """A term c·L(u) with unknown c in the equation of ``field``. A coefficient in ``spec`` is part of L.

    ``sign``: of c if it is known (+1, −1), else 0. ``known``: c itself, if it is given. ``guess``: c to plan an experiment with.
    """

    field: str
    label: str
    spec: TermSpec
    keep: bool = False
    sign: int = 0
    known: float | None = None
    guess: float | None = None


def candidates_of(problem: Problem, field: FieldSpec) -> list[CandidateTerm]:
    """All candidates of one field, each label once."""
    found = [c for given in candidate_specs(field) for c in _expanded(problem, field, given)]
    for label, count in Counter(c.label for c in found).items():
        if count > 1:
            place = problem.document.locate(("fields", field.name, "candidates"))
            raise SpecError(f"{place}: there are two candidates '{label}': leave one out, or give one another label")
    return found


def _expanded(problem: Problem, field: FieldSpec, given: CandidateSpec) -> Iterator[CandidateTerm]:
    section = given.section
    if given.dictionary is None:
        assert given.term is not None
        label, sign = section.label or _label(given.term), _SIGNS[section.sign]
        guess = None if isinstance(section.guess, Mapping) else section.guess
        yield CandidateTerm(field.name, label, given.term, bool(section.keep), sign, guess=guess)
        return
    dictionary: Dictionary = problem.build(given.dictionary)
    fields = tuple(f.name for f in problem.fields)
    listed = list(dictionary.candidates(field.name, fields, problem.scope.dim))
    labels = [c.label for c in listed]
    kept = labels if section.keep is True else section.keep or []
    guesses = section.guess if isinstance(section.guess, Mapping) else {}
    for key, names in (("keep", kept), ("signs", section.signs), ("known", section.known), ("guess", guesses)):
        if unknown := [name for name in names if name not in labels]:
            place, close = problem.document.locate((*given.place, key)), did_you_mean(unknown[0], labels)
            raise SpecError(
                f"{place}: the dictionary has no candidate '{unknown[0]}'. It has {listing(labels)}.{close}"
            )
    for c in listed:
        term, sign = read_term(problem, c.term, given.place), _SIGNS[section.signs.get(c.label)]
        known, guess = section.known.get(c.label), guesses.get(c.label)
        yield CandidateTerm(field.name, c.label, term, c.label in kept, sign, known, guess)


def _label(term: TermSpec) -> str:
    """``kinetics:logistic(rate=2)``: the block and the parameters that were given."""
    if term.block is None:
        return f"({' + '.join(_label(part) for part in term.square)})²"
    given = ", ".join(f"{key}={value}" for key, value in term.section.parameters.items())
    return term.block.key + (f"({given})" if given else "")
