"""The admissible space itself: constraints, orthonormality, approximation, diagnostics."""

import math

import numpy as np
import pytest
import torch
from eigenmodes import bessel_rates, heat_problem, rates_of
from scipy.special import jv

import gleg
from gleg_basis_fourier.fourier import FourierBasis
from gleg_basis_fourier.params import FourierParams
from gleg_core.algebra import conditions, mass
from gleg_core.contracts.basis import Site
from gleg_core.errors import GeometryError, NumericsError
from gleg_core.system.discretise import Discretisation, discretise
from gleg_results.metrics import growing_modes
from gleg_results.truth import independent_points


@pytest.fixture(scope="module")
def peanut() -> Discretisation:
    return heat_problem({"kind": "peanut"}, [{"kind": "dirichlet"}], K=20)


def test_constraint_and_orthonormality(peanut: Discretisation) -> None:
    space = peanut.system.fields["u"].space
    rows = space.boundary.rows(peanut.basis)
    scaled = space.boundary.row_scale(rows)[:, None] * rows @ space.N
    bound = 1e-11 / 1e-13**0.5  # tau_C/√tau_M in the worst direction; states have far less
    assert float(scaled.abs().max()) < bound * float(scaled.shape[0]) ** 0.5
    phi = space.tables(space.nodes)((0, 0))
    gram = (phi * space.weights) @ phi.T
    assert float((gram - torch.eye(space.r, dtype=torch.float64)).abs().max()) < 1e-9


def boundary_and_mass_errors(d: Discretisation) -> tuple[float, float]:
    """‖S C N‖ and ‖NᵀM_ΩN − I‖, largest entries."""
    space = d.system.fields["u"].space
    rows = space.boundary.rows(d.basis)
    scaled = space.boundary.row_scale(rows)[:, None] * rows @ space.N
    phi = space.tables(space.nodes)((0, 0))
    gram = (phi * space.weights) @ phi.T - torch.eye(space.r, dtype=torch.float64)
    return float(scaled.abs().max()), float(gram.abs().max())


