"""Blocks whose one unknown is a scalar function of u, learned from data: a diffusivity d(u), a reaction r(u)."""

from typing import ClassVar, Self

from gleg_core.contracts.block import Binding, Fields
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.errors import SpecError
from gleg_core.spec.params import ScalarLawParams
from gleg_core.weight_files import card_path, locate
from gleg_core.weights.card import read_card
from gleg_core.weights.guard import RangeGuard
from gleg_core.weights.load import load_frozen
from gleg_core.weights.series import ChebyshevSeries


class ScalarLaw(LearnedBlock):
    """Holds the series and its certified range; a subclass says how the function enters the equation."""

    key: ClassVar[str]
    """Full key of the block, which the card of its weights must name."""
    recipe = ""
    module: ChebyshevSeries

    def __init__(self, params: ScalarLawParams, binding: Binding, trained: bool = True):
        self._field = params.of or binding.target
        self._guard: RangeGuard | None = None
        if not trained:
            self.module = ChebyshevSeries(params.degree, *params.range)
            return
        if params.weights is None:
            raise SpecError(
                f"{self.key} needs '{params.formula_key}' (a formula of u) or 'weights' (files made by training)"
            )
        self.weights = params.weights
        owner = f"{self.key} with weights {self.weights}"
        shape = read_card(card_path(locate(self.weights)), owner).shapes.get("weights", [1])
        self.module = ChebyshevSeries(shape[0] - 1)  # the interval comes with the weights
        self._guard = RangeGuard(load_frozen(self.module, self.weights, owner, block=self.key))

    @classmethod
    def untrained(cls, params: ScalarLawParams, binding: Binding) -> Self:  # type: ignore[override]
        return cls(params, binding, trained=False)

    def state(self, fields: Fields) -> Jet:
        """The field the law acts on; its values are compared with the range the law covers."""
        u = fields[self._field]
        if self._guard is not None:
            self._guard.values(u.value, *self.module.interval.tolist())
        return u
