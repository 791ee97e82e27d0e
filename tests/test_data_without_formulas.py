"""Data that are no formulas: a table in place of a formula gives the same solution, up to its interpolation."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy.interpolate import BSpline, make_interp_spline
from torch import Tensor

import gleg
from gleg_bc.robin import Robin
from gleg_core.contracts.boundary import Flux
from gleg_core.contracts.location import Data, Datum, Location
from gleg_core.expressions import formula
from gleg_core.run import Run
from gleg_core.system import identity

TIDE = "sin(3*t)*exp(-t)"
BANK = "1 + 0.5*cos(2*x)"


@dataclass(frozen=True)
class Series:
    """A measured series g of one variable, x or t, interpolated by a spline."""

    variable: str
    spline: BSpline
    number = None

    @classmethod
    def of(cls, text: str, variable: str, low: float, high: float) -> Series:
        places = np.linspace(low, high, 400)
        return cls(variable, make_interp_spline(places, formula(text)(**{variable: places}), k=7))

    @property
    def key(self) -> str:
        return hashlib.sha256(self.spline.t.tobytes() + self.spline.c.tobytes()).hexdigest()

    @property
    def free(self) -> frozenset[str]:
        return frozenset({self.variable})

    def d(self, *names: str) -> Datum:
        assert set(names) == {self.variable}
        return Series(self.variable, self.spline.derivative(len(names)))

    def at(self, location: Location) -> Tensor:
        where = location.t if self.variable == "t" else location.x[:, 0]
        return torch.as_tensor(self.spline(np.asarray(where)))


class FromTables(Robin):
    """∂u/∂n + κ u = g with κ(x) and g(t) from tables."""

    def __init__(self, params: object) -> None:
        self._kappa: Data = Series.of(BANK, "x", -2, 2)
        self._value: Data = Series.of(TIDE, "t", -0.1, 1.1)
        self.flux = Flux(trace=0, kappa=self._kappa)

    def data(self) -> Sequence[Data]:
        return (self._value,)


def solved() -> Run:
    field = {
        "initial": "cos(x)*y",
        "boundary": [{"kind": "robin", "kappa": BANK, "value": TIDE}],
        "equation": [{"block": "diffusion", "coefficient": 0.3}],
    }
    return gleg.solve(
        {
            "domain": {"kind": "disk", "radius": 1},
            "basis": {"kind": "fourier", "K": 12},
            "fields": {"u": field},
            "time": {"end": 1, "step": 0.02},
        }
    )


def test_boundary_data_from_tables_give_the_solution_of_their_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    by_formulas = solved()
    monkeypatch.setattr("gleg_bc.robin.Robin", FromTables)
    by_tables = solved()
    for place in ((0.0, 0.0, 1.0), (0.6, -0.5, 0.5), (-0.1, 0.9, 1.0)):
        assert by_tables.u(*place) == pytest.approx(by_formulas.u(*place), abs=1e-8)


def test_a_location_evaluates_a_datum_like_its_formula() -> None:
    at = Location(torch.linspace(-1, 1, 7, dtype=torch.float64)[:, None], torch.tensor([[0.2], [0.7]]).double())
    for text, variable in ((TIDE, "t"), (BANK, "x")):
        datum = Series.of(text, variable, -1.5, 1.5)
        assert isinstance(datum, Datum) and not isinstance(formula(text), Datum)
        torch.testing.assert_close(at(datum), at(formula(text)), rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(at(datum.d(variable)), at(formula(text).d(variable)), rtol=1e-8, atol=1e-8)


def test_what_is_kept_on_disk_depends_on_the_values_of_a_datum() -> None:
    tables = [Series.of(f"{a}*x", "x", 0, 1) for a in (1, 1, 2)]
    one, same, other = ([identity.graph(found) for found in identity.formulas({"velocity": [t, 0.0]})] for t in tables)
    assert one == same != other and len(one) == 1
