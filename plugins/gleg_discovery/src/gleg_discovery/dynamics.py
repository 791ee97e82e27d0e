"""A law as a dynamical system, and its rollout for many recordings at once.

    ż = Σ_p c_p q_p(z, t) + k(z, t)        z (B, R): all fields of a recording side by side

Rates are bounded in a truncated space, so that the classical Runge–Kutta method with equal steps will do; states between its nodes are
those of the cubic Hermite interpolant. Everything is differentiable in c and in the initial states.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from gleg_core.errors import NumericsError
from gleg_core.expressions import formula
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.terms import Term
from gleg_discovery.legendre import Array
from gleg_discovery.responses import LabelledTerm, prepared, respond

_LEAST_PIECES, _MOST_STEPS, _MOST_DOUBLINGS = 4, 20_000, 8
"""Steps of the first rollout, at least and at most, and how often they are halved before a law counts as too fast to follow."""
_KEPT = 1_000_000
"""Steps × recordings × nodes whose stages are kept for a gradient: some twenty numbers each."""


class Dynamics:
    """The law of all fields. Unknown coefficients c (P,) belong to ``labels``: (field, label) each; given ones are part of k."""

    def __init__(
        self,
        fields: Mapping[str, DiscreteField],
        candidates: Mapping[str, Sequence[LabelledTerm]],
        known: Sequence[Term] = (),
    ):
        self.fields = dict(fields)
        free = [(name, c) for name, own in candidates.items() for c in own if c.known is None]
        given = [_weighted(t, float(c.known)) for own in candidates.values() for c in own if c.known for t in c.terms]
        self.labels = tuple((name, c.label) for name, c in free)
        groups = {(p, name): list(c.terms) for p, (name, c) in enumerate(free)}
        for term in (*given, *known):
            groups.setdefault((len(free), term.field), []).append(term)
        self._responses = prepared(fields, groups)
        stops = np.cumsum([0, *(f.r for f in fields.values())]).tolist()
        self.slices = {name: slice(a, b) for name, a, b in zip(fields, stops[:-1], stops[1:], strict=True)}
        self.size = stops[-1]
        self.nodes = max(len(f.space.weights) for f in fields.values())

    def parts(self, z: Tensor, t: Tensor) -> list[Tensor]:
        """q_1, …, q_P and k for states (B, R) at times (B, 1), each (B, R)."""
        q = respond(self._responses, {name: z[:, s] for name, s in self.slices.items()}, t)
        zero = {name: torch.zeros_like(z[:, s]) for name, s in self.slices.items()}
        P = len(self.labels)
        for name, field in self.fields.items():
            if field.lift_mass is not None and field.lift is not None and field.lift.moving:
                rate = field.theta(t, rate=True)
                assert rate is not None
                q[P, name] = q.get((P, name), zero[name]) - rate @ field.lift_mass
        return [torch.cat([q.get((p, n), zero[n]) for n in self.slices], dim=1) for p in range(P + 1)]

    def rate(self, z: Tensor, t: Tensor, c: Tensor) -> Tensor:
        """ż, shape (B, R)."""
        return _combined(self.parts(z, t), c)

    def tangent(self, z: Tensor, t: Tensor, c: Tensor) -> Tensor:
        """[∂ż/∂z  ∂ż/∂c; 0 0] for every state, (B, R + P, R + P): the rate of change of small changes of (z, c)."""
        P, R = len(c), self.size
        with torch.enable_grad():
            z = z.detach().requires_grad_()
            parts = self.parts(z, t)
            rate = _combined(parts, c.detach()).sum(dim=0)
            rows = [
                torch.autograd.grad(rate[i], z, retain_graph=True, allow_unused=True, materialize_grads=True)[0]
                for i in range(R)
            ]
        A = z.new_zeros(len(z), R + P, R + P)
        A[:, :R, :R] = torch.stack(rows, dim=1)
        for p in range(P):
            A[:, :R, R + p] = parts[p].detach()
        return A


def _weighted(term: Term, w: float) -> Term:
    """w c L(u)."""
    return replace(term, coefficient=formula("w * c", (), {"w": w, "c": term.coefficient}))


def _combined(parts: Sequence[Tensor], c: Tensor) -> Tensor:
    """Σ_p c_p q_p + k. What has no coefficient costs no gradient."""
    total = parts[-1]
    for value, q in zip(c, parts[:-1], strict=True):
        if value.requires_grad or value != 0:
            total = total + value * q
    return total


@dataclass(frozen=True)
class Windows:
    """Times of recordings: ``starts`` and ``lengths`` (K, 1)."""

    starts: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, times: Sequence[Array]) -> "Windows":
        """From the times of every recording."""
        starts = torch.tensor([[float(t[0])] for t in times], dtype=torch.float64)
        return cls(starts, torch.tensor([[float(t[-1])] for t in times], dtype=torch.float64) - starts)

    def nodes(self, k: int, n: int) -> Array:
        """(n + 1,): equal steps of recording k."""
        return float(self.starts[k]) + float(self.lengths[k]) * np.linspace(0, 1, n + 1)


@dataclass(frozen=True)
class Flow:
    """States and their rates at the n + 1 nodes of a rollout, (n + 1, K, R) each."""

    windows: Windows
    states: Tensor
    rates: Tensor

    @property
    def steps(self) -> int:
        return len(self.states) - 1

    def coarser(self, stride: int) -> "Flow":
        """Every ``stride``-th node."""
        return Flow(self.windows, self.states[::stride], self.rates[::stride])

    @property
    def middles(self) -> Tensor:
        """(n, K, R): states of the Hermite interpolant half-way between nodes."""
        h = self.windows.lengths / self.steps
        return (self.states[:-1] + self.states[1:]) / 2 + h / 8 * (self.rates[:-1] - self.rates[1:])

    def stacked(self, k: int) -> Tensor:
        """(2(n + 1), R): what :func:`hermite` turns into states of recording k at any time."""
        return torch.cat([self.states[:, k], self.rates[:, k]])


def hermite(times: Array, nodes: Array) -> Array:
    """H (T, 2(n + 1)): values and derivatives at equally spaced nodes → the piecewise cubic that has them, at ``times``."""
    n, h = len(nodes) - 1, nodes[1] - nodes[0]
    j = np.clip(np.floor((times - nodes[0]) / h).astype(int), 0, n - 1)
    s, row = (times - nodes[j]) / h, np.arange(len(times))
    H = np.zeros((len(times), 2 * (n + 1)))
    H[row, j], H[row, j + 1] = (1 + 2 * s) * (1 - s) ** 2, s**2 * (3 - 2 * s)
    H[row, n + 1 + j], H[row, n + 2 + j] = h * s * (1 - s) ** 2, -h * s**2 * (1 - s)
    return H


def roll(dynamics: Dynamics, start: Tensor, c: Tensor, windows: Windows, steps: int) -> Flow:
    """The rollout from ``start`` (K, R). Where they are many, stages are computed again for a gradient instead of being kept."""
    h = windows.lengths / steps
    forget = torch.is_grad_enabled() and steps * len(start) * dynamics.nodes > _KEPT

    def step(z: Tensor, c: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        k1 = dynamics.rate(z, t, c)
        k2 = dynamics.rate(z + h / 2 * k1, t + h / 2, c)
        k3 = dynamics.rate(z + h / 2 * k2, t + h / 2, c)
        k4 = dynamics.rate(z + h * k3, t + h, c)
        return z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), k1

    states, rates = [start], []
    for i in range(steps):
        t = windows.starts + i * h
        if forget:
            # an early stop is an exception inside a block, and would be taken for the block's
            with set_checkpoint_early_stop(False):
                z, rate = checkpoint(step, states[-1], c, t, use_reentrant=False, preserve_rng_state=False)
        else:
            z, rate = step(states[-1], c, t)
        states.append(z)
        rates.append(rate)
    rates.append(dynamics.rate(states[-1], windows.starts + windows.lengths, c))
    return Flow(windows, torch.stack(states), torch.stack(rates))


def resolved_flow(dynamics: Dynamics, start: Tensor, c: Tensor, windows: Windows, tolerance: float) -> tuple[Flow, int]:
    """The rollout with so many steps that twice as many give the same states up to ``tolerance``, relative to the largest, and how many of
    them make a piece in which small changes can be followed: the fastest rate changes them by e at most."""
    with torch.no_grad():
        pieces = _pieces(dynamics, start, c, windows, windows.starts)
        coarse = roll(dynamics, start, c, windows, pieces)
        for doublings in range(_MOST_DOUBLINGS):
            fine = roll(dynamics, start, c, windows, 2 * coarse.steps)
            off = max(float((fine.states[i::2] - s).abs().max()) for i, s in enumerate((coarse.states, coarse.middles)))
            if off <= tolerance * float(fine.states.abs().max()):
                break
            if doublings > _MOST_DOUBLINGS // 2 and not math.isfinite(off):
                raise NumericsError("the law blows up within the window")
            coarse = fine
        else:
            raise NumericsError("the law changes its states too fast to be followed within the window")
        pieces = max(pieces, _pieces(dynamics, coarse.states[-1], c, windows, windows.starts + windows.lengths))
        stride = 1
        while coarse.steps % (2 * stride) == 0 and coarse.steps >= 2 * stride * pieces:
            stride *= 2
        return coarse, stride


def _pieces(dynamics: Dynamics, z: Tensor, c: Tensor, windows: Windows, t: Tensor) -> int:
    """Length of the windows in units of the shortest time scale of the law."""
    J = dynamics.tangent(z, t, c)[:, : dynamics.size, : dynamics.size]
    fastest = float((torch.linalg.matrix_norm(J, 2)[:, None] * windows.lengths).max())
    if not 2 * fastest <= _MOST_STEPS:
        raise NumericsError(
            f"the window is {fastest:.2g} times as long as the shortest time scale of the law: choose a smaller space.rank or a "
            "shorter window"
        )
    return max(_LEAST_PIECES, math.ceil(fastest))
