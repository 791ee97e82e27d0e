"""Manufactured solutions through the whole path: file → registry → space → system → rollout → score."""

from pathlib import Path

import numpy as np
import pytest
import torch

import gleg

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def rosette() -> gleg.Run:
    return gleg.solve(EXAMPLES / "mms-1-rosette.yaml")


def test_rosette_error_and_boundary_residual(rosette: gleg.Run) -> None:
    """The paper's pipeline has a final error of 1.8e-3 here."""
    assert rosette.metrics["relative_l2"]["final"] < 1.5e-6
    assert rosette.metrics["relative_l2"]["max"] < 1.5e-6
    assert rosette.metrics["boundary_residual"]["relative"] < 1e-10


def test_rosette_file_is_short() -> None:
    assert len((EXAMPLES / "mms-1-rosette.yaml").read_text().splitlines()) <= 40


def test_evaluation_between_saved_times(rosette: gleg.Run) -> None:
    exact = rosette.problem.fields[0].section.exact
    x, y, t = np.array([0.1, -0.2, 0.3]), np.array([0.2, 0.1, -0.1]), 0.4567
    scale = 3.1e-3  # RMS of u
    assert rosette.u(x, y, t) == pytest.approx(exact(x=x, y=y, t=t), abs=1e-5 * scale)
    assert np.isnan(rosette.u(0.9, 0.9, t))
    series = rosette.u(0.1, 0.2, np.array([0.0, 0.5, 1.0]))
    assert series == pytest.approx(exact(x=0.1, y=0.2, t=np.array([0.0, 0.5, 1.0])), abs=1e-5 * scale)
    assert "fields u" in repr(rosette)
    assert "u" in dir(rosette)
    with pytest.raises(TypeError, match="takes 2 coordinates and t, found 2"):
        rosette.u(0.1, 0.2)


CONDITIONS = {
    "dirichlet": [{"kind": "dirichlet", "data": "exact"}],
    "neumann": [{"kind": "neumann", "data": "exact"}],
    "robin": [{"kind": "robin", "kappa": "2 + x", "data": "exact"}],
}
EXACT = "exp(-t)*sin(2*x + y) + 0.5*cos(3*t + x - 2*y) + x*y*t^2"


def moving_boundary(boundary: list[dict], **keys) -> dict:
    """u_t = 0.3 Δu + u − u³ + f on an ellipse with data that move."""
    return {
        "domain": {"kind": "ellipse", "a": 0.7, "b": 0.5, "centre": [0.4, -0.2]},
        "basis": {"kind": "fourier", "K": 14},
        "fields": {
            "u": {
                "exact": EXACT,
                "forcing": "manufactured",
                "boundary": boundary,
                "equation": [
                    {"block": "diffusion", "coefficient": 0.3},
                    {"block": "power"},
                    {"block": "power", "p": 3, "coefficient": -1},
                ],
            }
        },
        "time": {"end": 1, "step": 0.02},
        "output": {"frames": 10},
        **keys,
    }


@pytest.mark.parametrize("lift", ["steady", "mass-minimal", "minimum-norm"])
@pytest.mark.parametrize("kind", CONDITIONS)
def test_moving_boundary_data(kind: str, lift: str) -> None:
    run = gleg.solve(moving_boundary(CONDITIONS[kind], space={"lift": lift}))
    assert run.metrics["relative_l2"]["max"] < 1e-6
    assert run.metrics["boundary_residual"]["relative"] < 1e-9


def test_data_as_formulas_equal_data_from_the_exact_solution() -> None:
    given = gleg.solve(moving_boundary([{"kind": "dirichlet", "value": EXACT}]))
    exact = gleg.solve(moving_boundary(CONDITIONS["dirichlet"]))
    assert np.abs(given.dataset["u_nodes"].values - exact.dataset["u_nodes"].values).max() < 1e-12


def test_mixed_conditions_on_segments() -> None:
    """Dirichlet outside, Robin inside an annulus, both moving."""
    boundary = [
        {"kind": "dirichlet", "where": "outer", "data": "exact"},
        {"kind": "robin", "where": "rest", "kappa": 1.5, "data": "exact"},
    ]
    run = gleg.solve(moving_boundary(boundary, domain={"kind": "annulus", "inner": 0.25, "outer": 0.7}))
    assert run.metrics["relative_l2"]["max"] < 1e-5


