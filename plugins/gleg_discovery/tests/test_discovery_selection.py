"""Selection of terms and the linear algebra of the regression, on small synthetic problems."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import expm

from gleg_discovery.legendre import SampleTimes, gauss, integration
from gleg_discovery.regression import Information, Propagation, fit_coefficients, triangle
from gleg_discovery.selection import evidence, select, thresholded_ridge

N = 400


def information_from(
    labels: Sequence[str], F: np.ndarray, b: np.ndarray, yy: float, number: int, sigma: float
) -> Information:
    """From normal equations, where digits are no concern."""
    root = np.linalg.cholesky(np.block([[F, b[:, None]], [b[None], np.array([[yy]])]])).T
    return Information(tuple(labels), root, (root,), (), number, number, sigma)


def synthetic(c: np.ndarray, sigma: float = 0.5, seed: int = 0) -> tuple[Information, np.ndarray, np.ndarray]:
    """y = X c + σ ε with correlated columns of very different size."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((N, len(c))) @ (np.eye(len(c)) + 0.3) * 10.0 ** np.linspace(-2, 2, len(c))
    y = X @ c + sigma * random.standard_normal(N)
    labels = [f"t{p}" for p in range(len(c))]
    return information_from(labels, X.T @ X, X.T @ y, float(y @ y), N, sigma), X, y


def test_full_fit_is_least_squares() -> None:
    info, X, y = synthetic(np.array([300.0, -20.0, 0.5, 0.3]))
    fit = fit_coefficients(info)
    expected = np.linalg.lstsq(X, y, rcond=None)[0]
    assert fit.c == pytest.approx(expected, rel=1e-9)
    assert fit.covariance == pytest.approx(0.25 * np.linalg.inv(X.T @ X), rel=1e-8)
    assert fit.rss == pytest.approx(((y - X @ expected) ** 2).sum(), rel=1e-8)
    assert fit.intervals[:, 1] - fit.c == pytest.approx(1.966 * fit.errors, rel=1e-3)  # Student, 396 degrees of freedom


def test_every_subset_has_its_bic() -> None:
    info, X, y = synthetic(np.array([300.0, 0.0, 0.5, 0.0, 0.004]))
    scores = evidence(info)
    assert len(scores) == 2**5
    for size in range(6):
        for S in combinations(range(5), size):
            left = y - X[:, S] @ np.linalg.lstsq(X[:, S], y, rcond=None)[0]
            assert scores[S] == pytest.approx(left @ left / 0.25 + size * np.log(N), rel=1e-8)


def test_best_subset_and_odds() -> None:
    info, _, _ = synthetic(np.array([300.0, 0.0, 0.5, 0.0, 0.004]))
    scores = evidence(info)
    chosen = select(info)
    assert chosen.support == min(scores, key=scores.__getitem__) == (0, 2, 4)
    weights = {S: np.exp(-(v - min(scores.values())) / 2) for S, v in scores.items()}
    with_1 = sum(w for S, w in weights.items() if 1 in S)
    assert chosen.inclusion[1] == pytest.approx(with_1 / sum(weights.values()))
    assert chosen.bayes_factor[1] == pytest.approx(with_1 / (sum(weights.values()) - with_1))
    assert chosen.ranking[0] == ((0, 2, 4), 0.0)


def test_terms_to_keep_and_signs() -> None:
    info, _, _ = synthetic(np.array([300.0, 0.0, 0.5, 0.0, 0.004]))
    assert set(select(info, keep=[1]).support) >= {0, 1, 2, 4}
    chosen = select(info, signs=[0, 0, -1, 0, 0])
    assert 2 not in chosen.support
    bounded = fit_coefficients(info, signs=[0, 0, -1, 0, 0])
    assert bounded.c[2] == pytest.approx(0.0, abs=1e-12)
    without = fit_coefficients(info, [0, 1, 3, 4])
    assert bounded.c[[0, 1, 3, 4]] == pytest.approx(without.c, rel=1e-6)


def test_stepwise_search_beyond_fourteen_candidates() -> None:
    c = np.zeros(18)
    c[[1, 7, 16]] = 200.0, 1.0, 0.05
    info, _, _ = synthetic(c)
    chosen = select(info)
    assert not chosen.exhaustive
    assert chosen.support == (1, 7, 16)
    assert chosen.stability is not None
    assert (chosen.stability[[1, 7, 16]] > 0.95).all()
    assert np.delete(chosen.stability, [1, 7, 16]).max() < 0.6


