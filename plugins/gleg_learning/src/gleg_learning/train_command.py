"""``gleg train``: a learned block from its recipe, with progress, to weights and card."""

import shlex
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from gleg_core.errors import OutputError, SpecError
from gleg_core.registry import default_registry
from gleg_core.weight_files import card_path, locate, weight_path
from gleg_learning.describe import stem_of, worst_bin
from gleg_learning.recipe import Recipe, basis_of, read_recipe

if TYPE_CHECKING:
    from gleg_core.contracts.learned import LearnedBlock
    from gleg_core.spec.models import ComponentSection
    from gleg_learning.train import Trained


@click.command("train")
@click.argument("key")
@click.option("--recipe", type=click.Path(path_type=Path), help="Training recipe. Default: the one of the pack.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="STEM",
    help="Write STEM.safetensors, STEM.card.json. Default: ./NAME.",
)
@click.option("--fresh", is_flag=True, help="Start anew even if an interrupted training could be resumed.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
def train(key: str, recipe: Path | None, out: Path | None, fresh: bool, quiet: bool) -> None:
    """Train the learned mechanism KEY. Ctrl-C keeps a checkpoint; the same command goes on from there."""
    sys.exit(train_block(key, recipe, out, fresh, quiet))


def train_block(key: str, recipe: Path | None, out: Path | None, fresh: bool, quiet: bool) -> int:
    """Train, write, summarise; the exit code is 130 if the training was interrupted."""
    console = Console(quiet=quiet, highlight=False)
    registry = default_registry()
    registry.find("block", key)  # a wrong name is said before torch is imported
    with console.status("loading"):
        from gleg_learning.blocks import learned_class
        from gleg_learning.train import train as train_by

        component, kind = learned_class(registry, key)
    path = recipe or _own_recipe(component.key, kind)
    plan, folder = read_recipe(path, registry, component.key)
    stem = Path(stem_of(str(out))) if out else Path(component.entry.name)
    if out is None:
        _keep_installed(kind, stem)
    _line(console, "recipe", str(path))
    _line(console, "plan", _plan(plan, basis_of(plan.states, registry)))
    _line(console, "output", f"{weight_path(stem)}  {card_path(stem)}")
    started = time.monotonic()
    try:
        with _bar(console) as bar:
            task = bar.add_task("train", visible=False, best=0.0)

            def progress(iteration: int, most: int, best: float) -> None:
                bar.update(task, completed=iteration, total=most, best=best, visible=True)

            trained = train_by(registry, plan, stem, folder, progress, fresh, partial(_line, console, "note"))
    except KeyboardInterrupt:
        again = ["gleg", "train", component.key, *(["--recipe", str(recipe)] if recipe else [])]
        _interrupted(stem, shlex.join([*again, *(["--out", str(out)] if out else [])]))
        return 130
    _summary(console, trained, time.monotonic() - started)
    return 0


def _bar(console: Console) -> Progress:
    """On a terminal, a bar with the iteration, the best held-out error and the time left."""
    return Progress(
        TextColumn("[bold]train   [/]"), BarColumn(bar_width=None),
        TextColumn("{task.completed:.0f}/{task.total:.0f}  held-out error {task.fields[best]:.2e}"),
        TimeElapsedColumn(), TextColumn("left at most"), TimeRemainingColumn(),
        console=console, transient=True, disable=console.quiet or not console.is_terminal,
    )  # fmt: skip


def _line(console: Console, name: str, text: str) -> None:
    console.print(Text.assemble((f"{name:8s} ", "bold"), text), soft_wrap=True)


def _own_recipe(key: str, kind: "type[LearnedBlock]") -> Path:
    """The recipe that comes with the block."""
    if reference := getattr(kind, "recipe", ""):
        return locate(reference)
    raise SpecError(f"the block '{key}' comes without a recipe: give one with --recipe FILE")


def _keep_installed(kind: "type[LearnedBlock]", stem: Path) -> None:
    """Installed weights are replaced only where ``--out`` says so."""
    reference = getattr(kind, "weights", "")
    if reference and locate(reference).resolve() == stem.resolve():
        raise OutputError(
            f"{weight_path(stem)}: these are the installed weights of the block; write --out {stem} to replace them"
        )


def _plan(plan: Recipe, basis: "ComponentSection") -> str:
    optimiser = plan.optimiser
    how = f"{optimiser.kind}, at most {optimiser.iterations} iterations, seed {plan.seed}"
    if plan.data is not None:
        return f"{plan.data.kind} from {plan.data.path}, {plan.data.held_out:.0%} held out; {how}"
    law = plan.states
    low, high = law.amplitude
    named = " ".join([basis.kind, *(f"{k} {v}" for k, v in basis.parameters.items())])
    return f"{law.count} states and {law.held_out} held out, {named}, max|u| {low:g} … {high:g}; {how}"


def _interrupted(stem: Path, command: str) -> None:
    from gleg_learning.checkpoint import checkpoint_path, load

    path = checkpoint_path(stem)
    saved = load(path)
    text = "interrupted before the first checkpoint; nothing was written"
    if saved is not None:
        text = f"interrupted; {path} holds iteration {saved['iteration']}. To go on from there:   {command}"
    click.echo(text, err=True)


def _summary(console: Console, trained: "Trained", seconds: float) -> None:
    card, stem = trained.card, trained.stem
    worst = worst_bin(card)
    where = f", worst bin {worst[1].error:.2e} ({worst[0]} {worst[1].low:.3g} … {worst[1].high:.3g})" if worst else ""
    early = ", stopped early" if trained.stopped_early else ""
    resumed = f", resumed after {trained.resumed_at}" if trained.resumed_at else ""
    _line(console, "held-out", f"error {card.held_out:.2e}{where}")
    _line(console, "time", f"{seconds:.1f} s, {trained.iterations} iterations{early}{resumed}")
    _line(console, "wrote", f"{weight_path(stem)}  {card_path(stem)}")
    _line(console, "sha256", card.sha256)
    weights = shlex.quote(str(stem))
    _line(console, "next", f"gleg blocks show {card.block} --weights {weights} --picture {weights}.png")
