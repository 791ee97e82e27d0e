"""A block made of parts is its parts, written as separate terms."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from specimens import Specimen

from gleg_core.errors import SpecError
from gleg_core.spec.problem import load_problem
from gleg_core.system.discretise import Discretisation, discretise

COOLING = Specimen("block", "specimens_blocks:Cooling", "specimens_blocks:NoParams")


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLEG_CACHE", "off")


def realised(equation: list[dict[str, Any]], condition: dict[str, Any]) -> Discretisation:
    field = {"initial": "1 + x*y + cos(3*x)", "boundary": [condition], "equation": equation}
    problem = {
        "domain": {"kind": "ellipse", "a": 0.8, "b": 0.5},
        "basis": {"kind": "fourier", "K": 7},
        "fields": {"u": field},
        "time": {"end": 1},
    }
    return discretise(load_problem(problem, registry=COOLING.component()[1]))


def rate(d: Discretisation, t: float) -> torch.Tensor:
    """du/dt at the quadrature nodes."""
    z_dot = d.system.rhs(d.initial, t)
    return d.system.fields["u"].interior.of_state(z_dot, None).value


@pytest.mark.parametrize("coefficient", ["0.3", "0.2 + t", "1 + x^2"])
def test_same_reduced_system_as_separate_terms(coefficient: str) -> None:
    """Δu − u³ as one block, and as mechanisms of two other packs: the same linear part and the same rate of change."""
    condition = {"kind": "robin", "kappa": 0.5, "value": "cos(t)"}
    one = realised([{"block": "specimen", "coefficient": coefficient}], condition)
    minus = f"-({coefficient})"
    separate = [
        {"block": "diffusion", "twin": "analytic", "coefficient": coefficient},
        {"block": "power", "p": 3, "coefficient": minus},
    ]
    two = realised(separate, condition)
    assert [t.linear for t in one.terms] == [True, False]
    assert [mode for _, mode in one.system.modes] == [mode for _, mode in two.system.modes]
    identity = torch.eye(one.system.size, dtype=torch.float64)
    first, second = (torch.linalg.eigvals(d.system.linear.apply(identity)).abs().sort().values for d in (one, two))
    assert float(first.max()) > 10
    assert torch.allclose(first, second, rtol=1e-9, atol=1e-9 * float(first.max()))
    for t in (0.0, 0.7):
        expected = rate(two, t)
        assert float((rate(one, t) - expected).abs().max()) < 1e-8 * float(expected.abs().max())


def test_a_realisation_applies_to_the_parts_that_offer_it() -> None:
    def modes(realisation: str) -> list[str]:
        d = realised([{"block": "specimen", "realisation": realisation}], {"kind": "dirichlet"})
        return [mode for _, mode in d.system.modes]

    assert modes("weak") == ["weak", "pointwise"]
    assert modes("pointwise") == ["pointwise", "pointwise"]
    with pytest.raises(SpecError, match="realisation 'ambient' is not possible: the block does not offer it"):
        modes("ambient")
