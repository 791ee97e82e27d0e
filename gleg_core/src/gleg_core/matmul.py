"""Products of matrices by the faster of the two libraries at hand.

numpy brings OpenBLAS, torch brings MKL. They are equally fast on some processors; on others, where MKL does not use the widest vector
instructions, OpenBLAS does two to five times as much per second, above all in many small products (``benchmarks/time_loop.py``
measures both). Torch remains for what gradients pass through, for other devices, and where both libraries have several threads.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gleg_core.threads import numpy_is_free


def matmul(A: Tensor, B: Any) -> Tensor:
    """A @ B, with the shapes of ``torch.matmul``; B may be a :class:`gleg_core.algebra.sparse.SparseMatrix`."""
    if not isinstance(B, Tensor):
        return A @ B
    needs_gradient = torch.is_grad_enabled() and (A.requires_grad or B.requires_grad)
    if needs_gradient or not numpy_is_free() or not A.device.type == B.device.type == "cpu":
        return A @ B
    a, b = _laid_out(A), _laid_out(B)
    with np.errstate(all="ignore"):  # like torch: whoever asked sees what is not finite
        if a.ndim > 2 and b.ndim == 2:  # one product instead of many
            return torch.from_numpy(np.matmul(a.reshape(-1, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[-1]))
        return torch.from_numpy(np.matmul(a, b))


def _laid_out(A: Tensor) -> np.ndarray:
    """The same numbers; copied if neither rows nor columns lie in memory as BLAS takes them."""
    strides = A.stride()[-2:]
    return (A if 1 in strides and 0 not in strides else A.contiguous()).detach().numpy()
