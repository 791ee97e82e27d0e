"""Training: exact, repeatable bit by bit, resumable after a kill, honest about what it has not seen."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import learning_toys
import pytest
import torch
from learning_toys import recipe, registry

from gleg_core.atomic import write_bytes
from gleg_core.errors import GlegError, NumericsError, OutputError, PackError, SpecError
from gleg_core.registry import Registry, default_registry
from gleg_core.weight_files import card_path, weight_path
from gleg_core.weights.load import fingerprint
from gleg_learning import checkpoint, optimise
from gleg_learning.describe import worst_bin
from gleg_learning.recipe import Recipe, States, basis_of, read_recipe
from gleg_learning.train import Progress, Trained, split_samples, train, untrained

OPTIMISERS = {
    "gauss-newton": {"kind": "gauss-newton", "iterations": 14, "patience": 14},
    "lbfgs": {"kind": "lbfgs", "iterations": 14, "patience": 14},
    "adam": {"kind": "adam", "iterations": 24, "patience": 24, "rate": 0.02, "batch": 5},
}


def run(chosen: Recipe, folder: Path, name: str = "result", **keywords: object) -> Trained:
    return train(registry(), chosen, folder / name, folder, **keywords)  # type: ignore[arg-type]


# --- the optimisers --------------------------------------------------------------------------------------------------


def test_gauss_newton_solves_a_linear_problem_in_a_few_steps(tmp_path: Path) -> None:
    trained = run(recipe(optimiser={"iterations": 6}), tmp_path)
    assert trained.card.held_out < 1e-14
    assert trained.block.module.theta.tolist() == pytest.approx([0.5, -1.0, 2.0], rel=1e-13)


@pytest.mark.parametrize(("kind", "reached"), [("gauss-newton", 1e-13), ("lbfgs", 1e-6), ("adam", 0.05)])
def test_every_optimiser_learns_a_nonlinear_law(kind: str, reached: float, tmp_path: Path) -> None:
    settings = OPTIMISERS[kind] | {"iterations": 40, "patience": 40}
    seen: list[float] = []
    chosen = recipe("saturation", optimiser=settings)
    trained = run(chosen, tmp_path, progress=lambda i, n, best: seen.append(best))
    assert trained.card.held_out < reached
    assert trained.card.held_out < 0.1 * seen[0] and seen == sorted(seen, reverse=True)


@pytest.mark.parametrize("seed", range(4))
def test_gauss_newton_leaves_a_saddle(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """θ₀ tanh(θ₁ u) from signs that lead through θ₀ = θ₁ = 0, where both columns of the Jacobian vanish."""
    start = torch.tensor(
        [(0.3, -0.2, 0.1), (-0.4, 0.1, 0), (0.1, -0.5, 0.2), (-0.01, 0.01, 0)][seed], dtype=torch.float64
    )
    monkeypatch.setattr(torch.nn.init, "normal_", lambda tensor, **law: tensor.data.copy_(start))
    chosen = recipe("saturation", optimiser={"iterations": 60, "patience": 60}, seed=seed)
    assert run(chosen, tmp_path).card.held_out < 1e-13


def test_jacobian_agrees_with_finite_differences() -> None:
    _, block = untrained(registry(), recipe("saturation"))
    samples, _ = split_samples(registry(), recipe("saturation"), Path())

    def residual(index: torch.Tensor | None) -> torch.Tensor:
        return samples.predicted(block).reshape(-1)

    r, J = optimise.jacobian(block.module, residual)
    theta, step = block.module.theta, 1e-6
    for p in range(3):
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                theta[p] += sign * step
                values.append(residual(None))
                theta[p] -= sign * step
        assert torch.allclose(J[:, p], (values[0] - values[1]) / (2 * step), rtol=1e-7, atol=1e-9)
    assert torch.equal(r, residual(None).detach())


def test_training_leaves_the_global_random_numbers_alone(tmp_path: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    run(recipe(optimiser={"iterations": 2}), tmp_path)
    assert torch.equal(torch.rand(3), expected)


# --- the same from the same seed, also after a kill ------------------------------------------------------------------


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_the_seed_determines_every_bit(kind: str, tmp_path: Path) -> None:
    chosen = recipe("misfit", optimiser=OPTIMISERS[kind], seed=3)
    a, b = run(chosen, tmp_path, "a"), run(chosen, tmp_path, "b")
    other = run(chosen.model_copy(update={"seed": 4}), tmp_path, "c")
    assert weight_path(a.stem).read_bytes() == weight_path(b.stem).read_bytes()
    assert a.card == b.card
    assert weight_path(a.stem).read_bytes() != weight_path(other.stem).read_bytes()


@pytest.mark.parametrize(("kind", "killed_at"), [("gauss-newton", 47), ("lbfgs", 171), ("adam", 60)])
def test_a_killed_training_goes_on_to_the_same_bits(kind: str, killed_at: int, tmp_path: Path) -> None:
    """SIGKILL in the middle of an evaluation of the response, hence of an iteration; then every later step is the same."""
    chosen = recipe("misfit", optimiser=OPTIMISERS[kind], seed=3)
    program = (
        "import learning_toys, pathlib, sys\n"
        "from gleg_learning.recipe import Recipe\n"
        "from gleg_learning.train import train\n"
        "here = pathlib.Path(sys.argv[1])\n"
        "train(learning_toys.registry(), Recipe.model_validate_json(sys.argv[2]), here / 'killed', here)\n"
    )
    environment = os.environ | {"TOY_KILLED_AT": str(killed_at), "PYTHONPATH": str(Path(learning_toys.__file__).parent)}
    command = [sys.executable, "-c", program, str(tmp_path), chosen.model_dump_json()]
    assert subprocess.run(command, env=environment).returncode == -signal.SIGKILL
    assert not weight_path(tmp_path / "killed").exists()
    said: list[str] = []
    steps: dict[str, list[tuple[int, float]]] = {"killed": [], "whole": []}
    resumed, whole = (
        run(chosen, tmp_path, name, say=said.append, progress=lambda i, n, e, s=steps[name]: s.append((i, e)))
        for name in steps
    )
    assert 0 < resumed.resumed_at < resumed.iterations and "after iteration" in said[0] and len(said) == 1
    assert steps["killed"] == steps["whole"][resumed.resumed_at :]
    assert weight_path(resumed.stem).read_bytes() == weight_path(whole.stem).read_bytes()
    assert resumed.card == whole.card and resumed.iterations == whole.iterations
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        path.name for stem in (resumed.stem, whole.stem) for path in (weight_path(stem), card_path(stem))
    )


def stop_at(iteration: int) -> Progress:
    def progress(i: int, most: int, best: float) -> None:
        if i == iteration:
            raise KeyboardInterrupt

    return progress


def interrupted(chosen: Recipe, folder: Path, iteration: int = 6) -> Path:
    """The checkpoint of a training that was interrupted."""
    with pytest.raises(KeyboardInterrupt):
        run(chosen, folder, progress=stop_at(iteration))
    assert checkpoint.load(checkpoint.checkpoint_path(folder / "result"))["iteration"] == 5  # type: ignore[index]
    return checkpoint.checkpoint_path(folder / "result")


def test_fresh_starts_anew(tmp_path: Path) -> None:
    chosen = recipe("saturation")
    interrupted(chosen, tmp_path)
    assert run(chosen, tmp_path, fresh=True).resumed_at == 0


def test_a_checkpoint_of_another_recipe_is_ignored_and_said(tmp_path: Path) -> None:
    path = interrupted(recipe("saturation"), tmp_path)
    said: list[str] = []
    other = recipe("saturation", optimiser={"iterations": 9})
    trained = run(other, tmp_path, say=said.append)
    assert trained.resumed_at == 0 and said == [
        f"{path} belongs to another recipe, other data or another version of the block: training starts anew"
    ]
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x80\x04N."])
def test_a_damaged_checkpoint_is_ignored_and_said(content: bytes, tmp_path: Path) -> None:
    path = interrupted(recipe("saturation"), tmp_path)
    path.write_bytes(content)
    said: list[str] = []
    assert run(recipe("saturation"), tmp_path, say=said.append).resumed_at == 0
    assert said == [f"{path} is not a usable checkpoint and is ignored: training starts anew"]


def test_a_checkpoint_keeps_every_value(tmp_path: Path) -> None:
    state = {"a": torch.arange(3.0), "b": [1, 2.5, None, {"c": torch.ones(2, 2)}], 7: math.inf, "tiny": 1e-300 / 3}
    checkpoint.save(tmp_path / "c", state)
    back = checkpoint.load(tmp_path / "c")
    assert back is not None and torch.equal(back["a"], state["a"]) and torch.equal(back["b"][3]["c"], torch.ones(2, 2))
    assert back["b"][:3] == [1, 2.5, None] and back[7] == math.inf and back["tiny"] == state["tiny"]  # type: ignore[index]
    assert checkpoint.load(tmp_path / "absent") is None


def test_writing_is_atomic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"old")

    def fail(self: Path, target: Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_without_a_basis_the_packs_suggest_one() -> None:
    assert basis_of(States(), default_registry()).model_dump() == {"kind": "fourier:fourier", "K": 22}
    stated = States.model_validate({"basis": {"kind": "fourier", "K": 5}})
    assert basis_of(stated, default_registry()) is stated.basis
    with pytest.raises(PackError, match=r"states.basis: the recipe names none; .*pip install gleg-basis-fourier"):
        basis_of(States(), Registry())


# --- early stop and the held-out states ------------------------------------------------------------------------------


def test_early_stop(tmp_path: Path) -> None:
    trained = run(recipe(optimiser={"iterations": 500, "patience": 4}), tmp_path)
    assert trained.stopped_early and trained.iterations < 30
    assert not run(recipe(optimiser={"iterations": 3, "patience": 4}), tmp_path).stopped_early


def test_the_best_parameters_are_kept_not_the_last(tmp_path: Path) -> None:
    """A rate so large that the error rises and falls."""
    best: list[float] = []
    chosen = recipe("saturation", optimiser={"kind": "adam", "rate": 0.8, "iterations": 25, "patience": 25})
    trained = run(chosen, tmp_path, progress=lambda i, n, e: best.append(e))
    assert trained.card.held_out == pytest.approx(best[-1], rel=1e-12)


def test_held_out_states_are_never_fitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spoiling the held-out targets changes the reported error and nothing in an iteration that is not stopped by it."""
    from gleg_learning import train as module

    chosen = recipe(optimiser={"iterations": 1})
    honest = run(chosen, tmp_path, "honest")
    real = module._targets
    calls: list[int] = []

    def spoilt(*arguments: Any) -> torch.Tensor:
        calls.append(1)
        return real(*arguments) * (1 if len(calls) == 1 else -3)

    monkeypatch.setattr(module, "_targets", spoilt)
    assert fingerprint(run(chosen, tmp_path, "spoilt").block.module) == fingerprint(honest.block.module)
    first, second = split_samples(registry(), chosen, tmp_path)
    a, b = first.stencil[0][1]["u"], second.stencil[0][1]["u"]
    assert not any(torch.equal(x, y) for x in a for y in b) and not torch.equal(first.points, second.points)


