"""What the parts of a problem are made from: what is kept on disk is kept under hashes of it."""

from pathlib import Path
from typing import cast

from torch import Tensor

from gleg_core.algebra.boundary_system import BoundarySystem
from gleg_core.contracts.basis import Basis
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.location import Datum
from gleg_core.expressions import Expression
from gleg_core.expressions.nodes import walk
from gleg_core.registry.fingerprint import installed_files, named_files
from gleg_core.spec.geometry import Assignment
from gleg_core.spec.params import formulas
from gleg_core.spec.problem import Problem, Resolved, TermSpec
from gleg_core.spec.regions import Region

_FEW = 4
"""Points at which a basis shows what its functions are."""


def made_from(problem: Problem | Region, made: Resolved) -> str:
    """All that a component depends on: its parameters, its pack's files, and the files its parameters name. The dump of parameters has
    formulas as they are written, whatever the constants in them are."""
    named = named_files(made.dump(), Path(problem.document.folder))
    files = [installed_files(made.installed.pack.module), *(f"{path} {digest}" for path, digest in named)]
    return " ".join([made.key, made.params.model_dump_json(), *map(graph, formulas(made.params)), *files])


def graph(expression: Expression | Datum) -> str:
    """A formula with all names resolved: every distinct operation once, its arguments by their places, and what regions are made from; the
    key of a datum."""
    if isinstance(expression, Datum):
        return expression.key
    places: dict[int, int] = {}
    for node in walk(expression.node):
        places[id(node)] = len(places)
    parts = [f"{n.op}{n.name}{n.value!r}{[places[id(a)] for a in n.args]}" for n in walk(expression.node)]
    regions = [cast(Region, n.shape) for n in walk(expression.node) if n.shape is not None]
    return ";".join([*parts, *(made_from(region, region.resolved) for region in regions)])


def kind(made: object) -> str:
    return f"{type(made).__module__}.{type(made).__qualname__}"


def of_domain(problem: Problem, domain: Domain) -> str:
    """What a domain was made from, and what it says of itself."""
    segments = [(s.name, s.length) for s in domain.segments]
    return f"{made_from(problem, problem.domain)} {kind(domain)} {domain.bounds.tolist()} {segments}"


def of_basis(problem: Problem, basis: Basis, points: Tensor) -> list[Tensor | str]:
    """What a basis was made from, its box, and what its functions are at a few of the points (n, dim)."""
    frame, shown = basis.frame, basis.jet(points[:: max(1, len(points) // _FEW)]).value
    box = [part.tolist() for part in (frame.centre, frame.half_widths, frame.rotation)]
    return [f"{made_from(problem, problem.basis)} {kind(basis)} {box}", shown]


def of_conditions(system: BoundarySystem, assignment: Assignment) -> list[Tensor | str]:
    """All that the rows of boundary conditions depend on besides the basis. Their data are no part of it."""
    at = system.points.at
    assert at.normal is not None
    files = [
        f"{kind(c.operator)} {installed_files(assignment[c.segment].operator.installed.pack.module)} {system.points.spans[c.segment]}"
        for c in system.conditions
    ]
    return [" ".join(files), at.x, at.normal, system.points.weights, *system.sketch()]


def of_term(problem: Problem, spec: TermSpec, dim: int) -> str:
    """All that the block of a term depends on; trained weights are among its pack's files."""
    if spec.block is None:
        return " + ".join(f"({p.section.coefficient.number} {of_term(problem, p, dim)})²" for p in spec.square)
    return f"{made_from(problem, spec.block)} {dim}"
