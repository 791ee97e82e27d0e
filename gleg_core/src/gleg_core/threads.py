"""On how many threads products of matrices run.

Torch and the BLAS of numpy and scipy each have threads of their own, which do not know of each other: where both have several they wait for
one another, and small products take many times as long as on one thread. So at least one of the two is kept to a single thread wherever
both are used.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import scipy.linalg  # noqa: F401 (its BLAS is one of the libraries)
import torch
from threadpoolctl import ThreadpoolController

_LIBRARIES = ThreadpoolController().select(user_api="blas")
"""The BLAS of numpy and scipy, found once: looking through all loaded libraries takes milliseconds."""
_blas_threads = max((library["num_threads"] for library in _LIBRARIES.info()), default=1)
"""As it is now."""
_MANY = 2800
"""Basis functions from which on matrices are large enough for several threads of BLAS."""


def numpy_is_free() -> bool:
    """Whether numpy can be used without threads of two libraries waiting for each other."""
    return _blas_threads == 1 or torch.get_num_threads() == 1


@contextmanager
def _blas(count: int) -> Iterator[None]:
    global _blas_threads
    before, _blas_threads = _blas_threads, count
    try:
        with _LIBRARIES.limit(limits=count):
            yield
    finally:
        _blas_threads = before


@contextmanager
def _torch(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def at_most(count: int) -> Iterator[None]:
    """At most ``count`` threads in all libraries."""
    with _torch(count), _blas(count):
        yield


one_thread = partial(at_most, 1)
"""A single trajectory is matrix–vector products, bound by memory bandwidth, and discovery many small matrices: further threads gain
nothing on an idle machine (2.2 s either way for MMS-I) and make it many times slower on a busy one, where they wait for each other."""


@contextmanager
def for_matrices(functions: int) -> Iterator[None]:
    """For making matrices of so many basis functions: several threads in torch or, once products are so large that this gains more than it
    costs, in BLAS."""
    with _blas(1) if functions < _MANY else _torch(1):
        yield
