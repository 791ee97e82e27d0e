"""The candidates of a problem file: terms whose coefficients are to be found, listed one by one or by dictionaries."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gleg_core.contracts.dictionary import Dictionary
from gleg_core.errors import SpecError, did_you_mean, listing
from gleg_core.spec.problem import FieldSpec, Problem, TermSpec
from gleg_core.spec.validation import read_term
from gleg_discovery.sections import CandidateSpec, candidate_specs


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
    for label in {c.label for c in found}:
        if sum(c.label == label for c in found) > 1:
            place = problem.document.locate(("fields", field.name, "candidates"))
            raise SpecError(f"{place}: there are two candidates '{label}': leave one out, or give one another label")
    return found


def _expanded(problem: Problem, field: FieldSpec, given: CandidateSpec) -> Iterator[CandidateTerm]:
    section = given.section
    if given.dictionary is None:
        assert given.term is not None
        yield CandidateTerm(
            field.name,
            section.label or _label(given.term),
            given.term,
            bool(section.keep),
            _sign(section.sign),
            guess=section.guess if not isinstance(section.guess, dict) else None,
        )
        return
    dictionary: Dictionary = problem.build(given.dictionary)
    fields = tuple(f.name for f in problem.fields)
    listed = list(dictionary.candidates(field.name, fields, problem.scope.dim))
    kept = [c.label for c in listed] if section.keep is True else section.keep or []
    guesses = section.guess if isinstance(section.guess, Mapping) else {}
    for key, names in (("keep", kept), ("signs", section.signs), ("known", section.known), ("guess", guesses)):
        _check_labels(problem, given, key, names, [c.label for c in listed])
    for c in listed:
        yield CandidateTerm(
            field.name,
            c.label,
            read_term(problem, c.term, given.place),
            c.label in kept,
            _sign(section.signs.get(c.label)),
            section.known.get(c.label),
            guesses.get(c.label),
        )


def _check_labels(problem: Problem, given: CandidateSpec, key: str, names: Iterable[str], labels: list[str]) -> None:
    for name in names:
        if name not in labels:
            place = problem.document.locate((*given.place, key))
            raise SpecError(
                f"{place}: the dictionary has no candidate '{name}'. It has {listing(labels)}.{did_you_mean(name, labels)}"
            )


def _sign(word: str | None) -> int:
    return {"positive": 1, "negative": -1, None: 0}[word]


def _label(term: TermSpec) -> str:
    """``kinetics:logistic(rate=2)``: the block and the parameters that were given."""
    if term.block is None:
        return f"({' + '.join(_label(part) for part in term.square)})²"
    given = ", ".join(f"{key}={value}" for key, value in term.section.parameters.items())
    return term.block.key + (f"({given})" if given else "")
