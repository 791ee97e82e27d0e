"""Sorting the terms of all equations by how they enter ż = A z + n(z, t), and diagonalising A.

* the coordinates of a field are the eigenvectors of its leading symmetric mechanism, with coefficient one: rotating them keeps
  NᵀM_ΩN = I. They depend on no coefficient, so they are kept on disk like the space, and another coefficient, step or boundary
  datum factorises nothing;
* symmetric linear responses of one field to itself are summed and become a diagonal; if others than multiples of the leading one and of
  the identity are among them, coordinates are rotated once more;
* other linear responses of order ≥ 2, and those without derivatives that are fast, are *stiff* and make A dense; the others are *mild* and
  stay explicit;
* a linear response with a coefficient c(t) is split into the middle of c's range, treated as above, and a modulated remainder;
* terms of degree 0 are sources; everything else is evaluated at every stage.

Matrices multiply rows of states from the right: q = z @ A.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gleg_core.algebra import cache
from gleg_core.algebra.linear import DensePart, DiagonalPart
from gleg_core.algebra.modal import ModalPart
from gleg_core.algebra.sparse import SparseMatrix
from gleg_core.algebra.symmetric import eigenvectors
from gleg_core.contracts.block import Mode
from gleg_core.contracts.integrator import LinearPart
from gleg_core.errors import SpecError
from gleg_core.expressions import Expression, formula
from gleg_core.matmul import matmul
from gleg_core.system.discrete_field import DiscreteField, DiscreteFields
from gleg_core.system.identity import graph
from gleg_core.system.responses import LinearResponse, kind
from gleg_core.system.terms import Realised, Term, data_matrix, state_matrix

_SYMMETRY = 1e-9
"""Relative asymmetry below which a matrix counts as symmetric (weak forms reach 1e-12, pointwise ones about 1e-7)."""
_FAST = 1e3
"""Rate at which fields exchange, times the duration of a run, from which on explicit steps are too many."""
_COUPLED = 1e-9
"""Off-diagonal entries below this fraction of the largest entry are rounding: NᵀM_ΩN = I holds to about 1e-10."""


@dataclass(frozen=True)
class Coupling:
    """source @ matrix in the equation of ``target``; ``source`` is the state of a field, or its boundary data θ."""

    source: str
    target: str
    matrix: "Matrix"


@dataclass(frozen=True)
class Assembly:
    """The terms of all equations, sorted; ``data`` couples boundary data θ. ``symmetric`` are matrices (r, r) or diagonals (r,),
    ``scaled`` diagonals (..., r) of terms whose coefficients differ within a batch, to be added to those of ``symmetric``."""

    symmetric: dict[str, Tensor]
    scaled: dict[str, Tensor] = dataclasses.field(default_factory=dict)
    stiff: list[Coupling] = dataclasses.field(default_factory=list)
    mild: list[Coupling] = dataclasses.field(default_factory=list)
    data: list[Coupling] = dataclasses.field(default_factory=list)
    modulated: list[LinearResponse] = dataclasses.field(default_factory=list)
    staged: list[tuple[Term, Mode]] = dataclasses.field(default_factory=list)
    sources: list[Term] = dataclasses.field(default_factory=list)
    varied: list[tuple[Tensor, Coupling]] = dataclasses.field(default_factory=list)
    """(c, K) of sparse matrices cK in ``stiff`` whose coefficients gradients are taken in."""


Matrix = Any
"""A tensor, (r, r) or the diagonal (r,) of one, or a :class:`SparseMatrix`."""
Matrices = Mapping[int, Matrix]
"""A of linear terms, by their place among the terms, with coefficient one unless it varies in space: (r, r), or its diagonal (r,). On
local spaces they are sparse, and a term that has none because it does not act locally is evaluated at every stage."""


def state_matrices(fields: DiscreteFields, terms: Realised, known: Matrices) -> Matrices:
    """Those of all linear terms in the fields' present coordinates; what is ``known`` is not made again."""
    linear = {p: (term, mode) for p, (term, mode) in enumerate(terms) if kind(term) == "linear"}
    return {p: known[p] if p in known else _state_matrix(*one, fields) for p, one in linear.items()}


