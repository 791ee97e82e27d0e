"""From a validated problem to its reduced system."""

from dataclasses import dataclass

from torch import Tensor

from gleg_core import threads
from gleg_core.contracts.basis import Basis
from gleg_core.contracts.block import Binding, Block, Mode
from gleg_core.contracts.domain import Domain
from gleg_core.errors import SpecError
from gleg_core.spec.problem import FieldSpec, Problem, TermSpec
from gleg_core.spec.switching import switching_of
from gleg_core.system import identity
from gleg_core.system.composition import Square
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.initial import initial_state
from gleg_core.system.reduced import ReducedSystem
from gleg_core.system.sources import ManufacturedForcing
from gleg_core.system.spaces import Report, build_spaces
from gleg_core.system.terms import Term


@dataclass(frozen=True)
class Discretisation:
    """Everything that does not change during a rollout."""

    problem: Problem
    domain: Domain
    basis: Basis
    system: ReducedSystem
    terms: tuple[Term, ...]
    initial: Tensor
    cached: bool
    """True if all spaces came from the cache."""

    @property
    def fields(self) -> tuple[DiscreteField, ...]:
        return tuple(self.system.fields.values())


def discretise(problem: Problem, report: Report = lambda stage, facts: None) -> Discretisation:
    """Domain → basis → admissible spaces → realised mechanisms → reduced system."""
    for added in (a for holder in (problem, *problem.fields) for a in holder.added):
        if sentence := added.offered.keys.unsolved:
            place = problem.document.locate((*added.place, added.offered.keys.names[0]))
            field = added.place[1] if added.place else ""
            raise SpecError(f"{place}: {sentence.format(field=field, file=problem.document.name)}")
    terms = all_terms(problem)
    spaces = build_spaces(problem, terms, report)
    exact = {f.name: f.section.exact for f in problem.fields if f.section.exact is not None}
    forcing = {
        f.name: ManufacturedForcing(f.name, exact, terms, f.section.steady, f.section.forcing == "manufactured-weak")
        for f in problem.fields
        if f.section.forcing != "none"
    }
    time, steady = problem.section.time, [f.name for f in problem.fields if f.section.steady]
    steady_lift, switching = problem.section.space.lift == "steady", switching_of(problem)
    with threads.for_matrices(spaces.basis.size):
        system = ReducedSystem(
            spaces.fields, terms, forcing, (time.start, time.end), steady, steady_lift, switching=switching
        )
        initial = initial_state(problem, system)
    report("system", _describe(system))
    return Discretisation(problem, spaces.domain, spaces.basis, system, terms, initial, spaces.cached)


def all_terms(problem: Problem) -> tuple[Term, ...]:
    """The terms of all equations."""
    dim = problem.scope.dim
    return tuple(term for f in problem.fields for t in f.terms for term in realised_terms(problem, f, t, dim))


def _describe(system: ReducedSystem) -> str:
    linear = sum(t.linear for t, _ in system.modes)
    kind = type(system.linear).__name__.removesuffix("Part").lower()
    stiffness = "" if system.weak else f", stiffness {system.linear.radius:.3g}"  # not for nothing on local functions
    return f"{linear} linear + {len(system.modes) - linear} other responses, {kind}{stiffness}"


def _block(problem: Problem, field: FieldSpec, spec: TermSpec, dim: int) -> Block:
    names = tuple(f.name for f in problem.fields)
    if spec.block is not None:
        return problem.build(spec.block, Binding(field.name, names, dim))
    parts = [(float(p.section.coefficient.number or 0.0), _block(problem, field, p, dim)) for p in spec.square]
    acts_on = parts[0][1].acts_on
    try:
        return Square(parts, str(acts_on))
    except SpecError as error:
        raise SpecError(f"{problem.document.locate(spec.place)}: {error}") from None


def realised_terms(problem: Problem, field: FieldSpec, spec: TermSpec, dim: int) -> list[Term]:
    """One term per part of the block; a realisation that the block offers applies to those of its parts that offer it."""
    block, asked, c = _block(problem, field, spec, dim), spec.section.realisation, spec.section.coefficient
    where = problem.document.locate(spec.place)
    origin = str(spec.block.installed.pack) if spec.block is not None else ""

    def mode(part: Block) -> Mode | None:
        return asked if asked in part.traits.modes or asked not in block.traits.modes else None

    made_from = identity.of_term(problem, spec, dim)
    return [
        Term(field.name, part, c, mode(part), where, origin, f"{made_from} part {i} {identity.kind(part)}")
        for i, part in enumerate(block.parts)
    ]
