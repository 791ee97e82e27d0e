"""A validated problem: every name resolved in the registry, every parameter checked by its pack, every default filled in."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from gleg_core.capabilities import BasisCapabilities
from gleg_core.errors import GlegError, NumericsError
from gleg_core.registry import Component, Pack, Registry, default_registry
from gleg_core.spec.keys import KeyHolder
from gleg_core.spec.loading import Document, Place, load_document
from gleg_core.spec.models import FieldSection, ProblemSection, TermSection
from gleg_core.spec.overrides import with_overrides
from gleg_core.spec.params import Scope, formulas

if TYPE_CHECKING:
    from gleg_core.spec.regions import Region


@dataclass(frozen=True)
class Resolved:
    """A component a problem uses: where it comes from, and its validated parameters; ``reason`` says why, where the file names none."""

    installed: Component
    params: BaseModel
    place: Place
    reason: str = ""

    @property
    def key(self) -> str:
        return self.installed.key

    def dump(self) -> dict[str, Any]:
        return self.params.model_dump(mode="json")


@dataclass(frozen=True)
class ConditionSpec:
    """A boundary condition as written: ``where`` lists segment names, or is ['all'] or ['rest']."""

    operator: Resolved
    where: tuple[str, ...]
    data_from_exact: bool
    place: Place


@dataclass(frozen=True)
class TermSpec:
    """A term: either a block, or the square of a sum of terms."""

    block: Resolved | None
    square: "tuple[TermSpec, ...]"
    section: TermSection
    place: Place


@dataclass(frozen=True)
class FieldSpec(KeyHolder):
    """One unknown of the problem."""

    name: str
    section: FieldSection
    conditions: tuple[ConditionSpec, ...]
    terms: tuple[TermSpec, ...]

    @property
    def given(self) -> list[Any]:
        """What is given inside Ω, formulas or data: the initial state, the exact solution, what its mechanisms depend on."""
        stated = [self.section.initial, self.section.exact]
        for term in self.terms:
            stated += [term.section.coefficient, *(formulas(term.block.params) if term.block is not None else ())]
        return [data for data in stated if data is not None]

    def given_on(self, condition: ConditionSpec) -> list[Any]:
        """What the data of a condition are made of."""
        return [self.section.exact] if condition.data_from_exact else list(formulas(condition.operator.params))


@dataclass(frozen=True)
class Problem(KeyHolder):
    """A problem file after validation. Nothing has been computed yet and torch has not been imported."""

    document: Document
    section: ProblemSection
    scope: Scope
    registry: Registry
    domain: Resolved
    basis: Resolved
    integrator: Resolved
    fields: tuple[FieldSpec, ...]
    notes: tuple[str, ...] = ()
    """What the user should know of the file: keys of tools that are not installed."""
    regions: "tuple[Region, ...]" = ()

    def build(self, resolved: Resolved, *arguments: Any) -> Any:
        """Call the factory of a component; whatever goes wrong in a pack names the pack."""
        return build(self.document, self.registry, resolved, *arguments)

    @property
    def resolution(self) -> str | None:
        """The parameter that sets the resolution of the basis, as its entry declares."""
        return self.basis.installed.capabilities(BasisCapabilities).resolution

    @property
    def is_resolution_open(self) -> bool:
        """True if the file leaves the resolution of its basis to be chosen."""
        return self.resolution is not None and getattr(self.basis.params, self.resolution) == "auto"

    @property
    def needs_trials(self) -> bool:
        """True if what the file leaves open follows from an accuracy."""
        return self.section.accuracy is not None or self.is_resolution_open

    def field(self, name: str) -> FieldSpec:
        return next(f for f in self.fields if f.name == name)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Errors inside get a place in the problem file, or at least its name; unforeseen ones name the pack they rose in."""
        from gleg_core.spec.blame import guilty_pack, pack_failed

        try:
            yield
        except GlegError as error:
            if str(error).startswith(self.document.name):
                raise
            told = type(error)(f"{self.document.locate(getattr(error, 'place', ()))}: {error}")
            if isinstance(error, NumericsError) and isinstance(told, NumericsError):
                told.run = error.run
            raise told from error
        except (Exception, SystemExit) as error:  # a pack must not end the program as if all were well
            if (found := guilty_pack(self, error)) is None:
                raise
            pack, stage = found
            raise pack_failed(self.document.name, pack, stage, error) from error


def build(document: Document, registry: Registry, resolved: Resolved, *arguments: Any) -> Any:
    """A component of a document, made by its factory."""
    from gleg_core.spec.blame import check_contract, pack_failed

    try:
        made = registry.factory(resolved.installed)(resolved.params, *arguments)
        check_contract(made, resolved.installed)
        return made
    except GlegError as error:
        if str(error).startswith(document.name):  # of something else that the factory asked for
            raise
        raise type(error)(f"{document.locate(resolved.place)}: {error}") from error
    except Exception as error:
        stage = f"while constructing '{resolved.key}'"
        raise pack_failed(document.locate(resolved.place), resolved.installed.pack, stage, error) from error


def components(problem: Problem) -> list[Resolved]:
    """Every component the problem uses; of one that is still validated, those that are known."""
    found = [c for c in (problem.domain, problem.basis, problem.integrator) if c is not None]
    found.extend(region.resolved for region in problem.regions)
    for field in problem.fields:
        found.extend(c.operator for c in field.conditions)
        for term in field.terms:
            found.extend(term_components(term))
    for holder in (problem, *problem.fields):
        found.extend(c for added in holder.added for c in added.components)
    return found


def term_components(term: TermSpec) -> list[Resolved]:
    """Every component of a term."""
    own = [term.block] if term.block is not None else []
    return own + [c for part in term.square for c in term_components(part)]


def packs_of(problem: Problem) -> list[Pack]:
    """The packs of those components, and strangers' packs whose keys the file has, in the order of their ids."""
    packs = [c.installed.pack for c in components(problem)]
    packs += [a.offered.pack for h in (problem, *problem.fields) for a in h.added if not a.offered.pack.first_party]
    return [pack for _, pack in sorted({pack.id: pack for pack in packs}.items())]


def load_problem(
    source: str | Path | Mapping[str, Any] | Document | Problem,
    overrides: Mapping[str, Any] | None = None,
    registry: Registry | None = None,
) -> Problem:
    """Read and validate a problem from a file or a mapping; one that is validated already stays as it is but for the overrides."""
    from gleg_core.spec.validation import Validator

    if isinstance(source, Problem):
        return load_problem(source.document, overrides, registry or source.registry) if overrides else source
    if isinstance(source, Document):
        document = source
    elif isinstance(source, Mapping):
        document = Document(dict(source))
    else:
        document = load_document(source)
    if overrides:
        document = with_overrides(document, dict(overrides))
    return Validator(document, registry or default_registry()).problem()