def assemble(
    fields: DiscreteFields,
    terms: Realised,
    interval: tuple[float, float],
    matrices: Matrices,
    implicit_scales: bool = False,
) -> Assembly:
    """Sort the terms; their matrices are in the fields' present coordinates. ``implicit_scales``: sparse terms with one factor for all
    members are in ``stiff``, where a steady lift would change with it."""
    alike = all(term.scale is None for term, _ in terms)  # the members of a batch
    into = Assembly({name: torch.zeros(f.r, dtype=torch.float64) for name, f in fields.items()})
    for p, (term, mode) in enumerate(terms):
        if kind(term) == "source":
            into.sources.append(term)
            continue
        if kind(term) == "staged" or p not in matrices:
            into.staged.append((term, mode))
            continue
        source, target = str(term.block.acts_on), term.field
        A, B = matrices[p], data_matrix(term.unit, mode, fields[target], fields)
        if term.scale is not None:
            factor = _factor(term)
            if implicit_scales and isinstance(A, SparseMatrix) and factor.numel() == 1:
                into.stiff.append(Coupling(source, target, float(factor.detach()) * A))
                if factor.requires_grad:
                    into.varied.append((factor, Coupling(source, target, A)))
                if B is not None:
                    into.modulated.append(LinearResponse(factor, source, target, None, B))
                continue
            own = source == target and isinstance(A, Tensor) and _diagonal(A)
            if own:
                values = A if A.ndim == 1 else A.diagonal()
                into.scaled[target] = into.scaled.get(target, torch.zeros(())) + factor * values
            elif term.block.traits.order >= 2:
                why = "operators on cells are factorised once for all members"
                if isinstance(A, Tensor):
                    why = "its operator does not share the eigenvectors of the leading one"
                raise SpecError(f"{term.where}: the coefficient of this mechanism cannot differ within a batch: {why}")
            into.modulated.append(LinearResponse(factor, source, target, None if own else A, B))
            continue
        if "t" in term.coefficient.free:
            middle = _middle(term.coefficient, interval)
            remainder = formula("c - m", (), {"c": term.coefficient, "m": middle})
            into.modulated.append(LinearResponse(remainder, source, target, _full(A), B))
            A, B = middle * A, None if B is None else middle * B
        elif not term.varies_in_space:
            c = term.coefficient.number
            assert c is not None
            A, B = c * A, None if B is None else c * B
        if B is not None:
            into.data.append(Coupling(source, target, B))
        if isinstance(A, SparseMatrix):  # one sparse operator takes them all
            into.stiff.append(Coupling(source, target, A))
        elif source == target and _symmetric(A):
            S, more = into.symmetric[target], A if A.ndim == 1 else (A + A.T) / 2
            into.symmetric[target] = S + more if S.ndim == more.ndim else _full(S) + _full(more)
        else:
            fast = alike and not term.block.traits.order and float(A.abs().max()) * (interval[1] - interval[0]) > _FAST
            (into.stiff if fast or term.block.traits.order >= 2 else into.mild).append(
                Coupling(source, target, _full(A))
            )
    return into


def _factor(term: Term) -> Tensor:
    """The coefficients of a term for the members of a batch, (..., 1)."""
    if term.coefficient.number is None or term.scale is None:
        raise SpecError(f"{term.where}: a coefficient that differs within a batch must be a number")
    return term.coefficient.number * term.scale


def _state_matrix(term: Term, mode: Mode, fields: DiscreteFields) -> Tensor:
    """A of a linear term, kept on disk; with coefficient one unless it varies in space."""
    term, target = term.unit, fields[term.field]

    def make() -> dict[str, Tensor]:
        return {"A": state_matrix(term, mode, target, fields)}

    spaces = [fields[str(term.block.acts_on)].space.key, target.space.key]
    known = term.identity and all(spaces)
    what = ["matrix", *spaces, term.identity, mode, graph(term.coefficient)]
    return (cache.made_once(what, make) if known else make())["A"]


