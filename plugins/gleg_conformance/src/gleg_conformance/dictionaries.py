"""Checks of the contract Dictionary: candidates are terms of a problem file, distinct in name and in effect.

Fields are called ``f1`` and ``f2`` here: a dictionary that has only ever seen u and v shows it.
"""

import copy
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import torch
from torch import Tensor

from gleg_conformance.kit import Finding, Subject, applies_if, check, needed, require
from gleg_core.algebra.boundary_system import expression_jet, spread
from gleg_core.contracts.dictionary import Candidate, Dictionary
from gleg_core.contracts.location import COORDINATES, Location
from gleg_core.errors import GlegError, PackError, SpecError
from gleg_core.expressions import Expression, formula
from gleg_core.registry import Registry
from gleg_core.spec.params import Scope
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.system.discretise import Discretisation, discretise

Names = tuple[str, ...]

_FIELDS: tuple[Names, ...] = (("f1",), ("f1", "f2"))
_DOMAINS = {1: {"kind": "interval", "left": -1, "right": 1}, 2: {"kind": "disk", "radius": 1}}
_NEEDED = {"domain": "disk", "basis": "fourier", "boundary": "dirichlet", "integrator": "etdrk4"}
"""Components that the problems below are made with."""


def _settings(subject: Subject) -> Iterator[tuple[Names, int, Sequence[Candidate]]]:
    """(fields, dimension, candidates for the last field) for one field and for two."""
    dictionary: Dictionary = subject.make()
    for fields, dim in product(_FIELDS, (1, 2, 3)):
        yield fields, dim, dictionary.candidates(fields[-1], fields, dim)


# --- form -------------------------------------------------------------------------------------------------------------


@check("dictionary", group="interface")
def candidates_are_listed(subject: Subject) -> None:
    """There are candidates, each with a label of one line and a term that is a mapping."""
    total = 0
    for fields, dim, candidates in _settings(subject):
        here = f"for the fields {', '.join(fields)} in {dim}D"
        total += len(candidates)
        for c in candidates:
            require(isinstance(c, Candidate), f"{here}: a {type(c).__name__} is listed instead of a Candidate")
            one_line = isinstance(c.label, str) and c.label.strip() == c.label and c.label and c.label.isprintable()
            require(one_line, f"{here}: the label {c.label!r} must be one line of text")
            require(isinstance(c.term, Mapping), f"{here}: the term of '{c.label}' must be a mapping, not {c.term!r}")
    require(total > 0, "there is no candidate for one field nor for two, in any dimension it declares")


@check("dictionary", group="interface")
def labels_are_distinct(subject: Subject) -> None:
    """No two candidates of an equation have the same label or the same term."""
    for fields, dim, candidates in _settings(subject):
        labels, terms = [c.label for c in candidates], [_text(c.term) for c in candidates]
        for what, words in (("label", labels), ("term", terms)):
            twice = [w for w in dict.fromkeys(words) if words.count(w) > 1]
            require(not twice, f"the {what} {''.join(twice[:1])} is listed twice ({len(fields)} fields, {dim}D)")


@check("dictionary", group="interface")
def candidates_repeat(subject: Subject) -> None:
    """Every call lists the same candidates in the same order, whatever was done with those listed before."""
    dictionary: Dictionary = subject.make()
    for fields, dim in product(_FIELDS, (1, 2, 3)):
        listed = dictionary.candidates(fields[0], fields, dim)
        before = [(c.label, copy.deepcopy(dict(c.term))) for c in listed]
        for c in listed:
            if isinstance(c.term, dict):
                c.term["coefficient"] = 12.5
        for source, again in (("the same", dictionary), ("another", subject.make())):
            now = [(c.label, dict(c.term)) for c in again.candidates(fields[0], fields, dim)]
            pairs: Any = [*zip(before, now, strict=False), (len(before), len(now))]
            changed = next((f"{old} became {new}" for old, new in pairs if old != new), "")
            require(not changed, f"a second call of {source} dictionary lists other candidates: {changed}")


@check("dictionary", group="interface")
def coefficients_are_numbers(subject: Subject) -> None:
    """A coefficient in a term is a finite number other than zero: a problem's constants are not known here."""
    for _, _, candidates in _settings(subject):
        for c in candidates:
            value = c.term.get("coefficient", 1)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            require(
                number and math.isfinite(value) and value != 0,  # type: ignore[arg-type]
                f"the coefficient of '{c.label}' is {value!r}, a finite number other than zero is needed",
            )


# --- in a problem -----------------------------------------------------------------------------------------------------


@check("dictionary", group="realisation")
def candidates_are_equation_terms(subject: Subject) -> None:
    """Every candidate is a valid term of an equation in a problem file."""
    needed(subject.registry, **_NEEDED)
    for fields, dim, candidates in _settings(subject):
        for c in candidates:
            try:
                if dim in _DOMAINS:
                    _problem(subject.registry, fields, dim, [c.term])
                else:
                    _validate_alone(subject.registry, fields, dim, c.term)
            except (SpecError, PackError) as error:
                require(False, f"'{c.label}' is not a valid term ({len(fields)} fields, {dim}D): {error}")


