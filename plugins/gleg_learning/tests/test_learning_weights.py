"""Weights and cards: every kind of damage is refused by name, and what is loaded stays frozen."""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from learning_toys import Theta, recipe, registry

import gleg
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.errors import PackError
from gleg_core.registry import default_registry
from gleg_core.system.discretise import discretise
from gleg_core.system.rollout import rollout
from gleg_core.weight_files import card_path, locate, weight_path
from gleg_core.weights import card as card_module
from gleg_core.weights import load as weights_module
from gleg_core.weights.card import Card
from gleg_core.weights.guard import OutsideCertifiedRange, RangeGuard
from gleg_core.weights.load import fingerprint, load_frozen
from gleg_learning.blocks import with_weights
from gleg_learning.train import train

OWNER = "toy:toy"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The two files of a trained block."""
    stem = tmp_path_factory.mktemp("made") / "toy"
    train(registry(), recipe(), stem, stem.parent)
    return {path.name: path.read_bytes() for path in (weight_path(stem), card_path(stem))}


@pytest.fixture
def stem(made: dict[str, bytes], tmp_path: Path) -> Path:
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path / "toy"


def load(stem: Path, module: torch.nn.Module | None = None) -> Card:
    return load_frozen(module or Theta(3), str(stem), OWNER)


def forge(stem: Path, data: bytes, **changes: Any) -> None:
    """Other weights with a card that vouches for them: only the content is wrong."""
    weight_path(stem).write_bytes(data)
    rewrite(stem, sha256=hashlib.sha256(data).hexdigest(), size=len(data), **changes)


def rewrite(stem: Path, **changes: Any) -> None:
    facts = json.loads(card_path(stem).read_text())
    card_path(stem).write_text(json.dumps(facts | changes))


def test_whole_weights_are_loaded_and_frozen(stem: Path) -> None:
    module = Theta(3)
    card = load(stem, module)
    assert module.theta.tolist() == pytest.approx([0.5, -1, 2]) and not module.theta.requires_grad
    assert card.block == OWNER and card.shapes == {"theta": [3]}


def truncated(stem: Path) -> None:
    weight_path(stem).write_bytes(weight_path(stem).read_bytes()[:-3])


def flipped(stem: Path) -> None:
    data = bytearray(weight_path(stem).read_bytes())
    data[-5] ^= 0x10
    weight_path(stem).write_bytes(bytes(data))


def tensors(**named: torch.Tensor) -> Callable[[Path], None]:
    return lambda stem: forge(stem, safetensors.torch.save(named))


def three(value: float = 1.0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.full((3,), value, dtype=dtype)


def lying_header(stem: Path) -> None:
    forge(stem, struct.pack("<Q", 2**62) + b"{}" + bytes(20))


def pickled(stem: Path) -> None:
    forge(stem, pickle.dumps({"theta": [1.0, 2.0, 3.0]}))


def pickled_by_torch(stem: Path) -> None:
    torch.save({"theta": three()}, weight_path(stem))


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (truncated, r"toy.safetensors has \d+ bytes, its card says \d+"),
    "a byte flipped": (flipped, "toy.safetensors does not match the hash on its card"),
    "wrong shape": (tensors(theta=torch.ones(4, dtype=torch.float64)), r"\{'theta': \[4\]\}, the block needs .*\[3\]"),
    "wrong name": (tensors(phi=three()), r"tensors \{'phi': \[3\]\}"),
    "one too many": (tensors(theta=three(), phi=three()), "'phi'"),
    "not a number": (tensors(theta=three(float("nan"))), "'theta' are not finite double-precision numbers"),
    "infinite": (tensors(theta=three(float("inf"))), "'theta' are not finite double-precision numbers"),
    "single precision": (tensors(theta=three(dtype=torch.float32)), "'theta' are not finite double-precision"),
    "card of other shapes": (lambda s: rewrite(s, shapes={"theta": [2]}), "the block needs"),
    "a lying header": (lying_header, "toy.safetensors is not a safetensors file"),
    "a pickle under another name": (pickled, "toy.safetensors is not a safetensors file"),
    "a pickle by torch": (pickled_by_torch, "toy.safetensors has"),
    "no weights": (lambda s: weight_path(s).unlink(), "toy.safetensors is missing; train it"),
    "a folder": (lambda s: (weight_path(s).unlink(), weight_path(s).mkdir()), "toy.safetensors"),
    "no card": (lambda s: card_path(s).unlink(), "its card toy.card.json is missing; train it"),
    "garbage for a card": (lambda s: card_path(s).write_bytes(b"\xff\x00{"), "its card toy.card.json cannot be used"),
    "a list for a card": (lambda s: card_path(s).write_text("[1]"), "not a mapping of keys"),
    "deep nesting": (lambda s: card_path(s).write_text("[" * 100_000), "its card toy.card.json cannot be used"),
    "a foreign key": (lambda s: rewrite(s, trust="me"), "trust: extra inputs are not permitted"),
    "a missing key": (lambda s: card_path(s).write_text('{"block": "toy:toy"}'), "summary: field required"),
    "an error that is no number": (lambda s: rewrite(s, held_out=float("nan")), "held_out: "),
    "newer contract": (
        lambda s: rewrite(s, contract=[3, 99], more=1),
        r"need contract 3.99, .* pip install -U gleg-core",
    ),
    "next major": (lambda s: rewrite(s, contract=[4, 0]), "need contract 4.0, .* pip install -U gleg-core"),
    "last major": (lambda s: rewrite(s, contract=[1, 0]), "need contract 1.0, .*train it again"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_refused_and_nothing_is_loaded(kind: str, stem: Path) -> None:
    spoil, message = DAMAGE[kind]
    spoil(stem)
    module = Theta(3)
    with pytest.raises(PackError, match=f"^{OWNER}: .*{message}"):
        load(stem, module)
    assert module.theta.tolist() == [0, 0, 0]


def test_oversize_is_refused_before_it_is_read(stem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_module, "MAX_WEIGHT_BYTES", 10)
    with pytest.raises(PackError, match=r"toy:toy: toy.safetensors has \d+ bytes, more than 10"):
        load(stem)
    monkeypatch.setattr(card_module, "MAX_CARD_BYTES", 10)
    with pytest.raises(PackError, match=r"toy:toy: its card toy.card.json has \d+ bytes, more than 10"):
        load(stem)


def test_no_code_of_a_pickle_runs(stem: Path, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "exploded",)

    forge(stem, pickle.dumps(Bomb()))
    with pytest.raises(PackError, match="not a safetensors file"):
        load(stem)
    assert not (tmp_path / "exploded").exists()


def test_weights_of_another_block_are_refused(stem: Path) -> None:
    with pytest.raises(PackError, match="toy:cut: the weights toy are those of the block 'toy:toy'"):
        load_frozen(Theta(3), str(stem), "toy:cut", block="toy:cut")
    block, card = with_weights(registry(), "toy:toy", str(stem))
    assert not block.trainable and card.held_out < 1e-13


def test_where_files_are() -> None:
    assert locate("gleg_core:learning/x").parts[-3:] == ("gleg_core", "learning", "x")
    assert locate("some/path") == Path("some/path") and locate("/odd:name/stem") == Path("/odd:name/stem")
    for absent in ("no_such_package:stem", "no.such.package:stem"):
        with pytest.raises(PackError, match="there is no installed package"):
            locate(absent)


def test_a_guard_warns_once_with_value_and_range(stem: Path) -> None:
    guard = RangeGuard(load(stem))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        guard.amplitude(torch.tensor([0.1, -2.0]))
        guard.wavenumber(3.0)
    with pytest.warns(OutsideCertifiedRange, match=r"toy:toy: max\|u\| = 2.5 is outside its certified range, up to 2;"):
        guard.amplitude(torch.tensor([0.1, -2.5]))
    with pytest.warns(OutsideCertifiedRange, match=r"\|k\| on \[−1, 1\]\^d = 7 is outside .* up to 3;"):
        guard.wavenumber(7.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        guard.amplitude(torch.tensor([99.0]))
        guard.wavenumber(99.0)


# --- frozen means frozen ---------------------------------------------------------------------------------------------


def test_realising_rolling_out_and_differentiating_change_no_parameter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path))
    problem = gleg.load(
        {
            "domain": {"kind": "disk", "radius": 0.6},
            "basis": {"kind": "fourier", "K": 5},
            "fields": {
                "u": {
                    "initial": "0.36 - x^2 - y^2",
                    "boundary": [{"kind": "dirichlet"}],
                    "equation": [
                        {"block": "diffusion", "coefficient": 0.1},
                        {"block": "transport", "direction": "x", "coefficient": -1},
                    ],
                }
            },
            "time": {"end": 0.02, "step": 0.01},
        }
    )
    made = discretise(problem)
    learned = [term.block for term in made.terms if isinstance(term.block, LearnedBlock)]
    assert len(learned) == 2 and not any(block.trainable for block in learned)
    before = [fingerprint(block.module) for block in learned]
    shipped = [
        with_weights(default_registry(), key, type(b).weights)[0]
        for key, b in zip(("diffusion", "transport"), learned, strict=True)
    ]
    assert before == [fingerprint(block.module) for block in shipped]
    integrator = problem.build(problem.integrator)
    with torch.no_grad():
        rollout(made.system, integrator, made.initial, [0.0, 0.02], 0.01, 1e-6, lambda t: None)
    z = made.initial.clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad((made.system.rhs(z, 0.0) ** 2).sum(), z)
    assert bool(gradient.any())
    assert before == [fingerprint(block.module) for block in learned]
    assert all(p.grad is None for block in learned for p in block.module.parameters())


def test_a_fingerprint_sees_every_bit_and_name() -> None:
    a, b = Theta(3), Theta(3)
    assert fingerprint(a) == fingerprint(b)
    with torch.no_grad():
        b.theta[1] = -0.0
    assert fingerprint(a) != fingerprint(b) != fingerprint(Theta(4))
