"""Powers, products, constants and sources: values, degree, batches, gradients, solutions, the pack's listing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from gleg import default_registry, solve
from gleg_blocks_polynomial.pack import gleg_blocks
from gleg_core.contracts.basis import Frame, Site
from gleg_core.contracts.block import Binding, Block, Fields
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError
from gleg_core.spec.params import Scope

FIELDS = ("u", "v", "w")
N = 9
REACTIONS: dict[str, tuple[str, dict[str, Any], int]] = {
    "u": ("power", {}, 1),
    "u^3": ("power", {"p": 3}, 3),
    "v^2": ("power", {"p": 2, "of": "v"}, 2),
    "u^2 v": ("product", {"powers": {"u": 2, "v": 1}}, 3),
    "u v w^2": ("product", {"powers": {"u": 1, "v": 1, "w": 2}}, 4),
}


def block(name: str, dim: int = 2, **params: Any) -> Block:
    registry = default_registry()
    component = registry.find("block", f"polynomial:{name}")
    model = registry.params(component).model_validate(params, context=Scope(dim=dim, fields=FIELDS))
    return registry.factory(component)(model, Binding("u", FIELDS, dim))


def values(*batch: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    random = torch.Generator().manual_seed(4)
    return tuple(torch.randn(*batch, N, generator=random, dtype=torch.float64).to(dtype) for _ in FIELDS)


def jets(*numbers: Tensor) -> Fields:
    def refuse(alpha: tuple[int, ...], value: Tensor) -> Tensor:
        assert sum(alpha) == 0, "a reaction reads values only"
        return value

    return {
        name: Jet(lambda alpha, v=value: refuse(alpha, v), 2)  # type: ignore[misc]
        for name, value in zip(FIELDS, numbers, strict=True)
    }


def place(t: float | Tensor = 0.0, dtype: torch.dtype = torch.float64) -> Location:
    return Location(torch.rand(N, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(dtype), t)


def by_hand(name: str, u: Tensor, v: Tensor, w: Tensor) -> Tensor:
    return {"u": u, "u^3": u * u * u, "v^2": v * v, "u^2 v": u * u * v, "u v w^2": u * v * w * w}[name]


# --- reactions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REACTIONS)
@pytest.mark.parametrize("batch", [(), (1,), (4,), (2, 3), (0,), (3, 0)])
def test_values_for_any_batch(name: str, batch: tuple[int, ...]) -> None:
    kind, params, _ = REACTIONS[name]
    numbers = values(*batch)
    before = [n.clone() for n in numbers]
    found = block(kind, **params).reference(jets(*numbers), place())
    assert found.shape == (*batch, N)
    assert torch.allclose(found, by_hand(name, *numbers), rtol=1e-14)
    assert all(torch.equal(a, b) for a, b in zip(before, numbers, strict=True)), "inputs are not modified"
    assert torch.equal(found, block(kind, **params).reference(jets(*numbers), place())), "deterministic"


@pytest.mark.parametrize("name", REACTIONS)
def test_degree_is_the_degree_of_homogeneity(name: str) -> None:
    kind, params, degree = REACTIONS[name]
    mechanism = block(kind, **params)
    assert (mechanism.traits.degree, mechanism.traits.order, mechanism.traits.structure) == (degree, 0, "R")
    numbers = values()
    plain = mechanism.reference(jets(*numbers), place())
    assert torch.allclose(mechanism.reference(jets(*(2 * n for n in numbers)), place()), 2.0**degree * plain)


@pytest.mark.parametrize("name", REACTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_is_preserved(name: str, dtype: torch.dtype) -> None:
    kind, params, _ = REACTIONS[name]
    assert block(kind, **params).reference(jets(*values(2, dtype=dtype)), place(dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("name", REACTIONS)
def test_gradients_are_exact(name: str) -> None:
    kind, params, _ = REACTIONS[name]
    mechanism = block(kind, **params)
    numbers = tuple(n.requires_grad_(True) for n in values())
    assert torch.autograd.gradcheck(lambda *n: mechanism.reference(jets(*n), place()), numbers)
    assert torch.autograd.gradgradcheck(lambda *n: mechanism.reference(jets(*n), place()), numbers)


def test_gradients_are_finite_at_zero() -> None:
    u = torch.zeros(N, dtype=torch.float64, requires_grad=True)
    block("power", p=3).reference(jets(u, u, u), place()).sum().backward()
    assert u.grad is not None and not u.grad.any()


def test_fields_of_different_batches_broadcast() -> None:
    u, v, w = values(3)[0], values()[1], values()[2]
    assert block("product", powers={"u": 1, "v": 2}).reference(jets(u, v, w), place()).shape == (3, N)


def test_what_a_block_acts_on() -> None:
    assert block("power").acts_on == "u"
    assert block("power", of="v").acts_on == "v"
    assert block("product", powers={"w": 1}).acts_on == "w"
    assert block("product", powers={"u": 1, "v": 1}).acts_on is None


def test_only_the_linear_power_has_a_symbol_and_an_ambient_map() -> None:
    registry = default_registry()
    component = registry.find("basis", "fourier")
    basis = registry.factory(component)(
        registry.params(component)(K=2), Site(Frame(np.zeros(2), np.ones(2), np.eye(2)))
    )
    a = torch.randn(3, basis.size, dtype=torch.float64)
    assert block("power").symbol() == {(0, 0): 1.0}
    assert torch.equal(block("power").ambient(basis, "u")(a), a)
    assert block("power").traits.modes == ("pointwise", "ambient")
    assert block("power", p=2).symbol() is None
    assert block("power", p=2).traits.modes == ("pointwise",)
    with pytest.raises(PackError, match="no ambient map"):
        block("power", p=2).ambient(basis, "u")


# --- sources --------------------------------------------------------------------------------------------------------


def test_a_source_is_its_formula_at_any_time() -> None:
    source = block("source", value="sin(3*x)*exp(-t) + y*t")
    assert source.traits.degree == 0 and source.traits.time_dependent
    times = torch.tensor([[0.0], [0.4], [2.0]], dtype=torch.float64)
    together = source.reference({}, place(times))
    x, y = place().x.T
    assert together.shape == (3, N)
    for row, t in enumerate(times[:, 0].tolist()):
        expected = torch.sin(3 * x) * np.exp(-t) + y * t
        assert torch.allclose(together[row], expected, atol=1e-15)
        assert torch.allclose(source.reference({}, place(t)), expected, atol=1e-15)


@pytest.mark.parametrize(("value", "moving"), [("2", False), ("x*y", False), ("cos(t)", True)])
def test_sources_fill_all_points(value: str, moving: bool) -> None:
    source = block("source", value=value)
    assert source.traits.time_dependent == moving
    assert source.reference({}, place(0.5)).shape == (N,)
    assert source.reference({}, place(0.5, torch.float32)).dtype == torch.float32
    column = torch.tensor([[0.5], [1.0]], dtype=torch.float64)
    assert source.reference({}, place(column)).shape == (2, N)


def test_the_constant_is_one() -> None:
    assert torch.equal(block("constant").reference({}, place()), torch.ones(N, dtype=torch.float64))
    assert block("constant").reference({}, place(dtype=torch.float32)).dtype == torch.float32
    assert block("constant").reference({}, place(torch.zeros(3, 1))).shape == (3, N)


# --- solutions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("equation", "exact"),
    [
        ([{"block": "power", "coefficient": -2}], "exp(-2*t)*S"),
        ([{"block": "power"}, {"block": "power", "p": 2, "coefficient": -1}], "S*exp(t)/(1 + S*(exp(t) - 1))"),
        ([{"block": "power", "p": 3, "coefficient": -1}], "S/sqrt(1 + 2*S^2*t)"),
        ([{"block": "constant", "coefficient": 0.5}, {"block": "source", "value": "x*cos(t)"}], "S + 0.5*t + x*sin(t)"),
        ([{"block": "source", "value": "y", "coefficient": "2*t"}], "S + y*t^2"),
        ([{"block": "constant", "coefficient": 0.5}], "S + 0.5*t"),
    ],
    ids=["decay", "logistic", "cubic", "sources", "source with a coefficient in time", "constant"],
)
def test_ordinary_differential_equations_at_every_point(
    equation: list[dict[str, Any]], exact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLEG_CACHE", "off")
    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 10},
        "formulas": {"S": "0.6 + 0.2*cos(2*x)*exp(y)"},
        "fields": {"u": {"exact": exact, "boundary": [{"kind": "free"}], "equation": equation}},
        "time": {"end": 0.5, "step": 0.01},
        "output": {"frames": 2},
    }
    assert solve(problem).metrics["relative_l2"]["max"] < 1e-6


def test_two_fields_react(monkeypatch: pytest.MonkeyPatch) -> None:
    """u_t = −u v, v_t = u v keep u + v; with s = u + v: u = s u₀ / (u₀ + v₀ e^{st})."""
    monkeypatch.setenv("GLEG_CACHE", "off")
    names = {"u0": "0.5 + 0.1*x", "v0": "0.3 + 0.2*y", "s": "u0 + v0"}
    uv = {"block": "product", "powers": {"u": 1, "v": 1}}
    exact = "s*u0/(u0 + v0*exp(s*t))"
    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 10},
        "formulas": names,
        "fields": {
            "u": {"exact": exact, "boundary": [{"kind": "free"}], "equation": [{**uv, "coefficient": -1}]},
            "v": {"exact": f"s - {exact}", "boundary": [{"kind": "free"}], "equation": [uv]},
        },
        "time": {"end": 1, "step": 0.02},
        "output": {"frames": 2},
    }
    assert solve(problem).metrics["relative_l2"]["max"] < 1e-6


# --- the pack -------------------------------------------------------------------------------------------------------


def test_examples_validate_and_capabilities_are_true() -> None:
    for entry in gleg_blocks():
        for example in entry.examples:
            traits = block(entry.name, **example).traits
            assert traits.structure == entry.capabilities["structure"]
            assert traits.order == entry.capabilities["order"]
            assert entry.capabilities["degree"] in (traits.degree, "p", "Σ p")


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("power", {"p": 0}),
        ("power", {"p": 1.5}),
        ("power", {"p": 13}),
        ("power", {"of": "q"}),
        ("product", {}),
        ("product", {"powers": {}}),
        ("product", {"powers": {"q": 1}}),
        ("product", {"powers": {"u": -1}}),
        ("source", {}),
        ("source", {"value": "u"}),
        ("constant", {"value": 2}),
    ],
)
def test_bad_parameters_are_refused(name: str, params: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        block(name, **params)


def test_listing_and_checking_do_not_import_torch() -> None:
    code = (
        "import sys, gleg_blocks_polynomial.pack as p, gleg_blocks_polynomial.params;"
        "p.gleg_blocks(); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("p", range(1, 12))
def test_powers_of_a_jet(p: int) -> None:
    u = torch.linspace(-1.5, 2.0, 9, dtype=torch.float64)
    asked: list[MultiIndex] = []
    jet = Jet(lambda alpha: asked.append(alpha) or u, 2)
    expected = np.prod([u.numpy()] * p, axis=0)
    assert np.allclose(jet.power(p).numpy(), expected, rtol=1e-14, atol=0)
    assert jet.power(p) is jet.power(p) and asked == [(0, 0)]