def _validate_alone(registry: Registry, fields: Names, dim: int, term: Mapping[str, Any]) -> None:
    """The parameters of a term's block, where there is no domain to make a problem with."""
    if "block" not in term:
        return
    keys = {k: v for k, v in term.items() if k not in ("block", "coefficient", "realisation")}
    model = registry.params(registry.find("block", str(term["block"])))
    try:
        model.model_validate(keys, context=Scope(dim=dim, fields=fields))
    except ValueError as error:
        raise SpecError(str(error)) from error


@check("dictionary", group="realisation")
def candidates_have_finite_responses(subject: Subject) -> None:
    """All candidates together are realised on a small space, with finite responses."""
    for fields, candidates, d in _in_problems(subject):
        require(
            torch.isfinite(d.system.rhs(d.initial, 0.0)).all(), f"a realised response in {d.basis.dim}D is not finite"
        )
        for c, values in zip(candidates, _responses(d, fields), strict=True):
            require(torch.isfinite(values).all(), f"the response of '{c.label}' to a smooth function is not finite")


@check("dictionary", group="realisation")
def candidates_are_independent(subject: Subject) -> Finding:
    """No candidate is a combination of the others: coefficients could not be told apart."""
    conditions = []
    for fields, candidates, d in _in_problems(subject):
        columns = torch.stack(_responses(d, fields), -1)
        lengths = columns.norm(dim=0)
        zero = [c.label for c, size in zip(candidates, lengths, strict=True) if float(size) == 0.0]
        require(not zero, f"the response of '{''.join(zero[:1])}' is zero")
        require(torch.isfinite(lengths).all(), "a response is not finite")
        conditions.append(float(torch.linalg.cond(columns / lengths)))
    return Finding(max(conditions), 1e8, "condition of the responses at random points")


@check("dictionary", group="realisation")
def candidates_depend_on_the_fields_they_name(subject: Subject) -> None:
    """A candidate responds to every field that its label or its term names."""
    for fields, candidates, d in _in_problems(subject):
        usual = _responses(d, fields)
        for name in fields:
            changed = _responses(d, fields, name)
            for c, a, b in zip(candidates, usual, changed, strict=True):
                where = "label" if name in c.label else "term"
                if name in c.label or name in _text(c.term):
                    require(
                        not torch.equal(a, b),
                        f"the {where} of '{c.label}' names {name}, its response does not depend on it",
                    )


def _in_problems(subject: Subject) -> Iterator[tuple[Names, Sequence[Candidate], Discretisation]]:
    """(fields, candidates for the last field, a problem with all of them), wherever there is a domain to make one with."""
    needed(subject.registry, **_NEEDED)
    found = [s for s in _settings(subject) if s[1] in _DOMAINS and s[2]]
    applies_if(found, "there is no candidate in one or two dimensions")
    for fields, dim, candidates in found:
        yield fields, candidates, _discretised(subject.registry, fields, dim, _text([c.term for c in candidates]))


def _problem(
    registry: Registry, fields: Names, dim: int, terms: Sequence[Mapping[str, Any]], condition: str = "dirichlet"
) -> Problem:
    """The candidates in the equation of the last field; the others have the same one."""
    bump = "0.5*(1 - x^2 - y^2)^2" if dim == 2 else "0.5*(1 - x^2)^2"
    unknown = {"initial": bump, "boundary": [{"kind": condition}], "equation": [dict(t) for t in terms]}
    document = {
        "domain": _DOMAINS[dim],
        "basis": {"kind": "fourier", "K": 5},
        "fields": dict.fromkeys(fields, unknown),
        "time": {"end": 1},
    }
    return load_problem(document, registry=registry)


@cache
def _discretised(registry: Registry, fields: Names, dim: int, terms: str) -> Discretisation:
    """``terms`` as JSON; with two conditions on the boundary if the order of a candidate needs them."""
    listed = json.loads(terms)
    try:
        return discretise(_problem(registry, fields, dim, listed))
    except SpecError as error:
        try:
            return discretise(_problem(registry, fields, dim, listed, "clamped"))
        except GlegError:
            raise error from None


def _responses(d: Discretisation, fields: Names, changed: str = "") -> list[Tensor]:
    """c L(u) of each candidate, with several sets of smooth functions in the place of the fields; another one for ``changed``."""
    dim = d.basis.dim
    draw = torch.Generator().manual_seed(1)
    x = torch.rand(50, dim, dtype=torch.float64, generator=draw) * 2 - 1
    terms = [t for t in d.terms if t.field == fields[-1]]
    parts = []
    for variant in range(8):
        at = Location(x)
        jets = {n: expression_jet(_smooth(dim, variant, i + 2 * (n == changed)), at) for i, n in enumerate(fields)}
        parts.append([spread(t.reference(jets, at), at) for t in terms])
    return [torch.cat(responses) for responses in zip(*parts, strict=True)]


def _smooth(dim: int, variant: int, which: int) -> Expression:
    """A positive function without symmetry: 1 + sum of two plane waves."""
    numbers = torch.rand(2, dim + 1, generator=torch.Generator().manual_seed(10 * variant + which)) * 4 + 1
    waves = [" + ".join(f"{k:.3f}*{c}" for k, c in zip(row, (*COORDINATES[:dim], 1), strict=True)) for row in numbers]
    return formula(f"1 + 0.55*sin({waves[0]}) + 0.35*sin({waves[1]})", COORDINATES[:dim])


def _text(value: Any) -> str:
    return json.dumps(value, default=dict, ensure_ascii=False)
