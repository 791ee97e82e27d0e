"""Local bases that are wrong in one way each. The healthy one is that of the elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from gleg_basis_elements.basis import ElementsBasis
from gleg_basis_elements.basis import elements as healthy
from gleg_basis_elements.params import ElementsParams
from gleg_basis_elements.reference import Rule, rule
from gleg_basis_elements.triangles import Triangles
from gleg_basis_fourier.fourier import FourierBasis
from gleg_basis_fourier.params import FourierParams
from gleg_core.contracts.basis import Site
from gleg_core.contracts.jet import MultiIndex
from gleg_core.contracts.local_basis import EdgeCells, LocalBasis
from gleg_core.errors import GeometryError

Array = np.ndarray


def changed(change: Callable[[Any], object], params: ElementsParams, site: Site) -> ElementsBasis:
    basis = healthy(params, site)
    change(basis)
    return basis


def of_class(kind: type[ElementsBasis], params: ElementsParams, site: Site) -> ElementsBasis:
    basis = healthy(params, site)
    basis.__class__ = kind
    return basis


def cells_with(basis: LocalBasis, **parts: Callable[[Any], Array]) -> None:
    basis.cells = [replace(c, **{name: make(c) for name, make in parts.items()}) for c in basis.cells]


def edges_with(basis: LocalBasis, **parts: Callable[[Any], Any]) -> None:
    basis.edges = [replace(e, **{name: make(e) for name, make in parts.items()}) for e in basis.edges]


# --- declaration --------------------------------------------------------------------------------------------------------


class TwoLines(ElementsBasis):
    def describe(self) -> str:
        return super().describe().replace(", ", "\n")


two_lines = partial(of_class, TwoLines)


# --- cells --------------------------------------------------------------------------------------------------------------

inverse_without_nodes = partial(changed, lambda b: cells_with(b, inverse=lambda c: c.inverse[:, 0]))
single_precision = partial(changed, lambda b: cells_with(b, values=lambda c: c.values.astype(np.float32)))
functions_in_another_order = partial(changed, lambda b: cells_with(b, functions=lambda c: c.functions[:, ::-1]))
jacobian_as_inverse = partial(changed, lambda b: cells_with(b, inverse=lambda c: np.linalg.inv(c.inverse)))
weights_of_the_square = partial(changed, lambda b: cells_with(b, weights=lambda c: 2 * c.weights))


def _one_more(basis: Any) -> None:
    basis.size += 1


one_function_more = partial(changed, _one_more)


class _ReferenceSlopes(ElementsBasis):
    """Derivatives in the coordinates of the reference cell, in cells and in evaluate."""

    def evaluate(self, coefficients: Tensor, points: Tensor, derivative: MultiIndex | None = None) -> Tensor:
        return super().evaluate(coefficients, points, derivative) * (0.5 if sum(derivative or ()) else 1.0)


def reference_slopes(params: ElementsParams, site: Site) -> ElementsBasis:
    basis = of_class(_ReferenceSlopes, params, site)
    cells_with(basis, slopes=lambda c: 0.5 * c.slopes)
    return basis


class _Coarse(Triangles):
    """A rule for products of a function and its derivative."""

    @property
    def _rule(self) -> Rule:
        return rule(2, 2 * self.order - 1)


def _coarser(basis: Any) -> None:
    if basis.dim == 2:
        basis._functions.__class__ = _Coarse
        basis.cells = [cells for cells, _ in basis._functions.cells()]


coarse_rule = partial(changed, _coarser)


def _split(basis: Any) -> None:
    """The functions of the first cell are its own."""
    functions = basis._functions
    m = functions.functions.shape[1]
    functions.functions[0] = basis.size + np.arange(m)
    functions.size = basis.size = basis.size + m
    basis.cells, basis.edges = [cells for cells, _ in functions.cells()], functions.edge_cells()


cell_of_its_own = partial(changed, _split)


class _WeightedFit(ElementsBasis):
    """Fits with more weight on the right: right for functions of the space only."""

    def project(self, function: Callable[[Tensor], Tensor]) -> Tensor:
        kept = self.cells
        cells_with(self, weights=lambda c: c.weights * np.exp(c.points[..., 0]))
        try:
            return super().project(function)
        finally:
            self.cells = kept


projects_by_a_weighted_fit = partial(of_class, _WeightedFit)


# --- evaluate -----------------------------------------------------------------------------------------------------------


class _Detached(ElementsBasis):
    def evaluate(self, coefficients: Tensor, points: Tensor, derivative: MultiIndex | None = None) -> Tensor:
        return super().evaluate(coefficients.detach(), points, derivative)


class _RemembersPlaces(ElementsBasis):
    """Cells of as many points as last time are taken to be those of last time."""

    def _locate(self, points: Array) -> tuple[Array, Array]:
        if self._located is None or len(self._located[0]) != len(points):
            self._located = (points, *self._functions.locate(points))
        return self._located[1:]


class _ZeroSecondDerivatives(ElementsBasis):
    def evaluate(self, coefficients: Tensor, points: Tensor, derivative: MultiIndex | None = None) -> Tensor:
        if sum(derivative or ()) > 1:
            return coefficients.new_zeros(*coefficients.shape[:-1], len(points))
        return super().evaluate(coefficients, points, derivative)


detached = partial(of_class, _Detached)
remembers_places = partial(of_class, _RemembersPlaces)
zero_second_derivatives = partial(of_class, _ZeroSecondDerivatives)


# --- edges --------------------------------------------------------------------------------------------------------------


def _forget_an_edge(basis: Any) -> None:
    parts = ("functions", "points", "normals", "weights")
    basis.edges = [replace(e, **{p: getattr(e, p)[:-1] if len(e.functions) > 1 else getattr(e, p) for p in parts})
                   for e in basis.edges]  # fmt: skip


def _with_functions_inside(basis: Any) -> None:
    """Edges list a function of the inside too, which vanishes there."""

    def functions(e: EdgeCells) -> Array:
        return np.column_stack([e.functions, np.full(len(e.functions), basis.size - 1)])

    edges_with(basis, functions=functions, values=lambda e: np.column_stack([e.values, np.zeros(len(e.values))]))


def _normals_of_chords(basis: Any) -> None:
    def mean(e: EdgeCells) -> Array:
        n = np.broadcast_to(e.normals.mean(axis=1, keepdims=True), e.normals.shape)
        return n / np.linalg.norm(n, axis=2, keepdims=True)

    edges_with(basis, normals=mean)


def _swapped(basis: Any) -> None:
    names = [e.segment for e in basis.edges]
    basis.edges = [replace(e, segment=name) for e, name in zip(basis.edges, names[1:] + names[:1], strict=True)]


edge_forgotten = partial(changed, _forget_an_edge)
functions_inside_on_edges = partial(changed, _with_functions_inside)
normals_of_chords = partial(changed, _normals_of_chords)
segments_swapped = partial(changed, _swapped)
edges_backwards = partial(changed, lambda b: edges_with(b, values=lambda e: 0.5 * (e.values + e.values[::-1])))
edges_moved = partial(changed, lambda b: edges_with(b, points=lambda e: e.points + 0.01 * e.normals))
inward_normals = partial(changed, lambda b: edges_with(b, normals=lambda e: -e.normals))
weights_of_one_half = partial(changed, lambda b: edges_with(b, weights=lambda e: 0.5 * e.weights))


# --- accuracy -----------------------------------------------------------------------------------------------------------


def order_makes_cells(params: ElementsParams, site: Site) -> ElementsBasis:
    """Linear functions whatever the order, which makes the cells a little smaller."""
    assert not isinstance(params.size, str) and not isinstance(params.order, str)
    return healthy(params.model_copy(update={"order": 1, "size": params.size * (1.0 - 0.1 * params.order)}), site)


class _Optimistic(ElementsBasis):
    def errors(self, coefficients: Tensor) -> Tensor:
        return 0.01 * super().errors(coefficients)


class _ProposesTheSame(ElementsBasis):
    def refined(self, errors: Array, allowed: float) -> Mapping[str, Any]:
        return self._params.model_dump(mode="json")


optimistic = partial(of_class, _Optimistic)
proposes_the_same = partial(of_class, _ProposesTheSame)


# --- others -------------------------------------------------------------------------------------------------------------


def _of_another(basis: Any) -> None:
    basis.edges = [replace(e, segment="elsewhere") for e in basis.edges]


segments_of_another = partial(changed, _of_another)


class Waves(FourierBasis):
    """Global functions said to be local."""

    def __init__(self, params: Any, site: Site):
        super().__init__(FourierParams(K=3), site)


def rectangles_only(params: ElementsParams, site: Site) -> ElementsBasis:
    assert site.domain is not None
    if len(site.domain.segments) != 4:
        raise GeometryError("no rectangle")
    return healthy(params, site)


def nowhere(params: ElementsParams, site: Site) -> ElementsBasis:
    raise GeometryError("no cells today")
