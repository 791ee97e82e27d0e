"""Elements beside curves: orders of convergence, derivatives up to the rim, steady states on every kind of curved domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg
from scipy.special import jn_zeros

import gleg
from gleg_basis_elements.basis import elements
from gleg_basis_elements.params import ElementsParams
from gleg_basis_elements.triangles import Triangles
from gleg_core.contracts.basis import Site
from gleg_core.run import Run
from gleg_core.spec.problem import load_problem
from gleg_core.system.discretise import discretise

Array = np.ndarray
DISK = {"kind": "disk", "radius": 0.6}
EXACT = "exp(x)*cos(2*y)"
END = 0.1


def exact(points: Array) -> tuple[Array, Array]:
    """The solution and its derivative along y."""
    x, y = points.T
    return np.exp(x) * np.cos(2 * y), -2 * np.exp(x) * np.sin(2 * y)


def manufactured(domain: Mapping[str, Any], order: int, size: float) -> Run:
    """Heat that the formula solves, by the source that keeps it as it is."""
    u = {
        "exact": EXACT,
        "forcing": "manufactured",
        "boundary": [{"kind": "dirichlet", "data": "exact"}],
        "equation": [{"block": "diffusion"}],
    }
    spec = {"domain": dict(domain), "basis": {"kind": "elements", "order": order, "size": size}, "fields": {"u": u}}
    return gleg.solve({**spec, "time": {"end": END, "tolerance": 1e-9}, "output": {"frames": 1}})


def inside(run: Run, count: int = 800) -> Array:
    """Random points of the domain."""
    domain, random = run.discretisation.domain, np.random.default_rng(0)
    points = random.uniform(*domain.bounds.T, (20 * count, 2))
    return points[domain.contains(points)][:count]


def beside_the_rim(run: Run) -> Array:
    """Points at a distance of about 1e-6 from ∂Ω."""
    domain = run.discretisation.domain
    rim = np.concatenate([segment.outline(200) for segment in domain.segments])
    rim = rim[np.isfinite(rim).all(axis=1)]
    points = rim + 1e-6 * (rim.mean(axis=0) - rim)
    return points[domain.contains(points)]


def errors(run: Run, points: Array) -> Array:
    """Relative errors of u and ∂u/∂y."""
    found = [run.evaluate("u", points, END), run.evaluate("u", points, END, (0, 1))]
    return np.array([np.linalg.norm(u - v) / np.linalg.norm(v) for u, v in zip(found, exact(points), strict=True)])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_halving_the_size_gains_the_order_plus_one(order: int) -> None:
    """On the disk: h^{p+1} for values and h^p for derivatives, beside the rim as well."""
    coarse, fine = (manufactured(DISK, order, h) for h in (0.2, 0.1))
    for points in (inside(coarse), beside_the_rim(coarse)):
        gained = np.log2(errors(coarse, points) / errors(fine, points))
        assert (gained > [order + 0.6, order - 0.3]).all(), gained


def test_raising_the_order_gains_a_factor_each_time() -> None:
    found = []
    for order in (1, 3, 5, 8):
        run = manufactured({"kind": "rosette"}, order, 0.4)
        found.append(errors(run, inside(run, 300)))
    assert (np.diff(np.log10(found), axis=0) < -0.6).all(), found
    assert (found[-1] < [1e-7, 1e-5]).all(), found


def test_slow_modes_of_the_disk() -> None:
    """(j_{m,k}/0.6)², twice for m ≥ 1."""
    u = {"initial": 0, "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}
    basis = {"kind": "elements", "order": 8, "size": 0.4}
    part = discretise(
        load_problem({"domain": DISK, "basis": basis, "fields": {"u": u}, "time": {"end": 1}})
    ).system.linear
    K, M = -part.stiffness.matrix.tocsc(), part.mass.matrix.tocsc()
    found = np.sort(scipy.sparse.linalg.eigsh(K, k=6, M=M, sigma=-0.1, return_eigenvectors=False))
    zeros = sorted([jn_zeros(0, 2)[0], *[jn_zeros(1, 1)[0]] * 2, *[jn_zeros(2, 1)[0]] * 2, jn_zeros(0, 2)[1]])
    assert found == pytest.approx((np.array(zeros) / 0.6) ** 2, rel=1e-7)


CURVED = {
    "rosette": {"kind": "rosette"},
    "crescent": {"kind": "crescent"},
    "star with a hole": {"kind": "annular-star"},
    "heart": {"kind": "heart"},
    "level set": {"kind": "level-set", "function": "1-x^4-y^4-0.5*x*y", "box": [[-2, 2], [-2, 2]]},
    "polar curve with corners": {"kind": "polar", "radius": "1 + 0.3*abs(sin(2*theta))"},
    "small hole": {"kind": "annulus", "outer": 1, "inner": 0.01},
    "two disks": {
        "kind": "union",
        "of": [{"kind": "disk", "radius": 1}, {"kind": "disk", "radius": 1, "centre": [1.5, 0]}],
    },
}


@pytest.mark.parametrize("name", CURVED)
def test_a_harmonic_function_stays(name: str) -> None:
    harmonic = "exp(0.7*x)*cos(0.7*y) + 0.3*x"
    u = {
        "initial": harmonic,
        "boundary": [{"kind": "dirichlet", "value": harmonic}],
        "equation": [{"block": "diffusion"}],
    }
    spec = {"domain": CURVED[name], "basis": {"kind": "elements"}, "fields": {"u": u}, "time": {"end": 1}}
    run = gleg.solve({**spec, "output": {"frames": 1}})
    x, y = (points := inside(run)).T
    assert np.abs(run.evaluate("u", points, 1.0) - np.exp(0.7 * x) * np.cos(0.7 * y) - 0.3 * x).max() < 5e-6
    slope = run.evaluate("u", points, 1.0, (0, 1)) + 0.7 * np.exp(0.7 * x) * np.sin(0.7 * y)
    assert np.abs(slope).max() < 5e-4


def test_values_outside_are_not_numbers() -> None:
    run = manufactured(DISK, 3, 0.3)
    places = np.array([[0.600001, 0.0], [3.0, 3.0], [0.0, -0.61], [0.0, 0.0], [0.599999, 0.0], [0.0, -0.5999999]])
    assert np.isnan(run.evaluate("u", places, END)).tolist() == [True, True, True, False, False, False]


def test_rounding_errors_do_not_change_a_mesh() -> None:
    """Cells are as small as given functions need, and what these leave is a difference of nearly equal numbers."""
    u = {"initial": 0, "boundary": [{"kind": "neumann"}], "equation": [{"block": "diffusion"}]}
    spec = {"domain": DISK, "basis": {"kind": "elements", "size": 0.5}, "fields": {"u": u}, "time": {"end": END}}
    made, random = discretise(load_problem(spec)), np.random.default_rng(0)

    def mesh(noise: float) -> Array:
        def known(x: Array) -> Array:
            values = np.tanh(4 * x[:, 0]) * np.sin(7 * x[:, 1])
            return (values * (1 + noise * random.standard_normal(len(x))))[None]

        basis = elements(ElementsParams(), Site(made.basis.frame, made.domain, known=known))
        assert isinstance(basis.mesh, Triangles)
        return basis.mesh.mesh.points

    assert np.array_equal(mesh(0.0), mesh(2e-16))
