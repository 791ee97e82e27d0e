"""The real Fourier basis: size, orthonormality, derivatives, projection, wavevectors, gradients."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from gleg_basis_fourier.fourier import FourierBasis, half_lattice
from gleg_basis_fourier.pack import gleg_bases
from gleg_basis_fourier.params import FourierParams
from gleg_core.contracts.basis import Frame, Site, as_points
from gleg_core.contracts.jet import MultiIndex, unit
from gleg_core.registry import default_registry


def rotation(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


FRAMES = {
    "unit square": Frame(np.zeros(2), np.ones(2), np.eye(2)),
    "shifted": Frame(np.array([2.0, -3.5]), np.ones(2), np.eye(2)),
    "scaled": Frame(np.zeros(2), np.full(2, 0.37), np.eye(2)),
    "shifted, scaled, rotated": Frame(np.array([-0.4, 1.2]), np.full(2, 2.5), rotation(0.7)),
}
LINE = Frame(np.array([0.5]), np.array([1.5]), np.eye(1))
CUBE = Frame(
    np.array([0.1, 0.2, -0.3]), np.full(3, 0.8), np.linalg.qr(np.arange(9).reshape(3, 3) ** 2.0 + np.eye(3))[0]
)
ALL = [*FRAMES.values(), LINE, CUBE]


def fourier(K: int, frame: Frame) -> FourierBasis:
    return FourierBasis(FourierParams(K=K), Site(frame))


def grid(frame: Frame, n: int) -> Tensor:
    """Equispaced points of Q: their mean is exact for trigonometric polynomials of degree below n per axis."""
    axis = -1 + 2 * (np.arange(n) + 0.3) / n
    xi = np.stack([a.ravel() for a in np.meshgrid(*[axis] * frame.dim, indexing="ij")], axis=1)
    return as_points(frame.to_physical(xi))


def some_points(frame: Frame, n: int = 7) -> Tensor:
    return as_points(frame.to_physical(np.random.default_rng(3).uniform(-1, 1, (n, frame.dim))))


def values(basis: FourierBasis, x: Tensor) -> Tensor:
    zero = (0,) * basis.dim
    return basis.tabulate(x, [zero])[zero]


# --- size and order -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("K", "M"),
    [(22, 1517), (24, 1793), (26, 2121), (28, 2453), (30, 2821), (31, 3001), (39, 4777), (40, 5025), (45, 6361)],
)
def test_size_of_the_radial_cutoff(K: int, M: int) -> None:
    assert fourier(K, FRAMES["unit square"]).size == M


def test_size_in_one_and_three_dimensions() -> None:
    assert fourier(9, LINE).size == 19
    inside = sum(a * a + b * b + c * c <= 16 for a in range(-4, 5) for b in range(-4, 5) for c in range(-4, 5))
    assert fourier(4, CUBE).size == inside


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_one_wavevector_of_each_pair_by_rising_length(dim: int) -> None:
    k = half_lattice(5, dim)
    squared = (k**2).sum(axis=1)
    assert (np.diff(squared) >= 0).all()
    assert 0 < squared.min() <= squared.max() <= 25
    both = {tuple(v) for v in k} | {tuple(-v) for v in k}
    assert len(both) == 2 * len(k)


def test_a_small_basis_is_the_beginning_of_a_large_one() -> None:
    small, large = half_lattice(4, 2), half_lattice(7, 2)
    assert (large[: len(small)] == small).all()


# --- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", ALL)
def test_orthonormal_in_the_mean_on_the_box(frame: Frame) -> None:
    basis = fourier(6 if frame.dim < 3 else 3, frame)
    x = grid(frame, 2 * basis.K + 1)
    phi = values(basis, x)
    gram = phi @ phi.T / len(x)
    assert (gram - torch.eye(basis.size, dtype=gram.dtype)).abs().max() < 1e-13


def test_the_first_functions_on_the_unit_square() -> None:
    basis = fourier(1, FRAMES["unit square"])
    x = some_points(basis.frame)
    one, cosy, cosx, siny, sinx = values(basis, x)
    assert torch.equal(one, torch.ones_like(one))
    for value, function, i in ((cosx, torch.cos, 0), (cosy, torch.cos, 1), (sinx, torch.sin, 0), (siny, torch.sin, 1)):
        assert torch.allclose(value, math.sqrt(2) * function(math.pi * x[:, i]), atol=1e-15)


@pytest.mark.parametrize("frame", ALL)
def test_periodic_with_the_box(frame: Frame) -> None:
    basis = fourier(4, frame)
    x = some_points(frame)
    for i in range(frame.dim):
        step = as_points(2 * frame.half_widths[i] * frame.rotation[:, i])
        assert (values(basis, x + step) - values(basis, x)).abs().max() < 1e-12


# --- derivatives ----------------------------------------------------------------------------------------------------


def by_autograd(basis: FourierBasis, j: int, alpha: MultiIndex, x: Tensor) -> Tensor:
    """∂^αφ_j from repeated automatic differentiation of the values."""
    x = x.clone().requires_grad_(True)
    result = values(basis, x)[j]
    for axis, order in enumerate(alpha):
        for _ in range(order):
            (gradient,) = torch.autograd.grad(result.sum(), x, create_graph=True)
            result = gradient[:, axis]
    return result.detach()


@pytest.mark.parametrize("alpha", [(1, 0), (0, 1), (2, 0), (1, 1), (0, 3), (2, 1), (4, 0), (2, 2), (1, 3)])
@pytest.mark.parametrize("frame", [FRAMES["unit square"], FRAMES["shifted, scaled, rotated"]])
def test_derivatives_match_automatic_differentiation(frame: Frame, alpha: MultiIndex) -> None:
    basis = fourier(3, frame)
    x = some_points(frame)
    table = basis.tabulate(x, [alpha])[alpha]
    size = table.abs().max()
    for j in range(1, basis.size, 3):
        assert (by_autograd(basis, j, alpha, x) - table[j]).abs().max() < 1e-12 * size
    assert not table[0].any()


@pytest.mark.parametrize(("frame", "alpha"), [(LINE, (3,)), (LINE, (4,)), (CUBE, (1, 1, 1)), (CUBE, (0, 2, 1))])
def test_derivatives_in_one_and_three_dimensions(frame: Frame, alpha: MultiIndex) -> None:
    basis = fourier(2, frame)
    x = some_points(frame)
    table = basis.tabulate(x, [alpha])[alpha]
    for j in range(basis.size):
        if j:
            assert (by_autograd(basis, j, alpha, x) - table[j]).abs().max() < 1e-12 * table.abs().max()


def test_all_derivatives_of_one_call_agree_with_separate_calls() -> None:
    basis = fourier(5, FRAMES["scaled"])
    x = some_points(basis.frame)
    wanted = [(0, 0), (1, 0), (2, 2)]
    together = basis.tabulate(x, wanted)
    assert list(together) == wanted
    assert all(torch.equal(together[alpha], basis.tabulate(x, [alpha])[alpha]) for alpha in wanted)


def test_no_points_give_empty_tables() -> None:
    basis = fourier(2, FRAMES["scaled"])
    assert basis.tabulate(torch.zeros(0, 2, dtype=torch.float64), [(1, 0)])[(1, 0)].shape == (basis.size, 0)


@pytest.mark.parametrize("frame", ALL)
def test_wavevectors_diagonalise_the_laplacian(frame: Frame) -> None:
    basis = fourier(3, frame)
    assert basis.wavevectors is not None and basis.wavevectors.shape == (basis.size, frame.dim)
    x = some_points(frame)
    expected = -(basis.wavevectors**2).sum(dim=1)[:, None] * values(basis, x)
    laplacian = basis.jet(x).laplacian
    assert (laplacian - expected).abs().max() < 1e-13 * expected.abs().max()
    assert basis.wavevectors.norm(dim=1).max() == pytest.approx(basis.bandwidth)


def test_gradients_flow_through_points() -> None:
    basis = fourier(2, FRAMES["shifted, scaled, rotated"])
    a = torch.randn(basis.size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = some_points(basis.frame, 3).requires_grad_(True)
    assert torch.autograd.gradcheck(lambda p: basis.evaluate(a, p, (1, 1)), (x,))
    (gradient,) = torch.autograd.grad(basis.evaluate(a, x).sum(), x)
    for i in range(2):
        assert torch.allclose(gradient[:, i], basis.evaluate(a, x, unit(2, i)).detach(), atol=1e-12)


def test_tabulating_is_deterministic_and_leaves_the_points_alone() -> None:
    basis = fourier(6, FRAMES["shifted"])
    x = some_points(basis.frame)
    before = x.clone()
    assert torch.equal(values(basis, x), values(basis, x))
    assert torch.equal(x, before)


# --- projection -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", ALL)
@pytest.mark.parametrize("batch", [(), (4,), (2, 3), (0,)])
def test_projection_undoes_synthesis(frame: Frame, batch: tuple[int, ...]) -> None:
    basis = fourier(4 if frame.dim < 3 else 2, frame)
    a = torch.randn(*batch, basis.size, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    again = basis.project(lambda x: basis.evaluate(a, x))
    assert again.shape == a.shape
    assert torch.allclose(again, a, atol=1e-13)


def test_projection_is_the_mean_against_every_function() -> None:
    basis = fourier(5, FRAMES["shifted, scaled, rotated"])
    wave = fourier(14, basis.frame)  # wavenumbers up to 14 < 3K = 15 are integrated exactly
    a = torch.randn(wave.size, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    x = grid(basis.frame, 41)
    expected = wave.evaluate(a, x) @ values(basis, x).T / len(x)
    assert torch.allclose(basis.project(lambda p: wave.evaluate(a, p)), expected, atol=1e-13)


def test_projection_of_a_smooth_periodic_function_converges_exponentially() -> None:
    frame = FRAMES["shifted, scaled, rotated"]
    centre, R = as_points(frame.centre), as_points(frame.rotation)

    def smooth(x: Tensor) -> Tensor:
        xi = math.pi * ((x - centre) @ R) / 2.5
        return torch.exp(torch.sin(xi[:, 0]) + torch.cos(xi[:, 1] + 0.3))

    x = some_points(frame, 200)
    errors = []
    for K in (2, 4, 8, 16):
        basis = fourier(K, frame)
        errors.append(float((basis.evaluate(basis.project(smooth), x) - smooth(x)).abs().max()))
    assert errors[1] < 0.1 * errors[0] and errors[2] < 1e-2 * errors[1] and errors[3] < 1e-12


def test_projection_is_differentiable() -> None:
    basis = fourier(2, FRAMES["scaled"])
    p = torch.tensor([0.7, 1.3], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda q: basis.project(lambda x: torch.sin(q[0] * x[:, 0] + q[1])), (p,))


# --- the pack -------------------------------------------------------------------------------------------------------


def test_examples_validate_and_capabilities_are_true() -> None:
    for entry in gleg_bases():
        component = default_registry().find("basis", entry.name)
        for example in entry.examples:
            params = default_registry().params(component).model_validate(example)
            basis = default_registry().factory(component)(params, Site(FRAMES["unit square"]))
            assert {k: getattr(basis, k) for k in ("periodic", "isotropic")}.items() <= entry.capabilities.items()


@pytest.mark.parametrize("K", [0, 401, 2.5, "K"])
def test_bad_cutoffs_are_refused(K: object) -> None:
    with pytest.raises(ValidationError):
        FourierParams.model_validate({"K": K})


def test_listing_and_checking_do_not_import_torch() -> None:
    code = "import sys, gleg_basis_fourier.pack as p, gleg_basis_fourier.params; p.gleg_bases(); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
