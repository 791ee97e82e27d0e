"""What the two kinds of spaces, of global and of local functions, make of the linear terms."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from gleg_core.algebra.linear import DiagonalPart
from gleg_core.algebra.sparse_linear import SparsePart
from gleg_core.contracts.integrator import LinearPart
from gleg_core.system import assembly, sparse_assembly
from gleg_core.system.discrete_field import DiscreteField, DiscreteFields
from gleg_core.system.terms import Realised


@dataclass(frozen=True)
class Prepared:
    """What the two kinds of spaces make of the linear terms. Loads are moments ∫ φ_i f; ``riesz`` turns them into rates of the state."""

    origin: DiscreteFields
    """The fields in the coordinates that ``matrices`` belong to."""
    matrices: assembly.Matrices
    fields: dict[str, DiscreteField]
    parts: assembly.Assembly
    linear: LinearPart
    columns: dict[str, slice]
    slices: dict[str, slice]
    """Where each field is among all fields, and in a state."""
    explicit: Any
    """The load on a state of all fields, steady ones included, by linear terms that are not in A; None if there are none."""
    steady: dict[str, Callable[[Tensor], Tensor]]
    """Of every steady field: load → coordinates."""
    to_steady: dict[str, Any]
    """The load on a steady field by a state."""

    def riesz(self, moments: Tensor) -> Tensor:
        """The state with these moments."""
        return self.linear.riesz(moments) if isinstance(self.linear, SparsePart) else moments


def on_global_functions(
    fields: DiscreteFields,
    modes: Realised,
    interval: tuple[float, float],
    steady: Collection[str],
    steady_lift: bool,
    matrices: assembly.Matrices | None,
) -> Prepared:
    """Coordinates are eigenvectors, A is diagonal or dense."""
    origin = dict(fields)
    if matrices is None:
        origin, leading = assembly.in_eigencoordinates(fields, modes)
        matrices = assembly.state_matrices(origin, modes, leading)
    parts = assembly.without_time(assembly.assemble(origin, modes, interval, matrices), steady)
    final, eigenvalues, parts = assembly.diagonalise(origin, parts)
    columns = assembly.slices(final)
    states = {name: s for name, s in columns.items() if name not in steady}
    size = max(s.stop for s in states.values())
    linear, parts = assembly.linear_part(final, eigenvalues, parts, states)
    if steady_lift and isinstance(linear, DiagonalPart) and not parts.scaled:
        final, parts = assembly.with_steady_lifts(final, eigenvalues, parts, interval[1] - interval[0])
    solvers = {name: _inverse(name, eigenvalues[name]) for name in final if name in steady}
    explicit, to_steady = None, {}
    if parts.mild:
        mild = assembly.gather(parts.mild, columns)
        explicit, to_steady = mild[:, :size], {name: mild[:size, columns[name]] for name in solvers}
    return Prepared(origin, matrices, final, parts, linear, columns, states, explicit, solvers, to_steady)


def on_local_functions(
    fields: DiscreteFields,
    modes: Realised,
    interval: tuple[float, float],
    steady: Collection[str],
    steady_lift: bool,
    matrices: assembly.Matrices | None,
) -> Prepared:
    """Coordinates are those of the basis, K and M are sparse."""
    matrices = sparse_assembly.state_matrices(fields, modes) if matrices is None else matrices
    parts = assembly.assemble(fields, modes, interval, matrices, implicit_scales=not steady_lift)
    columns = assembly.slices(fields)
    states = {name: s for name, s in columns.items() if name not in steady}
    solvers = sparse_assembly.steady_solvers(parts, fields, steady)
    from_steady = [c for c in parts.stiff if c.source in steady and c.target not in steady]
    linear = sparse_assembly.linear_part(fields, parts, states)
    final = dict(fields)
    if steady_lift:
        final, parts = sparse_assembly.with_steady_lifts(fields, parts, states, interval[1] - interval[0])
    from_states = [c for c in parts.stiff if c.source in states]
    to_steady = {
        name: sparse_assembly.gathered([c for c in from_states if c.target == name], states, {name: columns[name]})
        for name in solvers
    }
    explicit = sparse_assembly.gathered(from_steady, columns, states) if from_steady else None
    return Prepared(fields, matrices, final, parts, linear, columns, states, explicit, solvers, to_steady)


def _inverse(name: str, eigenvalues: Tensor) -> Callable[[Tensor], Tensor]:
    if float(eigenvalues.abs().min()) <= 1e-10 * float(eigenvalues.abs().max()):
        raise sparse_assembly.no_solution(name)
    return lambda load: load / eigenvalues
