"""``gleg train`` and ``gleg blocks``, and a third party's learned block from an empty folder to a solved problem."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import learning_toys
import pytest
from learning_toys import registry
from test_command_line import gleg, good

from gleg_core.weight_files import card_path, weight_path
from gleg_learning import blocks_command, train_command

QUICK = """\
block: {block}
states: {{basis: {{kind: fourier, K: 3}}, count: 12, held_out: 6, points: 20, amplitude: [0.1, 2]}}
optimiser: {{kind: gauss-newton, iterations: 20, patience: 5}}
"""


@pytest.fixture(autouse=True)
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a quick recipe, and the toys among the installed packs."""
    monkeypatch.chdir(tmp_path)
    installed = registry()
    for module in (blocks_command, train_command):
        monkeypatch.setattr(module, "default_registry", lambda: installed)
    (tmp_path / "quick.yaml").write_text(QUICK.format(block="toy:toy"))
    return tmp_path


# --- gleg train ------------------------------------------------------------------------------------------------------


def test_train_says_what_it_does_and_wrote(toys: Path) -> None:
    text = good("train", "toy", "--recipe", "quick.yaml")
    lines = {line[:8].strip(): line[9:] for line in text.splitlines()}
    assert lines["recipe"] == "quick.yaml" and "gauss-newton" in lines["plan"] and "seed 0" in lines["plan"]
    assert lines["output"] == lines["wrote"] == "toy.safetensors  toy.card.json"
    assert lines["held-out"].startswith("error ") and "worst bin" in lines["held-out"]
    assert "iterations, stopped early" in lines["time"]
    card = json.loads(Path("toy.card.json").read_text())
    assert lines["sha256"] == card["sha256"] and card["held_out"] < 1e-13
    assert good(*lines["next"].split()[1:]).endswith("wrote toy.png\n") and Path("toy.png").stat().st_size > 10_000
    assert good("train", "toy", "--recipe", "quick.yaml", "--out", "deep/er/name.safetensors", "--quiet") == ""
    assert "held-out error" in good("blocks", "show", "toy", "--weights", "deep/er/name.card.json")
    assert Path("deep/er/name.safetensors").read_bytes() == Path("toy.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["toi"], 3, "no installed pack provides the block 'toi'. Did you mean 'toy'?"),
        (["power"], 2, "the block 'polynomial:power' is not learned"),
        (["toy"], 2, "the block 'toy:toy' comes without a recipe: give one with --recipe FILE"),
        (["toy", "--recipe", "quack.yaml"], 2, "quack.yaml: there is no such file. Did you mean 'quick.yaml'?"),
        (
            ["cut", "--recipe", "quick.yaml"],
            2,
            "quick.yaml:1: block: found 'toy:toy', this is the training of 'toy:cut'",
        ),
        (["toy", "--recipe", "quick.yaml", "--out", "quick.yaml/x"], 6, "quick.yaml: cannot be written to"),
    ],
)
def test_mistakes(arguments: list[str], code: int, message: str) -> None:
    outcome = gleg("train", *arguments)
    assert outcome.code == code and message in outcome.err and "Traceback" not in outcome.err


@pytest.mark.parametrize(("block", "code"), [("growth", 2), ("notfinite", 5), ("raising", 3)])
def test_failures_of_a_block_end_with_one_message(block: str, code: int, toys: Path) -> None:
    (toys / "quick.yaml").write_text(QUICK.format(block=f"toy:{block}"))
    outcome = gleg("train", block, "--recipe", "quick.yaml")
    assert outcome.code == code and outcome.err.startswith(f"toy:{block}") and len(outcome.err.splitlines()) == 1


def test_installed_weights_are_never_replaced_silently(toys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_toys.Toy, "weights", str(toys / "toy"), raising=False)
    outcome = gleg("train", "toy", "--recipe", "quick.yaml")
    assert outcome.code == 6 and "write --out toy to replace them" in outcome.err
    assert gleg("train", "toy", "--recipe", "quick.yaml", "--out", "toy").code == 0


def test_another_recipe_starts_anew_and_says_so(toys: Path) -> None:
    (toys / "toy.checkpoint").write_bytes(b"old")
    assert "toy.checkpoint is not a usable checkpoint" in good("train", "toy", "--recipe", "quick.yaml")
    assert not (toys / "toy.checkpoint").exists()


# --- gleg blocks -----------------------------------------------------------------------------------------------------


