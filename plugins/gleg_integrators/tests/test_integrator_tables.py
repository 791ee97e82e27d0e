"""Order conditions of every table, and stability functions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from gleg_core.algebra.linear import phis_real
from gleg_integrators.ascher_ruuth_spiteri import ARS443
from gleg_integrators.crank_nicolson import CRANK_NICOLSON_HEUN
from gleg_integrators.etdrk import (
    COX_MATTHEWS,
    ETDRK2,
    HOCHBRUCK_OSTERMANN,
    HOCHBRUCK_OSTERMANN_43,
    KROGSTAD,
)
from gleg_integrators.exponential import ExponentialTable, PhiSum, Row
from gleg_integrators.imex import ImexTable
from gleg_integrators.kennedy_carpenter import ARK436
from gleg_integrators.rosenbrock import RODAS4P2, RosenbrockTable
from gleg_integrators.runge_kutta import HEUN, RK4, ExplicitTable, RungeKutta4

W = torch.tensor([-1e4, -50.0, -3.0, -0.7, 0.0, 0.9], dtype=torch.float64)


def square(rows: tuple[tuple, ...]) -> np.ndarray:
    size = len(rows)
    return np.array([[float(x) for x in row] + [0.0] * (size - len(row)) for row in rows])


def defects(weights: list[np.ndarray], matrices: list[np.ndarray], c: np.ndarray, order: int) -> list[float]:
    """Defects of the order conditions of an additive method with common abscissae, every colouring of every tree."""
    found = [b @ c**k - 1 / (k + 1) for b in weights for k in range(order)]
    for b, a in itertools.product(weights, matrices):
        if order >= 3:
            found += [b @ a @ c - 1 / 6]
        if order >= 4:
            found += [b * c @ a @ c - 1 / 8, b @ a @ c**2 - 1 / 12]
            found += [b @ a @ other @ c - 1 / 24 for other in matrices]
    return [float(abs(x)) for x in found]


@pytest.mark.parametrize(("table", "order"), [(RK4, 4), (HEUN, 2)])
def test_explicit_tables(table: ExplicitTable, order: int) -> None:
    c, a, b = np.array(table.c, float), square(table.a), np.array(table.b, float)
    assert np.allclose(a.sum(1), c, atol=1e-15)
    assert max(defects([b], [a], c, order)) < 1e-15
    if order < 4:
        assert max(defects([b], [a], c, order + 1)) > 1e-3


@pytest.mark.parametrize("table", [CRANK_NICOLSON_HEUN, ARS443, ARK436], ids=["cn", "ars443", "ark4"])
def test_imex_tables(table: ImexTable) -> None:
    c, implicit, explicit = np.array(table.c, float), square(table.implicit), square(table.explicit)
    assert np.allclose(implicit.sum(1), c, atol=1e-13) and np.allclose(explicit.sum(1), c, atol=1e-13)
    weights = [implicit[-1], np.array(table.weights, float)]
    assert max(defects(weights, [implicit, explicit], c, table.order)) < 1e-12
    if table.order < 4:
        assert max(defects(weights, [implicit, explicit], c, table.order + 1)) > 1e-3
    if table.embedded is not None:
        embedded = [np.array(table.embedded, float)]
        assert max(defects(embedded, [implicit, explicit], c, 3)) < 1e-12
        assert max(defects(embedded, [implicit, explicit], c, 4)) > 1e-4


def amplification(table: ImexTable, w: complex) -> complex:
    a = square(table.implicit)
    return 1 + w * a[-1] @ np.linalg.solve(np.eye(len(a)) - w * a, np.ones(len(a)))


@pytest.mark.parametrize(("table", "l_stable"), [(CRANK_NICOLSON_HEUN, False), (ARS443, True), (ARK436, True)])
def test_implicit_tables_are_a_stable(table: ImexTable, l_stable: bool) -> None:
    axis = 1j * np.concatenate([np.linspace(0, 20, 401), np.geomspace(20, 1e6, 50)])
    half_plane = [r * np.exp(1j * s) for r in np.geomspace(0.1, 1e6, 40) for s in np.linspace(np.pi / 2, np.pi, 9)]
    assert max(abs(amplification(table, w)) for w in (*axis, *half_plane)) <= 1 + 1e-9
    assert (abs(amplification(table, -1e8)) < 1e-6) == l_stable


def test_rk4_step_limit_stays_in_the_stability_region() -> None:
    for angle in np.linspace(np.pi / 2, np.pi, 200):
        for radius in np.linspace(0, RungeKutta4.REACH, 100):
            w = radius * np.exp(1j * angle)
            assert abs(sum(w**k / math.factorial(k) for k in range(5))) <= 1.0 + 1e-12


def classical_rosenbrock(table: RosenbrockTable) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """α, Γ and both rows of weights b = m Γ."""
    lower = [square(rows) for rows in (table.a, table.C)]
    gamma = np.linalg.inv(np.eye(len(table.c)) / table.gamma - lower[1])
    m = np.array(table.m)
    return lower[0] @ gamma, gamma, m @ gamma, (m - np.array(table.e)) @ gamma


def rosenbrock_defects(alpha: np.ndarray, beta: np.ndarray, b: np.ndarray, order: int) -> list[float]:
    """Of the conditions for the exact derivative, β = α + Γ (Hairer & Wanner, IV.7.11)."""
    c, steps = alpha.sum(1), beta.sum(1)
    found = [b.sum() - 1, b @ steps - 1 / 2, b @ c**2 - 1 / 3, b @ beta @ steps - 1 / 6]
    if order == 4:
        found += [b @ c**3 - 1 / 4, b * c @ alpha @ steps - 1 / 8]
        found += [b @ beta @ c**2 - 1 / 12, b @ beta @ beta @ steps - 1 / 24]
    return [float(abs(x)) for x in found]


def test_rosenbrock_tables() -> None:
    alpha, gamma, b, embedded = classical_rosenbrock(RODAS4P2)
    assert np.allclose(alpha.sum(1), RODAS4P2.c, atol=1e-13) and np.allclose(gamma.sum(1), RODAS4P2.d, atol=1e-13)
    assert np.allclose(np.diag(gamma), RODAS4P2.gamma) and np.allclose(np.triu(alpha), 0, atol=1e-13)
    assert max(rosenbrock_defects(alpha, alpha + gamma, b, 4)) < 1e-13
    assert max(rosenbrock_defects(alpha, alpha + gamma, embedded, 3)) < 1e-13
    assert max(rosenbrock_defects(alpha, alpha + gamma, embedded, 4)) > 1e-3


def test_rosenbrock_has_order_two_with_any_matrix() -> None:
    alpha, gamma, b, _ = classical_rosenbrock(RODAS4P2)
    assert abs(b @ alpha.sum(1) - 1 / 2) < 1e-13 and abs(b @ gamma.sum(1)) < 1e-13


def test_rosenbrock_is_stiffly_accurate_and_l_stable() -> None:
    alpha, gamma, b, _ = classical_rosenbrock(RODAS4P2)
    beta = alpha + gamma
    assert np.allclose(b, beta[-1], atol=1e-13) and np.allclose(alpha[-1].sum(), 1.0)

    def growth(w: complex) -> float:
        return abs(1 + w * b @ np.linalg.solve(np.eye(len(b)) - w * beta, np.ones(len(b))))

    axis = 1j * np.concatenate([np.linspace(0, 20, 401), np.geomspace(20, 1e6, 50)])
    assert max(map(growth, axis)) <= 1 + 1e-9 and growth(-1e8) < 1e-6  # poles are at 1/γ > 0


def value(coefficient: PhiSum, w: torch.Tensor) -> torch.Tensor:
    terms = (c * phis_real(theta * w)[k] for (k, theta), c in coefficient.terms.items())
    return sum(terms, torch.zeros_like(w))


def classical(table: ExponentialTable, weights: Row) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The Runge–Kutta method at A = 0."""
    c, zero = np.array(table.c), torch.zeros(1, dtype=torch.float64)
    rows = np.zeros((len(c) + 1, len(c)))
    for i, row in enumerate((*table.rows, weights)):
        for j, coefficient in row.items():
            rows[i, j - 1] = float(value(coefficient, zero))
        rows[i, 0] = (*c, 1.0)[i] - rows[i, 1:].sum()
    return c, rows[:-1], rows[-1]


