"""Reaction kinetics: values by hand, steady states, Turing growth rates, and the well-mixed limit against an ODE solver."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pydantic import ValidationError
from scipy.integrate import solve_ivp
from torch import Tensor

from gleg import default_registry, solve
from gleg_blocks_kinetics.pack import gleg_blocks
from gleg_core.contracts.block import Binding, Block
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.run import Run
from gleg_core.spec.params import Scope
from gleg_core.spec.problem import load_problem
from gleg_discovery.discover import discover

NEUMANN = [{"kind": "neumann"}]
EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.yaml"))


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLEG_CACHE", "off")


def block(name: str, target: str, fields: tuple[str, ...], params: dict[str, Any]) -> Block:
    registry = default_registry()
    component = registry.find("block", f"kinetics:{name}")
    model = registry.params(component).model_validate(params, context=Scope(dim=2, fields=fields))
    return registry.factory(component)(model, Binding(target, fields, 2))


# name, field of the equation, parameters, the rate by hand
Rate = Callable[..., Any]
RATES: list[tuple[str, str, dict[str, Any], Rate]] = [
    ("logistic", "u", {"rate": 3, "capacity": 2}, lambda u, v, w: 3 * u - 1.5 * u * u),
    ("gray-scott-u", "u", {"feed": 0.04}, lambda u, v, w: 0.04 - 0.04 * u - u * v * v),
    ("gray-scott-v", "v", {"feed": 0.04, "kill": 0.06}, lambda u, v, w: v * (u * v - 0.1)),
    ("fitzhugh-nagumo-v", "v", {"current": 0.5}, lambda u, v, w: 0.5 + v * (1 - v * v / 3) - w),
    ("fitzhugh-nagumo-w", "w", {"epsilon": 0.08, "a": 0.7, "b": 0.8}, lambda u, v, w: 0.08 * v + 0.056 - 0.064 * w),
    ("brusselator-u", "u", {"A": 1, "B": 3}, lambda u, v, w: 1 + u * (u * v - 4)),
    ("brusselator-v", "v", {"B": 3}, lambda u, v, w: u * (3 - u * v)),
    ("schnakenberg-u", "u", {"a": 0.1, "gamma": 2}, lambda u, v, w: 0.2 + 2 * u * (u * v - 1)),
    ("schnakenberg-v", "v", {"b": 0.9, "gamma": 2}, lambda u, v, w: 1.8 - 2 * u * u * v),
]


@pytest.mark.parametrize(("name", "target", "params", "rate"), RATES, ids=[r[0] for r in RATES])
def test_values(name: str, target: str, params: dict[str, Any], rate: Rate) -> None:
    """At random values, a batch of them, and with the roles played by fields of other names."""
    random = torch.Generator().manual_seed(2)
    u, v, w = torch.randn(3, 4, 9, generator=random, dtype=torch.float64)
    at = Location(torch.rand(9, 2, dtype=torch.float64))
    expected = rate(u, v, w)

    def response(names: tuple[str, str, str], keys: dict[str, Any]) -> Tensor:
        jets = {n: Jet(lambda alpha, f=f: f, 2) for n, f in zip(names, (u, v, w), strict=True)}  # type: ignore[misc]
        called = dict(zip("uvw", names, strict=True))
        return block(name, called[target], names, {**params, **keys}).reference(jets, at)

    assert torch.allclose(response(("u", "v", "w"), {}), expected, rtol=1e-13, atol=1e-13)
    model = default_registry().params(default_registry().find("block", f"kinetics:{name}"))
    renamed = {role: role * 2 for role in "uvw" if role in model.model_fields}
    assert torch.allclose(response(("uu", "vv", "ww"), renamed), expected, rtol=1e-13, atol=1e-13)


def test_a_stimulus_may_depend_on_place_and_time() -> None:
    mechanism = block("fitzhugh-nagumo-v", "v", ("v", "w"), {"current": "x*t"})
    at = Location(torch.rand(9, 2, dtype=torch.float64), 2.0)
    zero = Jet(lambda alpha: torch.zeros(9, dtype=torch.float64), 2)
    assert mechanism.traits.time_dependent
    assert torch.equal(mechanism.reference({"v": zero, "w": zero}, at), 2 * at.x[:, 0])


# --- in equations ---------------------------------------------------------------------------------------------------


def two_fields(
    domain: dict[str, Any], K: int, names: tuple[str, str], reactions: list[dict[str, Any]], diffusion: list[float],
    initial: list[Any], time: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    return {
        "domain": domain,
        "basis": {"kind": "fourier", "K": K},
        "fields": {
            name: {"initial": start, "boundary": NEUMANN, "equation": [{"block": "diffusion", "coefficient": d}, term]}
            for name, term, d, start in zip(names, reactions, diffusion, initial, strict=True)
        },
        "time": time,
        "output": {"frames": 2},
    }


def test_the_brusselator_rests_at_its_steady_state() -> None:
    """u = A, v = B/A on a rosette with Neumann conditions, stable since B < 1 + A² and both diffuse alike."""
    A, B, end = 2.0, 3.0, 2.0
    reactions: list[dict[str, Any]] = [{"block": "brusselator-u", "A": A, "B": B}, {"block": "brusselator-v", "B": B}]
    time = {"end": end, "step": 0.02}
    problem = two_fields({"kind": "rosette"}, 12, ("u", "v"), reactions, [0.1, 0.1], [A, B / A], time)
    run = solve(problem)
    points = np.array([[0.0, 0.0], [0.3, 0.1], [-0.2, 0.35], [0.5, 0.0]])
    assert run.evaluate("u", points, end) == pytest.approx(A, abs=1e-10)
    assert run.evaluate("v", points, end) == pytest.approx(B / A, abs=1e-10)


TURING = [
    (
        "brusselator",
        [{"block": "brusselator-u", "A": 2, "B": 4.5}, {"block": "brusselator-v", "B": 4.5}],
        [0.02, 0.2],
        (2.0, 2.25),
        [[3.5, 4.0], [-4.5, -4.0]],  # [[B − 1, A²], [−B, −A²]]
    ),
    (
        "schnakenberg",
        [{"block": "schnakenberg-u", "a": 0.1, "gamma": 2}, {"block": "schnakenberg-v", "b": 0.9, "gamma": 2}],
        [0.02, 0.8],
        (1.0, 0.9),
        [[1.6, 2.0], [-3.6, -2.0]],  # γ [[2uv − 1, u²], [−2uv, −u²]] at u = a + b, v = b/u²
    ),
]


@pytest.mark.parametrize(("name", "reactions", "D", "steady", "jacobian"), TURING, ids=[t[0] for t in TURING])
def test_growth_rate_of_a_turing_mode(
    name: str, reactions: list[dict[str, Any]], D: list[float], steady: tuple[float, float], jacobian: list[list[float]]
) -> None:
    """cos(πx) cos(πy/0.6) on [0, 1] × [0, 0.6] grows like the eigenvalue of J − μ D, μ = π²(1 + 1/0.36)."""
    mu = math.pi**2 * (1 + 1 / 0.36)
    values, vectors = np.linalg.eig(np.array(jacobian) - mu * np.diag(D))
    fastest = int(np.argmax(values.real))
    sigma, direction = float(values[fastest].real), vectors[:, fastest].real
    mode, end = "cos(pi*x)*cos(pi*y/0.6)", 1.0
    domain = {"kind": "rectangle", "x": [0, 1], "y": [0, 0.6]}

    def solution(size: float) -> Run:
        initial = [f"{s} + {size * d}*{mode}" for s, d in zip(steady, direction, strict=True)]
        return solve(two_fields(domain, 12, ("u", "v"), reactions, D, initial, {"end": end, "step": 0.01}))

    up, down = solution(1e-4), solution(-1e-4)  # their difference has no terms of second order
    amplitude = [up.u(0.2, 0.15, t) - down.u(0.2, 0.15, t) for t in (0.0, end)]
    assert sigma > 0, "the mode is unstable"
    assert math.log(amplitude[1] / amplitude[0]) / end == pytest.approx(sigma, rel=1e-6)


MIXED: list[tuple[str, tuple[str, str], list[dict[str, Any]], tuple[float, float], Callable[[float, Any], Any]]] = [
    (
        "gray-scott",
        ("u", "v"),
        [{"block": "gray-scott-u", "feed": 0.04}, {"block": "gray-scott-v", "feed": 0.04, "kill": 0.06}],
        (0.5, 0.4),
        lambda t, y: [-y[0] * y[1] ** 2 + 0.04 * (1 - y[0]), y[0] * y[1] ** 2 - 0.1 * y[1]],
    ),
    (
        "fitzhugh-nagumo",
        ("v", "w"),
        [{"block": "fitzhugh-nagumo-v", "current": "0.5*sin(t)"},
         {"block": "fitzhugh-nagumo-w", "epsilon": 0.08, "a": 0.7, "b": 0.8}],
        (1.0, -0.5),
        lambda t, y: [y[0] - y[0] ** 3 / 3 - y[1] + 0.5 * math.sin(t), 0.08 * (y[0] + 0.7 - 0.8 * y[1])],
    ),
    (
        "brusselator",
        ("u", "v"),
        [{"block": "brusselator-u", "A": 1, "B": 3}, {"block": "brusselator-v", "B": 3}],
        (1.5, 2.0),
        lambda t, y: [1 - 4 * y[0] + y[0] ** 2 * y[1], 3 * y[0] - y[0] ** 2 * y[1]],
    ),
    (
        "schnakenberg, renamed",
        ("activator", "substrate"),
        [{"block": "schnakenberg-u", "a": 0.1, "v": "substrate"}, {"block": "schnakenberg-v", "b": 0.9, "u": "activator"}],
        (0.6, 1.4),
        lambda t, y: [0.1 - y[0] + y[0] ** 2 * y[1], 0.9 - y[0] ** 2 * y[1]],
    ),
    (
        "two logistic",
        ("u", "v"),
        [{"block": "logistic", "rate": 2}, {"block": "logistic", "rate": -1, "capacity": 3}],
        (0.1, 0.4),
        lambda t, y: [2 * y[0] * (1 - y[0]), -y[1] * (1 - y[1] / 3)],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "names", "reactions", "start", "rates"), MIXED, ids=[m[0] for m in MIXED])
def test_well_mixed_limit(
    name: str, names: tuple[str, str], reactions: list[dict[str, Any]], start: tuple[float, float], rates: Any
) -> None:
    """A state that is constant in space follows the ordinary differential equation."""
    end = 5.0
    domain = {"kind": "interval", "left": 0, "right": 1}
    run = solve(two_fields(domain, 6, names, reactions, [0.1, 0.3], list(start), {"end": end, "step": 0.01}))
    reference = solve_ivp(rates, (0.0, end), start, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    for field, value in zip(names, reference, strict=True):
        assert run.evaluate(field, np.array([[0.2], [0.7]]), end) == pytest.approx(value, rel=1e-7)


# --- the pack -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("logistic", {}, "rate"),
        ("logistic", {"rate": 1, "capacity": 0}, "greater than 0"),
        ("gray-scott-u", {"feed": -1}, "greater than or equal to 0"),
        ("gray-scott-u", {"feed": 0.04, "kill": 0.06}, "Extra inputs"),
        ("gray-scott-u", {"feed": 0.04, "v": "w"}, "no field is called 'w'"),
        ("fitzhugh-nagumo-v", {}, "no field is called 'w'"),
    ],
)
def test_bad_parameters_are_refused(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        block(name, "u", ("u", "v"), params)


def test_examples_validate_and_capabilities_are_true() -> None:
    for entry in gleg_blocks():
        for example in entry.examples:
            traits = block(entry.name, "u", ("u", "v"), dict(example)).traits
            assert (traits.structure, traits.order, traits.degree) == ("R", 0, entry.capabilities["degree"])


def test_listing_does_not_import_torch() -> None:
    code = "import sys, gleg_blocks_kinetics.pack as p; p.gleg_blocks(); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_the_examples_run(path: Path) -> None:
    """Coarsely, and for two steps."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ") and len(lines) <= 40
    step = load_problem(path).section.time.step
    run = solve(path, basis={"K": 8}, time={"end": 2 * step})
    assert all(np.isfinite(run.evaluate(name, np.array([[0.1, 0.1]]), 2 * step)).all() for name in run.field_names)


