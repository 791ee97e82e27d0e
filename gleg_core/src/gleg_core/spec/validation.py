"""Validation of a document: core's keys by core's models, everything else by the models the packs bring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from gleg_core.errors import PackError, listing, nearest
from gleg_core.pack import CONTRACT_HOOKS
from gleg_core.registry import Registry
from gleg_core.spec.blame import failure
from gleg_core.spec.complaints import Complaints, unknown_key
from gleg_core.spec.loading import Document, Place
from gleg_core.spec.models import (
    BoundarySection,
    CandidateSection,
    Component,
    FieldSection,
    ProblemSection,
    TermSection,
)
from gleg_core.spec.names import field_objection, read_constants, read_formulas
from gleg_core.spec.params import COORDINATES, Scope, shown
from gleg_core.spec.problem import CandidateSpec, Condition, FieldSpec, Problem, Resolved, TermSpec

_BESIDE = {
    "block": ("block", "coefficient", "realisation"),
    "boundary": ("kind", "where", "data"),
    "dictionary": ("dictionary", "keep", "signs", "known", "guess"),
}
"""Core's keys beside the parameters of a component."""
_STEPS_STATED = "etdrk4"
_STEPS_CONTROLLED = Component(kind="exponential-collocation", sweeps="auto")
"""Integrators of a file that names none: for steps of the stated length, and for steps chosen by the tolerance."""


