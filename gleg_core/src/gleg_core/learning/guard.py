"""Saying once when a learned block is used outside the range it was certified for."""

from __future__ import annotations

import warnings

from torch import Tensor

from gleg_core.learning.card import Card


class OutsideCertifiedRange(UserWarning):
    """A learned block met states it was not certified for; its response there is an extrapolation."""


class RangeGuard:
    """Compares what a block is given with its card; warns at the first transgression of each kind."""

    def __init__(self, card: Card):
        self._card = card
        self._said: set[str] = set()

    def amplitude(self, u: Tensor) -> None:
        if "amplitude" not in self._said and u.numel():
            self._compare("amplitude", "max|u|", float(u.detach().abs().max()), self._card.amplitude)

    def wavenumber(self, k: float) -> None:
        self._compare("wavenumber", "|k| on [−1, 1]^d", k, self._card.wavenumber)

    def _compare(self, kind: str, what: str, value: float, limit: float) -> None:
        if value > limit * (1 + 1e-9) and kind not in self._said:
            self._said.add(kind)
            warnings.warn(
                f"{self._card.block}: {what} = {value:.3g} is outside its certified range, up to {limit:.3g}; "
                "its response there is an extrapolation. twin: analytic avoids it where there is one",
                OutsideCertifiedRange,
                stacklevel=3,
            )
