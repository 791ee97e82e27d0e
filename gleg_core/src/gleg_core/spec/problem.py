"""A validated problem: every name resolved in the registry, every parameter checked by its pack, every default filled in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from gleg_core.errors import PackError, did_you_mean, listing
from gleg_core.expressions import FUNCTIONS, Expression, FormulaError
from gleg_core.registry import Component as Installed
from gleg_core.registry import Registry, default_registry
from gleg_core.spec.complaints import Complaints
from gleg_core.spec.loading import Document, Place, load_document, with_overrides
from gleg_core.spec.models import BoundarySection, Component, FieldSection, ProblemSection, TermSection
from gleg_core.spec.params import COORDINATES, Scope, read_formula

RESERVED = {"t", "pi", "e", "all", "rest", *COORDINATES, *FUNCTIONS}


@dataclass(frozen=True)
class Resolved:
    """A component a problem uses: where it comes from, and its validated parameters."""

    installed: Installed
    params: BaseModel
    place: Place

    @property
    def key(self) -> str:
        return self.installed.key

    def dump(self) -> dict[str, Any]:
        return self.params.model_dump(mode="json")


@dataclass(frozen=True)
class Condition:
    """A boundary condition as written: ``where`` lists segment names, or is ['all'] or ['rest']."""

    operator: Resolved
    where: tuple[str, ...]
    data_from_exact: bool
    place: Place


@dataclass(frozen=True)
class TermSpec:
    """A term: either a block, or the square of a sum of terms."""

    block: Resolved | None
    square: tuple[TermSpec, ...]
    section: TermSection
    place: Place


@dataclass(frozen=True)
class FieldSpec:
    """One unknown of the problem."""

    name: str
    section: FieldSection
    conditions: tuple[Condition, ...]
    terms: tuple[TermSpec, ...]


@dataclass(frozen=True)
class Problem:
    """A problem file after validation. Nothing has been computed yet and torch has not been imported."""

    document: Document
    section: ProblemSection
    scope: Scope
    registry: Registry
    domain: Resolved
    basis: Resolved
    integrator: Resolved
    fields: tuple[FieldSpec, ...]

    def build(self, resolved: Resolved, *arguments: Any) -> Any:
        """Call the factory of a component; whatever goes wrong in a pack names the pack."""
        from gleg_core.errors import GlegError

        try:
            return self.registry.factory(resolved.installed)(resolved.params, *arguments)
        except GlegError as error:
            raise type(error)(f"{self.document.locate(resolved.place)}: {error}") from error
        except Exception as error:
            pack = resolved.installed.pack
            raise PackError(
                f"{self.document.locate(resolved.place)}: pack '{pack.id}' ({pack.distribution} {pack.version}) failed "
                f"while constructing '{resolved.key}': {type(error).__name__}: {error}. Report it to the pack's author, "
                f"or install another version: pip install -U {pack.distribution}"
            ) from error


def load_problem(
    source: str | Path | Mapping[str, Any] | Document,
    overrides: Mapping[str, Any] | None = None,
    registry: Registry | None = None,
) -> Problem:
    """Read and validate a problem from a file or a mapping."""
    if isinstance(source, Document):
        document = source
    elif isinstance(source, Mapping):
        document = Document(dict(source))
    else:
        document = load_document(source)
    if overrides:
        document = with_overrides(document, dict(overrides))
    return _Validator(document, registry or default_registry()).problem()


class _Validator:
    """One pass over a document: constants, domain, formulas, core keys, then every component by its pack's model."""

    def __init__(self, document: Document, registry: Registry):
        self._document, self._registry = document, registry
        self._complaints = Complaints(document)

    def problem(self) -> Problem:
        data = self._document.data
        scope = Scope(names=self._constants(), folder=self._document.folder)
        self._complaints.settle()
        scope = Scope(scope.names, self._dimension(), tuple(self._field_names()), scope.folder)
        scope = Scope({**scope.names, **self._formulas(scope)}, scope.dim, scope.fields, scope.folder)
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
        stepper = Component(kind=chosen) if isinstance(chosen, str) else chosen
        integrator = self._component("integrator", stepper, ("time", "integrator"), scope)
        fields = tuple(self._field(name, f, scope) for name, f in section.fields.items())
        self._check_time(section)
        self._check_basis(basis, scope)
        self._complaints.settle()
        assert domain and basis and integrator
        return Problem(self._document, section, scope, self._registry, domain, basis, integrator, fields)

    def _constants(self) -> dict[str, Expression | float]:
        names: dict[str, Expression | float] = {}
        for name, value in self._mapping("constants").items():
            place: Place = ("constants", name)
            if not self._is_name(name, place):
                continue
            try:
                number = read_formula(value, Scope(names), ()).number
                if number is None or not math.isfinite(number):
                    raise ValueError(f"'{value}' has no finite value")
                names[name] = number
            except (FormulaError, ValueError) as error:
                self._complaints.add(place, str(error))
        return names

    def _formulas(self, scope: Scope) -> dict[str, Expression | float]:
        names: dict[str, Expression | float] = {}
        variables = (*COORDINATES[: scope.dim], "t")
        for name, value in self._mapping("formulas").items():
            place: Place = ("formulas", name)
            if not self._is_name(name, place):
                continue
            if name in scope.names:
                self._complaints.add(place, f"'{name}' is also a constant; choose another name")
            try:
                names[name] = read_formula(value, Scope({**scope.names, **names}, scope.dim), variables)
            except (FormulaError, ValueError) as error:
                self._complaints.add(place, str(error))
        return names

    def _mapping(self, key: str) -> dict[str, Any]:
        value = self._document.data.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._complaints.add((key,), f"found {value!r}, a mapping of names is needed")
            return {}
        return value

    def _is_name(self, name: str, place: Place) -> bool:
        if not name.isidentifier():
            self._complaints.add(place, f"'{name}' is not a name: use letters, digits and _")
        elif name in RESERVED:
            self._complaints.add(place, f"'{name}' has a meaning in formulas already; choose another name")
        else:
            return True
        return False

    def _field_names(self) -> list[str]:
        return [n for n in self._mapping("fields") if self._is_name(n, ("fields", n))]

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
            key = "block" if contract == "block" else "kind"
            in_file = (*place, key) if (*place, key) in self._document.lines else place
            self._complaints.add(in_file, str(error))
            return None
        try:
            params = model.model_validate(section.parameters, context=scope)
        except ValidationError as error:
            self._complaints.add_validation(error, model, place, section.parameters)
            return None
        return Resolved(installed, params, place)

    def _field(self, name: str, section: FieldSection, scope: Scope) -> FieldSpec:
        place: Place = ("fields", name)
        if section.initial is None and section.exact is None:
            self._complaints.add(place, "give 'initial', or 'exact' to start from")
        if section.forcing == "manufactured":
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
        return FieldSpec(name, section, conditions, terms)

    def _condition(self, section: BoundarySection, place: Place, field: FieldSection, scope: Scope) -> Condition | None:
        if section.data == "exact" and field.exact is None:
            self._complaints.add((*place, "data"), "'exact' needs an exact solution of this field")
        operator = self._component("boundary", section, place, scope)
        where = (section.where,) if isinstance(section.where, str) else tuple(section.where)
        return None if operator is None else Condition(operator, where, section.data == "exact", place)

    def _term(self, section: TermSection, place: Place, scope: Scope) -> TermSpec | None:
        if (section.block is None) == (section.square is None):
            self._complaints.add(place, "a term has either 'block' or 'square'")
            return None
        if section.square is not None:
            for word in section.parameters:
                allowed = ["square", "coefficient", "realisation"]
                self._complaints.add(
                    (*place, word), f"unknown key. Allowed: {listing(allowed)}.{did_you_mean(word, allowed)}"
                )
            parts = [self._term(s, (*place, "square", i), scope) for i, s in enumerate(section.square)]
            for part in parts:
                if part and part.section.coefficient.number is None:
                    self._complaints.add(part.place, "terms of a square need coefficients that are numbers")
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
