"""φ-functions, resolvents and spectral bounds of the linear part, against mpmath and block-matrix identities."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.linalg
import torch

from gleg_core.algebra.linear import DensePart, DiagonalPart, phis_real
from gleg_core.errors import NumericsError

ARGUMENTS = [0.0, 1e-300, -1e-12, 1e-8, -1e-4, 0.01, -0.3, 0.5, -1.0, 1.0, -1.7, 1.999, -1.999, 2.0, -2.0, 2.001]
ARGUMENTS += [-2.5, 3.0, -5.0, 8.0, -20.0, 40.0, -300.0, 300.0, -1e4, -1e6, -1e12, -1e200]


def phi_exact(k: int, w: float) -> float:
    """φ_k(w) = (1/k!) ₁F₁(1; k + 1; w), by the recurrence in 60 digits where w is large."""
    with mpmath.workdps(60):
        if k == 0 or abs(w) < 1e3:
            return float(mpmath.hyp1f1(1, k + 1, w) / mpmath.factorial(k)) if k else float(mpmath.exp(w))
        value = mpmath.exp(w)
        for j in range(k):
            value = (value - 1 / mpmath.factorial(j)) / mpmath.mpf(w)
        return float(value)


def phi_block(k: int, matrix: np.ndarray) -> np.ndarray:
    """φ_k(W) as the upper right block of exp [[W, E], [0, J]] (Saad 1992; Sidje 1998)."""
    n = len(matrix)
    if k == 0:
        return scipy.linalg.expm(matrix)
    big = np.zeros((n * (k + 1), n * (k + 1)))
    big[:n, :n] = matrix
    for j in range(k):
        big[j * n : (j + 1) * n, (j + 1) * n : (j + 2) * n] = np.eye(n)
    return scipy.linalg.expm(big)[:n, -n:]


def matrix_of(part: DensePart | DiagonalPart, operator) -> np.ndarray:
    return operator(torch.eye(part.size, dtype=torch.float64)).numpy().T


def relative(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize("k", range(5))
def test_scalar_phi_has_full_relative_accuracy(k: int) -> None:
    found = phis_real(torch.tensor(ARGUMENTS, dtype=torch.float64))[k]
    for w, value in zip(ARGUMENTS, found.tolist(), strict=True):
        exact = phi_exact(k, w)
        assert value == pytest.approx(exact, rel=1e-14, abs=1e-300), (k, w)


def test_diagonal_part_is_elementwise() -> None:
    eigenvalues = torch.tensor([-1e6, -3.0, 0.0, 0.7], dtype=torch.float64)
    part, z = DiagonalPart(eigenvalues), torch.randn(2, 3, 4, dtype=torch.float64)
    assert part.size == 4 and part.radius == 1e6
    torch.testing.assert_close(part.apply(z), z * eigenvalues, rtol=0, atol=0)
    torch.testing.assert_close(part.phi(2, 0.5)(z), z * phis_real(0.5 * eigenvalues)[2], rtol=0, atol=0)
    torch.testing.assert_close(part.resolvent(0.1)(z) * (1 - 0.1 * eigenvalues), z, rtol=1e-15, atol=0)


@pytest.mark.parametrize("k", range(5))
@pytest.mark.parametrize("scale", [1e-9, 0.3, 1.0, 7.0, 60.0])
def test_dense_phi_equals_block_exponential(k: int, scale: float) -> None:
    rng = np.random.default_rng(3)
    a = rng.standard_normal((9, 9))
    a = a - 3.0 * np.eye(9)  # eigenvalues mostly in the left half plane, non-normal
    part = DensePart(torch.from_numpy(a))
    found = matrix_of(part, part.phi(k, 0.1 * scale))
    assert relative(found, phi_block(k, 0.1 * scale * a)) < 1e-13 * max(1.0, scale)


@pytest.mark.parametrize("k", range(5))
def test_dense_phi_of_stiff_symmetric_matrix(k: int) -> None:
    rng = np.random.default_rng(4)
    q, _ = np.linalg.qr(rng.standard_normal((40, 40)))
    eigenvalues = -np.concatenate([[0.0, 1e-3], np.geomspace(1.0, 1e6, 38)])
    part = DensePart(torch.from_numpy(q * eigenvalues @ q.T))
    exact = q * phis_real(torch.from_numpy(eigenvalues))[k].numpy() @ q.T
    assert relative(matrix_of(part, part.phi(k, 1.0)), exact) < 2e-15 * 1e6  # conditioning: ulp of ‖A‖
    assert 1e6 * (1 - 1e-12) <= part.radius <= 1.1e6


def test_non_normal_matrix_is_not_overscaled() -> None:
    """‖A‖ = 1e6 but A⁴ is small: the accuracy of e^A must not suffer from twenty doublings."""
    a = torch.tensor([[-1.0, 1e6, 0.0], [0.0, -1.1, 1e6], [0.0, 0.0, -1.2]], dtype=torch.float64)
    part = DensePart(a)
    with mpmath.workdps(60):
        exact = np.array(mpmath.expm(mpmath.matrix(a.tolist()), method="taylor").tolist(), dtype=float)
    found = matrix_of(part, part.phi(0, 1.0))
    mask = exact != 0
    assert np.abs(found[mask] / exact[mask] - 1.0).max() < 1e-10
    assert 1.2 <= part.radius < 2.0


def test_radius_is_an_upper_bound_and_close_for_normal_matrices() -> None:
    rng = np.random.default_rng(5)
    a = rng.standard_normal((60, 60))
    for matrix in (a, a + a.T, a - a.T, np.triu(a)):
        exact = np.abs(np.linalg.eigvals(matrix)).max()
        assert exact * (1 - 1e-10) <= DensePart(torch.from_numpy(matrix)).radius <= 1.2 * exact
    assert DensePart(torch.zeros(3, 3)).radius == 0.0
    assert DensePart(torch.diag(torch.ones(2), 1)).radius == 0.0  # nilpotent


def test_dense_resolvent() -> None:
    rng = np.random.default_rng(6)
    a = torch.from_numpy(1e6 * rng.standard_normal((12, 12)))
    part, z = DensePart(a), torch.from_numpy(rng.standard_normal((2, 5, 12)))
    solved = part.resolvent(0.25)(z)
    torch.testing.assert_close(solved - 0.25 * part.apply(solved), z, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["diagonal", "dense"])
@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (0, 4), (2, 0, 4)])
def test_states_keep_their_shape_and_rows_do_not_mix(kind: str, shape: tuple[int, ...]) -> None:
    eigenvalues = torch.tensor([-1e3, -10.0, -1.0, 0.1], dtype=torch.float64)
    part = DiagonalPart(eigenvalues) if kind == "diagonal" else DensePart(torch.diag(eigenvalues) + 0.1)
    z = torch.randn(shape, dtype=torch.float64)
    for operator in (part.apply, part.phi(0, 0.1), part.phi(3, 0.1), part.resolvent(0.1)):
        result = operator(z)
        assert result.shape == z.shape
        for row, single in zip(result.reshape(-1, 4), z.reshape(-1, 4), strict=True):
            torch.testing.assert_close(row, operator(single), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("kind", ["diagonal", "dense"])
def test_gradients_flow_through_the_state(kind: str) -> None:
    eigenvalues = torch.tensor([-5.0, -1.0, 0.1], dtype=torch.float64)
    part = DiagonalPart(eigenvalues) if kind == "diagonal" else DensePart(torch.diag(eigenvalues) + 0.1)
    z = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    for operator in (part.apply, part.phi(1, 0.3), part.resolvent(0.3)):
        assert torch.autograd.gradcheck(operator, (z,))


def test_values_do_not_depend_on_what_was_asked_before() -> None:
    a = torch.randn(6, 6, dtype=torch.float64) * 30
    z = torch.randn(6, dtype=torch.float64)
    fresh = DensePart(a).phi(2, 0.05)(z)
    part = DensePart(a)
    for k, h in [(3, 0.1), (4, 0.05), (0, 0.2), (4, 0.1)] + [(1, 0.3 + 0.01 * i) for i in range(40)]:
        part.phi(k, h)
    assert torch.equal(part.phi(2, 0.05)(z), fresh)


def test_functions_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    part = DensePart(torch.randn(5, 5, dtype=torch.float64))
    calls: list[float] = []
    inner = part._scale_and_double
    monkeypatch.setattr(part, "_scale_and_double", lambda h, top: calls.append(h) or inner(h, top))
    for _ in range(3):
        for k in range(4):
            part.phi(k, 8.0), part.phi(k, 4.0)
    assert calls == [8.0]


def test_errors_are_clear() -> None:
    with pytest.raises(ValueError, match=r"\(\.\.\., R\)"):
        DiagonalPart(torch.tensor(2.0))
    with pytest.raises(ValueError, match=r"\(R, R\)"):
        DensePart(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="k = 0"):
        DensePart(torch.zeros(2, 2)).phi(9, 0.1)
    with pytest.raises(ValueError, match="k = 0"):
        DiagonalPart(torch.zeros(2)).phi(-1, 0.1)
    with pytest.raises(NumericsError, match="not finite"):
        DensePart(torch.tensor([[math.nan]]))
    with pytest.raises(NumericsError, match="overflows"):
        DensePart(torch.tensor([[1e4]])).phi(0, 1.0)
    with pytest.raises(NumericsError, match="overflows"):
        DiagonalPart(torch.tensor([1e4])).phi(0, 1.0)
    for part in (DiagonalPart(torch.tensor([4.0])), DensePart(torch.tensor([[4.0]]))):
        with pytest.raises(NumericsError, match="singular"):
            part.resolvent(0.25)
