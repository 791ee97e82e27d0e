"""Functions of an A that couples fields mode by mode, against those of the same matrix in full."""

from __future__ import annotations

import pytest
import torch

from gleg_core.algebra.linear import DensePart
from gleg_core.algebra.modal import ModalPart
from gleg_core.errors import NumericsError

RANDOM = torch.Generator().manual_seed(0)
BLOCKS = torch.randn(7, 3, 3, dtype=torch.float64, generator=RANDOM)
WAVES = torch.stack([torch.tensor([[0.0, 1.0], [-(10.0**k), 0.0]], dtype=torch.float64) for k in range(6)])


def dense(blocks: torch.Tensor) -> DensePart:
    r, F = blocks.shape[:2]
    matrix = torch.zeros(F, r, F, r, dtype=torch.float64)
    for m in range(r):
        matrix[:, m, :, m] = blocks[m]
    return DensePart(matrix.reshape(F * r, F * r))


@pytest.mark.parametrize("blocks", [BLOCKS, WAVES], ids=["random", "waves"])
def test_the_same_as_in_full(blocks: torch.Tensor) -> None:
    part, whole = ModalPart(blocks), dense(blocks)
    z = torch.randn(4, part.size, dtype=torch.float64, generator=RANDOM)
    close = {"rtol": 1e-10, "atol": 1e-10 * float(blocks.abs().max())}
    torch.testing.assert_close(part.apply(z), whole.apply(z), **close)
    for h in (1e-3, 0.05, 0.7):
        torch.testing.assert_close(part.resolvent(h)(z), whole.resolvent(h)(z), **close)
        for k in (0, 1, 2, 5):
            torch.testing.assert_close(part.phi(k, h)(z), whole.phi(k, h)(z), **close)
    assert part.radius <= whole.radius * (1 + 1e-12)


def test_long_steps_of_a_wave() -> None:
    """e^{hA} of u_t = v, v_t = −ω²u turns by hω: also by thousands of radians."""
    omega = torch.tensor([1.0, 30.0, 700.0], dtype=torch.float64)
    zero, one = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    part = ModalPart(torch.stack([torch.stack([zero, one], -1), torch.stack([-(omega**2), zero], -1)], -2))
    u = part.phi(0, 10.0)(torch.cat([one, zero]))[:3]
    torch.testing.assert_close(u, torch.cos(10 * omega), rtol=0, atol=1e-9)


def test_a_singular_resolvent_is_refused() -> None:
    with pytest.raises(NumericsError, match=r"singular at g = 0\.5"):
        ModalPart(2 * torch.eye(2, dtype=torch.float64)[None]).resolvent(0.5)
