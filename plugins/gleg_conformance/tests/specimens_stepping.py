"""Integrators and dictionaries for tests of the conformance kit: two healthy ones of each kind, the others wrong in one way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gleg_core.contracts.dictionary import Candidate, Dictionary
from gleg_core.contracts.integrator import Integrator, SplitSystem, Stepper
from gleg_core.spec.params import PackParams

Rates = Callable[[Tensor, float], Tensor]


class NoParams(PackParams):
    """No parameters."""


class TorchParams(PackParams):
    """A parameter model in a module that imports torch."""


class Heun(Integrator):
    """z⁺ = z + ½h (k₁ + k₂): healthy, explicit, order 2."""

    order = 2
    nodes: tuple[float, ...] = (0.0, 1.0)
    weights = (0.5, 0.5)

    def __init__(self, params: PackParams) -> None:
        pass

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        return lambda z, t: (self.move(system.rhs, z, t, h), None)

    def move(self, rates: Rates, z: Tensor, t: float, h: float) -> Tensor:
        first = rates(z, t)
        second = rates(z + h * first, t + h)
        return z + h * (self.weights[0] * first + self.weights[1] * second)

    def stable_step(self, system: SplitSystem) -> float:
        return 2.0 / system.linear.radius if system.linear.radius else float("inf")


class ExponentialHeun(Integrator):
    """z⁺ = e^{hA}z + hφ₁n₁ + hφ₂(n₂ − n₁): healthy, order 2, compared with the exponential Euler method."""

    order = 2
    nodes = (0.0, 1.0)
    embedded = True
    first_phi = 0

    def __init__(self, params: PackParams) -> None:
        pass

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        flow, gain, change = (system.linear.phi(k, h) for k in (self.first_phi, 1, 2))

        def step(z: Tensor, t: float) -> tuple[Tensor, Tensor | None]:
            n = system.nonlinear(z, t)
            euler = flow(z) + h * gain(n)
            correction = h * change(self.second(system, z, euler, t + h) - n)
            return self.end(euler, correction), self.estimate(correction, h)

        return step

    def second(self, system: SplitSystem, z: Tensor, euler: Tensor, t: float) -> Tensor:
        return system.nonlinear(euler, t)

    def end(self, euler: Tensor, correction: Tensor) -> Tensor:
        return euler + correction

    def estimate(self, correction: Tensor, h: float) -> Tensor | None:
        return correction


# --- wrong in one way -------------------------------------------------------------------------------------------------


class ForgottenNode(Heun):
    nodes = (0.0,)


class NodeNobodyUses(Heun):
    nodes = (0.0, 0.5, 1.0)


class ForcingFrozen(Heun):
    """The second slope at t instead of t + h: order 1 if there is forcing."""

    def move(self, rates: Rates, z: Tensor, t: float, h: float) -> Tensor:
        first = rates(z, t)
        return z + 0.5 * h * (first + rates(z + h * first, t))


class ResolventWithoutHalf(Integrator):
    """(I − hA)^{-1}(z + h n) is the Euler method, not the trapezoidal rule it is meant to be."""

    order = 2
    nodes = (0.0,)

    def __init__(self, params: PackParams) -> None:
        pass

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        solve = system.linear.resolvent(h)
        return lambda z, t: (solve(z + h * system.nonlinear(z, t)), None)


class NoCorrector(ExponentialHeun):
    def end(self, euler: Tensor, correction: Tensor) -> Tensor:
        return euler


class WeightsDoNotAddUp(Heun):
    weights = (0.5, 0.25)


class PhiOffByOne(ExponentialHeun):
    first_phi = 1


class NoStepLimit(Heun):
    def stable_step(self, system: SplitSystem) -> float:
        return float("inf")


class TimidStepLimit(Heun):
    def stable_step(self, system: SplitSystem) -> float:
        return 0.1 * super().stable_step(system)


class NegativeStepLimit(Heun):
    def stable_step(self, system: SplitSystem) -> float:
        return -1.0


class LimiterOverTheBatch(Heun):
    """A limiter that looks at the largest state of the batch."""

    def move(self, rates: Rates, z: Tensor, t: float, h: float) -> Tensor:
        size = z.abs().max() if z.numel() else z.new_tensor(1.0)
        return z + (super().move(rates, z, t, h) - z) / torch.clamp(size, min=1.0)


class EmptyBatchRefused(Heun):
    def move(self, rates: Rates, z: Tensor, t: float, h: float) -> Tensor:
        if not bool(z.abs().max() < 1e6):
            raise ValueError("too large")
        return super().move(rates, z, t, h)


class SinglePrecision(Heun):
    def move(self, rates: Rates, z: Tensor, t: float, h: float) -> Tensor:
        return super().move(rates, z, t, h).float()


class EstimateNotAnnounced(ExponentialHeun):
    embedded = False


class EstimateMissing(ExponentialHeun):
    def estimate(self, correction: Tensor, h: float) -> Tensor | None:
        return None


class EstimateOneNumber(ExponentialHeun):
    def estimate(self, correction: Tensor, h: float) -> Tensor:
        return correction.abs().max()


class StateInPlace(Heun):
    def move(self, rates: Rates, z: Tensor, t: float, h: float) -> Tensor:
        first = rates(z, t)
        second = rates(z + h * first, t + h)
        return z.add_(0.5 * h * (first + second))


class ResponseInPlace(ExponentialHeun):
    def second(self, system: SplitSystem, z: Tensor, euler: Tensor, t: float) -> Tensor:
        return system.nonlinear(euler, t).mul_(1.0 + 1e-15)


class OneBuffer(Heun):
    """Returns the same memory from every step."""

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        buffer = torch.empty(system.linear.size, dtype=torch.float64)
        return lambda z, t: (buffer.copy_(self.move(system.rhs, z, t, h)), None)


class AdamsBashforth(Heun):
    """Keeps the slope of the step before."""

    before: Tensor | None = None

    def move(self, rates: Rates, z: Tensor, t: float, h: float) -> Tensor:
        now = rates(z, t)
        last = now if self.before is None else self.before
        self.before = now
        return z + h * (1.5 * now - 0.5 * last)


class HiddenHistory(Heun):
    """Adams–Bashforth after a first step by Heun, whose last slope nobody can save."""

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        last: list[tuple[Tensor, Tensor]] = []  # the state reached, and the slope before it

        def step(z: Tensor, t: float) -> tuple[Tensor, None]:
            now = system.rhs(z, t)
            follows = bool(last) and torch.equal(last[0][0], z)
            new = z + h * (1.5 * now - 0.5 * last[0][1]) if follows else self.move(system.rhs, z, t, h)
            last[:] = [(new, now)]
            return new, None

        return step


class MemoryOfObjects(Heun):
    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        step = partial(super().stepper(system, h))
        step.memory = {"slopes": []}  # type: ignore[attr-defined]
        return step


class StartsWithEuler(Heun):
    def move(self, rates: Rates, z: Tensor, t: float, h: float) -> Tensor:
        return z + h * rates(z, t) if t == 0.0 else super().move(rates, z, t, h)


class TakesAForDiagonal(Integrator):
    """(1 + hλ) z with λ = A (1, …, 1)ᵀ."""

    order = 1
    nodes = (0.0,)

    def __init__(self, params: PackParams) -> None:
        pass

    def stepper(self, system: SplitSystem, h: float) -> Stepper:
        rates = system.linear.apply(torch.ones(system.linear.size, dtype=torch.float64))
        return lambda z, t: (z + h * (rates * z + system.nonlinear(z, t)), None)


class HidesBlowUp(Heun):
    def move(self, rates: Rates, z: Tensor, t: float, h: float) -> Tensor:
        return torch.nan_to_num(super().move(rates, z, t, h), posinf=1e6, neginf=-1e6)


class EstimatePerTime(ExponentialHeun):
    def estimate(self, correction: Tensor, h: float) -> Tensor:
        return correction / h


class EstimateFarTooSmall(ExponentialHeun):
    def estimate(self, correction: Tensor, h: float) -> Tensor:
        return 1e-4 * correction


class EstimateZero(ExponentialHeun):
    def estimate(self, correction: Tensor, h: float) -> Tensor:
        return 0.0 * correction


class DetachedStage(Heun):
    def move(self, rates: Rates, z: Tensor, t: float, h: float) -> Tensor:
        first = rates(z, t)
        return z + 0.5 * h * (first + rates((z + h * first).detach(), t + h))


# --- dictionaries -----------------------------------------------------------------------------------------------------


def power(label: str, field: str, p: int, **more: Any) -> Candidate:
    return Candidate(label, {"block": "polynomial:power", "p": p, "of": field, **more})


class Growth(Dictionary):
    """Δu, −u, u² and the products with the other fields: healthy."""

    def __init__(self, params: PackParams) -> None:
        pass

    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        products = [
            Candidate(f"{field}·{other}", {"block": "polynomial:product", "powers": {field: 1, other: 1}})
            for other in fields
            if other != field
        ]
        laplacian = Candidate(f"Δ{field}", {"block": "diffusion:diffusion", "of": field})
        return [laplacian, power(f"−{field}", field, 1, coefficient=-1), power(f"{field}²", field, 2), *products]


class Plate(Growth):
    """Δ²u and u: healthy, of fourth order."""

    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        laplacian = {"block": "diffusion:diffusion", "of": field}
        return [Candidate(f"Δ²{field}", {"square": [laplacian], "coefficient": -1}), power(field, field, 1)]


class TwoLines(Growth):
    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        return [power(f"{field}²\n", field, 2)]


class Empty(Growth):
    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        return []


class LostExponent(Growth):
    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        return [power(field, field, 1), power(field, field, 2)]


class SharedTerm(Growth):
    """One dictionary for every caller."""

    terms: dict[str, dict[str, Any]] = {}  # noqa: RUF012

    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        return [Candidate(field, self.terms.setdefault(field, {"block": "polynomial:power", "of": field}))]


class OtherOrder(Growth):
    calls = 0

    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        self.calls += 1
        return list(super().candidates(field, fields, dim))[:: -1 if self.calls % 2 else 1]


class NamedCoefficient(Growth):
    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        return [power(f"D{field}", field, 1, coefficient="D")]


class AlwaysU(Growth):
    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        return super().candidates("u", ("u", *fields[1:]), dim)


class NoSuchDirection(Growth):
    """∂/∂y also where there is no y."""

    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        term = {"block": "transport:advection", "velocity": [0, 1], "of": field}
        return [Candidate(f"∂{field}/∂y", term)]


class Logarithm(Growth):
    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        return [Candidate(f"log({field} − 1)", {"block": "polynomial:reaction", "rate": "log(u - 1)", "of": field})]


class LogisticBeside(Growth):
    """u − u² beside u and u²."""

    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        logistic = Candidate(
            f"{field}(1 − {field})", {"block": "polynomial:reaction", "rate": "u*(1 - u)", "of": field}
        )
        return [*super().candidates(field, fields, dim), logistic]


class LostFactor(Growth):
    """u·v whose term is only u⁴."""

    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        return [power(f"{fields[0]}·{fields[-1]}", field, 4)]
