"""Steps that read what earlier ones left behind."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


class MultistepSteps:
    """Steps of one length h from (z, t) that read the last ``s`` records, of which the latest is ``record`` (z, t).

    ``start`` (z, t) is taken while there are fewer, then ``follow`` (z, t, records), the latest first. A step that does not follow the
    last one starts anew.
    """

    def __init__(
        self,
        h: float,
        s: int,
        record: Callable[[Tensor, float], Tensor],
        start: Callable[[Tensor, float], Tensor],
        follow: Callable[[Tensor, float, Sequence[Tensor]], Tensor],
    ):
        self._h, self._s, self._record, self._start, self._follow = h, s, record, start, follow
        self._history: list[Tensor] = []  # of now, one step ago, two steps ago, …
        self._reached: tuple[Tensor, float] | None = None  # where the last step ended

    def __call__(self, z: Tensor, t: float) -> tuple[Tensor, None]:
        kept = self._history[: self._s - 1] if self._continues(z, t) else []
        self._history = [self._record(z, t), *kept]
        new = self._start(z, t) if len(self._history) < self._s else self._follow(z, t, self._history)
        self._reached = new, t + self._h
        return new, None

    def _continues(self, z: Tensor, t: float) -> bool:
        """True if a step from here follows the last one: the same bits, for a state may have been stored in between."""
        if self._reached is None or abs(t - self._reached[1]) > 1e-6 * self._h:
            return False
        return z is self._reached[0] or torch.equal(z, self._reached[0])

    @property
    def memory(self) -> dict[str, Tensor]:
        if self._reached is None:
            return {}
        state, time = self._reached
        records = {f"record {i} steps ago": n.detach() for i, n in enumerate(self._history)}
        return {"state": state.detach(), "time": torch.tensor(time, dtype=torch.float64), **records}

    @memory.setter
    def memory(self, memory: dict[str, Tensor]) -> None:
        self._reached = (memory["state"], float(memory["time"])) if memory else None
        self._history = [memory[f"record {i} steps ago"] for i in range(len(memory) - 2)]
