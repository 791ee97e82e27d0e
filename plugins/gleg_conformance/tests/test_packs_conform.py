"""Every component of every first-party pack passes the conformance kit; what it may fail, it must give a reason for."""

from __future__ import annotations

import pytest
from distributions import PACKS

from gleg_conformance.runner import expected_failures, run_component
from gleg_core.pack import CONTRACTS
from gleg_core.registry import Component, Registry, default_registry

REGISTRY: Registry = default_registry()
OURS = {pack for source in PACKS for pack in source.packs}
COMPONENTS = [c for contract in CONTRACTS for c in REGISTRY.entries(contract).values() if c.pack.id in OURS]


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda c: c.key)
def test_a_first_party_component_conforms(component: Component) -> None:
    results = run_component(component, REGISTRY)
    assert [f"{r.check}[{r.example}]: {r.detail}" for r in results if r.status == "failed"] == []
    assert sum(r.status == "passed" for r in results) >= 10
    assert all(reason.strip() for reason in expected_failures(component).values())


def test_all_contracts_are_covered() -> None:
    assert {c.contract for c in COMPONENTS} == set(CONTRACTS)
