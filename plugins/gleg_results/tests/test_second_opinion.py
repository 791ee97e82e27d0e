"""Two discretisations of one problem: the wrong one is found out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from gleg_core.spec.problem import load_problem
from gleg_results.second_opinion import second_opinion

DIRICHLET = {"kind": "dirichlet"}


def heat(domain: dict[str, Any], initial: Any, source: Any = 0, **keys: Any) -> dict[str, Any]:
    equation = [{"block": "diffusion", "twin": "analytic"}, {"block": "source", "value": source}]
    u = {"initial": initial, "boundary": [DIRICHLET], "equation": equation}
    return {"domain": domain, "fields": {"u": u}, "time": {"end": 0.3}, "output": {"frames": 4}, **keys}


L_SHAPE = {"kind": "polygon", "vertices": [[-1, -1], [1, -1], [1, 1], [0, 1], [0, 0], [-1, 0]]}


def test_the_l_shape_on_global_functions() -> None:
    """Wrong by several per cent: elements differ by that, and are believed."""
    wrong = heat(L_SHAPE, 0, 1, basis={"kind": "fourier", "K": 10})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opinion = second_opinion(load_problem(wrong))
    assert opinion.largest > 1e-2 and opinion.believed == 1 and "elements" in opinion.verdict


def test_two_that_agree() -> None:
    """A smooth mode on the disk: both are right, and the difference is that of the less exact one."""
    mode = "besselj0(2.404825557695773*sqrt(x^2 + y^2))"
    opinion = second_opinion(load_problem(heat({"kind": "disk", "radius": 1}, mode)))
    assert opinion.largest < 1e-4
    first, second = opinion.runs
    assert {run.problem.basis.key for run in opinion.runs} == {"fourier:fourier", "elements:elements"}
    x = np.array([[0.3, 0.2], [-0.5, 0.1]])
    assert first.evaluate("u", x, 0.3) == pytest.approx(second.evaluate("u", x, 0.3), abs=1e-4)


def lake() -> dict[str, Any]:
    """README's lake on a handful of functions."""
    equation = [{"block": "diffusion", "coefficient": 0.02}, {"block": "power", "coefficient": 0.8}]
    north = {"kind": "dirichlet", "where": "north", "value": "0.1*(1 - cos(2*pi*t))"}
    u = {
        "initial": "exp(-40*((x - 0.1)^2 + y^2))",
        "boundary": [north, {"kind": "robin", "where": "rest", "kappa": 0.5}],
        "equation": [*equation, {"block": "power", "p": 2, "coefficient": -0.8}],
    }
    vertices = [[-0.9, -0.3], [0.2, -0.6], [1.0, -0.1], [0.8, 0.6], [-0.5, 0.5]]
    domain = {"kind": "polygon", "vertices": vertices, "segments": {"north": [3, 3]}}
    return {"domain": domain, "basis": {"kind": "fourier", "K": 5}, "fields": {"u": u}, "time": {"end": 0.5}}


def kink() -> dict[str, Any]:
    """|x| on the rim of a disk, on global functions."""
    rim = [DIRICHLET | {"value": "abs(x)"}]
    u = {"initial": 0, "boundary": rim, "equation": [{"block": "diffusion", "twin": "analytic"}]}
    return {
        "domain": {"kind": "disk", "radius": 1},
        "basis": {"kind": "fourier", "K": 14},
        "fields": {"u": u},
        "time": {"end": 0.5},
    }


def coarse_steps() -> dict[str, Any]:
    """iψ_t = −Δψ in a box, ψ = u + iv: the phase of the second mode turns by 25 in the run, in steps of 1."""
    start, edge = "sin(pi*x)*sin(pi*y) + sin(2*pi*x)*sin(pi*y)", [DIRICHLET]
    u = {"initial": start, "boundary": edge, "equation": [{"block": "diffusion", "of": "v", "coefficient": -1}]}
    v = {"initial": 0, "boundary": edge, "equation": [{"block": "diffusion", "of": "u"}]}
    box = {"kind": "rectangle", "x": [0, 1], "y": [0, 1]}
    time = {"end": 0.5, "step": 0.02, "integrator": "midpoint"}
    return {"domain": box, "basis": {"kind": "fourier", "K": 10}, "fields": {"u": u, "v": v}, "time": time}


@pytest.mark.parametrize("case", [lake, kink, coarse_steps])
def test_wrong_answers_are_found(case: Any) -> None:
    """The second run differs by much, and is the one that is believed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opinion = second_opinion(load_problem(case() | {"output": {"frames": 4}}))
    assert opinion.largest > 5e-2 and opinion.believed == 1
