"""The Legendre basis: order, orthonormality, derivatives, projection, convergence, and decay rates on a disk."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from numpy.polynomial.legendre import Legendre
from pydantic import ValidationError
from scipy.special import jn_zeros
from torch import Tensor

from gleg import solve
from gleg_basis_legendre.legendre import LegendreBasis, degrees, legendre_tables
from gleg_basis_legendre.pack import gleg_bases
from gleg_basis_legendre.params import LegendreParams
from gleg_core.contracts.basis import Frame, Site, as_points
from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.registry import default_registry
from gleg_core.spec.problem import load_problem
from gleg_core.system.discretise import Discretisation, discretise


def rotation(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


SQUARE = Frame(np.zeros(2), np.ones(2), np.eye(2))
OBLONG = Frame(np.array([2.0, -3.5]), np.array([1.7, 0.4]), np.eye(2))
TURNED = Frame(np.array([-0.4, 1.2]), np.array([2.5, 0.9]), rotation(0.7))
LINE = Frame(np.array([0.5]), np.array([1.5]), np.eye(1))
BRICK = Frame(
    np.array([0.1, 0.2, -0.3]),
    np.array([0.8, 1.3, 0.5]),
    np.linalg.qr(np.arange(9).reshape(3, 3) ** 2.0 + np.eye(3))[0],
)
ALL = [SQUARE, OBLONG, TURNED, LINE, BRICK]


def legendre(degree: int, frame: Frame) -> LegendreBasis:
    return LegendreBasis(LegendreParams(degree=degree), Site(frame))


def some_points(frame: Frame, n: int = 7) -> Tensor:
    return as_points(frame.to_physical(np.random.default_rng(3).uniform(-1, 1, (n, frame.dim))))


def values(basis: LegendreBasis, x: Tensor) -> Tensor:
    zero = (0,) * basis.dim
    return basis.tabulate(x, [zero])[zero]


def clenshaw_curtis(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes cos(jπ/n) and weights for the mean over [−1, 1], exact for degree n: the weights solve the moment equations."""
    nodes = np.cos(np.pi * np.arange(n + 1) / n)
    k = np.arange(n + 1)
    moments = np.where(k % 2 == 0, 1 / (1 - np.where(k % 2 == 0, k, 0) ** 2.0), 0.0)
    return nodes, np.linalg.solve(np.cos(np.outer(k, np.pi * k / n)), moments)


def mean_rule(frame: Frame, n: int) -> tuple[Tensor, Tensor]:
    """The mean over Q by a product of Clenshaw–Curtis rules: nothing in common with Gauss–Legendre."""
    nodes, weights = clenshaw_curtis(n)
    xi = np.stack([a.ravel() for a in np.meshgrid(*[nodes] * frame.dim, indexing="ij")], axis=1)
    w = np.prod(np.meshgrid(*[weights] * frame.dim, indexing="ij"), axis=0).ravel()
    return as_points(frame.to_physical(xi)), as_points(w)


# --- size and order -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("frame", "degree"), [(LINE, 12), (SQUARE, 30), (BRICK, 7)])
def test_size_is_that_of_all_polynomials(frame: Frame, degree: int) -> None:
    assert legendre(degree, frame).size == math.comb(degree + frame.dim, frame.dim)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_a_small_basis_is_the_beginning_of_a_large_one(dim: int) -> None:
    small, large = degrees(4, dim), degrees(7, dim)
    assert (large[: len(small)] == small).all()
    assert (large[len(small) :].sum(axis=1) > 4).all()
    assert len({tuple(i) for i in large}) == len(large)


# --- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", ALL)
def test_orthonormal_in_the_mean_on_the_box(frame: Frame) -> None:
    degree = {1: 30, 2: 12, 3: 5}[frame.dim]
    basis = legendre(degree, frame)
    x, w = mean_rule(frame, 2 * degree)
    phi = values(basis, x)
    assert ((phi * w) @ phi.T - torch.eye(basis.size, dtype=phi.dtype)).abs().max() < 1e-12