Leading = dict[str, tuple[int, Term, Mode]]
"""Field, or key of a space, → its leading mechanism and the place of that among the terms."""


def in_eigencoordinates(fields: DiscreteFields, terms: Realised) -> tuple[dict[str, DiscreteField], dict[int, Tensor]]:
    """Every field in the eigenvectors of its leading mechanism, if that is symmetric; and the matrices of the leading terms there. Fields
    with one space and one leading mechanism share their coordinates."""
    terms = list(terms)
    leading: Leading = {}
    for p, (term, mode) in enumerate(terms):
        own = term.linear and term.block.acts_on == term.field and not term.block.traits.time_dependent
        best = leading.get(term.field)
        if own and not term.varies_in_space and (best is None or term.block.traits.order > best[1].block.traits.order):
            leading[term.field] = (p, term.scaled_by(1.0), mode)
    own_modes = {name for name, (_, term, _) in leading.items() if term.block.traits.order >= 2}
    leading |= _of_pairs(fields, [t for t in enumerate(terms) if t[1][0].field not in own_modes])
    found, made = dict(fields), {}
    shared: dict[str, dict[str, Tensor]] = {}
    for name, (p, term, mode) in leading.items():
        field = fields[name]

        def make(term: Term = term, mode: Mode = mode, field: DiscreteField = field) -> dict[str, Tensor]:
            A = state_matrix(term, mode, fields[term.field], fields)
            if not _symmetric(A):
                return {"N": field.dense.N, "A": A}
            eigenvalues, Q = map(torch.from_numpy, eigenvectors(((A + A.T) / 2).numpy()))
            return {"N": matmul(field.dense.N, Q), "A": eigenvalues}

        what = ["eigenvectors and eigenvalues", field.space.key, term.identity, mode]
        known = bool(term.identity and field.space.key)
        key = cache.digest(what) if known else ""
        tensors = shared.get(key) or (cache.made_once(what, make) if known else make())
        if known:
            shared[key] = tensors
        found[name] = field.with_coordinates(tensors["N"], key)
        made[p] = tensors["A"]
    return found, made


def _of_pairs(fields: DiscreteFields, terms: Iterable[tuple[int, tuple[Term, Mode]]]) -> Leading:
    """Of fields whose own mechanisms, if any, suit all coordinates: one by which two of them with the same space drive each other."""
    best: Leading = {}
    for p, (term, mode) in terms:
        keys = {fields[name].space.key for name in (term.field, term.block.acts_on) if name is not None}
        (key,) = keys if len(keys) == 1 else ("",)
        steady = term.varies_in_space or term.block.traits.time_dependent or kind(term) != "linear"
        if not key or steady or term.block.acts_on in (None, term.field) or term.block.traits.order < 2:
            continue
        if key not in best or term.block.traits.order > best[key][1].block.traits.order:
            best[key] = p, term.scaled_by(1.0), mode
    without = {term.field for _, (term, _) in terms}
    return {name: best[f.space.key] for name, f in fields.items() if name in without and f.space.key in best}


def _full(A: Matrix) -> Matrix:
    return torch.diag(A) if isinstance(A, Tensor) and A.ndim == 1 else A


def _symmetric(A: Tensor) -> bool:
    return A.ndim == 1 or float((A - A.T).abs().max()) <= _SYMMETRY * float(A.abs().max())


def _middle(coefficient: Expression, interval: tuple[float, float]) -> float:
    """The middle of the range of c(t) over the run: the remainder is then smaller than the constant part."""
    times = torch.linspace(*interval, 257, dtype=torch.float64)
    values = torch.as_tensor(coefficient(t=times))
    return float((values.min() + values.max()) / 2)


def slices(fields: DiscreteFields) -> dict[str, slice]:
    """Where each field's coordinates are in a state."""
    found, start = {}, 0
    for name, field in fields.items():
        found[name] = slice(start, start + field.r)
        start += field.r
    return found


