"""What stands in for a component that a problem file does not name: the packs suggest it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from gleg_core.capabilities import BlockCapabilities, BoundaryCapabilities
from gleg_core.contracts.domain import Domain
from gleg_core.coordinates import COORDINATES
from gleg_core.errors import GlegError, PackError
from gleg_core.registry import Offered, Registry
from gleg_core.registry.absent import installation
from gleg_core.registry.catalogue import first_party, shipped_offers
from gleg_core.spec.blame import failure
from gleg_core.spec.models import ComponentSection, ProblemSection
from gleg_core.spec.params import Scope
from gleg_core.spec.problem import Problem, TermSpec

if TYPE_CHECKING:
    from gleg_core.spec.roughness import Roughness

_FOR_ROUGH = "rough domains"
"""Keyword, in the catalogue, of defaults for solutions that are not smooth."""


@dataclass(frozen=True)
class Question:
    """What is asked of a pack's ``gleg_defaults``: which ``what`` suits this ``problem``? All of it is known but what is asked for; a basis
    is chosen before an integrator. A training recipe asks without a problem."""

    what: Literal["basis", "integrator"]
    problem: Problem | None
    scope: Scope
    registry: Registry
    unresolved: str = ""
    """What was left of the solution on the basis that was chosen first, where a second one is asked for."""
    reactions: float = 0.0
    """The fastest rate of nonlinear reactions times the duration, where the first state is known: then an integrator is asked for again."""

    @property
    def section(self) -> ProblemSection | None:
        return None if self.problem is None else self.problem.section

    @cached_property
    def roughness(self) -> "Roughness":
        """Where the solution is not smooth. Builds the domain."""
        from gleg_core.spec.roughness import Roughness, roughness_of  # only here: most files name their basis

        if self.problem is None:
            return Roughness()
        with self.problem.located():
            return roughness_of(self.problem, self._domain)

    @cached_property
    def _domain(self) -> Domain:
        assert self.problem is not None
        return self.problem.build(self.problem.domain)

    @property
    def _terms(self) -> list[TermSpec]:
        return [] if self.problem is None else [t for f in self.problem.fields for t in f.terms]

    @property
    def order(self) -> int:
        """The highest derivative in the equations, as far as their mechanisms tell."""
        return max(map(_order, self._terms), default=0)

    @property
    def is_stiff(self) -> bool:
        """Whether second derivatives are in nonlinear terms: only implicit steps follow those, and local bases make them so."""
        seconds = [t.block for t in self._terms if t.block is not None and _order(t) == 2]
        return any(block.installed.capabilities(BlockCapabilities).degree != 1 for block in seconds)

    @property
    def conditions(self) -> int:
        """The most conditions at a boundary point."""
        stated = [] if self.problem is None else [c.operator for f in self.problem.fields for c in f.conditions]
        return max((c.installed.capabilities(BoundaryCapabilities).conditions or 0 for c in stated), default=0)

    @property
    def first_derivatives_suffice(self) -> bool:
        """Whether functions with no other derivatives, as those of local bases, can solve the equations: with second derivatives in weak
        forms only, which coefficients that vary in space rule out, and one condition at a boundary point, on values or in the weak form."""
        second = [t for t in self._terms if _order(t) == 2]
        if self.order > 2 or self.conditions > 1 or any(map(_pointwise, second)):
            return False
        if self.problem is None:
            return True
        from gleg_core.spec.geometry import are_weak  # only here: most files name their basis

        with self.problem.located():
            return are_weak(self.problem, lambda: self._domain)


def _pointwise(term: TermSpec) -> bool:
    """Whether a mechanism is evaluated at points, and not in a weak form."""
    modes = () if term.block is None else term.block.installed.capabilities(BlockCapabilities).modes
    asked, varies = term.section.realisation, bool(term.section.coefficient.free & set(COORDINATES))
    return varies or asked not in (None, "weak") or bool(modes and "weak" not in modes)


def _order(term: TermSpec) -> int:
    if term.block is None:
        return 2 * max(map(_order, term.square), default=0)
    return term.block.installed.capabilities(BlockCapabilities).order or 0


@dataclass(frozen=True)
class Suggestion:
    """A component and its parameters; ``reason`` is shown where there was a choice."""

    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""

    @property
    def section(self) -> ComponentSection:
        """As it would stand in the file."""
        return ComponentSection(kind=self.kind, **self.parameters)


def suggested(question: Question) -> Suggestion | None:
    """The first suggestion: first-party packs are asked first. Others only if none of those has an answer and the file would be refused:
    neither for a second choice nor where the solution is not smooth, for which this project has a basis, installed or not."""
    registry = question.registry
    for ask in (registry.own_tools, registry.tools):
        if ask == registry.tools and (question.unresolved or (question.what == "basis" and question.roughness.reasons)):
            return None
        for offered in ask("gleg_defaults"):
            if offered.tool.name == question.what and (answer := _answer(offered, question)) is not None:
                return answer
    return None


def unanswered(question: Question) -> str:
    """That no installed pack has a suggestion, and the pip command that brings one which has."""
    rough = question.roughness.reasons if question.what == "basis" else ()
    offers = [o for o in shipped_offers() if (o.contract, o.name) == ("default", question.what)]
    ours = [o for o in offers if o.distribution in first_party() and (_FOR_ROUGH in o.keywords) == bool(rough)]
    brings = "".join(f"; one comes with {installation(question.registry, o.distribution)}" for o in ours)
    if rough:
        return f"none that is installed suits a solution that is not smooth ({question.roughness.sentence}){brings}"
    return f"no installed pack suggests one{brings}"


def _answer(offered: Offered, question: Question) -> Suggestion | None:
    try:
        answer = question.registry.target(offered)(question)
        if not isinstance(answer, Suggestion | None):
            raise TypeError(f"it suggests {type(answer).__name__} instead of a Suggestion")
    except GlegError:
        raise
    except (Exception, SystemExit) as error:
        raise PackError(failure(offered.pack, f"while it suggested the {question.what}", error)) from error
    return answer
