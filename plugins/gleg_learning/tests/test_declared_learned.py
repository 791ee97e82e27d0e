"""A structured mechanism with trained weights, declared in under fifty lines: an energy whose potential is a net."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gleg_learning.recipe import read_recipe
from gleg_learning.train import train
from gleg_core.pack import CONTRACT
from gleg_core.registry import Pack, Registry, default_registry
from gleg_core.solver import solve
from gleg_core.spec.problem import load_problem

FILES = {
    "pack.py": """
from gleg_core.mechanisms import blocks, energy

CONTRACT = (3, 0)


@energy("Double well, −δ/δu ∫ ¼(1 − u²)²", degree=3)
def double_well(u):
    return (1 - u**2) ** 2 / 4


@energy(
    "A learned potential, −δ/δu ∫ W(u)",
    net="learned_well.nets:Potential",
    weights="learned_well:potential",
    recipe="learned_well:potential.recipe.yaml",
    twin=double_well,
)
def learned_well(u, net):
    return net(u)


gleg_blocks = blocks(double_well, learned_well)
""",
    "nets.py": """
import torch
from gleg_core.weights.series import ChebyshevSeries


class Potential(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.W = ChebyshevSeries(6, -1.5, 1.5)

    def forward(self, u):
        return self.W(u) - self.W(torch.zeros_like(u))
""",
    "potential.recipe.yaml": """
block: well:learned-well
states: {basis: {kind: fourier, K: 6}, count: 24, held_out: 12, points: 40, amplitude: [0.05, 1.4]}
optimiser: {kind: gauss-newton, iterations: 30, patience: 6}
seed: 3
""",
    "__init__.py": "",
}


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """The pack ``well``, installed among the others."""
    (tmp_path / "learned_well").mkdir()
    for name, text in FILES.items():
        (tmp_path / "learned_well" / name).write_text(text.lstrip(), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import learned_well.pack as module  # type: ignore[import-not-found]

    pack = Pack(
        "well", "gleg-well", "1.0", "learned_well.pack", CONTRACT, "MIT", {"block": tuple(module.gleg_blocks())}
    )
    yield Registry((*default_registry().packs, pack))
    for name in [name for name in sys.modules if name.startswith("learned_well")]:
        del sys.modules[name]


def problem(block: str) -> dict[str, object]:
    return {
        "domain": {"kind": "rosette"},
        "basis": {"kind": "fourier", "K": 8},
        "fields": {
            "u": {
                "initial": "0.9*sin(4*x)*cos(3*y)",
                "boundary": [{"kind": "neumann"}],
                "equation": [{"block": "diffusion", "coefficient": 0.01}, {"block": block}],
            }
        },
        "time": {"end": 1, "step": 0.02},
        "output": {"frames": 4},
    }


def test_it_is_trained_and_used_like_its_exact_twin(registry: Registry, tmp_path: Path) -> None:
    folder = tmp_path / "learned_well"
    recipe, folder = read_recipe(folder / "potential.recipe.yaml")
    trained = train(registry, recipe, folder / "potential", folder)
    assert trained.card.held_out < 1e-10
    states = [
        solve(load_problem(problem(block), registry=registry)).trajectory.states[-1]
        for block in ("well:double-well", "well:learned-well")
    ]
    assert float((states[0] - states[1]).norm() / states[0].norm()) < 1e-9


def test_it_takes_fewer_than_fifty_lines() -> None:
    assert sum(bool(line.strip()) for text in FILES.values() for line in text.splitlines()) < 50