# --- what the card says ----------------------------------------------------------------------------------------------


def test_several_fields(tmp_path: Path) -> None:
    trained = run(recipe("coupling", fields=["u", "v"]), tmp_path)
    assert trained.card.held_out < 1e-14 and trained.card.recipe["fields"] == ["u", "v"]
    assert trained.block.module.theta.tolist() == pytest.approx([0.8, -0.3], rel=1e-13)


def test_bins_cover_the_certified_range_without_gaps(tmp_path: Path) -> None:
    card = run(recipe(states={"basis": {"kind": "fourier", "K": 9}, "amplitude": [0.1, 2]}), tmp_path).card
    for bins, low, high in ((card.by_amplitude, 0.1, 2.0), (card.by_wavenumber, 0.5, 9.0)):
        assert (bins[0].low, bins[-1].high) == (low, high)
        assert all(a.high == b.low for a, b in pairwise(bins))
        assert all(b.low < b.high and 0 <= b.error < 1e-13 for b in bins)
    assert (card.amplitude, card.wavenumber) == (2.0, pytest.approx(9.0)) and len(card.by_amplitude) == 6
    assert json.loads(card_path(tmp_path / "result").read_text())["held_out"] == card.held_out


def test_errors_are_told_apart_by_amplitude(tmp_path: Path) -> None:
    """A law fitted at small amplitude with too few terms is worse at large amplitude; certify is taken as given."""
    chosen = recipe("saturation", params={"scale": 3}, states={"amplitude": [0.01, 5]}, certify=4.5)
    card = run(chosen.model_copy(update={"optimiser": recipe(optimiser={"iterations": 1}).optimiser}), tmp_path).card
    errors = [b.error for b in card.by_amplitude]
    assert max(errors) > 2 * min(errors) and card.amplitude == 4.5
    assert (worst := worst_bin(card)) is not None and worst[1].error >= max(errors)


