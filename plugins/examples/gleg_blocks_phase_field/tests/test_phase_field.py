"""Plates, Cahn–Hilliard and Kuramoto–Sivashinsky against closed forms: eigenvalues, growth rates, invariants, manufactured solutions."""

from __future__ import annotations

import math
import subprocess
import sys
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from scipy.optimize import brentq
from torch import Tensor

from gleg import default_registry, solve
from gleg_blocks_phase_field.pack import gleg_blocks
from gleg_core.contracts.block import Binding, Block
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.errors import SpecError
from gleg_core.expressions import Expression, formula
from gleg_core.run import Run
from gleg_core.spec.params import Scope
from gleg_core.spec.problem import load_problem
from gleg_core.system.discretise import discretise

CLAMPED: list[dict[str, Any]] = [{"kind": "clamped"}]
NEUMANN: list[dict[str, Any]] = [{"kind": "neumann"}]
EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.yaml"))
INTERVAL = {"kind": "interval", "left": 0, "right": 1}


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLEG_CACHE", "off")


def problem(
    domain: dict[str, Any], K: int, boundary: list[dict[str, Any]], equation: list[dict[str, Any]], **keys: Any
) -> dict[str, Any]:
    field = {"boundary": boundary, "equation": equation, "initial": 0}
    for key in ("initial", "exact", "forcing"):
        if key in keys:
            field[key] = keys.pop(key)
    if "exact" in field:
        field.pop("initial")
    return {
        "domain": domain,
        "basis": {"kind": "fourier", "K": K},
        "fields": {"u": field},
        "time": keys.pop("time", {"end": 1}),
        **{"output": {"frames": 2}, **keys},
    }


def rates(*arguments: Any, **keys: Any) -> np.ndarray:
    """Eigenvalues of the linear part, the largest first."""
    found = discretise(load_problem(problem(*arguments, **keys))).system.linear.eigenvalues  # type: ignore[attr-defined]
    return np.sort(found.numpy())[::-1]


def cahn_hilliard(epsilon: float, **params: Any) -> list[dict[str, Any]]:
    return [{"block": "cahn-hilliard", "epsilon": epsilon, **params}]


# --- the operators --------------------------------------------------------------------------------------------------