def gather(couplings: Iterable[Coupling], where: Mapping[str, slice]) -> Tensor:
    """Couplings in one matrix (R, R)."""
    whole = torch.zeros(2 * (max(s.stop for s in where.values()),), dtype=torch.float64)
    for c in couplings:
        whole[where[c.source], where[c.target]] += c.matrix
    return whole


def diagonalise(
    fields: DiscreteFields, assembly: Assembly
) -> tuple[dict[str, DiscreteField], dict[str, Tensor], Assembly]:
    """Fields in eigencoordinates of their symmetric parts, the eigenvalues, and the rest in those coordinates."""
    eigenvalues = {name: A if A.ndim == 1 else A.diagonal().clone() for name, A in assembly.symmetric.items()}
    coupled = {name: matrix for name, matrix in assembly.symmetric.items() if not _diagonal(matrix)}
    if not coupled:
        eigenvalues |= {name: eigenvalues[name] + extra for name, extra in assembly.scaled.items()}
        return dict(fields), eigenvalues, assembly
    if assembly.scaled:
        raise SpecError(
            "coefficients cannot differ within a batch here: the linear mechanisms do not share eigenvectors"
        )
    Q = {name: torch.eye(len(matrix), dtype=matrix.dtype) for name, matrix in assembly.symmetric.items()}
    for name, matrix in coupled.items():
        eigenvalues[name], Q[name] = map(torch.from_numpy, eigenvectors(matrix.numpy()))

    def of_states(c: Coupling | LinearResponse, A: Tensor | None) -> Tensor | None:
        return None if A is None else matmul(matmul(Q[c.source].T, A), Q[c.target])

    def of_data(c: Coupling | LinearResponse, B: Tensor | None) -> Tensor | None:
        return None if B is None else matmul(B, Q[c.target])

    rotated = replace(
        assembly,
        symmetric=eigenvalues,
        stiff=[replace(c, matrix=of_states(c, c.matrix)) for c in assembly.stiff],
        mild=[replace(c, matrix=of_states(c, c.matrix)) for c in assembly.mild],
        data=[replace(c, matrix=of_data(c, c.matrix)) for c in assembly.data],
        modulated=[replace(m, A=of_states(m, m.A), B=of_data(m, m.B)) for m in assembly.modulated],
    )
    turned = {name: field.rotated(Q[name]) if name in coupled else field for name, field in fields.items()}
    return turned, eigenvalues, rotated


def _diagonal(matrix: Tensor) -> bool:
    if matrix.ndim == 1:
        return True
    beside = matrix - torch.diag(matrix.diagonal())
    return float(beside.abs().max()) <= _COUPLED * float(matrix.abs().max())


def linear_part(
    fields: DiscreteFields, eigenvalues: Mapping[str, Tensor], parts: Assembly, where: Mapping[str, slice]
) -> tuple[LinearPart, Assembly]:
    """A: diagonal, or with stiff couplings one small matrix for each mode where fields have the same modes, or dense; and the terms
    without the mild ones that are in it."""
    batch = np.broadcast_shapes(*(eigenvalues[name].shape[:-1] for name in where))
    diagonal = torch.cat([eigenvalues[name].expand(*batch, -1) for name in where], dim=-1)
    if not parts.stiff:
        return DiagonalPart(diagonal), parts
    modes = {fields[name].space.key for name in where}
    if len(modes) == 1 and all(modes) and not batch and all(_diagonal(c.matrix) for c in parts.stiff):
        own = [c for c in parts.mild if {c.source, c.target} <= set(where) and _diagonal(c.matrix)]
        blocks = torch.diag_embed(torch.stack([eigenvalues[name] for name in where], dim=-1))
        place = {name: i for i, name in enumerate(where)}
        for c in (*parts.stiff, *own):
            blocks[:, place[c.target], place[c.source]] += c.matrix.diagonal()
        return ModalPart(blocks), replace(parts, mild=[c for c in parts.mild if c not in own])
    return DensePart((gather(parts.stiff, where) + torch.diag(diagonal)).T.contiguous()), parts


