"""What a run says of its own error.

The error of a field is the largest norm in L²(Ω), over the saved times, of its difference from the true solution, divided by the largest
norm of the field over them; of several fields the worst counts. What only the start is off by, as where an initial state does not fit the
boundary data, is told apart: it is gone soon after.
"""

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

Cause = Literal["space", "time", "data", "start"]
_NOT_WORTH_A_WORD = 1e-3
"""Parts of the total that are not in the line."""
CAUSES: tuple[Cause, ...] = ("space", "time", "data", "start")


@dataclass(frozen=True)
class ErrorMap:
    """Where and when an error of one field sits: at the worst time at ``points`` (n, dim), as ``density`` (n,), the local error relative to
    the root mean square of the field; and at ``times`` (k,) all over Ω, ``history`` (k,). Either may be empty."""

    points: "np.ndarray"
    density: "np.ndarray"
    times: "np.ndarray"
    history: "np.ndarray"


@dataclass(frozen=True)
class Part:
    """What one ``cause`` contributes to the error.

    ``about`` says what is not resolved ("the boundary data of u on segment top"), ``place`` and ``moment`` where and when it is worst, and
    ``helps`` what to change. ``allowed`` is the size from which on there is a warning. ``map`` is for pictures.
    """

    cause: Cause
    error: float
    about: str
    helps: str = ""
    place: tuple[float, ...] = ()
    moment: float | None = None
    allowed: float = 1e-2
    map: ErrorMap | None = field(default=None, compare=False, repr=False)

    @property
    def resolved(self) -> bool:
        return self.error <= self.allowed

    @property
    def where(self) -> str:
        """ " near (0.2, 0.4) at t = 0.31", as far as it is known."""
        near = f" near ({', '.join(f'{c:.3g}' for c in self.place)})" if self.place else ""
        return near + (f" at t = {self.moment:.3g}" if self.moment is not None else "")

    def __str__(self) -> str:
        return f"{self.about} leaves about {self.error:.1g}{self.where}{f': {self.helps}' if self.helps else ''}"


@dataclass(frozen=True)
class Estimate:
    """The error of a run, part by part. ``float(estimate)`` is the ``total`` after the start."""

    parts: tuple[Part, ...] = ()

    def worst(self, cause: Cause) -> Part | None:
        """The largest part of a cause."""
        return max((p for p in self.parts if p.cause == cause), key=lambda p: p.error, default=None)

    @property
    def total(self) -> float:
        return math.hypot(*(p.error for cause in CAUSES if cause != "start" and (p := self.worst(cause))))

    def __float__(self) -> float:
        return self.total

    @property
    def unresolved(self) -> tuple[Part, ...]:
        """The parts that a user should know of, the largest first."""
        return tuple(sorted((p for p in self.parts if not p.resolved), key=lambda p: -p.error))

    def as_data(self) -> dict[str, float]:
        return {"total": self.total} | {c: p.error for c in CAUSES if (p := self.worst(c))}

    def __str__(self) -> str:
        known = [p for cause in CAUSES if cause != "start" and (p := self.worst(cause))]
        known = [p for p in known if p.error >= _NOT_WORTH_A_WORD * self.total] or known[:1]
        told = ", ".join(f"{p.cause} {p.error:.1g}{p.where if p.cause == 'space' and p.place else ''}" for p in known)
        start = self.worst("start")
        first = f"; at the start {start.error:.1g}" if start and start.error > max(self.total, 1e-6) else ""
        return f"{self.total:.1g} ({told}{first})" if known else "unknown"


@dataclass(frozen=True)
class Choice:
    """What was chosen for an accuracy, and what error to expect after the trials; ``resolution`` is the parameter that was chosen."""

    accuracy: float
    resolution: str | None
    value: int | None
    tolerance: float
    tau_M: float
    space_error: float
    time_error: float
    trials: int
    seconds: float | None = None
    """How long trials were allowed to take, if that is why there are no more of them."""

    @property
    def estimate(self) -> float:
        return self.space_error + self.time_error

    @property
    def reached(self) -> bool:
        return self.estimate <= self.accuracy

    @property
    def helps(self) -> str:
        """What to change where the accuracy was not reached."""
        if self.seconds is None:
            return "no trial that is not too large does better"
        return f"trials were given up after {self.seconds:g} s: try  patience: {max(10 * self.seconds, 60):g}"

    @property
    def parts(self) -> tuple[Part, Part]:
        """The same for the run's estimate."""
        return (
            Part("space", self.space_error, "the solution", self.helps, allowed=self.accuracy),
            Part("time", self.time_error, "the length of the time steps", self.helps, allowed=self.accuracy),
        )

    @property
    def known(self) -> tuple[Part, ...]:
        """Those that trials have told of."""
        return tuple(part for part in self.parts if math.isfinite(part.error))

    def as_data(self) -> dict[str, Any]:
        return {**asdict(self), "estimate": self.estimate, "reached": self.reached}

    def __str__(self) -> str:
        text = f"{self.estimate:.1g} (time {self.time_error:.1g}, space {self.space_error:.1g})"
        return text if self.reached else f"{text}: the accuracy {self.accuracy:g} was not reached"
