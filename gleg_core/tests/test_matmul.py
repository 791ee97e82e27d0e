"""Products by numpy's BLAS are those of torch, for all shapes, layouts and gradients; threads are limited in both libraries."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import torch
from threadpoolctl import threadpool_info

from gleg_core.matmul import matmul
from gleg_core.threads import at_most, for_matrices, numpy_is_free

SHAPES = [
    ((5,), (5, 3)), ((4, 5), (5, 3)), ((4, 5), (5,)), ((0, 5), (5, 3)),
    ((2, 4, 5), (5, 3)), ((2, 1, 4, 5), (5, 3)), ((6, 4, 5), (6, 5, 2)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def by_numpy() -> Iterator[None]:
    with at_most(1):
        yield


def numbers(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(len(shape)))


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_shapes(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    A, B = numbers(a), numbers(b)
    torch.testing.assert_close(matmul(A, B), A @ B, rtol=1e-14, atol=1e-14)


def test_layouts() -> None:
    """Transposed, strided, repeated without memory of its own, and part of a larger one."""
    A, B = numbers((8, 6)), numbers((8, 6))
    for left, right in (
        (A.T, B), (A, B.T), (A.T[::2], B), (A[:, ::2], B[:, :3].T), (A[0].expand(4, 6), B.T), (A[2:5, 1:4], B[:3, :4]),
    ):  # fmt: skip
        torch.testing.assert_close(matmul(left, right), left @ right, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("which", [(True, False), (False, True), (True, True)])
def test_gradients(which: tuple[bool, bool]) -> None:
    A, B = (numbers(s).requires_grad_(g) for s, g in zip(((3, 4), (4, 2)), which, strict=True))
    assert torch.autograd.gradcheck(matmul, (A, B))
    with torch.no_grad():
        assert not matmul(A, B).requires_grad


def test_what_is_not_finite_passes_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            matmul(torch.full((2, 2), torch.inf, dtype=torch.float64), torch.zeros(2, 2, dtype=torch.float64))
            .isnan()
            .all()
        )


def blas_threads() -> int:
    (numpy,) = (lib for lib in threadpool_info() if lib["user_api"] == "blas" and "numpy" in lib["filepath"])
    return int(numpy["num_threads"])


def test_threads_are_limited_in_both_libraries_and_given_back() -> None:
    def used() -> set[int]:
        return {torch.get_num_threads(), blas_threads()}

    with at_most(2):
        assert used() == {2} and not numpy_is_free()
        with at_most(1):
            assert used() == {1} and numpy_is_free()
        assert used() == {2} and not numpy_is_free()


@pytest.mark.parametrize(("functions", "expected"), [(100, (2, 1)), (10_000, (1, 2))])
def test_matrices_have_several_threads_in_one_library_only(functions: int, expected: tuple[int, int]) -> None:
    with at_most(2), for_matrices(functions):
        assert (torch.get_num_threads(), blas_threads()) == expected and numpy_is_free()
