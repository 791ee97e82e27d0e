"""``gleg check``."""

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

import click

from gleg_conformance import VERSION
from gleg_conformance.kit import all_checks
from gleg_conformance.report import report, totals
from gleg_conformance.runner import Result, components_of, run_component
from gleg_core.atomic import write_text
from gleg_core.pack import CONTRACTS
from gleg_core.registry import Component, Pack, Registry, default_registry
from gleg_core.terminal import Terminal
from gleg_market import certificates


@click.command()
@click.argument("names", metavar="[PACK|KEY]...", nargs=-1)
@click.option("--list", "listing", is_flag=True, help="List the checks of the kit and do nothing else.")
@click.option("-v", "--verbose", is_flag=True, help="Show every check with what it measured.")
@click.option(
    "--json", "to", type=click.Path(path_type=Path), help="Also write a machine-readable report to this file."
)
@click.pass_obj
def check(terminal: Terminal, names: tuple[str, ...], listing: bool, verbose: bool, to: Path | None) -> None:
    """Run the conformance kit on installed packs, or on single components such as diffusion:diffusion."""
    if listing:
        list_checks(terminal)
        return
    if not names:
        raise click.UsageError("name a pack or a component; gleg packs lists them")
    sys.exit(check_packs(terminal, names, default_registry(), verbose, to))


def list_checks(terminal: Terminal) -> None:
    """All checks, by contract: those that every component must pass first; those of other packs with their pack."""
    checks = all_checks().values()
    added = sum(bool(c.pack) for c in checks)
    more = f", {added} more from other packs" if added else ""
    click.echo(f"conformance kit {VERSION}: {len(checks) - added} checks{more}")
    everything = tuple(CONTRACTS)
    for title in ("every component", *everything):
        chosen = [c for c in checks if (title in c.contracts) != (c.contracts == everything)]
        click.echo(f"\n{title}")
        for check in sorted(chosen, key=lambda c: c.group):
            title = f"{check.title} ({check.pack})" if check.pack else check.title
            click.echo(terminal.columns([("", 1), (check.group, 12), (check.id, 44)], title))


def check_packs(terminal: Terminal, names: tuple[str, ...], registry: Registry, verbose: bool, to: Path | None) -> int:
    """Examine packs or single components; the result is the number of failed checks, at most 1 as an exit status."""
    chosen = [c for name in names for c in components_of(name, registry)]
    found: dict[Pack, dict[Component, list[Result]]] = defaultdict(dict)
    for component in dict.fromkeys(chosen):
        found[component.pack][component] = _examine(terminal, component, registry, verbose)
    reports = [report(pack, results) for pack, results in found.items()]
    for pack, facts in zip(found, reports, strict=True):
        if len(found[pack]) == sum(map(len, pack.entries.values())):  # a certificate is of the whole pack
            certificates.store(pack, {**facts, **facts["totals"]})
    if to is not None:
        write_text(to, json.dumps(reports, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    passed, failed, expected = (
        sum(facts["totals"][status] for facts in reports) for status in ("passed", "failed", "expected")
    )
    told = f"kit {VERSION}: {passed} passed, {failed} failed, {expected} expected failures"
    click.secho(told, fg="red" if failed else "green", bold=True)
    return min(failed, 1)


def _examine(terminal: Terminal, component: Component, registry: Registry, verbose: bool) -> list[Result]:
    """Run all checks of one component, telling those that fail as they come."""

    def tell(result: Result) -> None:
        if result.status in ("failed", "expected") or verbose:
            word = {"failed": "FAILED", "expected": "expected", "passed": "ok", "not applicable": "n/a"}[result.status]
            columns = [("", 2), (word, 9), (f"{result.check} [{result.example}]", 40)]
            click.echo(terminal.columns(columns, result.detail))

    results = run_component(component, registry, tell)
    click.echo(terminal.columns([(component.key, 32)], _sentence(results)))
    return results


def _sentence(results: list[Result]) -> str:
    """``31 checks passed (interface 7, structure 9)``."""
    counts = totals(results)
    groups = Counter(r.group for r in results if r.status == "passed")
    words = f"{counts['passed']} checks passed"
    if groups:
        words += f" ({', '.join(f'{group} {n}' for group, n in groups.items())})"
    shown = {"failed": "FAILED", "expected": "expected failures", "not applicable": "not applicable"}
    return words + "".join(f", {counts[status]} {word}" for status, word in shown.items() if counts[status])