EXPONENTIAL = {"etdrk2": ETDRK2, "cm": COX_MATTHEWS, "krogstad": KROGSTAD, "ho": HOCHBRUCK_OSTERMANN}


@pytest.mark.parametrize("name", EXPONENTIAL)
def test_exponential_tables_are_classical_methods_at_zero(name: str) -> None:
    table = EXPONENTIAL[name]
    c, a, b = classical(table, table.weights)
    assert np.allclose(np.triu(a), 0)
    assert max(defects([b], [a], c, table.order)) < 1e-14


def test_embedded_exponential_weights_have_order_three() -> None:
    assert HOCHBRUCK_OSTERMANN_43.embedded is not None
    c, a, b = classical(HOCHBRUCK_OSTERMANN_43, HOCHBRUCK_OSTERMANN_43.embedded)
    assert max(defects([b], [a], c, 3)) < 1e-14
    assert max(defects([b], [a], c, 4)) > 1e-3


@pytest.mark.parametrize("name", EXPONENTIAL)
def test_exponential_weights_integrate_polynomial_forcing(name: str) -> None:
    """Σ_i b_i(w) c_i^{k−1}/(k−1)! = φ_k(w): order 2 needs k ≤ 2, order 4 needs k ≤ 3 for all w."""
    table = EXPONENTIAL[name]
    for k in range(2, 3 if table.order == 2 else 4):
        total = sum(value(b, W) * table.c[j - 1] ** (k - 1) for j, b in table.weights.items()) / math.factorial(k - 1)
        torch.testing.assert_close(total, phis_real(W)[k], rtol=1e-13, atol=0)


