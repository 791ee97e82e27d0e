"""Traces, data and flux of the boundary conditions, and the pack's listing."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from boundary_setting import CONDITIONS, SHAPES, condition, fourier, jet_of, make, normal_difference, rim
from pydantic import ValidationError
from torch import Tensor

from gleg_bc.pack import gleg_boundary_operators
from gleg_core.algebra.boundary_system import SegmentCondition, expression_jet, spread
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.expressions import Expression, formula

TRACES = {"dirichlet": ["value"], "neumann": ["slope"], "robin": ["robin"], "clamped": ["value", "slope"], "free": []}


# --- traces ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CONDITIONS)
def test_rows_against_finite_differences_of_the_basis(name: str, shape: str) -> None:
    basis, at = fourier(5), rim(shape)

    def value(x: Tensor) -> Tensor:
        return basis.tabulate(x, [(0, 0)])[(0, 0)]

    slope = normal_difference(value, at)
    kappa = 2 + at.x[:, 0] * at.x[:, 1]
    expected = {"value": value(at.x), "slope": slope, "robin": slope + kappa * value(at.x)}
    rows = condition(name).traces(basis.jet(at.x), at)
    assert len(rows) == condition(name).conditions
    for row, kind in zip(rows, TRACES[name], strict=True):
        assert row.shape == (basis.size, len(at.x))
        assert (row - expected[kind]).abs().max() < 1e-9 * expected[kind].abs().max()


@pytest.mark.parametrize("name", CONDITIONS)
def test_traces_are_linear_and_zero_at_zero(name: str) -> None:
    basis, at = fourier(3), rim("polar")
    phi = basis.jet(at.x)
    a = torch.randn(2, basis.size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rows = condition(name).traces(phi, at)
    combined = condition(name).traces(Jet(lambda alpha: a @ phi.d(alpha), 2), at)
    zero = condition(name).traces(Jet(lambda alpha: torch.zeros_like(at.x[:, 0]), 2), at)
    for row, both, nothing in zip(rows, combined, zero, strict=True):
        assert torch.allclose(both, a @ row, atol=1e-12)
        assert not nothing.any()


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 4), (0,)])
def test_batches_and_dtype(name: str, batch: tuple[int, ...]) -> None:
    at = rim("ellipse", 9)
    for dtype in (torch.float64, torch.float32):
        assert at.normal is not None
        here = Location(at.x.to(dtype), 0.0, at.normal.to(dtype))
        jet = Jet(lambda alpha, d=dtype: torch.ones(*batch, 9, dtype=d), 2)  # type: ignore[misc]
        for trace in condition(name).traces(jet, here):
            assert trace.shape == (*batch, 9) and trace.dtype == dtype


def test_robin_with_kappa_zero_is_neumann() -> None:
    basis, at = fourier(4), rim("annulus")
    (robin,), (neumann,) = (condition(n, **p).traces(basis.jet(at.x), at)
                            for n, p in (("robin", {"kappa": 0}), ("neumann", {"value": 0})))  # fmt: skip
    assert torch.equal(robin, neumann)


@pytest.mark.parametrize(("end", "normal"), [(0.0, -1.0), (1.0, 1.0)])
def test_the_normal_derivative_at_the_ends_of_an_interval_points_outward(end: float, normal: float) -> None:
    at = Location(torch.tensor([[end]], dtype=torch.float64), 0.0, torch.tensor([[normal]], dtype=torch.float64))
    (slope,) = condition("neumann", 1, value=0).traces(jet_of(lambda x: torch.exp(2 * x[:, 0]), at.x), at)
    assert float(slope) == pytest.approx(normal * 2 * float(torch.exp(2 * at.x)))


# --- data -----------------------------------------------------------------------------------------------------------


def sampled(name: str, t: float, rate: bool = False) -> list[Tensor]:
    return SegmentCondition("boundary", condition(name)).data(rim("ellipse", 20, t), rate)


@pytest.mark.parametrize("name", CONDITIONS)
def test_the_time_derivative_of_the_data_against_differences(name: str) -> None:
    h = 1e-3
    for t in (0.0, 0.8):
        rates = sampled(name, t, rate=True)
        assert len(rates) == condition(name).conditions
        around = [sampled(name, t + j * h) for j in (-2, -1, 1, 2)]
        for trace, rate in enumerate(rates):
            minus2, minus1, plus1, plus2 = (data[trace] for data in around)
            difference = (8 * (plus1 - minus1) - (plus2 - minus2)) / (12 * h)
            assert (rate - difference).abs().max() < 1e-9


def test_the_data_are_the_formulas() -> None:
    at = rim("disk", 20, 0.3)
    x, y = at.x.T
    value, slope = SegmentCondition("boundary", condition("clamped")).data(at)
    assert torch.allclose(value, torch.cos(x - 0.9), atol=1e-15)
    assert torch.allclose(slope, 0.3 * x * y, atol=1e-15)


@pytest.mark.parametrize("name", ["dirichlet", "neumann", "robin", "clamped"])
def test_data_of_an_exact_solution_are_its_traces(name: str) -> None:
    """B u* taken symbolically equals B u* from finite differences of u*."""
    at = rim("ellipse", 20, 0.4)
    exact = formula("exp(x*y)*sin(3*x - t)")
    data = SegmentCondition("boundary", condition(name), exact=exact).data(at)

    def u(x: Tensor) -> Tensor:
        return torch.exp(x[:, 0] * x[:, 1]) * torch.sin(3 * x[:, 0] - 0.4)

    slope = normal_difference(u, at)
    expected = {"value": u(at.x), "slope": slope, "robin": slope + (2 + at.x[:, 0] * at.x[:, 1]) * u(at.x)}
    for found, kind in zip(data, TRACES[name], strict=True):
        assert (found - expected[kind]).abs().max() < 1e-9


@pytest.mark.parametrize(
    ("name", "params"),
    [("dirichlet", {}), ("neumann", {}), ("robin", {"kappa": "1 + x^2"}), ("clamped", {}), ("free", {})],
)
def test_without_values_a_condition_is_homogeneous_and_at_rest(name: str, params: dict[str, object]) -> None:
    operator = condition(name, **params) if params else condition(name, **_zeros(name))
    plain = SegmentCondition("boundary", operator)
    assert plain.homogeneous() and not plain.moves()
    assert all(not data.any() for data in plain.data(rim("disk", 12)))


def _zeros(name: str) -> dict[str, object]:
    return {"clamped": {"value": 0, "slope": 0}, "free": {}}.get(name, {"value": 0})


@pytest.mark.parametrize("name", ["dirichlet", "neumann", "robin", "clamped"])
def test_moving_data_are_noticed(name: str) -> None:
    plain = SegmentCondition("boundary", condition(name))
    assert plain.moves() and not plain.homogeneous()


# --- flux and flags -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["neumann", "robin", "clamped"])
def test_the_flux_says_what_the_traces_say(name: str, shape: str) -> None:
    """If B u = g then ∂u/∂n = factor·g − κ u."""
    operator, at = condition(name), rim(shape)
    u = expression_jet(formula("cos(2*x)*exp(y) + x"), at)
    flux = operator.flux
    assert flux is not None and at.normal is not None
    g = operator.traces(u, at)[flux.trace]
    assert torch.allclose(u.along(at.normal), flux.factor * g - spread(at(flux.kappa), at) * u.value, atol=1e-13)


@pytest.mark.parametrize("name", ["dirichlet", "free"])
def test_conditions_that_do_not_state_the_normal_derivative_have_no_flux(name: str) -> None:
    assert condition(name).flux is None


@pytest.mark.parametrize(
    ("name", "order", "vanishing", "conditions"),
    [
        ("dirichlet", 0, (0,), 1),
        ("neumann", 1, (1,), 1),
        ("robin", 1, (), 1),
        ("clamped", 1, (0, 1), 2),
        ("free", 0, (), 0),
    ],
)
def test_declared_facts(name: str, order: int, vanishing: tuple[int, ...], conditions: int) -> None:
    operator = condition(name)
    assert (operator.order, operator.vanishing, operator.conditions) == (order, vanishing, conditions)
    assert len(operator.data()) == conditions
    assert all(isinstance(g, Expression) for g in operator.data())


# --- the pack -------------------------------------------------------------------------------------------------------


def test_examples_validate_and_capabilities_are_true() -> None:
    for entry in gleg_boundary_operators():
        for example in entry.examples:
            operator = make("boundary", f"bc:{entry.name}", dict(example))
            assert operator.conditions == entry.capabilities["conditions"]


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("dirichlet", {"values": 1}),
        ("dirichlet", {"value": "z"}),
        ("neumann", {"value": "sin("}),
        ("robin", {"value": 1}),
        ("robin", {"kappa": "1 + t"}),
        ("free", {"value": 0}),
    ],
)
def test_bad_parameters_are_refused(name: str, params: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        condition(name, **params)


def test_listing_and_checking_do_not_import_torch() -> None:
    code = "import sys, gleg_bc.pack as p, gleg_bc.params; p.gleg_boundary_operators(); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
