"""Optimisers as iterations that can be stopped, saved and resumed at any point.

Each is a generator function: it changes the module's parameters in place and yields after every iteration; its ``state`` dictionary
(numbers, tensors, nested lists and dictionaries) is all that is needed to go on from there.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from gleg_core.errors import NumericsError
from gleg_learning.recipe import Optimiser

Residual = Callable[[Tensor | None], Tensor]
"""Weighted residuals (N,) of the states with the given indices (None: all), differentiable in θ; the sum of the squares of
all of them is the mean squared relative error."""
State = dict[str, Any]


def iterations(
    optimiser: Optimiser, module: torch.nn.Module, residual: Residual, count: int, seed: int, state: State
) -> Iterator[None]:
    """Iterations of the chosen optimiser; ``count`` is the number of training states."""
    if optimiser.kind == "gauss-newton":
        return _gauss_newton(module, residual, state)
    if optimiser.kind == "lbfgs":
        return _lbfgs(module, residual, optimiser.rate or 1.0, state)
    return _adam(module, residual, optimiser, count, seed, state)


def _assign(module: torch.nn.Module, theta: Tensor) -> None:
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(theta, module.parameters())


def jacobian(module: torch.nn.Module, residual: Residual) -> tuple[Tensor, Tensor]:
    """r (N,) and ∂r/∂θ (N, P), column by column: J e_p = ∂/∂w (Jᵀw)_p, exact and cheap for few parameters."""
    parameters = list(module.parameters())
    r = residual(None)
    w = torch.zeros_like(r, requires_grad=True)
    adjoint = torch.autograd.grad(r, parameters, w, create_graph=True, materialize_grads=True)
    flat = torch.cat([g.reshape(-1) for g in adjoint])
    if not flat.requires_grad:
        return r.detach(), torch.zeros(len(r), len(flat), dtype=r.dtype)
    columns = [torch.autograd.grad(g, w, retain_graph=True, materialize_grads=True)[0] for g in flat]
    return r.detach(), torch.stack(columns, dim=1)


def _gauss_newton(module: torch.nn.Module, residual: Residual, state: State) -> Iterator[None]:
    """Levenberg–Marquardt with least squares by orthogonal factorisation: linear models are solved to rounding in a few steps.

    The scale of a parameter is the largest its column of the Jacobian has had (Moré): where columns vanish together, as at a = b = 0
    of a model a·f(b u), steps stay moderate and lead away.
    """
    damping = state.setdefault("damping", 1e-8)
    while True:
        r, J = jacobian(module, residual)
        if not (torch.isfinite(r).all() and torch.isfinite(J).all()):
            raise NumericsError("the residuals, or their derivatives by the parameters, are not finite")
        theta, loss = torch.nn.utils.parameters_to_vector(module.parameters()).detach(), float(r @ r)
        sizes = J.norm(dim=0).clamp_min(1e-300)
        scale = state["scale"] = torch.maximum(sizes, state.get("scale", sizes))
        for _ in range(12):
            augmented = torch.cat([J / scale, damping**0.5 * torch.eye(len(theta), dtype=r.dtype)])
            right = torch.cat([-r, torch.zeros(len(theta), dtype=r.dtype)])
            step = torch.linalg.lstsq(augmented, right[:, None], driver="gelsd").solution[:, 0] / scale
            _assign(module, theta + step)
            with torch.no_grad():
                new = float((residual(None) ** 2).sum())
            if new <= loss:
                damping = max(damping * 0.1, 1e-16)
                break
            damping = max(damping, 1e-14) * 10
        else:
            _assign(module, theta)
        state["damping"] = damping
        yield


def _lbfgs(module: torch.nn.Module, residual: Residual, rate: float, state: State) -> Iterator[None]:
    optimiser = torch.optim.LBFGS(
        module.parameters(),
        lr=rate,
        max_iter=20,
        history_size=30,
        tolerance_grad=0,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )
    if "optimiser" in state:
        optimiser.load_state_dict(state["optimiser"])

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = (residual(None) ** 2).sum()
        loss.backward()
        return loss

    while True:
        optimiser.step(closure)
        state["optimiser"] = optimiser.state_dict()
        yield


def _adam(
    module: torch.nn.Module, residual: Residual, chosen: Optimiser, count: int, seed: int, state: State
) -> Iterator[None]:
    """Adam with a cosine decay of the rate; the order of the states is drawn anew in every epoch from the seed."""
    rate = chosen.rate or 1e-3
    optimiser = torch.optim.Adam(module.parameters(), lr=rate)
    if "optimiser" in state:
        optimiser.load_state_dict(state["optimiser"])
    epoch = state.setdefault("epoch", 0)
    while True:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
        decay = 0.5 * (1 + torch.cos(torch.tensor(torch.pi * min(epoch / chosen.iterations, 1.0)))).item()
        for group in optimiser.param_groups:
            group["lr"] = rate * max(decay, 1e-3)
        for index in torch.randperm(count, generator=generator).split(chosen.batch):
            optimiser.zero_grad()
            loss = (residual(index) ** 2).sum() * (count / len(index))
            loss.backward()
            optimiser.step()
        epoch += 1
        state["epoch"], state["optimiser"] = epoch, optimiser.state_dict()
        yield