def test_the_first_functions_in_closed_form() -> None:
    x = some_points(OBLONG)
    one, y1, x1, y2, xy, x2 = values(legendre(2, OBLONG), x)
    s, t = (x[:, 0] - 2) / 1.7, (x[:, 1] + 3.5) / 0.4
    assert torch.equal(one, torch.ones_like(one))
    for value, expected in (
        (x1, math.sqrt(3) * s),
        (y1, math.sqrt(3) * t),
        (xy, 3 * s * t),
        (x2, math.sqrt(5) * (1.5 * s**2 - 0.5)),
        (y2, math.sqrt(5) * (1.5 * t**2 - 0.5)),
    ):
        assert torch.allclose(value, expected, atol=1e-13)


# --- derivatives ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4])
def test_one_dimensional_tables_match_series_of_legendre_polynomials(k: int) -> None:
    """numpy differentiates Legendre series by another recurrence; at the ends P_n^{(k)}(1) = (n+k)! / (2^k k! (n−k)!)."""
    p, xi = 60, np.linspace(-1, 1, 41)
    table = legendre_tables(p, k, as_points(xi))[k].numpy()
    for n in (0, 1, k, k + 1, 17, 60):
        series = math.sqrt(2 * n + 1) * Legendre.basis(n).deriv(k)(xi)
        end = math.sqrt(2 * n + 1) * (math.perm(n + k, 2 * k) / (2**k * math.factorial(k)) if n >= k else 0.0)
        assert np.abs(table[n] - series).max() <= 1e-13 * max(1.0, end)
        assert table[n][-1] == pytest.approx(end, rel=1e-12, abs=1e-13)
        assert table[n][0] == pytest.approx((-1) ** (n + k) * end, rel=1e-12, abs=1e-13)


def test_high_degree_solves_the_differential_equation() -> None:
    """(1 − ξ²) P″ − 2ξ P′ + n(n+1) P = 0, up to n = 200."""
    xi = as_points(np.linspace(-1, 1, 33))
    P, slope, second = legendre_tables(200, 2, xi)
    n = torch.arange(201, dtype=xi.dtype)[:, None]
    residual = (1 - xi**2) * second - 2 * xi * slope + n * (n + 1) * P
    size = ((1 - xi**2) * second).abs() + (2 * xi * slope).abs() + n * (n + 1) * P.abs()
    assert (residual.abs() <= 1e-11 * size.max()).all()


def by_autograd(basis: LegendreBasis, j: int, alpha: MultiIndex, x: Tensor) -> Tensor:
    """∂^αφ_j from repeated automatic differentiation of the values."""
    x = x.clone().requires_grad_(True)
    result = values(basis, x)[j]
    for axis, order in enumerate(alpha):
        for _ in range(order):
            (gradient,) = torch.autograd.grad(result.sum(), x, create_graph=True)
            result = gradient[:, axis]
    return result.detach()


@pytest.mark.parametrize(
    ("frame", "alpha"),
    [(f, a) for f in (OBLONG, TURNED) for a in ((1, 0), (0, 1), (2, 0), (1, 1), (0, 3), (2, 1), (4, 0), (2, 2), (1, 3))]
    + [(LINE, (3,)), (LINE, (4,)), (BRICK, (1, 1, 1)), (BRICK, (0, 2, 1))],
)
def test_derivatives_match_automatic_differentiation(frame: Frame, alpha: MultiIndex) -> None:
    basis = legendre(6, frame)
    x = some_points(frame)
    table = basis.tabulate(x, [alpha])[alpha]
    assert table.abs().max() > 0
    for j in range(1, basis.size, 4):
        assert (by_autograd(basis, j, alpha, x) - table[j]).abs().max() < 1e-12 * table.abs().max()


def test_derivatives_in_a_turned_oblong_frame_in_closed_form() -> None:
    """f = (x + 2y)⁴ has ∂_x^a ∂_y^b f = 2^b 4!/(4−a−b)! (x + 2y)^{4−a−b}, whatever the frame."""
    basis = legendre(4, TURNED)
    a = basis.project(lambda x: (x[:, 0] + 2 * x[:, 1]) ** 4)
    x = some_points(TURNED, 20)
    for alpha in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 2), (1, 3), (3, 2)):
        k = sum(alpha)
        line = x[:, 0] + 2 * x[:, 1]
        expected = 2 ** alpha[1] * math.perm(4, k) * line ** max(4 - k, 0)
        assert torch.allclose(basis.evaluate(a, x, alpha), expected, atol=1e-9)