def stage_defect(table: ExponentialTable, i: int, k: int) -> torch.Tensor:
    """ψ_{k,i}(w) = Σ_j a_ij(w) c_j^{k−1}/(k−1)! − c_i^k φ_k(c_i w)."""
    row, c = table.rows[i - 1], table.c
    total = sum((value(a, W) * c[j - 1] ** (k - 1) for j, a in row.items()), torch.zeros_like(W))
    return total / math.factorial(k - 1) - c[i - 1] ** k * phis_real(c[i - 1] * W)[k]


def test_hochbruck_ostermann_satisfies_the_stiff_order_conditions() -> None:
    """The conditions of Hochbruck & Ostermann (2005) for order 4, in the form in which this method fulfils them."""
    table, close = HOCHBRUCK_OSTERMANN, {"rtol": 0, "atol": 1e-14}
    none = torch.zeros_like(W)
    assert set(table.weights) == {4, 5}
    for i in (4, 5):
        torch.testing.assert_close(stage_defect(table, i, 2), none, **close)
        torch.testing.assert_close(value(table.rows[i - 1][2], W), value(table.rows[i - 1][3], W), **close)
    torch.testing.assert_close(stage_defect(table, 2, 2) + stage_defect(table, 3, 2), none, **close)
    at_zero = {i: float(value(b, torch.zeros(1, dtype=torch.float64))) for i, b in table.weights.items()}
    torch.testing.assert_close(sum(b * stage_defect(table, i, 3) for i, b in at_zero.items()), none, **close)


def test_embedded_exponential_method_has_stiff_order_three() -> None:
    table = HOCHBRUCK_OSTERMANN_43
    assert table.embedded is not None and set(table.embedded) == {4, 6}
    for i in table.embedded:
        torch.testing.assert_close(stage_defect(table, i, 2), torch.zeros_like(W), rtol=0, atol=1e-14)
    for k in (2, 3):
        total = sum(value(b, W) * table.c[j - 1] ** (k - 1) for j, b in table.embedded.items()) / math.factorial(k - 1)
        torch.testing.assert_close(total, phis_real(W)[k], rtol=1e-13, atol=0)


def test_other_fourth_order_tables_do_not() -> None:
    for table in (COX_MATTHEWS, KROGSTAD):
        assert float(sum(stage_defect(table, i, 2).abs().max() for i in (2, 3, 4))) > 1e-2
