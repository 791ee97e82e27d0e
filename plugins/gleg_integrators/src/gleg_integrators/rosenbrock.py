"""Rosenbrock–Wanner methods for M ż = F(z, t), F = K z + f(z, t): linearly implicit, with the derivative of all of F at the start.

    (M − γh K′) U_i = γ [h F(z + Σ_j a_ij U_j, t + c_i h) + Σ_j C_ij M U_j + d_i h² ∂F/∂t],   K′ ≈ ∂F/∂z,
    z⁺ = z + Σ_i m_i U_i,   error = Σ_i e_i U_i

One factorisation and as many solutions as stages: no iteration that might fail, and no term that is explicit (Hairer & Wanner, Solving
Ordinary Differential Equations II, IV.7).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from gleg_core.contracts.integrator import Integrator, SplitSystem, Stepper, WeakForm, weak_form
from gleg_integrators.combine import add, nonzero, weighted
from gleg_integrators.params import NoParams

_APART = 1e-3
"""Part of a step between the times whose difference is ∂F/∂t: its error is that to the second power beside the one of the method, and
rounding is divided by it once."""


@dataclass(frozen=True)
class RosenbrockTable:
    """The coefficients of the form above; row i of ``a`` and ``C`` has i entries. ``C`` is 1/γ − Γ⁻¹ and ``a`` is αΓ⁻¹ of the matrices α
    and Γ = (γ_ij) in which order conditions are stated; d_i = Σ_j γ_ij."""

    order: int
    gamma: float
    c: tuple[float, ...]
    d: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    C: tuple[tuple[float, ...], ...]
    m: tuple[float, ...]
    e: tuple[float, ...]


_LAST = (7.089566927282776, 4.573591406461604, -8.423496976860259, -0.959280113459775)

RODAS4P2 = RosenbrockTable(  # Steinebach, Progress in Differential-Algebraic Equations II (2020), 165-184
    order=4,
    gamma=0.25,
    c=(0.0, 0.75, 0.321448134013046, 0.519745732277726, 1.0, 1.0),
    d=(0.25, -0.5, -0.189532918363016, 0.085612108792769, 0.0, 0.0),
    a=(
        (),
        (3.0,),
        (0.906377755268814, -0.189707390391685),
        (3.758617027739064, 1.161741776019525, -0.849258085312803),
        _LAST,
        (*_LAST, 1.0),
    ),
    C=(
        (),
        (-12.0,),
        (-6.354581592719008, 0.338972550544623),
        (-8.575016317114033, -7.606483992117508, 12.22499765012482),
        (-5.888975457523102, -8.157396617841821, 24.805546872612922, 12.790401512796979),
        (-4.408651676063871, -6.692003137674639, 24.625568527593117, 16.627521966636085, -5.714285714285718),
    ),
    m=(*_LAST, 1.0, 1.0),
    e=(0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
)
"""Order 4, 3 for the estimate; L-stable and stiffly accurate, of full order for parabolic equations whatever their boundary data; of
order 2 with any matrix in the place of ∂F/∂z."""


class Rosenbrock(Integrator):
    """The method of a table."""

    table = RODAS4P2
    embedded = True

    def __init__(self, params: NoParams) -> None:
        self.params = params
        self.order = self.table.order
        self.nodes = tuple(sorted({*self.table.c, _APART, 2 * _APART}))

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        table, weak = self.table, weak_form(system)
        rows = [
            (c, nonzero(a), nonzero(C), h * h * d)
            for c, a, C, d in zip(table.c, table.a, table.C, table.d, strict=True)
        ]
        finish, error = nonzero(table.m), nonzero(table.e)

        def step(z: Tensor, t: float) -> tuple[Tensor, Tensor]:
            solve = system.linearised(z, t).solution(table.gamma * h)
            rate: Tensor | None = None
            U: list[Tensor] = []
            for c, a, C, d in rows:
                stage = add(z, a, U)
                f = weak.load(stage, t + c * h)
                if not U and not system.autonomous:
                    rate = _rate(f, weak.load(z, t + _APART * h), weak.load(z, t + 2 * _APART * h), _APART * h)
                right = h * (weak.stiffness(stage) + f)
                if C:
                    right = right + weak.mass(weighted(C, U))
                if rate is not None and d:
                    right = right.add(rate, alpha=d)
                found = solve(table.gamma * right)
                if torch.is_grad_enabled() and found.requires_grad:
                    change = _derivative(weak, z, t, found.detach())
                    found = found + solve(table.gamma * h * (change - change.detach()))  # K′ is a function of z
                U.append(found)
            return add(z, finish, U), weighted(error, U)

        return step


def _derivative(weak: WeakForm, z: Tensor, t: float, v: Tensor) -> Tensor:
    """K′(z) v, differentiable: the derivative of wᵀK′(z) in w along v (twice in reverse)."""
    at = z if z.requires_grad else z.detach().requires_grad_()
    F = weak.stiffness(at) + weak.load(at, t)
    w = torch.zeros_like(F, requires_grad=True)
    (products,) = torch.autograd.grad(F, at, w, create_graph=True)
    (found,) = torch.autograd.grad(products, w, v, create_graph=True)
    return found


def _rate(now: Tensor, soon: Tensor, later: Tensor, apart: float) -> Tensor:
    """The slope of the parabola through three values, at the first."""
    return (4.0 * soon - 3.0 * now - later) / (2.0 * apart)