def test_one_amplitude_gives_one_bin(tmp_path: Path) -> None:
    assert len(run(recipe(states={"amplitude": [1, 1]}), tmp_path).card.by_amplitude) == 1


# --- mistakes --------------------------------------------------------------------------------------------------------

MISTAKES: list[tuple[str, dict[str, object], type[GlegError], str]] = [
    ("growth", {}, SpecError, r"toy:growth gives no reference to train on .* Give the recipe 'data'"),
    ("notfinite", {"seed": 1}, NumericsError, r"toy:notfinite: training failed in iteration 1: .*not finite"),
    ("wrongshape", {}, PackError, r"its response has shape \(1, 20\), the target has \(12, 20\)"),
    ("cut", {}, PackError, "does not depend on its parameters"),
    ("raising", {}, PackError, "pack 'toy' .* failed to evaluate its response: IndexError: off by one"),
    ("single", {}, PackError, "'theta' is not double precision"),
    ("zero", {}, SpecError, "all zero"),
    ("toy", {"params": {"scal": 2}}, SpecError, r"params.scal: unknown key. Allowed: scale. Did you mean 'scale'\?"),
    ("toy", {"states": {"basis": {"kind": "fourier", "L": 3}}}, SpecError, r"states.basis.L: unknown key"),
    ("toy", {"states": {"basis": {"kind": "furier"}}}, PackError, r"states.basis.kind: .*Did you mean 'fourier'"),
    ("absent", {}, PackError, "no installed pack provides the block 'toy:absent'"),
]