def test_blocks_fit_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = good("blocks").splitlines()
    assert max(map(len, lines)) <= 80
    diffusion = next(line for line in lines if line.startswith("diffusion:diffusion "))
    assert diffusion.split()[1:4] == ["E", "2", "1"] and "e-1" in diffusion and "|u| ≤" in diffusion
    assert next(line for line in lines if line.startswith("toy:toy ")).split()[-2:] == ["by", "user"]


def test_blocks_as_json() -> None:
    blocks = {b["key"]: b for b in json.loads(good("blocks", "--json"))}
    assert blocks["diffusion:diffusion"]["certified"]["held_out"] < 1e-12
    assert blocks["polynomial:power"]["learned"] is False and blocks["toy:toy"]["certified"] is None


def test_a_broken_card_is_a_trouble_of_its_block_only(toys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry().find("block", "toy").entry
    object.__setattr__(entry, "capabilities", {**entry.capabilities, "weights": "missing"})
    from gleg_core.registry import Pack, Registry, default_registry

    pack = Pack("toy", "gleg-toy", "1.0", "learning_toys", (3, 0), "MIT", {"block": (entry,)})
    monkeypatch.setattr(blocks_command, "default_registry", lambda: Registry((*default_registry().packs, pack)))
    outcome = gleg("blocks")
    assert (
        outcome.code == 0
        and "broken" in outcome.out
        and "toy:toy: its card missing.card.json is missing" in outcome.err
    )
    assert gleg("blocks", "show", "toy").code == 3


def test_show_a_block_with_a_card() -> None:
    text = good("blocks", "show", "transport")
    for part in (
        "u_t = … + coefficient · [u ∂u/∂x_i",
        "direction",
        "held-out error",
        "|u| ≤ 4",
        "error by |k|",
        "sha256",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 100


def test_show_a_block_without_a_card() -> None:
    text = good("blocks", "show", "polynomial:power")
    assert "structure       R" in text and "parameters" in text and "card" not in text
    assert "gleg train toy:toy --recipe FILE" in good("blocks", "show", "toy")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["difusion"], 3, "Did you mean 'diffusion'?"),
        (["power", "--picture", "p.png"], 2, "has no card to draw"),
        (["power", "--weights", "w"], 2, "is not learned"),
        (["toy", "--weights", "absent"], 3, "toy:toy: its card absent.card.json is missing"),
        (["diffusion", "--picture", "no/folder.png"], 6, "no/folder.png: cannot be written"),
    ],
)
def test_show_mistakes(arguments: list[str], code: int, message: str) -> None:
    outcome = gleg("blocks", "show", *arguments)
    assert outcome.code == code and message in outcome.err


def test_the_picture_shows_errors_and_curves(toys: Path) -> None:
    from gleg_learning.blocks import with_weights
    from gleg_learning.picture import card_picture

    _, card = with_weights(registry(), "transport", "gleg_blocks_transport:transport")
    x = learning_toys.torch.linspace(0, 1, 20).numpy()
    figure = card_picture(card, {"h′(u)": (x, x**2 + 1e-9, x**2)})
    assert len(figure.axes) == 4 and [ax.get_yscale() for ax in figure.axes] == ["log", "log", "linear", "log"]
    assert len(figure.axes[0].patches) == len(card.by_amplitude)
    assert len(card_picture(card.model_copy(update={"by_wavenumber": [], "held_out": 0.0}), {}).axes) == 2


# --- a third party ---------------------------------------------------------------------------------------------------

