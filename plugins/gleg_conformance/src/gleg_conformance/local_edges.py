"""Checks of the contract LocalBasis on ∂Ω: its edges cover the segments, and hold the functions that do not vanish there."""

import numpy as np
import torch

from gleg_conformance.domain_curves import farthest
from gleg_conformance.domain_parts import Array, extent_of
from gleg_conformance.kit import Finding, Subject, check, require
from gleg_conformance.local_settings import (
    LocalSetting,
    apart,
    edge_groups,
    evaluated,
    local_check,
    local_settings,
    nodes_of,
    random_functions,
    values_on,
)
from gleg_core.contracts.basis import as_points
from gleg_core.contracts.domain import Segment


@local_check("edges", 1e-10, "largest relative difference between edges and evaluate")
def edges_agree_with_evaluate(setting: LocalSetting) -> float:
    """At the nodes of edges, tables give the values that evaluate gives: the traces of the functions of cells."""
    basis, a = setting.basis, random_functions(setting.basis)
    return max(
        apart(values_on(e, a).reshape(len(a), -1), evaluated(basis, a, nodes_of(e)), 1.0)
        for e in basis.edges
        if len(e.functions)
    )


@check("basis", group="edges")
def edges_have_the_functions_that_matter(subject: Subject) -> None:
    """Functions in the edges of a segment are those that do not vanish on it, no others, and their traces are independent."""
    for setting in local_settings(subject):
        basis, segments = setting.basis, {s.name: s for s in setting.domain.segments}
        for name, edges in edge_groups(setting):
            told = f"segment '{name}' of the {setting.label}"
            points = torch.cat([nodes_of(e) for e in edges])
            weights = np.concatenate([e.weights.ravel() for e in edges])
            table = basis.evaluate(torch.eye(basis.size, dtype=torch.float64), points).numpy()
            listed = np.unique(np.concatenate([e.functions.ravel() for e in edges]))
            samples = as_points(segments[name].sample(80).points)  # of the whole segment, should an edge be missing
            sampled = basis.evaluate(torch.eye(basis.size, dtype=torch.float64), samples).numpy()
            missing = np.setdiff1d(np.union1d(_nonzero(table, 1e-9), _nonzero(sampled, 1e-5)), listed)
            extra = np.setdiff1d(listed, _nonzero(table, 1e-9))
            require(not len(missing), f"function {missing[:1]} does not vanish on {told} and is in none of its edges")
            require(not len(extra), f"function {extra[:1]} vanishes on {told} and is in its edges")
            gram = np.linalg.eigvalsh((table[listed] * weights) @ table[listed].T)
            require(gram[0] > 1e-9 * gram[-1], f"traces on {told} are not linearly independent")


def _nonzero(table: Array, part: float) -> Array:
    """Rows of a table (M, n) with an entry larger than this part of the largest."""
    size = np.abs(table)
    return np.flatnonzero(size.max(axis=1) > part * size.max())


@check("basis", group="edges")
def edges_cover_the_boundary(subject: Subject) -> Finding:
    """Nodes of edges lie on their segment, weights are positive and sum to its length."""
    found = []
    for setting in local_settings(subject):
        extent, segments = extent_of(setting.domain), {s.name: s for s in setting.domain.segments}
        for name, edges in edge_groups(setting):
            told, segment = f"segment '{name}' of the {setting.label}", segments[name]
            require(edges, f"{told} has no edges")
            require(all((e.weights > 0).all() for e in edges), f"{told} has weights that are not positive")
            points = np.concatenate([nodes_of(e).numpy() for e in edges])
            found.append((_away(segment, points) / extent, f"distance of nodes from {told} / extent"))
            length = sum(float(e.weights.sum()) for e in edges)
            found.append((abs(length / segment.length - 1), f"sum of weights against the length of {told}"))
    return Finding.worst(found, 1e-6, "relative difference")


def _away(segment: Segment, points: Array) -> float:
    """The largest distance of points from a segment: from its curves, or from many samples of it where it is a point."""
    if segment.curves:
        return farthest(list(segment.curves), points)
    samples = segment.sample(1).points
    return float(np.linalg.norm(points[:, None] - samples, axis=2).min(axis=1).max())


@local_check(
    "edges", 1e-9, "normals: largest difference of a length from 1, or part of them that do not point out of Ω"
)
def edge_normals_point_outward(setting: LocalSetting) -> float:
    """Normals on edges are unit vectors; a small step along −n is in Ω, one along +n is not."""
    step, errors = 1e-6 * extent_of(setting.domain), []
    for edge in setting.basis.edges:
        x, n = (array.reshape(-1, setting.basis.dim) for array in (edge.points, edge.normals))
        errors.append(float(np.abs(np.linalg.norm(n, axis=1) - 1).max(initial=0.0)))
        wrong = ~setting.domain.contains(x - step * n) | setting.domain.contains(x + step * n)
        errors.append(float(wrong.mean()) if len(wrong) else 0.0)
    return max(errors)
