"""Saying once when a learned block is used outside the range it was certified for."""

import warnings

from torch import Tensor

from gleg_core.weights.card import Card


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

    def values(self, u: Tensor, low: float, high: float) -> None:
        """u must stay within [low, high] and within the certified amplitude."""
        low, high = max(low, -self._card.amplitude), min(high, self._card.amplitude)
        if "values" not in self._said and u.numel():
            least, most = float(u.detach().min()), float(u.detach().max())
            slack = 1e-9 * (high - low)
            if least < low - slack or most > high + slack:
                self._warn("values", f"u = {least if least < low - slack else most:.3g}", f"{low:.3g} to {high:.3g}")

    def wavenumber(self, k: float) -> None:
        self._compare("wavenumber", "|k| on [−1, 1]^d", k, self._card.wavenumber)

    def _compare(self, kind: str, what: str, value: float, limit: float) -> None:
        if value > limit * (1 + 1e-9):
            self._warn(kind, f"{what} = {value:.3g}", f"up to {limit:.3g}")

    def _warn(self, kind: str, found: str, certified: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            warnings.warn(
                f"{self._card.block}: {found} is outside its certified range, {certified}; its response there is an "
                "extrapolation. twin: analytic avoids it where there is one",
                OutsideCertifiedRange,
                stacklevel=4,
            )