U = formula("sin(2*x)*exp(y) + 0.3*x*y", ("x", "y"))
PLACE = Location(torch.rand(30, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 2 - 1)
_BIHARMONIC = "u_xxxx + 2*u_xxyy + u_yyyy"
OPERATORS = [
    ("biharmonic", {}, f"-({_BIHARMONIC})"),
    ("kuramoto-sivashinsky", {}, f"-({_BIHARMONIC}) - u_xx - u_yy - (u_x^2 + u_y^2)/2"),
    ("eikonal", {}, "-(u_x^2 + u_y^2)/2"),
    ("surface-energy", {"epsilon": 0.3}, f"-0.09*({_BIHARMONIC})"),
    ("cahn-hilliard", {"epsilon": 0.3}, f"(3*u^2 - 1)*(u_xx + u_yy) + 6*u*(u_x^2 + u_y^2) - 0.09*({_BIHARMONIC})"),
    (
        "cahn-hilliard",
        {"epsilon": 0.3, "potential": "exp(u)"},
        f"exp(u)*(u_xx + u_yy + u_x^2 + u_y^2) - 0.09*({_BIHARMONIC})",
    ),
]


def block(name: str, **params: Any) -> Block:
    registry = default_registry()
    component = registry.find("block", f"phase-field:{name}")
    model = registry.params(component).model_validate(params, context=Scope(dim=2, fields=("u", "v")))
    return registry.factory(component)(model, Binding("u", ("u", "v"), 2))


def derivatives(alpha: tuple[int, ...]) -> Tensor:
    axes = [c for c, order in zip("xy", alpha, strict=True) for _ in range(order)]
    return PLACE(reduce(lambda f, c: f.d(c), axes, U)).expand(len(PLACE.x))


@pytest.mark.parametrize(("name", "params", "text"), OPERATORS, ids=[o[0] for o in OPERATORS])
def test_reference_operator(name: str, params: dict[str, Any], text: str) -> None:
    words = ("x", "y", "xx", "yy", "xxxx", "xxyy", "yyyy")
    names: dict[str, Expression | float] = {f"u_{w}": reduce(lambda f, c: f.d(c), w, U) for w in words}
    expected = PLACE(formula(text, ("x", "y"), {"u": U, **names}))
    for keys, field in (({}, "u"), ({"of": "v"}, "v")):
        found = block(name, **params, **keys).reference({field: Jet(derivatives, 2)}, PLACE)
        assert torch.allclose(found, expected, rtol=1e-12, atol=1e-12)


# --- plates ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("realisation", "tolerance"), [("weak", 1e-8), ("pointwise", 1e-5)])
def test_clamped_plate_on_the_disk(realisation: str, tolerance: float) -> None:
    """Slowest decay (3.1962206…/R)⁴, the root of J₀I₁ + J₁I₀, and not that of the squared Dirichlet Laplacian."""
    from scipy.special import iv, jv

    root = brentq(lambda s: jv(0, s) * iv(1, s) + jv(1, s) * iv(0, s), 3.0, 3.5, xtol=1e-14)
    term = {"block": "biharmonic", "realisation": realisation}
    d = discretise(load_problem(problem({"kind": "disk", "radius": 0.6}, 14, CLAMPED, [term])))
    matrix = d.system.linear.apply(torch.eye(d.system.size, dtype=torch.float64))
    slowest = -float(np.linalg.eigvals(matrix.numpy()).real.max())
    assert slowest == pytest.approx((root / 0.6) ** 4, rel=tolerance)


# --- Cahn–Hilliard --------------------------------------------------------------------------------------------------

WAVES = "0.1 + 0.1*cos(7*x + 1)*cos(5*y) + 0.1*sin(9*x*y + 3*x)"


def mass_drift(run: Run) -> float:
    mass = np.array(run.metrics["fields"]["u"]["invariants"]["mass"])
    return float(np.abs(mass / mass[0] - 1).max())


def free_energy(run: Run, epsilon: float) -> np.ndarray:
    """∫ ¼(1 − u²)² + ½ε²|∇u|² at the saved times."""
    field = run.discretisation.system.fields["u"]
    u = field.interior.of_state(torch.stack(run.trajectory.states), None)
    density = (1 - u.value**2) ** 2 / 4 + epsilon**2 / 2 * torch.stack([g**2 for g in u.grad]).sum(dim=0)
    return (density @ field.space.weights).numpy()


def test_mass_is_conserved_and_the_free_energy_falls() -> None:
    domain = {"kind": "ellipse", "a": 0.9, "b": 0.6}
    run = solve(
        problem(domain, 12, NEUMANN, cahn_hilliard(0.1), initial=WAVES, time={"end": 0.3, "step": 1e-3},
                output={"frames": 60})
    )  # fmt: skip
    energy = free_energy(run, 0.1)
    assert np.all(np.diff(energy) < 0) and energy[-1] < 0.85 * energy[0]
    assert mass_drift(run) < 1e-12


@pytest.mark.parametrize(("u0", "n"), [(0.2, 1), (0.2, 2), (0.6, 1), (0.6, 2)])
def test_growth_rate_in_one_dimension(u0: float, n: int) -> None:
    """cos(kx) about the state u₀ grows with σ(k) = −k²(f″(u₀) + ε²k²)."""
    epsilon, k = 0.1, n * math.pi
    sigma = -(k**2) * (3 * u0**2 - 1 + epsilon**2 * k**2)
    assert measured_rate(INTERVAL, 16, u0, f"cos({k}*x)", epsilon, sigma, (0.2,)) == pytest.approx(sigma, rel=1e-6)


def test_growth_rate_on_a_rectangle() -> None:
    epsilon, k2 = 0.1, math.pi**2 * (1 + 1 / 0.64)
    sigma = -k2 * (3 * 0.1**2 - 1 + epsilon**2 * k2)
    mode = "cos(pi*x)*cos(pi*y/0.8)"
    domain = {"kind": "rectangle", "x": [0, 1], "y": [0, 0.8]}
    assert measured_rate(domain, 14, 0.1, mode, epsilon, sigma, (0.2, 0.2)) == pytest.approx(sigma, rel=1e-6)


def measured_rate(
    domain: dict[str, Any], K: int, u0: float, mode: str, epsilon: float, sigma: float, place: tuple[float, ...]
) -> float:
    """log of the growth over the time 1/|σ|; of two runs u₀ ± 1e-4 mode, whose difference has no terms of second order."""
    end = 1 / abs(sigma)
    up, down = (
        solve(
            problem(domain, K, NEUMANN, cahn_hilliard(epsilon), initial=f"{u0} + {a}*{mode}",
                    time={"end": end, "step": end / 200})
        )
        for a in (1e-4, -1e-4)
    )  # fmt: skip
    amplitude = [up.u(*place, t) - down.u(*place, t) for t in (0.0, end)]
    return math.log(amplitude[1] / amplitude[0]) / end


def test_manufactured_solution_of_cahn_hilliard() -> None:
    """(1 − r²)⁴ times anything has no normal derivatives up to the third on the circle, so ∂_n u = ∂_n μ = 0."""
    run = solve(
        problem(
            {"kind": "disk", "radius": 1}, 16, NEUMANN, cahn_hilliard(0.3),
            exact="0.2 + (1 - x^2 - y^2)^4*(0.6 + 0.5*x*cos(3*t) - 0.3*y*sin(2*t))",
            forcing="manufactured", time={"end": 0.5, "step": 0.005},
        )
    )  # fmt: skip
    assert run.metrics["relative_l2"]["max"] < 1e-6


def test_a_prescribed_slope_at_the_wall() -> None:
    """With ∂u/∂n = ½ (a wall that one phase wets) ∂μ/∂n = 0 still holds: the state at rest has the same μ everywhere."""
    wall, end = [{"kind": "neumann", "value": 0.5}], 1.0
    start = "0.3 + 0.5*(x - 0.5)^2"
    run = solve(
        problem(INTERVAL, 12, wall, cahn_hilliard(0.2), initial=start, time={"end": end, "step": 5e-3})
    )  # fmt: skip
    x = np.linspace(0.01, 0.99, 41)[:, None]
    u, u_xx = run.evaluate("u", x, end), run.evaluate("u", x, end, (2,))
    mu = u**3 - u - 0.2**2 * u_xx
    assert np.ptp(u) > 0.15 and np.ptp(mu) < 1e-5
    assert mass_drift(run) < 1e-12


@pytest.mark.parametrize(
    ("kind", "equation", "message"),
    [
        ("dirichlet", cahn_hilliard(0.1), "prescribe the normal derivative on the whole boundary"),
        ("dirichlet", [{"block": "kuramoto-sivashinsky"}], "prescribe the normal derivative on the whole boundary"),
        ("neumann", [{"block": "biharmonic"}], "order 4 and needs 2"),
        ("neumann", [{"block": "biharmonic"}, *cahn_hilliard(0.1)], "order 4 and needs 2"),
    ],
)
def test_conditions_that_do_not_fit_are_refused(kind: str, equation: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        rates(INTERVAL, 8, [{"kind": kind}], equation)


# --- Kuramoto–Sivashinsky -------------------------------------------------------------------------------------------

FLAME: list[dict[str, Any]] = [{"block": "kuramoto-sivashinsky"}]


def test_growth_of_a_small_wave_between_clamped_ends() -> None:
    """a cos(kx) exp(σt) with σ = k² − k⁴ solves the equation up to a²; its own values are prescribed at the ends."""
    k, end = 0.7, 2.0
    sigma = k**2 - k**4
    run = solve(
        problem(
            {"kind": "interval", "left": -3, "right": 4}, 16, [{"kind": "clamped", "data": "exact"}], FLAME,
            exact=f"1e-8*cos({k}*x)*exp({sigma}*t)", time={"end": end, "step": 0.01},
        )
    )  # fmt: skip
    assert math.log(run.u(0.5, end) / run.u(0.5, 0.0)) / end == pytest.approx(sigma, rel=1e-6)


def test_rates_between_clamped_ends() -> None:
    """Even modes of −u⁗ − u″ = σu with u = u′ = 0 at ±ℓ, from their transcendental equation.

    With p = (1 + √(1 − 4σ))/2 and q = 1 − p, u = A cos(√p x) + B cos(√q x) (cosh where q < 0).
    """
    half = 6.0

    def determinant(sigma: float) -> float:
        p = (1 + math.sqrt(1 - 4 * sigma)) / 2
        alpha, beta = (np.emath.sqrt(s) for s in (p, 1 - p))
        return float(
            np.real(
                alpha * np.sin(alpha * half) * np.cos(beta * half) - beta * np.sin(beta * half) * np.cos(alpha * half)
            )
        )

    grid = np.linspace(0.249, -3.0, 2000)
    values = [determinant(s) for s in grid]
    pairs = [(a, b) for a, b, f, g in zip(grid, grid[1:], values, values[1:], strict=False) if f * g < 0]
    even = [brentq(determinant, a, b, xtol=1e-14) for a, b in pairs]
    found = rates({"kind": "interval", "left": -half, "right": half}, 20, CLAMPED, FLAME)
    assert len(even) >= 3 and even[0] > 0, "the longest wave grows"
    for sigma in even[:3]:
        assert np.abs(found - sigma).min() < 1e-7


def test_rates_between_reflecting_walls() -> None:
    """∂_n u = ∂_nΔu = 0: cos(nπx/L) grows with k² − k⁴, on an interval of length 12; and so do products on a rectangle."""
    found = rates({"kind": "interval", "left": 0, "right": 12}, 20, NEUMANN, FLAME)
    k2 = (np.arange(12) * math.pi / 12) ** 2
    assert found[:10] == pytest.approx(np.sort(k2 - k2**2)[::-1][:10], abs=1e-7)
    found = rates({"kind": "rectangle", "x": [0, 7], "y": [0, 5]}, 12, NEUMANN, FLAME)
    k2 = np.add.outer((np.arange(6) * math.pi / 7) ** 2, (np.arange(6) * math.pi / 5) ** 2).ravel()
    assert found[:8] == pytest.approx(np.sort(k2 - k2**2)[::-1][:8], abs=1e-6)


@pytest.mark.parametrize(
    ("domain", "exact", "K"),
    [
        ({"kind": "ellipse", "a": 0.8, "b": 0.5}, "0.5*cos(2*x - t)*sin(3*y + 0.5) + 0.3*x*y*t", 12),
        ({"kind": "interval", "left": -3, "right": 4}, "cos(1.3*x - t) + 0.2*x", 16),
    ],
    ids=["ellipse", "interval"],
)
def test_manufactured_solution_of_kuramoto_sivashinsky(domain: dict[str, Any], exact: str, K: int) -> None:
    run = solve(
        problem(
            domain, K, [{"kind": "clamped", "data": "exact"}], FLAME, exact=exact, forcing="manufactured",
            time={"end": 0.5, "step": 0.01},
        )
    )  # fmt: skip
    assert run.metrics["relative_l2"]["max"] < 1e-6


# --- the pack -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("surface-energy", {}, "epsilon"),
        ("surface-energy", {"epsilon": 0}, "greater than 0"),
        ("cahn-hilliard", {}, "epsilon"),
        ("cahn-hilliard", {"epsilon": 0.1, "potential": "x*u"}, "x"),
        ("cahn-hilliard", {"epsilon": 0.1, "of": "w"}, "no field is called 'w'"),
    ],
)
def test_bad_parameters_are_refused(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        block(name, **params)


def test_examples_validate_and_capabilities_are_true() -> None:
    for entry in gleg_blocks():
        for example in entry.examples:
            traits = block(entry.name, **example).traits
            stated = [entry.capabilities[key] for key in ("structure", "order", "degree", "modes")]
            assert stated == [traits.structure, traits.order, traits.degree, list(traits.modes)]


def test_listing_and_checking_do_not_import_torch() -> None:
    code = (
        "import sys, gleg_blocks_phase_field.pack as p, gleg_blocks_phase_field.params;"
        "p.gleg_blocks(); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_the_examples_run(path: Path) -> None:
    """Coarsely, and for two steps."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ") and len(lines) <= 40
    step = load_problem(path).section.time.step
    run = solve(path, basis={"K": 8}, time={"end": 2 * step})
    assert all(np.isfinite(run.evaluate(name, np.array([[0.1, 0.1]]), 2 * step)).all() for name in run.field_names)
