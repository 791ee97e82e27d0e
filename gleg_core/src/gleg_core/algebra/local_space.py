"""The admissible space of a field on a local basis:  a = a_bc(t) + N z  with sparse N and a sparse mass matrix.

Symbols as in :mod:`gleg_core.algebra.space`, but NᵀM_ΩN is not the identity: the coordinates z are coefficients of local functions, and
what is tested with them, ∫ φ_i f, becomes coordinates by one solution with the mass matrix (the Riesz map). Conditions on values are met
by elimination: functions that do not vanish there leave the space, and their coefficients are the projection of the data onto the traces.
Conditions on the normal derivative are natural: the weak form carries them, and no row is imposed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import torch
from scipy import sparse
from torch import Tensor

from gleg_core.algebra.boundary_system import BoundaryPoints, BoundarySystem, SegmentCondition
from gleg_core.algebra.cell_matrix import CellMatrix, Numbering
from gleg_core.algebra.cell_tables import CellRule, LocalTables
from gleg_core.algebra.space import Ground
from gleg_core.algebra.sparse import Factorised, SparseMatrix
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.domain import Domain
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.local_basis import LocalBasis
from gleg_core.contracts.location import Location
from gleg_core.errors import SpecError

_RANK = 1e-9
"""Traces of a condition that are smaller than this fraction of the largest are rounding."""


@dataclass(frozen=True)
class LocalRules:
    """The rules of a local basis in Ω and on ∂Ω: shared by all fields."""

    nodes: Location
    weights: Tensor
    points: BoundaryPoints
    inside: CellRule
    edges: CellRule

    @classmethod
    def of(cls, basis: LocalBasis, domain: Domain) -> "LocalRules":
        dim = basis.dim
        weights = as_points(np.concatenate([c.weights.ravel() for c in basis.cells]))
        places = as_points(np.concatenate([c.points.reshape(-1, dim) for c in basis.cells]))
        order = {segment.name: i for i, segment in enumerate(domain.segments)}
        edges = sorted(basis.edges, key=lambda e: order[e.segment])
        sizes = [sum(e.weights.size for e in edges if e.segment == name) for name in order]
        points, normals = (
            as_points(np.concatenate([getattr(e, part).reshape(-1, dim) for e in edges]))
            for part in ("points", "normals")
        )
        lengths = as_points(np.concatenate([e.weights.ravel() for e in edges]))
        nodes, rim = Location(places, weights=weights), BoundaryPoints.of(domain, points, normals, lengths, sizes)
        return cls(nodes, weights, rim, CellRule(basis.size, basis.cells), CellRule(basis.size, edges))


@dataclass(frozen=True, kw_only=True)
class LocalSpace(Ground):
    """Coordinates of one field on Ω. ``N`` (M, r), sparse; ``mass`` NᵀM_ΩN (r, r)."""

    basis: LocalBasis
    rules: LocalRules
    boundary: BoundarySystem
    N: SparseMatrix
    mass: SparseMatrix
    diagnostics: dict[str, Any]
    numbering: Numbering | None = None
    key: str = ""

    @classmethod
    def of(cls, basis: LocalBasis, rules: LocalRules, boundary: BoundarySystem) -> "LocalSpace":
        N = _coordinates(basis, rules, boundary)
        numbering = Numbering.of(basis, N)
        zero = (0,) * basis.dim
        mass = _reduced((N, numbering), (N, numbering), rules.inside, {(zero, zero): rules.weights}, None)
        told = {
            "M": basis.size,
            "r": N.shape[1],
            "rank": basis.size - N.shape[1],
            "boundary_rows": boundary.size,
            "quadrature_nodes": len(rules.weights),
            "least_weight": float(rules.weights.min()),
            "cells": basis.describe(),
        }
        return cls(
            basis=basis, nodes=rules.nodes, rules=rules, boundary=boundary, N=SparseMatrix(N), mass=mass.marked(symmetric=True),
            diagnostics=told, numbering=numbering,
        )  # fmt: skip

    @property
    def r(self) -> int:
        return self.N.shape[1]

    @cached_property
    def mass_factors(self) -> Factorised:
        return Factorised(self.mass, symmetric=True)

    def matrix(
        self, source: "LocalSpace", form: Mapping[tuple[MultiIndex, MultiIndex], Tensor], edges: sparse.csr_array | None
    ) -> SparseMatrix:
        """A (r_source, r) of q = z @ A with densities D_αβ (n,) at the nodes in Ω, and ``edges`` (M, M) from those on ∂Ω."""
        own, other = ((space.N.matrix, space.numbering) for space in (source, self))
        return _reduced(own, other, self.rules.inside, form, edges)

    def riesz(self, moments: Tensor) -> Tensor:
        """Coordinates (..., r) of the function whose moments ∫ φ_i f are given."""
        return self.mass_factors.solve(moments)

    def norm(self, z: Tensor) -> Tensor:
        """‖Σ z_i φ_i‖ in L²(Ω), (...)."""
        return ((z @ self.mass) * z).sum(dim=-1).clamp(min=0.0).sqrt()

    def expand(self, z: Tensor) -> Tensor:
        """N z, coefficients (..., M)."""
        return z @ self.N.T

    def tables(self, at: Location, columns: Tensor | None = None) -> LocalTables:
        """The r functions of the space, or those of other ``columns`` (M, k), at the nodes in Ω or on ∂Ω."""
        on_edges = at.x is self.boundary.points.at.x
        assert on_edges or at.x is self.nodes.x, "a local space has tables at its own nodes only"
        rule = self.rules.edges if on_edges else self.rules.inside
        own = None if columns is not None or on_edges or self.numbering is None else self.numbering.groups
        return LocalTables(self.basis, self.N if columns is None else columns, rule, at.x, on_edges, own)

    def extension(self, data: Tensor) -> Tensor:
        """Coefficients (..., M) of a function whose trace is the projection of boundary data (..., N_b) where conditions state values."""
        conditions = zip(self.boundary.conditions, self.boundary.row_spans, strict=True)
        essential = [(c, rows[0]) for c, rows in conditions if _prescribes(c)]
        found = torch.zeros(*data.shape[:-1], self.basis.size, dtype=torch.float64)
        if not essential:
            return found
        density = torch.zeros(*data.shape[:-1], len(self.boundary.points.weights), dtype=torch.float64)
        counts = torch.zeros(len(self.boundary.points.weights), dtype=torch.float64)
        for condition, rows in essential:
            span = self.boundary.points.spans[condition.segment]
            density[..., span] = data[..., rows] / _factor(condition, self.boundary.points.on(condition.segment))
            counts[span] = self.boundary.points.weights[span]
        zero = (0,) * self.basis.dim
        own = np.flatnonzero(_touched(self.rules, self.boundary, [c.segment for c, _ in essential]))
        mass = self.rules.edges.matrix({(zero, zero): counts})[own][:, own]
        moments = self.rules.edges.adjoint({zero: density * counts})[..., own]
        found[..., own] = Factorised(mass, symmetric=True).solve(moments)
        return found


def _reduced(
    source: tuple[sparse.csr_array, Numbering | None],
    target: tuple[sparse.csr_array, Numbering | None],
    inside: CellRule,
    form: Mapping[tuple[MultiIndex, MultiIndex], Tensor],
    edges: sparse.csr_array | None,
) -> SparseMatrix:
    """N_sᵀ (Σ_αβ Σ_q D_αβ ∂^βφ ∂^αφᵀ + edges) N_t; cell by cell where coordinates are coefficients."""
    (N_s, rows), (N_t, columns) = source, target
    if rows is None or columns is None:
        whole = inside.matrix(form) if edges is None else inside.matrix(form) + edges
        return SparseMatrix(N_s.T @ whole @ N_t)
    rest = None if edges is None else sparse.csr_array(N_s.T @ edges @ N_t)
    return CellMatrix(rows, columns, inside.blocks(form), rest)


def _prescribes(condition: SegmentCondition) -> bool:
    """True for a condition on the value alone, as Dirichlet's."""
    operator = condition.operator
    return operator.order == 0 and operator.conditions == 1 and operator.flux is None