@pytest.mark.parametrize(("block", "changes", "kind", "text"), MISTAKES)
def test_mistakes(block: str, changes: dict[str, object], kind: type[GlegError], text: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=text):
        run(recipe(block, **changes), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_diverging_rate_is_an_error_of_the_numbers(tmp_path: Path) -> None:
    with pytest.raises(NumericsError, match=r"Lower optimiser\.rate"):
        run(recipe(optimiser={"kind": "adam", "rate": 1e200, "iterations": 50, "patience": 50}), tmp_path)
    assert not weight_path(tmp_path / "result").exists()


def test_an_unwritable_folder_is_said_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written to"):
        train(registry(), recipe(), tmp_path / "file" / "stem", tmp_path, progress=stop_at(1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("block: toy:toy\noptimizer: {kind: adam}\n", r"r.yaml:2: optimizer: unknown key.*Did you mean 'optimiser'"),
        ("block: toy:toy\noptimiser:\n  kind: adm\n", r"r.yaml:3: optimiser.kind: found 'adm'.*Did you mean 'adam'"),
        ("seed: 3\n", r"r.yaml.*: block: this key is missing"),
        ("block: toy:toy\nstates: {amplitude: [2, 1]}\n", r"r.yaml:2: states.amplitude: .*smaller value comes first"),
        ("block: toy:toy\nfields: [u, u]\n", r"r.yaml:2: fields: the field 'u' is listed twice"),
        ("block: toy:toy\nparams:\n  scale: -1\n", r"r.yaml:3: params.scale: found -1, it must be greater than 0"),
        ("block: toy:toy\nstates:\n  basis:\n    kind: fourier\n    K: 0\n", r"r.yaml:5: states.basis.K: found 0"),
        (
            "block: toy:toi\n",
            r"r.yaml:1: block: no installed pack provides the block 'toy:toi'. Did you mean 'toy:toy'",
        ),
        ("block: toy:cut\n", r"r.yaml:1: block: found 'toy:cut', this is the training of 'toy:toy'"),
    ],
)
def test_mistakes_in_a_recipe_file_are_located(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(text)
    with pytest.raises(GlegError, match=message):
        read_recipe(tmp_path / "r.yaml", registry(), "toy:toy")