def test_the_laplacian_does_not_depend_on_the_frame() -> None:
    """exp(x) cos(y) is harmonic and ∂_x of it is itself, seen through a turned oblong box."""
    basis = legendre(26, TURNED)
    a = basis.project(lambda x: x[:, 0].exp() * x[:, 1].cos())
    x = some_points(TURNED, 50)
    u = basis.evaluate(a, x)
    assert (basis.evaluate(a, x, (2, 0)) + basis.evaluate(a, x, (0, 2))).abs().max() < 1e-8 * u.abs().max()
    assert (basis.evaluate(a, x, (1, 0)) - u).abs().max() < 1e-9 * u.abs().max()


def test_all_derivatives_of_one_call_agree_with_separate_calls() -> None:
    basis = legendre(5, TURNED)
    x = some_points(TURNED)
    wanted = [(0, 0), (1, 0), (2, 2)]
    together = basis.tabulate(x, wanted)
    assert list(together) == wanted
    assert all(torch.equal(together[alpha], basis.tabulate(x, [alpha])[alpha]) for alpha in wanted)
    assert basis.tabulate(x, []) == {}


def test_no_points_give_empty_tables() -> None:
    basis = legendre(2, OBLONG)
    assert basis.tabulate(torch.zeros(0, 2, dtype=torch.float64), [(1, 0)])[(1, 0)].shape == (basis.size, 0)


