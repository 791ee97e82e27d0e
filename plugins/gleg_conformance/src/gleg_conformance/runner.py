"""Applying the kit to components: every check to every example, expected failures accounted for."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import torch

from gleg_conformance.kit import Check, Finding, NotApplicable, Subject, Violation, all_checks, checks_of
from gleg_core.errors import PackError, did_you_mean, listing
from gleg_core.pack import CONTRACTS
from gleg_core.registry import Component, Registry
from gleg_core.registry.records import one_line

Status = Literal["passed", "failed", "expected", "not applicable"]


@dataclass(frozen=True)
class Result:
    """The outcome of one check on one example. ``expected``: it failed, and the pack says why that is right."""

    check: str
    group: str
    example: int
    status: Status
    detail: str
    measured: float | None = None
    limit: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class CheckCase:
    """One check to be run on one example of a component."""

    check: Check
    subject: Subject
    example: int

    @property
    def id(self) -> str:
        return f"{self.subject.component.key}[{self.example}]-{self.check.id}"

    def run(self) -> Result:
        """Run the check. Whatever goes wrong in the component is a failure, never an exception here."""
        start = time.perf_counter()
        status, detail, finding = _outcome(self.check, self.subject)
        reason = expected_failures(self.subject.component).get(self.check.id)
        if reason and status == "failed":
            status, detail = "expected", f"{reason} ({detail})"
        measured, limit = (finding.measured, finding.limit) if finding else (None, None)
        seconds = time.perf_counter() - start
        return Result(self.check.id, self.check.group, self.example, status, detail, measured, limit, seconds)


def expected_failures(component: Component) -> Mapping[str, str]:
    """Check id → reason, as the entry's capabilities say under ``expected_failures``."""
    stated = component.capabilities(CONTRACTS[component.contract].capabilities).expected_failures
    return {check: reason.strip() for check, reason in stated.items()}


def cases(component: Component, registry: Registry) -> list[CheckCase]:
    """Every check of the component's contract with every one of its examples (with no parameters if there is none)."""
    subjects = [Subject(component, registry, example) for example in component.entry.examples or ({},)]
    checks = checks_of(component.contract, registry)
    return [CheckCase(check, subject, i) for i, subject in enumerate(subjects) for check in checks]


def run_component(
    component: Component, registry: Registry, progress: Callable[[Result], None] = lambda result: None
) -> list[Result]:
    """Results of all checks, then those about the declaration of expected failures."""
    results: list[Result] = []
    for case in cases(component, registry):
        results.append(case.run())
        progress(results[-1])
    extra = list(about_the_declaration(component, registry, results))
    for result in extra:
        progress(result)
    return results + extra


def _outcome(check: Check, subject: Subject) -> tuple[Status, str, Finding | None]:
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        try:
            finding = check.function(subject)
            if finding is None:
                return "passed", check.title, None
            sign = "≤" if finding.good else ">"
            detail = f"{finding.what}: {finding.measured:.3g} {sign} {finding.limit:.3g}"
            return ("passed" if finding.good else "failed"), detail, finding
        except NotApplicable as reason:
            return "not applicable", str(reason), None
        except Violation as violation:
            return "failed", str(violation), None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return "failed", one_line(error, 400), None


def about_the_declaration(component: Component, registry: Registry, results: list[Result]) -> Iterator[Result]:
    """Failures of the declaration itself: no reason, an unknown check, a check that passes after all; and nothing having run."""
    known = all_checks(registry)
    for name, reason in expected_failures(component).items():
        if name not in known:
            yield _wrong(f"expected failure of '{name}': there is no such check.{did_you_mean(name, known)}")
        elif not reason:
            yield _wrong(f"expected failure of '{name}' without a reason")
        elif not any(r.check == name and r.status == "expected" for r in results):
            yield _wrong(f"expected failure of '{name}', which does not fail: remove the declaration")
    if not any(r.status in ("passed", "failed", "expected") for r in results):
        yield _wrong("no check was run")


def _wrong(detail: str) -> Result:
    return Result("expectations", "declaration", 0, "failed", detail)


def components_of(name: str, registry: Registry) -> list[Component]:
    """All components of a pack (by id or distribution), or the one whose full key is given; an error if there is none."""
    everything = [c for contract in CONTRACTS for c in registry.entries(contract).values()]
    if found := [c for c in everything if name in (c.pack.id, c.key, c.pack.distribution)]:
        return found
    failed = [str(f) for f in registry.failures if name in (f.pack, f.distribution)]
    packs = {c.pack.id for c in everything}
    hint = did_you_mean(name, packs | {c.key for c in everything})
    told = "\n".join(failed) or f"Installed packs: {listing(packs)}"
    raise PackError(f"there is nothing to check under the name '{name}'.{hint} {told}")
