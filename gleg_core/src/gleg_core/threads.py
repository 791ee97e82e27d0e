"""On how many threads products of matrices run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import ThreadpoolController

_LIBRARIES = ThreadpoolController()
"""The BLAS of numpy, found once: looking through all loaded libraries takes milliseconds."""


@contextmanager
def at_most(count: int) -> Iterator[None]:
    """At most ``count`` threads in torch and in numpy."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with _LIBRARIES.limit(limits=count):
            yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def one_thread() -> Iterator[None]:
    """A single trajectory is matrix–vector products, bound by memory bandwidth, and discovery many small matrices: further threads gain
    nothing on an idle machine (2.2 s either way for MMS-I) and make it many times slower on a busy one, where they wait for each other."""
    with at_most(1):
        yield