def check_steady(assembly: Assembly, name: str) -> None:
    """Refuse terms of a steady field that are not linear or not constant in time."""
    where = [t.where for t, _ in assembly.staged if t.field == name]
    if where or any(m.target == name for m in assembly.modulated):
        raise SpecError(
            f"{where[0] if where else name}: '{name}' is steady: its terms must be linear with constant coefficients"
        )


def without_time(assembly: Assembly, steady: Collection[str]) -> Assembly:
    """Couplings of steady fields among the explicit ones; their equations must be linear, constant in time, and not
    refer to one another."""
    for name in steady:
        check_steady(assembly, name)
        if any(c.target == name and c.source in steady for c in (*assembly.stiff, *assembly.mild)):
            raise SpecError(
                f"'{name}' is steady: its equation may have one symmetric part of its own and terms of evolving fields"
            )

    def involves(c: Coupling) -> bool:
        return c.source in steady or c.target in steady

    return replace(
        assembly,
        stiff=[c for c in assembly.stiff if not involves(c)],
        mild=[*assembly.mild, *(c for c in assembly.stiff if involves(c))],
    )


def with_steady_lifts(
    fields: DiscreteFields, eigenvalues: Mapping[str, Tensor], assembly: Assembly, duration: float
) -> tuple[dict[str, DiscreteField], Assembly]:
    """Move every lift within the affine space so that A acting on it cancels: a_bc + N Yθ with Y A + B = 0.

    The boundary data then enter through −(…)θ̇ alone, which stays bounded as the stiffness grows, instead of B θ, which does not:
    without this, moving data reduce the order of every integrator. Modes too slow to matter (|λ|·duration < 1), among them
    the kernel of a Neumann problem, are left as they are.
    """
    where = slices(fields)
    mild = gather(assembly.mild, where) if assembly.mild else None

    def steady(name: str, B: Tensor) -> tuple[Tensor, list[Coupling]]:
        values = eigenvalues[name]
        Y = torch.where(values.abs() * duration > 1.0, -B / values, torch.zeros_like(B))
        data = [Coupling(name, name, Y * values)]
        if mild is not None:
            data += [Coupling(name, target, (Y @ mild[where[name]])[:, s]) for target, s in where.items()]
        return Y, data

    return with_lifts_moved(fields, assembly, steady)


Steady = Callable[[str, Tensor], tuple[Tensor, list[Coupling]] | None]
"""(field, B) → Y, and how the field's data enter when its lift is moved by N Yθ."""


def with_lifts_moved(
    fields: DiscreteFields, assembly: Assembly, steady: Steady, instead: bool = False
) -> tuple[dict[str, DiscreteField], Assembly]:
    """Move the lift of every field that has data of its own. What ``steady`` gives comes to B, or ``instead`` of it."""
    moved, data, modulated = dict(fields), list(assembly.data), list(assembly.modulated)
    for name, field in fields.items():
        own = [c.matrix for c in assembly.data if c.source == c.target == name]
        if not own or (found := steady(name, torch.stack(own).sum(dim=0))) is None:
            continue
        Y, couplings = found
        moved[name] = field.with_lift_moved(Y)
        data = [c for c in data if not (instead and c.source == c.target == name)] + couplings
        modulated = [
            replace(m, B=m.B + Y @ m.A) if m.source == name and m.B is not None and m.A is not None else m
            for m in modulated
        ]
    return moved, replace(assembly, data=merged(data), modulated=modulated)


def merged(couplings: Iterable[Coupling]) -> list[Coupling]:
    """One matrix per pair of fields."""
    sums: dict[tuple[str, str], Tensor] = {}
    for c in couplings:
        pair = (c.source, c.target)
        sums[pair] = sums[pair] + c.matrix if pair in sums else c.matrix
    return [Coupling(source, target, matrix) for (source, target), matrix in sums.items()]