PACK = """
from gleg_core.pack import Entry, hookimpl
CONTRACT = (3, 0)

@hookimpl
def gleg_blocks():
    return [Entry("harvest", "−u²/(1 + u²)", params="harvesting.params:Params", factory="harvesting.block:Harvest",
                  capabilities={"learned": "harvesting.block:Harvest", "weights": "harvesting:harvest", "structure": "R",
                                "order": 0, "degree": None, "modes": ["pointwise"]})]
"""
PARAMS = """
from gleg_core.spec.params import PackParams

class Params(PackParams):
    pass
"""
BLOCK = """
import numpy as np
import torch
from gleg_core.contracts.block import Traits
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.weights.series import ChebyshevSeries
from gleg_core.weights.load import load_frozen

class Harvest(LearnedBlock):
    weights, recipe = "harvesting:harvest", "harvesting:harvest.recipe.yaml"
    traits = Traits("R", order=0, degree=None)

    def __init__(self, params, binding, trained=True):
        self.field, self.module = binding.target, ChebyshevSeries(24, -1.5, 1.5)
        if trained:
            load_frozen(self.module, self.weights, "harvesting:harvest")

    @classmethod
    def untrained(cls, params, binding):
        return cls(params, binding, trained=False)

    def response(self, fields, at):
        return self.module(fields[self.field].value)

    def reference(self, fields, at):
        u = fields[self.field].value
        return -(u**2) / (1 + u**2)

    def card_curves(self):
        u = torch.linspace(-1.5, 1.5, 101, dtype=torch.float64)
        return {"harvest": (u.numpy(), self.module(u).numpy(), (-(u**2) / (1 + u**2)).numpy())}
"""
RECIPE = """
block: harvesting:harvest
states: {basis: {kind: fourier, K: 4}, count: 24, held_out: 8, points: 60, amplitude: [0.05, 1.5]}
optimiser: {iterations: 15, patience: 4}
seed: 1
"""
PROBLEM = """
domain: {kind: disk, radius: 1}
basis: {kind: fourier, K: 4}
fields:
  u: {initial: 1, boundary: [{kind: neumann}], equation: [{block: diffusion}, {block: "harvesting:harvest"}]}
time: {end: 1, step: 0.05}
output: {frames: 2, pictures: false, probes: [[0.1, 0.2]]}
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A distribution somebody else wrote."""
    package, info = tmp_path / "site" / "harvesting", tmp_path / "site" / "harvesting-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    sources = {
        "__init__.py": "",
        "pack.py": PACK,
        "params.py": PARAMS,
        "block.py": BLOCK,
        "harvest.recipe.yaml": RECIPE,
    }
    for name, text in sources.items():
        (package / name).write_text(dedent(text), encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: harvesting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gleg.packs]\nharvesting = harvesting.pack\n")
    return tmp_path / "site"


def command(site: Path, *arguments: str, program: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(site), "GLEG_CACHE": str(site.parent / "cache"), "COLUMNS": "80"}
    run = ["-c", program] if program else ["-m", "gleg_cli"]
    return subprocess.run(
        [sys.executable, *run, *arguments], env=environment, cwd=site.parent, capture_output=True, text=True
    )


def test_a_third_partys_block_is_trained_shown_and_used(site: Path) -> None:
    stem = site / "harvesting" / "harvest"
    untrained = command(site, "blocks")
    assert untrained.returncode == 0 and "broken" in untrained.stdout and "train it, or reinstall" in untrained.stderr
    trained = command(site, "train", "harvest", "--out", str(stem))
    assert trained.returncode == 0, trained.stderr
    assert weight_path(stem).exists() and json.loads(card_path(stem).read_text())["held_out"] < 1e-6
    shown = command(site, "blocks", "show", "harvest", "--picture", "harvest.png")
    assert shown.returncode == 0 and (site.parent / "harvest.png").exists(), shown.stderr
    (site.parent / "pond.yaml").write_text(PROBLEM)
    solved = command(site, "run", "pond.yaml")
    assert solved.returncode == 0, solved.stderr
    import xarray as xr

    with xr.open_dataset(site.parent / "pond-run" / "result.nc", engine="h5netcdf") as result:
        end = float(result["u_probes"].values[-1].squeeze())
    assert end == pytest.approx((5**0.5 - 1) / 2, rel=1e-5), "u − 1/u = −t from u(0) = 1"
    weight_path(stem).write_bytes(b"nonsense")
    refused = command(site, "run", "pond.yaml")
    assert refused.returncode == 3 and "harvesting:harvest: harvest.safetensors has 8 bytes" in refused.stderr


def test_listing_blocks_imports_no_torch(site: Path) -> None:
    program = "import sys; from gleg_learning.blocks_command import list_blocks, show; list_blocks(False); show('diffusion', None, None)"
    done = command(site, program=f"{program}; assert not {{'torch', 'matplotlib', 'safetensors'}} & set(sys.modules)")
    assert done.returncode == 0, done.stderr


def test_ctrl_c_keeps_a_checkpoint_and_says_how_to_go_on(site: Path) -> None:
    slow = RECIPE.replace("iterations: 15, patience: 4", "kind: adam, iterations: 100000, patience: 100000, batch: 1")
    (site.parent / "slow.yaml").write_text(slow)
    environment = os.environ | {"PYTHONPATH": str(site), "GLEG_CACHE": str(site.parent / "cache")}
    arguments = [sys.executable, "-m", "gleg_cli", "train", "harvest", "--recipe", "slow.yaml"]
    process = subprocess.Popen(arguments, env=environment, cwd=site.parent, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 40
    while not (site.parent / "harvest.checkpoint").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "interrupted; harvest.checkpoint holds iteration" in err, err
    assert err.strip().endswith("gleg train harvesting:harvest --recipe slow.yaml")
    assert not (site.parent / "harvest.safetensors").exists()