def test_gradients_flow_through_points() -> None:
    basis = legendre(4, TURNED)
    a = torch.randn(basis.size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = some_points(TURNED, 3).requires_grad_(True)
    assert torch.autograd.gradcheck(lambda p: basis.evaluate(a, p, (1, 1)), (x,))
    (gradient,) = torch.autograd.grad(basis.evaluate(a, x).sum(), x)
    for i in range(2):
        assert torch.allclose(gradient[:, i], basis.evaluate(a, x, unit(2, i)).detach(), atol=1e-10)


# --- projection -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", ALL)
@pytest.mark.parametrize("batch", [(), (4,), (2, 3), (0,)])
def test_projection_undoes_synthesis(frame: Frame, batch: tuple[int, ...]) -> None:
    basis = legendre(8 if frame.dim < 3 else 4, frame)
    a = torch.randn(*batch, basis.size, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    again = basis.project(lambda x: basis.evaluate(a, x))
    assert again.shape == a.shape
    assert torch.allclose(again, a, atol=1e-12)


def test_projection_is_the_mean_against_every_function() -> None:
    basis, fine = legendre(5, TURNED), legendre(18, TURNED)  # 18 = 3·5 + 3, the largest degree that is exact
    a = torch.randn(fine.size, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    x, w = mean_rule(TURNED, 24)
    expected = (fine.evaluate(a, x) * w) @ values(basis, x).T
    assert torch.allclose(basis.project(lambda p: fine.evaluate(a, p)), expected, atol=1e-11)
    assert torch.allclose(expected, a[: basis.size], atol=1e-11)


@pytest.mark.parametrize("frame", ALL)
def test_polynomials_are_reproduced(frame: Frame) -> None:
    """A polynomial of total degree 5 in physical coordinates is in the space of degree 5, and not in that of degree 4."""
    direction = as_points(np.array([1.0, -0.7, 0.4])[: frame.dim])

    def function(x: Tensor) -> Tensor:
        line = (x - as_points(frame.centre)) @ direction
        return 0.3 - line + 0.2 * line**2 + 0.7 * line**3 - 0.4 * line**4 + 0.25 * line**5

    x = some_points(frame, 50)
    exact, low = legendre(5, frame), legendre(4, frame)
    assert (exact.evaluate(exact.project(function), x) - function(x)).abs().max() < 1e-11
    assert (low.evaluate(low.project(function), x) - function(x)).abs().max() > 1e-6


def test_projection_of_a_smooth_function_converges_exponentially() -> None:
    def smooth(x: Tensor) -> Tensor:
        return torch.exp(0.4 * x[:, 0]) * torch.cos(1.1 * x[:, 1] - 0.3)

    x = some_points(TURNED, 200)
    errors = []
    for degree in (3, 6, 12, 24):
        basis = legendre(degree, TURNED)
        errors.append(float((basis.evaluate(basis.project(smooth), x) - smooth(x)).abs().max()))
    assert errors[1] < 0.1 * errors[0] and errors[2] < 1e-3 * errors[1] and errors[3] < 1e-12


def test_projection_is_differentiable() -> None:
    basis = legendre(2, OBLONG)
    p = torch.tensor([0.7, 1.3], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda q: basis.project(lambda x: torch.sin(q[0] * x[:, 0] + q[1])), (p,))


# --- in a problem ---------------------------------------------------------------------------------------------------


def heat(domain: dict, degree: int) -> Discretisation:
    """u_t = Δu, u = 0 on ∂Ω."""
    field = {"initial": 0, "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}
    basis = {"kind": "legendre", "degree": degree}
    return discretise(load_problem({"domain": domain, "basis": basis, "fields": {"u": field}, "time": {"end": 1}}))


def rates(d: Discretisation) -> np.ndarray:
    """Decay rates, ascending."""
    matrix = d.system.linear.apply(torch.eye(d.system.linear.size, dtype=torch.float64))
    return np.sort(-np.linalg.eigvals(matrix.numpy()).real)


@pytest.mark.parametrize(("degree", "accuracy"), [(12, 1e-5), (22, 1e-10)])
def test_heat_on_a_disk_against_zeros_of_bessel_functions(degree: int, accuracy: float) -> None:
    zeros = np.sort(np.concatenate([np.repeat(jn_zeros(m, 4), 1 if m == 0 else 2) for m in range(8)]))[:10]
    assert rates(heat({"kind": "disk", "radius": 0.6}, degree))[:10] == pytest.approx((zeros / 0.6) ** 2, rel=accuracy)


def test_heat_on_an_oblong_rectangle_in_a_box_that_is_the_rectangle() -> None:
    d = heat({"kind": "rectangle", "x": [1, 4], "y": [0, 1]}, 24)
    assert d.basis.frame.half_widths == pytest.approx([1.5, 0.5])
    exact = np.sort([np.pi**2 * (m**2 / 9 + n**2) for m in range(1, 10) for n in range(1, 10)])[:8]
    assert rates(d)[:8] == pytest.approx(exact, rel=1e-9)


def test_a_degree_chosen_for_an_accuracy() -> None:
    """The first mode of a disk, whose decay is known."""
    field = {
        "exact": "besselj0(2.404825557695773*sqrt(x^2 + y^2))*exp(-5.783185962946784*t)",
        "boundary": [{"kind": "dirichlet"}],
        "equation": [{"block": "diffusion"}],
    }
    problem = {
        "domain": {"kind": "disk", "radius": 1},
        "basis": {"kind": "legendre", "degree": "auto"},
        "accuracy": 1e-4,
        "fields": {"u": field},
        "time": {"end": 0.2},
        "output": {"frames": 4},
    }
    run = solve(problem)
    assert run.metrics["relative_l2"]["max"] < 1e-4
    assert 8 <= run.discretisation.basis.degree <= 16  # type: ignore[attr-defined]


def test_the_quadrature_integrates_products_on_a_curved_domain() -> None:
    """NᵀM_ΩN = I on the rule that ``bandwidth`` asks for must also hold on a rule for three times its wavenumber."""
    d = heat({"kind": "rosette"}, 20)
    rule = d.domain.quadrature(6 * d.basis.bandwidth)
    u = d.basis.evaluate(d.system.fields["u"].space.N.T, as_points(rule.points))
    gram = (u * as_points(rule.weights)) @ u.T
    assert torch.linalg.matrix_norm(gram - torch.eye(len(gram), dtype=gram.dtype), ord=2) < 1e-9


# --- the pack -------------------------------------------------------------------------------------------------------


def test_examples_validate_and_capabilities_are_true() -> None:
    for entry in gleg_bases():
        component = default_registry().find("basis", entry.name)
        for example in entry.examples:
            params = default_registry().params(component).model_validate(example)
            basis = default_registry().factory(component)(params, Site(OBLONG))
            assert {k: getattr(basis, k) for k in ("periodic", "isotropic")}.items() <= entry.capabilities.items()


@pytest.mark.parametrize("degree", [0, 201, 2.5, "p"])
def test_bad_degrees_are_refused(degree: object) -> None:
    with pytest.raises(ValidationError):
        LegendreParams.model_validate({"degree": degree})


def test_listing_and_checking_do_not_import_torch() -> None:
    code = "import sys, gleg_basis_legendre.pack as p, gleg_basis_legendre.params; p.gleg_bases(); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
