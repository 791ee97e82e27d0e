"""Crank–Nicolson for A, Heun's predictor and corrector for n: one-step, self-starting, order 2.

    (I − ½hA) z* = (I + ½hA) z + h n(z, t)
    (I − ½hA) z⁺ = (I + ½hA) z + ½h [n(z, t) + n(z*, t + h)]

A-stable in A but not L-stable: modes with h λ → −∞ are reflected, not damped (Crank & Nicolson 1947).
"""

from fractions import Fraction as F

from gleg_integrators.imex import ImexRungeKutta, ImexTable

O, H = F(0), F(1, 2)  # noqa: E741

CRANK_NICOLSON_HEUN = ImexTable(
    order=2,
    c=(O, F(1), F(1)),
    implicit=((O,), (H, H), (H, O, H)),
    explicit=((), (F(1),), (H, H)),
    weights=(H, H, O),
)


class CrankNicolson(ImexRungeKutta):
    """Crank–Nicolson with a Heun corrector."""

    table = CRANK_NICOLSON_HEUN
