"""``gleg discover``: the law in words, a table of candidates, what was written."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gleg_core.terminal import Terminal
from gleg_discovery.law import with_uncertainty

if TYPE_CHECKING:
    from gleg_discovery.baselines import Baseline
    from gleg_discovery.discover import Discovery
    from gleg_discovery.identify import FieldLaw


settings_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Replace a value of PROBLEM. May be repeated."
)


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.argument("observations", type=click.Path(path_type=Path))
@settings_option
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results. Default: NAME-law.")
@click.option("--refine", is_flag=True, help="Refine the law by maximum likelihood through its rollout.")
@click.option("--baselines", is_flag=True, help="Also what other methods find: ambient Fourier, finite differences, …")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.option("--quiet", is_flag=True, help="Print errors and warnings only.")
@click.pass_obj
def discover(
    terminal: Terminal,
    problem: Path,
    observations: Path,
    settings: tuple[str, ...],
    out: Path | None,
    refine: bool,
    baselines: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Find the law of PROBLEM's fields among their candidates from OBSERVATIONS (.nc, .csv or .parquet): coefficients with
    uncertainties, evidence, and a problem file of the law that gleg run rolls out."""
    checked, folder = terminal.problem(problem, settings), out or Path(f"{problem.stem}-law")
    console = Console(quiet=quiet or as_json, highlight=False)
    with console.status("loading"):
        from gleg_discovery.discover import discover as discover_from
        from gleg_discovery.law import in_words
        from gleg_discovery.report import LAW, report, write_law
        from gleg_results.replaced_folder import check_target, json_text

        check_target(folder, LAW)
    found = discover_from(checked, observations, terminal.display(console).stage, refine)
    for name, terms in found.law.items():
        console.print()
        console.print(Text(in_words(name, terms), style="bold"), soft_wrap=True)
        console.print(_table(found, found.identification.laws[name]))
    others: list[Baseline] = []
    if baselines:
        with console.status("comparing"):
            from gleg_discovery.baselines import compare

            fields = {name: paths.field for name, paths in found.identification.paths.items()}
            others = compare(found.recordings, found.spaces.domain, fields, found.terms, found.known)
        for name in found.law:
            console.print()
            own = [b for b in others if b.field == name]
            console.print(_comparison(found.identification.laws[name], own))
            for b in own:
                console.print(Text(f"{b.name}: {b.note}", style="dim"), soft_wrap=True)
    extra = {"baselines": [asdict(b) for b in others]} if baselines else {}
    with console.status("rolling the law out, drawing, writing"):
        files, remarks = write_law(found, folder, extra)
    for remark in (*found.remarks, *remarks):
        click.echo(f"{remark.level}: {remark.text}", err=True)
    console.print(Text(f"wrote    {folder}/: {'  '.join(files)}"), soft_wrap=True)
    if "law.yaml" in files:
        console.print(Text(f"next     gleg run {folder / 'law.yaml'}"), soft_wrap=True)
    if as_json:
        click.echo(json_text(report(found) | extra))


def plain_table(first: str, *others: str) -> Table:
    """A table without lines: texts in the first column, numbers in the others."""
    table = Table(show_header=True, header_style="bold", box=None, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for title in others:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _table(found: "Discovery", law: "FieldLaw") -> Table:
    """Candidates of the law with their intervals; those left out, dim, with what they would have with all candidates in."""
    table = plain_table("candidate", "coefficient", "95 % interval", "evidence")
    kept = {c.candidate.label: c for c in found.law[law.field]}
    for p, label in enumerate(law.labels):
        odds = _odds(float(law.selection.bayes_factor[p]))
        if label in kept:
            mine = kept[label]
            interval = " … ".join(_beside(end, mine.error) for end in mine.interval)
            table.add_row(label, with_uncertainty(mine.value, mine.error), interval, odds)
        else:
            table.add_row(label, "–", f"({law.full.c[p]:.2g} ± {law.full.errors[p]:.1g})", odds, style="dim")
    for label, value in law.known.items():
        table.add_row(label, f"{value:.5g}", "given", "")
    return table


def _comparison(law: "FieldLaw", others: "Sequence[Baseline]") -> Table:
    """A row of coefficients per method, all candidates in; a dash where a method drops the candidate or fails."""
    table = plain_table("method", *law.labels)
    table.columns[0].no_wrap = False
    table.add_row("this one", *(f"{c:.3g}" for c in law.full.c))
    for b in others:
        found = [f"{b.coefficients[label]:.3g}" if label in b.coefficients else "–" for label in law.labels]
        table.add_row(b.name, *found)
    return table


def _beside(end: float, error: float) -> str:
    """The end of an interval, to the digits that the standard error has."""
    return f"{end:.{max(2, math.ceil(math.log10(max(abs(end) / error, 1.0))) + 1)}g}" if error > 0 else f"{end:.6g}"


def _odds(factor: float) -> str:
    """``1e+05 : 1`` for a term, ``1 : 30`` against it."""
    if not 1e-99 < factor < 1e99:
        return "> 1e99 : 1" if factor > 1 else "< 1 : 1e99"
    return f"{_short(factor)} : 1" if factor >= 1 else f"1 : {_short(1 / factor)}"


def _short(number: float) -> str:
    return f"{number:.0f}" if number < 1000 else f"{number:.0e}".replace("e+0", "e").replace("e+", "e")
