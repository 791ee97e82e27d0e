"""Would torch.compile pay? The pointwise part of an evaluation of n(z, t), as it is run and as one compiled kernel.

    OMP_NUM_THREADS=1 python benchmarks/compiled_terms.py

MMS-I's nodes, a polynomial of twelve terms in u, one state and a part of a batch; beside it the whole evaluation, whose rest are products
of matrices that compilation does not change. Needs a C++ compiler.
"""

from __future__ import annotations

import os
import sys
import time

import torch
from time_loop import rosette, seconds
from torch import Tensor

TERMS = 12
STATES = (1, 64)


def polynomial(u: Tensor, weights: Tensor) -> Tensor:
    """w Σ_i c_i u^p_i, with powers shared as in a run."""
    powers = {1: u}
    for p in range(2, 8):
        powers[p] = powers[p // 2] * powers[p - p // 2]
    total = 0.01 * powers[2]
    for i in range(1, TERMS):
        total = torch.add(total, powers[2 + i % 6], alpha=0.01 * (i + 1))
    return total * weights


def main() -> int:
    os.environ["GLEG_CACHE"] = "off"
    torch.set_num_threads(1)
    terms = [{"block": "power", "p": 2 + i % 6, "coefficient": 0.01 * (i + 1)} for i in range(TERMS)]
    equation = [{"block": "diffusion", "coefficient": 0.015}, *terms]
    d = rosette(fields={"u": {"equation": equation, "forcing": "none"}})
    weights = d.system.fields["u"].space.weights
    with torch.no_grad():
        states = {n: d.initial if n == 1 else d.initial.expand(n, -1).contiguous() for n in STATES}
        fields = {n: torch.rand(*z.shape[:-1], len(weights), dtype=torch.float64) for n, z in states.items()}
        whole = {n: seconds(lambda z=z: d.system.nonlinear(z, 0.1), 5) for n, z in states.items()}
        plain = {n: seconds(lambda u=u: polynomial(u, weights), 5) for n, u in fields.items()}
        compiled = torch.compile(polynomial)  # last: its helpers disturb other measurements
        for n, u in fields.items():
            began = time.perf_counter()
            compiled(u, weights)
            first = time.perf_counter() - began
            fused = seconds(lambda u=u: compiled(u, weights), 5)
            print(
                f"{n:3} states: evaluation {1e3 * whole[n]:.3f} ms, of it pointwise {1e3 * plain[n]:.3f} ms, compiled "
                f"{1e3 * fused:.3f} ms after {first:.1f} s, which {first / max(plain[n] - fused, 1e-9):,.0f} evaluations pay for"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
