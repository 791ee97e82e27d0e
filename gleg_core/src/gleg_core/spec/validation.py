"""Validation of a document: core's keys by core's models, everything else by the models the packs bring."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import ValidationError

from gleg_core.capabilities import BasisCapabilities, BlockCapabilities, DomainCapabilities
from gleg_core.errors import PackError, listing, nearest
from gleg_core.pack import CONTRACTS
from gleg_core.registry import Registry
from gleg_core.spec.complaints import Complaints, unknown_key
from gleg_core.spec.defaults import Question, suggested, unanswered
from gleg_core.spec.keys import AddedKeys, StatedKeys
from gleg_core.spec.loading import Document, Place
from gleg_core.spec.models import BoundarySection, ComponentSection, FieldSection, ProblemSection, TermSection
from gleg_core.spec.names import field_objection, objection, read_constants, read_formulas
from gleg_core.spec.params import Scope, shown
from gleg_core.spec.problem import ConditionSpec, FieldSpec, Problem, Resolved, TermSpec

if TYPE_CHECKING:
    from gleg_core.spec.regions import Region

_BESIDE = {"block": ("block", "coefficient", "realisation"), "boundary": ("kind", "where", "data")}
"""Core's keys beside the parameters of a component."""


class Validator:
    """One pass over a document: constants, domain, formulas, core keys, then what belongs to packs by their own models."""

    scope: Scope

    def __init__(self, document: Document, registry: Registry):
        self._document, self._registry = document, registry
        self._complaints = Complaints(document)
        self.complain = self._complaints.add

    def problem(self) -> Problem:
        document = self._document
        added = AddedKeys(document.data, self._registry, self._complaints)
        added.fill(document.folder)
        data = added.core
        names = read_constants(self._mapping("constants"), self._named("constants"), document.stored)
        self._complaints.settle()
        self.scope = scope = Scope(names, self._dimension(), folder=self._document.folder)
        regions = self._regions()
        conditions = {name: region.condition(scope.dim) for name, region in regions.items()}
        self._complaints.settle()
        scope = replace(scope, names={**names, **conditions}, fields=self._field_names(scope))
        formulas = read_formulas(self._mapping("formulas"), scope, self._named("formulas"), document.stored)
        scope = replace(scope, names={**scope.names, **formulas})
        self._complaints.settle()
        self.scope = scope
        section: ProblemSection | None = None
        try:
            section = ProblemSection.model_validate(data, context=scope)
        except ValidationError as error:
            self._complaints.add_validation(error, ProblemSection, (), data, added.allowed)
        own = added.validated(scope, in_fields=True)
        if section is None:
            added.validated(scope, in_fields=False)
            self._complaints.settle()
        assert section is not None
        domain = self.component("domain", section.domain, ("domain",))
        basis = None if section.basis is None else self.component("basis", section.basis, ("basis",))
        named = section.time.integrator
        stepper = ComponentSection(kind=named) if isinstance(named, str) else named
        integrator = None if named == "auto" else self.component("integrator", stepper, ("time", "integrator"))
        own = [added.read(s, self) for s in own]
        fields = tuple(self._field(name, f, added, own) for name, f in section.fields.items())
        stated = [added.read(s, self) for s in added.validated(scope, in_fields=False)]
        self._check_time(section)
        if all(f.initial or f.exact or f.steady for f in section.fields.values()):
            useless = "nothing would start from it: every field has 'initial' or 'exact'; remove one of them"
            for keys in (s.offered.keys for s in stated if s.offered.keys.initial):
                self.complain((keys.names[0],), useless)
        if basis is not None:
            self._check_basis(basis, section)
        self._complaints.settle()
        assert domain
        notes, shapes = tuple(self._complaints.notes), tuple(regions.values())
        made = domain, cast(Resolved, basis), cast(Resolved, integrator)  # what is not named is chosen below
        problem = Problem(tuple(stated), self._document, section, scope, self._registry, *made, fields, notes, shapes)
        if basis is None:
            basis = self._suggested("basis", problem, ("basis",))
            self._check_basis(basis, section)
            self._complaints.settle()
            problem = replace(problem, basis=basis)
        if integrator is None:
            problem = replace(problem, integrator=self._suggested("integrator", problem, ("time", "integrator")))
        return problem

    def _suggested(self, what: Literal["basis", "integrator"], problem: Problem, place: Place) -> Resolved:
        """What the packs suggest for a problem that names none."""
        question = Question(what, problem, self.scope, self._registry)
        chosen = None
        with problem.located():
            try:
                if (chosen := suggested(question)) is None:
                    self.complain(place, f"the file names none, and {unanswered(question)}", pack=True)
            except PackError as error:
                if str(error).startswith(self._document.name):  # about the domain, not about the suggestion
                    raise
                self.complain(place, str(error), pack=True)
        made = None if chosen is None else self.component(what, chosen.section, place)
        self._complaints.settle()
        assert chosen is not None and made is not None
        return replace(made, reason=chosen.reason)

    def _mapping(self, key: str) -> dict[str, Any]:
        value = self._document.data.get(key)
        if isinstance(value, dict):
            return value
        if value is not None:
            self.complain((key,), f"found {shown(value)}, a mapping of names is needed")
        return {}

    def _named(self, section: str) -> Callable[[str, str], None]:
        return lambda name, message: self.complain((section, name), message)

    def _regions(self) -> "dict[str, Region]":
        """The named shapes. Their parameters may use constants; formulas, which may use regions, are read after them."""
        if not (stated := self._mapping("regions")):
            return {}
        from gleg_core.spec.regions import Region  # only here: most files have none, and it needs numpy

        found: dict[str, Region] = {}
        for name, value in stated.items():
            place: Place = ("regions", name)
            taken = f"'{name}' is also a constant; choose another name" if name in self.scope.names else None
            if problem := objection(name) or taken:
                self.complain(place, problem)
                continue
            try:
                section = ComponentSection.model_validate(value)
            except ValidationError as error:
                self._complaints.add_validation(error, ComponentSection, place, value)
                continue
            if (resolved := self.component("domain", section, place)) is None:
                continue
            dim = resolved.installed.capabilities(DomainCapabilities).dim
            if dim != self.scope.dim:
                known = self._registry.entries("domain").values()
                suitable = [c.entry.name for c in known if c.capabilities(DomainCapabilities).dim == self.scope.dim]
                wanted = f"the domain {self.scope.dim}. Kinds of that: {listing(suitable, 40)}"
                self.complain((*place, "kind"), f"'{section.kind}' has dimension {dim}, {wanted}")
            found[name] = Region.of(name, resolved, self._document, self._registry)
        return found

    def _field_names(self, scope: Scope) -> tuple[str, ...]:
        taken = dict.fromkeys(self._mapping("formulas"), "formula") | dict.fromkeys(scope.names, "constant")
        taken |= dict.fromkeys(self._mapping("regions"), "region")
        fields = self._mapping("fields")
        for name in fields:
            if problem := field_objection(name, taken, fields, self._document.stored):
                self.complain(("fields", name), problem)
        return tuple(fields)

    def _dimension(self) -> int:
        """Space dimension of the domain kind, from its pack's entry; 2 until the kind is known."""
        domain = self._document.data.get("domain")
        kind = domain.get("kind") if isinstance(domain, dict) else None
        if not isinstance(kind, str):
            return 2
        try:
            return self._registry.find("domain", kind).capabilities(DomainCapabilities).dim
        except PackError:
            return 2  # reported when the component itself is resolved

    def component(self, contract: str, section: ComponentSection, place: Place) -> Resolved | None:
        """A component with its parameters, checked by its pack; None after a complaint."""
        key = contract if contract in ("block", "dictionary") else "kind"
        try:
            installed = self._registry.find(contract, section.kind)
            model = self._registry.params(installed)
        except PackError as error:
            in_file = (*place, key) if (*place, key) in self._document.lines else place
            self.complain(in_file, str(error), pack=not self._is_mistaken(contract, section.kind))
            return None
        beside, what = _BESIDE.get(contract, (key,)), f"the parameters of '{installed.key}'"
        params = self._complaints.validated(
            model, section.parameters, self.scope, place, installed.pack, what, lambda below: () if below else beside
        )
        return None if params is None else Resolved(installed, params, place)

    def _is_mistaken(self, contract: str, kind: str) -> bool:
        """True if ``kind`` is a typing error or names a component of another contract; False if a pack is what is wrong."""

        def names(of: str) -> set[str]:
            return {word for full in self._registry.entries(of) for word in (full, full.partition(":")[2])}

        if kind in names(contract):
            return False
        return nearest(kind, names(contract)) is not None or any(kind in names(c) for c in CONTRACTS)

    def _field(self, name: str, section: FieldSection, added: AddedKeys, stated: Iterable[StatedKeys]) -> FieldSpec:
        place: Place = ("fields", name)
        replaced, away = added.replaced(place), bool(self._complaints.notes)
        if not section.equation and "equation" not in replaced:
            instead = "".join(f", or '{word}' instead" for word in added.names("field", "equation"))
            self.complain((*place, "equation"), f"missing: at least one term{instead}", pack=away)
        if not (section.initial or section.exact or section.steady or "initial" in replaced):
            self.complain(place, "there is nothing to start from: give 'initial' or 'exact'", pack=away)
        missing = [n for n, f in self._mapping("fields").items() if isinstance(f, dict) and f.get("exact") is None]
        if section.forcing != "none" and missing:
            needed = "manufactured forcing needs the exact solution of every field"
            self.complain((*place, "forcing"), f"{needed}; missing for {listing(missing)}")
        conditions = tuple(
            c for i, b in enumerate(section.boundary) if (c := self._condition(b, (*place, "boundary", i), section))
        )
        terms = tuple(t for i, s in enumerate(section.equation) if (t := self.term(s, (*place, "equation", i))))
        if not section.steady and self._document.data.get("unresolved") != "ignore":
            self._check_signs(name, terms)
        return FieldSpec(tuple(s for s in stated if s.place == place), name, section, conditions, terms)

    def _check_signs(self, field: str, terms: tuple[TermSpec, ...]) -> None:
        """What dissipates with a positive coefficient lets short waves grow with a negative one, if nothing of that order is beside it."""
        stated = [t.block.installed.capabilities(BlockCapabilities) if t.block else None for t in terms]
        order = max((c.order or 0 if c else 4 for c in stated), default=0)
        highest = [(t, c) for t, c in zip(terms, stated, strict=True) if c is None or (c.order or 0) == order]
        if len(highest) != 1 or order < 2 or (found := highest[0][1]) is None or found.structure != "E":
            return
        term, number = highest[0][0], highest[0][0].section.coefficient.number
        if number is not None and number < 0 and getattr(term.block and term.block.params, "of", None) in (None, field):
            self.complain(
                (*term.place, "coefficient"),
                f"is {number:g}, and a negative coefficient of '{term.section.block}' lets waves grow the faster the shorter they are: the "
                "problem is ill-posed. Is the sign right? (unresolved: ignore lets it pass)",
            )

    def _condition(self, section: BoundarySection, place: Place, field: FieldSection) -> ConditionSpec | None:
        if section.data == "exact" and field.exact is None:
            self.complain((*place, "data"), "'exact' needs an exact solution: give the field the key 'exact'")
        operator = self.component("boundary", section, place)
        where = (section.where,) if isinstance(section.where, str) else tuple(section.where)
        return None if operator is None else ConditionSpec(operator, where, section.data == "exact", place)

    def term(self, section: TermSection, place: Place) -> TermSpec | None:
        """A term with its block or its square; None after a complaint."""
        if (section.block is None) == (section.square is None):
            found = "neither" if section.block is None else "both"
            self.complain(place, f"a term has either 'block' or 'square', found {found}")
            return None
        if section.square is not None:
            for word in section.parameters:
                self.complain((*place, word), unknown_key(word, ["square", "coefficient", "realisation"]))
            parts = [self.term(s, (*place, "square", i)) for i, s in enumerate(section.square)]
            for part in parts:
                if part and part.section.coefficient.number is None:
                    found = f"found '{part.section.coefficient}', a term of a square needs a number that is constant"
                    self.complain((*part.place, "coefficient"), found)
            return TermSpec(None, tuple(p for p in parts if p), section, place)
        block = self.component("block", ComponentSection(kind=str(section.block), **section.parameters), place)
        return None if block is None else TermSpec(block, (), section, place)

    def _check_time(self, section: ProblemSection) -> None:
        time = section.time
        if time.end <= time.start:
            self.complain(("time", "end"), f"found {time.end:g}, it must be later than the start {time.start:g}")
        elif time.step != "auto" and time.step > time.end - time.start:
            self.complain(("time", "step"), f"found {time.step:g}, longer than the whole run {time.end - time.start:g}")
        for i, stop in enumerate(time.stops):
            if not time.start < stop < time.end:
                found = f"found {stop:g}, it must be between the start {time.start:g} and the end {time.end:g}"
                self.complain(("time", "stops", i), found)

    def _check_basis(self, basis: Resolved, section: ProblemSection) -> None:
        """Whether a basis and the box suit the dimension and each other."""
        stated, dim = basis.installed.capabilities(BasisCapabilities), self.scope.dim
        if dim not in stated.dims:
            dims = listing(map(str, stated.dims))
            self.complain(("basis",), f"basis '{basis.key}' works in {dims} dimensions, the domain has {dim}")
        if stated.resolution is not None and stated.resolution not in type(basis.params).model_fields:
            found = f"{basis.installed.pack}: '{basis.key}' declares the resolution '{stated.resolution}', which is none of its keys"
            self.complain(("basis",), found, pack=True)
        box = section.space.box
        if box == "auto" or not isinstance(box[0], list):
            return
        widths = [high - low for low, high in box]
        if len(box) != dim:
            self.complain(("space", "box"), f"found {len(box)} pairs, the domain has {dim} dimensions")
        elif stated.isotropic and max(widths) - min(widths) > 1e-9 * max(widths):
            sides = ", ".join(f"{w:g}" for w in widths)
            self.complain(("space", "box"), f"the basis '{basis.key}' needs a box with equal sides, found {sides}")


def read_term(problem: Problem, term: Mapping[str, object], place: Place) -> TermSpec:
    """A term of an equation that stands in no file, such as one that a dictionary lists at ``place``."""
    validator = Validator(problem.document, problem.registry)
    validator.scope = problem.scope
    try:
        section = TermSection.model_validate(dict(term), context=problem.scope)
    except ValidationError as error:
        validator._complaints.add_validation(error, TermSection, place, dict(term))
        validator._complaints.settle()
        raise
    found = validator.term(section, place)
    validator._complaints.settle()
    assert found is not None
    return found
