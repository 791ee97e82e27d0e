"""``gleg check``."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import click

from gleg_cli.text import columns
from gleg_conformance import VERSION
from gleg_conformance.kit import all_checks
from gleg_conformance.report import report, totals
from gleg_conformance.runner import Result, run_component
from gleg_conformance.selection import components_of
from gleg_core.pack import CONTRACT_HOOKS
from gleg_core.registry import Component, Pack, Registry
from gleg_market import certificates
from gleg_core.atomic import write_text


def list_checks() -> None:
    """All checks of the kit, by contract: those that every component must pass first."""
    click.echo(f"conformance kit {VERSION}: {len(all_checks())} checks")
    everything = tuple(CONTRACT_HOOKS)
    for title in ("every component", *everything):
        chosen = [c for c in all_checks().values() if (title in c.contracts) != (c.contracts == everything)]
        click.echo(f"\n{title}")
        for check in sorted(chosen, key=lambda c: c.group):
            click.echo(columns([("", 1), (check.group, 12), (check.id, 44)], check.title))


def check_packs(names: tuple[str, ...], registry: Registry, verbose: bool, to: Path | None) -> int:
    """Examine packs or single components; the result is the number of failed checks, at most 1 as an exit status."""
    chosen = [c for name in names for c in components_of(name, registry)]
    found: dict[Pack, dict[Component, list[Result]]] = defaultdict(dict)
    for component in dict.fromkeys(chosen):
        found[component.pack][component] = _examine(component, registry, verbose)
    reports = [report(pack, results) for pack, results in found.items()]
    for pack, facts in zip(found, reports, strict=True):
        if len(found[pack]) == sum(map(len, pack.entries.values())):  # a certificate is of the whole pack
            certificates.store(pack, {**facts, **facts["totals"]})
    if to is not None:
        write_text(to, json.dumps(reports, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    failed = sum(facts["totals"]["failed"] for facts in reports)
    passed = sum(facts["totals"]["passed"] for facts in reports)
    expected = sum(facts["totals"]["expected"] for facts in reports)
    told = f"kit {VERSION}: {passed} passed, {failed} failed, {expected} expected failures"
    click.secho(told, fg="red" if failed else "green", bold=True)
    return min(failed, 1)


def _examine(component: Component, registry: Registry, verbose: bool) -> list[Result]:
    """Run all checks of one component, telling those that fail as they come."""

    def tell(result: Result) -> None:
        if result.status in ("failed", "expected") or verbose:
            word = {"failed": "FAILED", "expected": "expected", "passed": "ok", "not applicable": "n/a"}[result.status]
            click.echo(columns([("", 2), (word, 9), (f"{result.check} [{result.example}]", 40)], result.detail))

    results = run_component(component, registry, tell)
    click.echo(columns([(component.key, 32)], _sentence(results)))
    return results


def _sentence(results: list[Result]) -> str:
    """``31 checks passed (interface 7, structure 9)``."""
    counts = totals(results)
    groups = Counter(r.group for r in results if r.status == "passed")
    words = f"{counts['passed']} checks passed"
    if groups:
        words += f" ({', '.join(f'{group} {n}' for group, n in groups.items())})"
    for status, shown in (
        ("failed", "FAILED"),
        ("expected", "expected failures"),
        ("not applicable", "not applicable"),
    ):
        if counts[status]:
            words += f", {counts[status]} {shown}"
    return words
