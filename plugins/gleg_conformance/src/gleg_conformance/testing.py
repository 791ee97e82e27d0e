"""The kit in an author's own test suite:

from gleg_conformance.testing import conformance

@conformance("kinetics")
def test_conformance(case):
    case.verify()
"""

from dataclasses import dataclass
from typing import Any

import pytest

from gleg_conformance import runner
from gleg_conformance.runner import components_of
from gleg_core.errors import PackError
from gleg_core.registry import Component, Registry, default_registry


@dataclass(frozen=True)
class PytestCheckCase(runner.CheckCase):
    """A case whose outcome is told to pytest."""

    def verify(self) -> None:
        """Fail, skip or xfail as the kit found."""
        result = self.run()
        if result.status == "failed":
            pytest.fail(f"{self.id}: {result.detail}", pytrace=False)
        if result.status == "expected":
            pytest.xfail(result.detail)
        if result.status == "not applicable":
            pytest.skip(result.detail)


@dataclass(frozen=True)
class Declaration:
    """The expected failures a component declares: each names a check, has a reason, and does fail."""

    component: Component
    registry: Registry

    @property
    def id(self) -> str:
        return f"{self.component.key}-expectations"

    def verify(self) -> None:
        """Run the checks that are expected to fail, with all examples."""
        expected = runner.expected_failures(self.component)
        results = [c.run() for c in runner.cases(self.component, self.registry) if c.check.id in expected]
        told = [wrong.detail for wrong in runner.about_the_declaration(self.component, self.registry, results)]
        if told:
            pytest.fail(f"{self.id}: {'; '.join(told)}", pytrace=False)


def conformance(pack: str, registry: Registry | None = None) -> Any:
    """A parametrisation over all checks of all components of an installed pack, as the argument ``case``."""
    registry = registry or default_registry()
    chosen = components_of(pack, registry)
    cases: list[PytestCheckCase | Declaration] = [
        PytestCheckCase(case.check, case.subject, case.example) for c in chosen for case in runner.cases(c, registry)
    ]
    cases += [Declaration(c, registry) for c in chosen if runner.expected_failures(c)]
    if not cases:
        raise PackError(f"there is no check for the pack '{pack}'")
    return pytest.mark.parametrize("case", cases, ids=[case.id for case in cases])