def test_two_coupled_fields() -> None:
    """Schnakenberg kinetics: products of fields, constants, cross terms; one exact solution per field."""
    field = {"forcing": "manufactured", "boundary": [{"kind": "neumann", "data": "exact"}]}
    fields = {
        "u": field
        | {
            "exact": "1 + 0.3*cos(2*x + t)*exp(-y)",
            "equation": [
                {"block": "diffusion", "coefficient": 0.1},
                {"block": "constant", "coefficient": 0.8},
                {"block": "power", "coefficient": -1},
                {"block": "product", "powers": {"u": 2, "v": 1}},
            ],
        },
        "v": field
        | {
            "exact": "0.6 + 0.2*sin(x*y + 2*t)",
            "equation": [
                {"block": "diffusion", "coefficient": 0.2},
                {"block": "diffusion", "of": "u", "coefficient": 0.01},
                {"block": "constant", "coefficient": 0.6},
                {"block": "product", "powers": {"u": 2, "v": 1}, "coefficient": -1},
            ],
        },
    }
    spec = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 10},
        "fields": fields,
        "time": {"end": 0.5, "step": 0.02},
    }
    run = gleg.solve(spec)
    assert run.metrics["fields"]["u"]["relative_l2"]["max"] < 1e-6
    assert run.metrics["fields"]["v"]["relative_l2"]["max"] < 1e-6


def test_coefficients_that_vary_in_space_and_time() -> None:
    equation = [
        {"block": "diffusion", "coefficient": "0.2*(1 + 0.5*sin(t))"},
        {"block": "diffusion", "coefficient": "0.05*(1 + x^2)"},
        {"block": "power", "coefficient": "x*t"},
        {"block": "power", "p": 2, "coefficient": "cos(t + y)"},
        {"block": "variable-diffusion", "diffusivity": "0.1 + 0.05*x*y"},
    ]
    spec = moving_boundary([{"kind": "dirichlet", "data": "exact"}], time={"end": 0.5, "step": 0.01})
    spec["fields"]["u"]["equation"] = equation
    run = gleg.solve(spec)
    assert run.metrics["relative_l2"]["max"] < 5e-6


def test_one_dimension() -> None:
    field = {
        "exact": "exp(-t)*sin(3*x) + x*t",
        "forcing": "manufactured",
        "boundary": [
            {"kind": "dirichlet", "where": "left", "data": "exact"},
            {"kind": "robin", "kappa": 1, "where": "right", "data": "exact"},
        ],
        "equation": [{"block": "diffusion", "coefficient": 0.3}, {"block": "power", "p": 2}],
    }
    spec = {
        "domain": {"kind": "interval", "left": 0, "right": 2},
        "basis": {"kind": "fourier", "K": 16},
        "fields": {"u": field},
        "time": {"end": 1, "step": 0.02},
    }
    run = gleg.solve(spec)
    assert run.metrics["relative_l2"]["max"] < 1e-7
    assert run.u(0.5, 1.0) == pytest.approx(np.exp(-1) * np.sin(1.5) + 0.5, rel=1e-6)
    assert run.u(2.0, 1.0) == pytest.approx(np.exp(-1) * np.sin(6.0) + 2.0, rel=1e-6)  # at the end of the interval


@pytest.mark.parametrize("forcing", ["manufactured", "manufactured-weak"])
def test_loads_of_many_times_are_those_of_each(forcing: str) -> None:
    """∫ f φ_i for a column of times against f of one time after the other, at the nodes, times the functions there."""
    made = moving_boundary(CONDITIONS["robin"], output={"frames": 1})
    made["fields"]["u"] |= {"forcing": forcing, "exact": EXACT + " + tanh(3*x*cos(t) - y)*exp(-(x - 0.3*t)^2)"}
    run = gleg.solve(made)
    system = run.discretisation.system
    field, made_forcing = system.fields["u"], system._forcing["u"]
    times = torch.linspace(0, 0.3, 40, dtype=torch.float64)[:, None]
    loads = made_forcing.load(field, system.modes, times)
    for t, load in zip(times[::13, 0].tolist(), loads[::13], strict=True):
        at = field.interior.at.moment(t)
        expected = field.project_values(made_forcing(at))
        if forcing == "manufactured":
            assert torch.allclose(load, expected, rtol=1e-10, atol=1e-12)
        else:
            assert torch.allclose(load, expected, rtol=1e-6, atol=1e-7)