def _factor(condition: SegmentCondition, at: Location) -> Tensor:
    """The trace of the constant one: Dirichlet's is one."""
    ones = torch.ones(len(at.x), dtype=torch.float64)
    return condition.operator.traces(Jet(lambda alpha: ones * (sum(alpha) == 0), at.dim), at)[0]


def _touched(rules: LocalRules, boundary: BoundarySystem, segments: list[str]) -> np.ndarray:
    """Mask (M,) of the functions that do not vanish on the segments."""
    here = torch.zeros(len(boundary.points.weights), dtype=torch.float64)
    for segment in segments:
        here[boundary.points.spans[segment]] = 1.0
    touched = np.zeros(rules.edges.size, dtype=bool)
    start = 0
    for group in rules.edges.groups:
        n = group.cells * group.q
        if n and here[start] > 0:
            touched[group.functions.numpy().ravel()] = True
        start += n
    return touched


def _coordinates(basis: LocalBasis, rules: LocalRules, boundary: BoundarySystem) -> sparse.csr_array:
    """N (M, r): the functions that no condition on values touches, and combinations of touched ones that satisfy it, if there are any
    (the one that is constant on a segment with an unknown value)."""
    stated = np.zeros(basis.size, dtype=int)
    """On how many segments with a condition on values a function does not vanish."""
    unknown: list[tuple[SegmentCondition, np.ndarray]] = []
    combined: list[tuple[np.ndarray, np.ndarray]] = []
    for condition, at in zip(boundary.conditions, boundary.locations, strict=True):
        operator = condition.operator
        if operator.conditions == 0 or (operator.order == 1 and operator.conditions == 1 and operator.flux is not None):
            continue
        if operator.conditions > 1 or operator.order > 0 or operator.partner is not None:
            raise SpecError(
                f"{condition.label}: functions on cells cannot meet this condition: it prescribes more than a value, or a derivative that "
                "no weak form carries. Name another basis"
            )
        touched = _touched(rules, boundary, [condition.segment])
        if not _prescribes(condition):
            unknown.append((condition, touched))
            combined += _kernel(condition, at, rules, boundary, np.flatnonzero(touched))
        stated += touched
    for condition, touched in unknown:
        if (stated[touched] > 1).any():
            raise SpecError(
                f"{condition.label}: on functions on cells this condition needs a segment that touches no other condition on values"
            )
    taken = stated > 0
    free = np.flatnonzero(~taken)
    if not len(free) + len(combined):
        raise SpecError(
            "the boundary conditions fix all functions of the basis: make cells smaller or raise their order"
        )
    columns = [sparse.csr_array((np.ones(len(free)), (free, np.arange(len(free)))), shape=(basis.size, len(free)))]
    for own, values in combined:
        entries = values, (own, np.zeros(len(own), dtype=int))
        columns.append(sparse.csr_array(entries, shape=(basis.size, 1)))
    return sparse.csr_array(sparse.hstack(columns))


def _kernel(
    condition: SegmentCondition, at: Location, rules: LocalRules, boundary: BoundarySystem, own: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Combinations of the functions ``own`` of a segment whose traces vanish there."""
    unit = torch.zeros(len(own), rules.edges.size, dtype=torch.float64)
    unit[torch.arange(len(own)), torch.from_numpy(own)] = 1.0
    values = rules.edges.expand(unit)((0,) * at.dim)[:, boundary.points.spans[condition.segment]]
    traces = condition.operator.traces(Jet(lambda alpha: values, at.dim), at)[0]
    assert at.weights is not None
    _, sigma, Vt = scipy.linalg.svd((traces * at.weights.sqrt()).numpy().T)
    rank = int((sigma > _RANK * sigma[0]).sum())
    return [(own, v) for v in Vt[rank:]]
