"""What a second run takes from the first one, and evaluation by transforms instead of tables."""

from pathlib import Path

import pytest
import torch

import gleg_core as gleg
from gleg_core.algebra import tables
from gleg_core.contracts.domain import Domain
from gleg_core.system import assembly, discretise


def spec(**changes: object) -> dict:
    return {
        "domain": {"kind": "polar", "radius": "0.5 + 0.1*cos(3*theta)"},
        "basis": {"kind": "fourier", "K": 8},
        "constants": {"D": 0.05, "g": 0.1},
        "fields": {
            "u": {
                "initial": "exp(-8*(x^2 + y^2))",
                "boundary": [{"kind": "dirichlet", "value": "g*x*cos(t)"}],
                "equation": [
                    {"block": "diffusion", "coefficient": "D"},
                    {"block": "power", "coefficient": 0.3},
                    {"block": "power", "p": 3, "coefficient": -1},
                    {"block": "transport", "direction": "x", "coefficient": 0.2},
                ],
            }
        },
        "time": {"end": 0.2, "step": 0.02},
        "output": {"frames": 2, "pictures": False},
    } | changes  # fmt: skip


@pytest.fixture
def nothing_new(monkeypatch: pytest.MonkeyPatch):
    """Makes every factorisation, every assembly of a matrix and every rule of a domain an error."""

    def forbid() -> None:
        def wrong(*arguments: object, **keys: object) -> None:
            raise AssertionError("made again")

        monkeypatch.setattr(discretise, "build_space", wrong)
        monkeypatch.setattr(torch.linalg, "eigh", wrong)
        monkeypatch.setattr(assembly, "state_matrix", wrong)
        for kind in {type(gleg.load_problem(spec()).build(gleg.load_problem(spec()).domain))}:
            monkeypatch.setattr(kind, "quadrature", wrong)

    return forbid


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"constants": {"D": 0.2}},
        {"constants": {"g": 0.7}},
        {"time": {"end": 0.3, "step": 0.05}},
        {"time": {"integrator": "imex-ark4"}},
    ],
    ids=["nothing", "coefficient", "data", "step", "integrator"],
)
def test_another_coefficient_datum_or_step_factorises_nothing(
    changes: dict, nothing_new, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path))
    gleg.solve(spec())
    nothing_new()
    again = gleg.solve(spec(), **changes)
    monkeypatch.undo()
    monkeypatch.setenv("GLEG_CACHE", "off")
    fresh = gleg.solve(spec(), **changes)
    end = float(fresh.times[-1])
    assert again.u(0.1, 0.2, end) == pytest.approx(fresh.u(0.1, 0.2, end), abs=1e-9)


def test_another_domain_or_mechanism_is_not_taken_for_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path))
    gleg.solve(spec())
    files = set(tmp_path.glob("*.safetensors"))
    for change in (
        {"domain": {"kind": "disk", "radius": 0.5}},
        {"space": {"quadrature": 1e-6}},
        {"basis": {"kind": "fourier", "K": 7}},
    ):
        gleg.solve(spec(), **change)
        assert set(tmp_path.glob("*.safetensors")) > files
        files = set(tmp_path.glob("*.safetensors"))


def test_a_damaged_file_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path))
    first = gleg.solve(spec())
    for path in tmp_path.glob("*.safetensors"):
        content = bytearray(path.read_bytes())
        content[-5] ^= 0xFF
        path.write_bytes(content)
    again = gleg.solve(spec())
    assert torch.equal(first.trajectory.states[-1], again.trajectory.states[-1])


def test_transforms_and_tables_give_the_same_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule of this domain is made of lines, so that the Fourier basis has a transform at its nodes."""
    monkeypatch.setenv("GLEG_CACHE", "off")
    domain = {"kind": "polygon", "vertices": [[-0.5, -0.4], [0.6, -0.3], [0.4, 0.5], [-0.3, 0.6]]}
    problem = gleg.load_problem(spec(domain=domain, space={"rotate": False}))
    responses = []
    for call in (1e9, -1e9):  # a transform that costs too much, or nothing
        monkeypatch.setattr(tables, "_CALL", call)
        with torch.no_grad():
            d = discretise.discretise(problem)
            functions = d.system.fields["u"].interior.functions
            assert functions.by_transform == (call < 0)
            generator = torch.Generator().manual_seed(4)
            z = d.initial * (1 + torch.randn(3, 1, dtype=torch.float64, generator=generator))
            u = d.basis.evaluate(
                d.system.coefficients("u", d.system.nonlinear(z, 0.1), 0.1), d.system.fields["u"].space.nodes.x
            )
        responses.append(u)
    assert torch.allclose(*responses, rtol=0, atol=1e-8 * float(responses[0].abs().max()))


@pytest.mark.parametrize("kind", ["rosette", "pinwheel", "crescent"])
def test_a_tolerance_saves_nodes_and_costs_no_more_than_it_says(kind: str) -> None:
    problem = gleg.load_problem(spec(domain={"kind": kind}))
    domain: Domain = problem.build(problem.domain)
    rules = [domain.quadrature(60.0, tolerance) for tolerance in (1e-13, 1e-8, 1e-4)]
    assert len(rules[2].weights) < 0.6 * len(rules[0].weights)
    for rule, tolerance in zip(rules[1:], (1e-8, 1e-4), strict=True):
        assert abs(rule.weights.sum() / rules[0].weights.sum() - 1) < 20 * tolerance