class Validator:
    """One pass over a document: constants, domain, formulas, core keys, then every component by its pack's model."""

    def __init__(self, document: Document, registry: Registry):
        self._document, self._registry = document, registry
        self._complaints = Complaints(document)

    def problem(self) -> Problem:
        data = self._document.data
        names = read_constants(self._mapping("constants"), self._named("constants"))
        self._complaints.settle()
        scope = Scope(names, self._dimension(), folder=self._document.folder)
        scope = replace(scope, fields=self._field_names(scope))
        formulas = read_formulas(self._mapping("formulas"), scope, self._named("formulas"))
        scope = replace(scope, names={**names, **formulas})
        self._complaints.settle()
        try:
            section = ProblemSection.model_validate(data, context=scope)
        except ValidationError as error:
            self._complaints.add_validation(error, ProblemSection, (), data)
            self._complaints.settle()
            raise
        domain = self._component("domain", section.domain, ("domain",), scope)
        basis = self._component("basis", section.basis, ("basis",), scope)
        chosen = section.time.integrator
        if chosen == "auto":
            chosen = _STEPS_STATED if section.time.step != "auto" else _STEPS_CONTROLLED
        stepper = Component(kind=chosen) if isinstance(chosen, str) else chosen
        integrator = self._component("integrator", stepper, ("time", "integrator"), scope)
        fields = tuple(self._field(name, f, scope) for name, f in section.fields.items())
        self._check_time(section)
        if section.restart and all(f.initial or f.exact or f.steady for f in section.fields.values()):
            self._complaints.add(
                ("restart",), "nothing would start from it: every field has 'initial' or 'exact'; remove one of them"
            )
        self._check_basis(basis, scope)
        self._check_space(section, basis, scope)
        self._check_probes(section, scope)
        self._complaints.settle()
        assert domain and basis and integrator
        return Problem(self._document, section, scope, self._registry, domain, basis, integrator, fields)

    def _mapping(self, key: str) -> dict[str, Any]:
        value = self._document.data.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._complaints.add((key,), f"found {shown(value)}, a mapping of names is needed")
            return {}
        return value

    def _named(self, section: str) -> Callable[[str, str], None]:
        return lambda name, message: self._complaints.add((section, name), message)

    def _field_names(self, scope: Scope) -> tuple[str, ...]:
        taken = dict.fromkeys(self._mapping("formulas"), "formula") | dict.fromkeys(scope.names, "constant")
        fields = self._mapping("fields")
        for name in fields:
            if problem := field_objection(name, taken, fields):
                self._complaints.add(("fields", name), problem)
        return tuple(fields)

    def _dimension(self) -> int:
        """Space dimension of the domain kind, from its pack's entry; 2 until the kind is known."""
        domain = self._document.data.get("domain")
        kind = domain.get("kind") if isinstance(domain, dict) else None
        if not isinstance(kind, str):
            return 2
        try:
            dim = self._registry.find("domain", kind).entry.capabilities.get("dim", 2)
        except PackError:
            return 2  # reported when the component itself is resolved
        return int(str(dim))

    def _component(self, contract: str, section: Component, place: Place, scope: Scope) -> Resolved | None:
        try:
            installed = self._registry.find(contract, section.kind)
            model = self._registry.params(installed)
        except PackError as error:
            key = contract if contract in ("block", "dictionary") else "kind"
            in_file = (*place, key) if (*place, key) in self._document.lines else place
            self._complaints.add(in_file, str(error), pack=not self._is_mistaken(contract, section.kind))
            return None
        try:
            params = model.model_validate(section.parameters, context=scope)
        except ValidationError as error:
            self._complaints.add_validation(error, model, place, section.parameters, _BESIDE.get(contract, ("kind",)))
            return None
        except Exception as error:
            stage = f"while it checked the parameters of '{installed.key}'"
            self._complaints.add(place, failure(installed.pack, stage, error), pack=True)
            return None
        return Resolved(installed, params, place)

    def _is_mistaken(self, contract: str, kind: str) -> bool:
        """True if ``kind`` is a typing error or names a component of another contract; False if a pack is what is wrong."""

        def names(of: str) -> set[str]:
            return {word for full in self._registry.entries(of) for word in (full, full.partition(":")[2])}

        if kind in names(contract):
            return False
        return nearest(kind, names(contract)) is not None or any(kind in names(c) for c in CONTRACT_HOOKS)

    def _field(self, name: str, section: FieldSection, scope: Scope) -> FieldSpec:
        place: Place = ("fields", name)
        if not section.equation and not section.candidates:
            self._complaints.add((*place, "equation"), "missing: at least one term, or 'candidates' to discover them")
        started = section.initial or section.exact or section.steady or section.candidates
        if not started and self._document.data.get("restart") is None:
            self._complaints.add(place, "there is nothing to start from: give 'initial' or 'exact'")
        if section.forcing != "none":
            missing = [n for n, f in self._mapping("fields").items() if isinstance(f, dict) and f.get("exact") is None]
            if missing:
                self._complaints.add(
                    (*place, "forcing"),
                    f"manufactured forcing needs the exact solution of every field; missing for {listing(missing)}",
                )
        conditions = tuple(
            c for i, b in enumerate(section.boundary)
            if (c := self._condition(b, (*place, "boundary", i), section, scope))
        )  # fmt: skip
        terms = tuple(t for i, s in enumerate(section.equation) if (t := self._term(s, (*place, "equation", i), scope)))
        candidates = tuple(
            found
            for i, s in enumerate(section.candidates)
            if (found := self._candidate(s, (*place, "candidates", i), scope))
        )
        return FieldSpec(name, section, conditions, terms, candidates)

    def _candidate(self, section: CandidateSection, place: Place, scope: Scope) -> CandidateSpec | None:
        if section.dictionary is None:
            for word in ("signs", "known"):
                if getattr(section, word):
                    self._complaints.add((*place, word), f"'{word}' is for a dictionary; a single block has 'sign', and a known "
                                         "coefficient belongs in 'equation'")  # fmt: skip
            term = self._term(section, place, scope)
            return None if term is None else CandidateSpec(None, term, section, place)
        for word, value in (
            ("block", section.block),
            ("square", section.square),
            ("sign", section.sign),
            ("label", section.label),
        ):
            if value is not None:
                self._complaints.add((*place, word), f"'{word}' and 'dictionary' exclude each other")
        component = Component(kind=section.dictionary, **section.parameters)
        dictionary = self._component("dictionary", component, place, scope)
        return None if dictionary is None else CandidateSpec(dictionary, None, section, place)

    def _condition(self, section: BoundarySection, place: Place, field: FieldSection, scope: Scope) -> Condition | None:
        if section.data == "exact" and field.exact is None:
            self._complaints.add((*place, "data"), "'exact' needs an exact solution: give the field the key 'exact'")
        operator = self._component("boundary", section, place, scope)
        where = (section.where,) if isinstance(section.where, str) else tuple(section.where)
        return None if operator is None else Condition(operator, where, section.data == "exact", place)

    def _term(self, section: TermSection, place: Place, scope: Scope) -> TermSpec | None:
        if (section.block is None) == (section.square is None):
            found = "neither" if section.block is None else "both"
            self._complaints.add(place, f"a term has either 'block' or 'square', found {found}")
            return None
        if section.square is not None:
            for word in section.parameters:
                self._complaints.add((*place, word), unknown_key(word, ["square", "coefficient", "realisation"]))
            parts = [self._term(s, (*place, "square", i), scope) for i, s in enumerate(section.square)]
            for part in parts:
                if part and part.section.coefficient.number is None:
                    found = f"found '{part.section.coefficient}'"
                    self._complaints.add(
                        (*part.place, "coefficient"), f"{found}, a term of a square needs a number that is constant"
                    )
            return TermSpec(None, tuple(p for p in parts if p), section, place)
        component = Component(kind=str(section.block), **section.parameters)
        block = self._component("block", component, place, scope)
        return None if block is None else TermSpec(block, (), section, place)

    def _check_time(self, section: ProblemSection) -> None:
        time = section.time
        if time.end <= time.start:
            self._complaints.add(("time", "end"), f"found {time.end:g}, it must be later than the start {time.start:g}")
        elif time.step != "auto" and time.step > time.end - time.start:
            self._complaints.add(
                ("time", "step"), f"found {time.step:g}, longer than the whole run {time.end - time.start:g}"
            )

    def _check_basis(self, basis: Resolved | None, scope: Scope) -> None:
        if basis is None:
            return
        dims = basis.installed.entry.capabilities.get("dims", [1, 2, 3])
        if isinstance(dims, (list, tuple)) and scope.dim not in dims:
            self._complaints.add(
                ("basis",),
                f"basis '{basis.key}' works in {listing(map(str, dims))} dimensions, the domain has {scope.dim}",
            )

    def _check_space(self, section: ProblemSection, basis: Resolved | None, scope: Scope) -> None:
        box = section.space.box
        if box == "auto" or basis is None or not isinstance(box[0], list):
            return
        widths = [high - low for low, high in box]
        place: Place = ("space", "box")
        if len(box) != scope.dim:
            self._complaints.add(place, f"found {len(box)} pairs, the domain has {scope.dim} dimensions")
        elif basis.installed.entry.capabilities.get("isotropic", True) and max(widths) - min(widths) > 1e-9 * max(
            widths
        ):
            sides = ", ".join(f"{w:g}" for w in widths)
            self._complaints.add(place, f"the basis '{basis.key}' needs a box with equal sides, found {sides}")

    def _check_probes(self, section: ProblemSection, scope: Scope) -> None:
        for i, probe in enumerate(section.output.probes):
            if len(probe) != scope.dim:
                names = ", ".join(COORDINATES[: scope.dim])
                self._complaints.add(
                    ("output", "probes", i), f"found {len(probe)} coordinate{'s' * (len(probe) != 1)}, write [{names}]"
                )


def read_term(problem: Problem, term: Mapping[str, object], place: Place) -> TermSpec:
    """A term of an equation that stands in no file, such as one that a dictionary lists at ``place``."""
    validator = Validator(problem.document, problem.registry)
    try:
        section = TermSection.model_validate(dict(term), context=problem.scope)
    except ValidationError as error:
        validator._complaints.add_validation(error, TermSection, place, dict(term))
        validator._complaints.settle()
        raise
    found = validator._term(section, place, problem.scope)
    validator._complaints.settle()
    assert found is not None
    return found