def test_logistic_growth_is_discovered_among_other_reactions(tmp_path: Path) -> None:
    """From readings of well-mixed cultures, u = 1/(1 + (1/u₀ − 1)e^{−rt}): a stranger's mechanism is a candidate like any other."""
    rate, rng = 0.7, np.random.default_rng(3)
    points, times = 0.4 * rng.uniform(-1, 1, (20, 2)), np.linspace(0, 2, 21)
    rows = [
        (k, t, x, y, 1 / (1 + (1 / start - 1) * np.exp(-rate * t)) + 1e-3 * rng.standard_normal())
        for k, start in enumerate((0.1, 0.3, 0.6, 1.4))
        for t in times
        for x, y in points
    ]
    pd.DataFrame(rows, columns=["trajectory", "t", "x", "y", "u"]).to_csv(tmp_path / "cultures.csv", index=False)
    problem = {
        "domain": {"kind": "disk", "radius": 0.6},
        "basis": {"kind": "fourier", "K": 6},
        "space": {"rank": 3},
        "fields": {
            "u": {
                "boundary": [{"kind": "neumann"}],
                "candidates": [
                    {"block": "kinetics:logistic", "rate": 1, "label": "u(1 − u)"},
                    {"block": "polynomial:power", "p": 3, "label": "u³"},
                    {"block": "polynomial:constant", "label": "1"},
                ],
            }
        },
        "time": {"end": 4},
    }
    (term,) = discover(load_problem(problem), tmp_path / "cultures.csv").law["u"]
    assert term.candidate.label == "u(1 − u)"
    assert abs(term.value - rate) < 3 * term.error < 0.01
