"""Deliberately wrong components for the conformance kit: one per check, installed in a registry made for the test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gleg_conformance.kit import Subject, all_checks
from gleg_conformance.runner import CheckCase, Result
from gleg_core.pack import CONTRACT, Entry
from gleg_core.registry import Component, Pack, Registry, default_registry


@dataclass(frozen=True)
class Specimen:
    """A component for a test of the kit. ``factory`` and ``params`` are references ``module:attribute`` of importable test modules."""

    contract: str
    factory: str
    params: str
    example: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    summary: str = "A specimen"

    def component(self) -> tuple[Component, Registry]:
        """The specimen in a registry that also holds everything installed."""
        entry = Entry("specimen", self.summary, self.params, self.factory, dict(self.capabilities), (self.example,))
        pack = Pack("specimens", "gleg-specimens", "1.0", "specimens", CONTRACT, "MIT", {self.contract: (entry,)})
        installed = default_registry()
        registry = Registry((*installed.packs, pack), installed.failures, installed.catalogue)
        return registry.find(self.contract, "specimens:specimen"), registry

    def run(self, check: str) -> Result:
        component, registry = self.component()
        return CheckCase(all_checks()[check], Subject(component, registry, self.example), 0).run()