def test_known_coefficients_move_to_the_left() -> None:
    info, X, y = synthetic(np.array([300.0, -20.0, 0.5]))
    rest = fit_coefficients(info.fixed({"t1": -20.0}))
    assert rest.labels == ("t0", "t2")
    assert rest.c == pytest.approx(np.linalg.lstsq(X[:, [0, 2]], y + 20.0 * X[:, 1], rcond=None)[0], rel=1e-9)


def test_thresholded_ridge_by_hand() -> None:
    """Two orthogonal columns of norm 2 and 10: β = (6, 0.5)/(1 + λ), so that a threshold between them drops the second."""
    F, b = np.diag([4.0, 100.0]), np.array([12.0, 5.0])
    info = information_from("ab", F, b, 100.0, 50, 1.0)
    support, c = thresholded_ridge(info, threshold=0.2, ridge=0.25)
    assert support == (0, 1)
    assert c == pytest.approx([6 / 1.25 / 2, 0.5 / 1.25 / 10])
    support, c = thresholded_ridge(info, threshold=0.45, ridge=0.25)
    assert support == (0,)
    assert c == pytest.approx([2.4, 0.0])
    assert thresholded_ridge(info, threshold=50.0)[0] == (0,)  # the largest stays
    assert thresholded_ridge(info, threshold=50.0, keep=[1])[0] == (1,)


def test_thresholded_ridge_iterates() -> None:
    """Nearly parallel columns: dropping one makes the other grow past the threshold it was below."""
    a = np.array([1.0, 0.0, 0.0])
    X = np.column_stack([a, np.array([1.0, 0.1, 0.0]) / np.sqrt(1.01), [0, 0, 1.0]])
    y = X @ np.array([1.0, 0.02, 0.05])
    info = information_from("abc", X.T @ X, X.T @ y, float(y @ y) + 1e-6, 50, 1.0)
    support, c = thresholded_ridge(info, threshold=0.04, ridge=0.0)
    assert support == (0, 2)
    assert c[0] == pytest.approx(a @ y) and c[2] == pytest.approx(0.05)


def test_resampled_recordings() -> None:
    random = np.random.default_rng(5)
    pieces = [random.standard_normal((20, 3)) for _ in range(4)]
    roots = tuple(map(triangle, pieces))
    info = Information(("a", "b"), triangle(np.concatenate(roots)), roots, (), 80, 80, 1.0)
    again = info.resampled([0, 0, 3]).root
    rows = np.concatenate([pieces[0], pieces[0], pieces[3]])
    assert again.T @ again == pytest.approx(rows.T @ rows)


# --- functions of time --------------------------------------------------------------------------------------------------------------


def test_series_of_a_function_and_its_integral() -> None:
    sampled = SampleTimes.of(2.0 + np.sort(np.random.default_rng(1).uniform(0, 3, 40)), 12)
    start, length = sampled.times[0], sampled.length
    series = gauss(24)[1] @ np.sin(sampled.at(gauss(24)[0]))
    assert sampled.values(24) @ series == pytest.approx(np.sin(sampled.times), abs=1e-12)
    integral = integration(24, length) @ series
    assert sampled.values(25) @ integral == pytest.approx(np.cos(start) - np.cos(sampled.times), abs=1e-12)
    assert sampled.moments(24) @ series == pytest.approx(sampled.Q.T @ np.sin(sampled.times), abs=1e-11)


@pytest.mark.parametrize("symmetric", [True, False])
def test_propagation_is_the_matrix_exponential(symmetric: bool) -> None:
    """With a = z_0 constant the solution is e^{Jt} z_0."""
    J = np.random.default_rng(2).standard_normal((4, 4)) - 2 * np.eye(4)
    J = J + J.T if symmetric else J
    z0 = np.array([1.0, -2.0, 0.5, 3.0])
    sampled = SampleTimes.of(np.linspace(1.0, 2.5, 9), 5)
    constant = np.zeros((30, 4, 1))
    constant[0, :, 0] = z0
    path = sampled.values(30) @ Propagation(J)(constant, sampled.length)[:, :, 0]
    expected = [expm(J * (t - 1.0)) @ z0 for t in sampled.times]
    assert path == pytest.approx(np.array(expected), abs=1e-10)
