"""What the two kinds of spaces, of global and of local functions, make of the linear terms."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gleg_core.algebra.linear import DiagonalPart
from gleg_core.contracts.block import Mode
from gleg_core.contracts.integrator import LinearPart
from gleg_core.errors import NumericsError
from gleg_core.system import assembly, sparse_assembly
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.terms import Term


@dataclass(frozen=True)
class Prepared:
    """What the two kinds of spaces make of the linear terms. Loads are moments ∫ φ_i f; ``riesz`` turns them into rates of the state."""

    origin: Mapping[str, DiscreteField]
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
    riesz: Callable[[Tensor], Tensor]
    moments: Callable[[Tensor], Tensor]
    """The inverse of ``riesz``."""
    norms: Callable[[Tensor], Tensor]
    """‖u‖ in L²(Ω) of every field of a state without its lift, (..., fields)."""


def on_global_functions(
    fields: Mapping[str, DiscreteField],
    modes: Sequence[tuple[Term, Mode]],
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
    explicit = assembly.gather(parts.mild, columns) if parts.mild else None
    return Prepared(
        origin,
        matrices,
        final,
        parts,
        linear,
        columns,
        states,
        None if explicit is None else explicit[:, :size],
        {name: _divided_by(_invertible(name, eigenvalues[name])) for name in final if name in steady},
        {} if explicit is None else {name: explicit[:size, columns[name]] for name in final if name in steady},
        lambda moments: moments,
        lambda z: z,
        lambda z: torch.stack([z[..., s].norm(dim=-1) for s in states.values()], dim=-1),
    )


def on_local_functions(
    fields: Mapping[str, DiscreteField],
    modes: Sequence[tuple[Term, Mode]],
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
    to_steady = {
        name: sparse_assembly.gathered(
            [c for c in parts.stiff if c.target == name and c.source in states], states, {name: columns[name]}
        )
        for name in solvers
    }
    return Prepared(
        fields,
        matrices,
        final,
        parts,
        linear,
        columns,
        states,
        sparse_assembly.gathered(from_steady, columns, states) if from_steady else None,
        {name: factors.solve for name, factors in solvers.items()},
        to_steady,
        linear.riesz,
        lambda z: z @ linear.mass,
        partial(sparse_assembly.norms, final, states),
    )


def _divided_by(eigenvalues: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda load: load / eigenvalues


def _invertible(name: str, eigenvalues: Tensor) -> Tensor:
    if float(eigenvalues.abs().min()) <= 1e-10 * float(eigenvalues.abs().max()):
        raise NumericsError(
            f"the steady equation of '{name}' has no unique solution (its operator has a kernel, as with Neumann conditions "
            "everywhere): prescribe its value on part of the boundary"
        )
    return eigenvalues