@pytest.mark.parametrize(
    ("condition", "tau_M", "quadrature"),
    [("dirichlet", 1e-7, 1e-4), ("neumann", 1e-7, 1e-4), ("dirichlet", 1e-11, 1e-7), ("neumann", 1e-11, 1e-7)],
)
def test_coordinates_by_pivots(
    condition: str, tau_M: float, quadrature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where integrals may have errors, N comes from pivots: the conditions hold all the same, NᵀM_ΩN = I to the allowed error, and a
    function is approximated as well as in the coordinates from eigenvectors, with as many functions to a tenth."""
    space = {"tau_M": tau_M, "quadrature": quadrature}

    def made() -> Discretisation:
        return heat_problem({"kind": "peanut"}, [{"kind": condition}], K=14, space=space)

    def error(d: Discretisation) -> float:
        x = d.system.fields["u"].space.nodes.x
        u = torch.cos(3 * x[:, 0]) * torch.exp(x[:, 1])
        field, w = d.system.fields["u"], d.system.fields["u"].space.weights
        v = d.basis.evaluate(d.system.coefficients("u", field.project_values(u), 0.0), x)
        return float(((v - u) ** 2 @ w).sqrt() / (u**2 @ w).sqrt())

    monkeypatch.setenv("GLEG_CACHE", "off")
    calls = []
    monkeypatch.setattr(mass, "_by_pivots", lambda *a, _by=mass._by_pivots: calls.append(1) or _by(*a))
    by_pivots = made()
    assert calls
    monkeypatch.setattr(mass, "_by_mass_matrix", lambda *a, _by=mass._by_mass_matrix: _by(*a[:-1], False))
    by_eigenvectors = made()
    assert len(calls) == 1
    on_boundary, of_mass = boundary_and_mass_errors(by_pivots)
    assert on_boundary < 1e-7
    assert of_mass < quadrature
    assert by_pivots.system.size == pytest.approx(by_eigenvectors.system.size, rel=0.1)
    assert error(by_pivots) < 2 * error(by_eigenvectors) + 1e-12


def test_singular_values_where_divide_and_conquer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """On what has only just been refused the same method is tried again after a factorisation with pivots."""
    A = np.random.default_rng(0).standard_normal((30, 20)) * np.logspace(0, -15, 20)
    once, calls = conditions._divide_and_conquer, list[tuple[int, ...]]()

    def fails_first(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        calls.append(A.shape)
        if len(calls) == 1:
            raise np.linalg.LinAlgError
        return once(A)

    monkeypatch.setattr(conditions, "_divide_and_conquer", fails_first)
    for matrix in (A, A.T):
        calls.clear()
        U, s, Vt = conditions.svd(matrix)
        assert len(calls) == 2
        assert (U * s) @ Vt == pytest.approx(matrix, abs=1e-13)
        assert s == pytest.approx(np.linalg.svd(matrix, compute_uv=False), abs=1e-14)
        assert pytest.approx(np.eye(20), abs=1e-12) == U.T @ U


def test_reduced_laplacian_has_no_growing_mode(peanut: Discretisation) -> None:
    """Masked grids produce spurious growing modes on this domain; weak forms with positive weights cannot."""
    rates = rates_of(peanut)
    assert rates[0] > 0
    assert rates[:3] == pytest.approx([26.88, 40.24, 67.62], rel=5e-4)


def test_the_rank_keeps_the_slowest_modes() -> None:
    """Against the zeros of J_m, and on the channel against the published eigenvalues, where a masked grid lets growing modes in."""
    disk = heat_problem({"kind": "disk", "radius": 0.6}, [{"kind": "dirichlet"}], K=12, space={"rank": 8})
    assert rates_of(disk) == pytest.approx(bessel_rates(jv, 0.6, 8), rel=1e-6)
    channel = heat_problem(
        {"kind": "oblique-channel"}, [{"kind": "dirichlet"}], K=22, space={"rank": 80, "box": [-1, 1]}
    )
    rates = rates_of(channel)
    assert rates[:3] == pytest.approx([108.45, 118.07, 133.09], rel=5e-4) and rates[-1] == pytest.approx(2120, rel=2e-3)


def test_diagnostics(peanut: Discretisation) -> None:
    d = peanut.system.fields["u"].space.diagnostics
    assert d["M"] == peanut.basis.size
    assert d["rank"] + d["kernel"] == d["M"]
    assert d["r"] == peanut.system.size <= d["kernel"]
    assert d["rank"] < d["boundary_rows"]  # otherwise the boundary is under-sampled
    assert d["orthonormality"] < 1e-9
    assert d["least_weight"] > 0
    assert growing_modes(peanut.system) == 0


def test_a_finer_basis_approximates_better() -> None:
    """Best approximation of a smooth function that vanishes on the circle."""
    errors = []
    for K in (6, 10, 14):
        d = heat_problem({"kind": "disk", "radius": 0.6}, [{"kind": "dirichlet"}], K=K)
        points = torch.from_numpy(independent_points(d.domain, 500))

        def u(x: torch.Tensor) -> torch.Tensor:
            return (0.36 - (x**2).sum(dim=1)) * torch.exp(x[:, 0]) * torch.cos(3 * x[:, 1])

        field = d.system.fields["u"]
        z = field.project_values(u(field.space.nodes.x))
        found = d.basis.evaluate(d.system.coefficients("u", z, 0.0), points)
        errors.append(float((found - u(points)).norm() / u(points).norm()))
    assert errors[1] < errors[0] / 10
    assert errors[2] < 3e-7  # the level of the mass cut, √tau_M


def test_fields_with_equal_conditions_share_a_space() -> None:
    field = {"initial": "x", "boundary": [{"kind": "neumann"}], "equation": [{"block": "diffusion"}]}
    spec = {
        "domain": {"kind": "disk", "radius": 0.5},
        "basis": {"kind": "fourier", "K": 6},
        "fields": {"u": field, "v": {**field, "initial": "y"}},
        "time": {"end": 1},
    }
    d = discretise(gleg.load(spec))
    assert d.system.fields["u"].space.diagnostics is d.system.fields["v"].space.diagnostics


def test_elongated_domain_at_an_angle_turns_the_box() -> None:
    d = heat_problem({"kind": "ellipse", "a": 0.8, "b": 0.1, "angle": np.pi / 4}, [{"kind": "dirichlet"}], K=8)
    turned = d.basis.frame
    straight = heat_problem(
        {"kind": "ellipse", "a": 0.8, "b": 0.1, "angle": np.pi / 4},
        [{"kind": "dirichlet"}],
        K=8,
        space={"rotate": False},
    ).basis.frame
    assert turned.half_widths[0] < 1.5 * straight.half_widths[0]
    assert np.allclose(turned.rotation @ turned.rotation.T, np.eye(2))


def test_conditions_that_fix_everything_are_reported() -> None:
    with pytest.raises(NumericsError, match="fix all 5 coefficients"):
        heat_problem(
            {"kind": "disk", "radius": 0.6}, [{"kind": "clamped"}], [{"square": [{"block": "diffusion"}]}], K=1
        )


def test_box_too_small() -> None:
    with pytest.raises(GeometryError, match="outside the box Q"):
        heat_problem({"kind": "disk", "radius": 0.6}, [{"kind": "dirichlet"}], K=6, space={"box": [-0.5, 0.5]})
    with pytest.raises(GeometryError, match="touches the edge"):
        heat_problem({"kind": "disk", "radius": 0.6}, [{"kind": "dirichlet"}], K=6, space={"box": [-0.6, 0.6]})


def test_conditions_that_leave_next_to_nothing() -> None:
    """Few functions and many conditions: the kernel of C has a handful of directions, all of little mass, and no other may appear."""
    spec = {
        "domain": {"kind": "annular-star"},
        "basis": {"kind": "fourier", "K": 7},
        "fields": {"u": {"initial": "0", "boundary": [{"kind": "neumann"}], "equation": [{"block": "diffusion"}]}},
        "time": {"end": 1},
    }
    space = discretise(gleg.load(spec)).system.fields["u"].space
    C = space.boundary.rows(space.basis)
    assert space.r <= space.diagnostics["kernel"] < 0.4 * space.basis.size
    assert float((space.boundary.row_scale(C)[:, None] * (C @ space.N)).abs().max()) < 1e-7


def test_a_basis_sees_the_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Curious(FourierBasis):
        def __init__(self, params: FourierParams, site: Site):
            super().__init__(params, site)
            seen.append(site)

    monkeypatch.setattr("gleg_basis_fourier.fourier.FourierBasis", Curious)
    d = heat_problem({"kind": "polygon", "vertices": [[0, 0], [1, 0], [0, 1]]}, [{"kind": "dirichlet"}], K=6)
    assert seen[-1].domain is d.domain and seen[-1].frame is d.basis.frame


@pytest.mark.parametrize("radius", [1e-6, 1.0, 1e6])
def test_the_unit_of_length_changes_nothing(radius: float) -> None:
    """The first mode of heat on a disk of any radius decays to e^(−k²/10), k the first zero of J₀."""
    k = 2.404825557695773
    mode = f"besselj0({k}*sqrt(x^2 + y^2)/{radius!r})"
    u = {
        "initial": mode,
        "boundary": [{"kind": "dirichlet"}],
        "equation": [{"block": "diffusion", "twin": "analytic"}],
    }
    end = 0.1 * radius**2
    spec = {"domain": {"kind": "disk", "radius": radius}, "basis": {"kind": "fourier", "K": 22}, "fields": {"u": u}}
    run = gleg.solve(spec | {"time": {"end": end}, "output": {"frames": 2}})
    assert run.u(0.0, 0.0, end) == pytest.approx(math.exp(-(k**2) / 10), rel=2e-7)
    assert run.discretisation.fields[0].space.diagnostics["orthonormality"] < 1e-9
