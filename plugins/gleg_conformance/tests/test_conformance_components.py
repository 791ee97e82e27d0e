"""The checks every component must pass: each refuses an entry that is wrong in its way and passes a healthy one."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from specimens import Specimen

from gleg_conformance.kit import all_checks
from gleg_conformance.runner import cases
from gleg_core.pack import CONTRACTS
from gleg_core.registry import Component, Pack, Registry, default_registry
from gleg_core.registry.installed import Claim
from gleg_core.registry.loading import load

MODULE = "gleg_conformance.components"


@dataclass(frozen=True)
class InModule(Specimen):
    """A specimen whose pack has this entry module."""

    module: str = "gleg_core.pack"

    def component(self) -> tuple[Component, Registry]:
        made, registry = super().component()
        pack = replace(made.pack, module=self.module)
        registry = Registry([*(p for p in registry.packs if p.id != pack.id), pack])
        return registry.find(self.contract, made.key), registry


def specimen(params: str = "Healthy", factory: str = "healthy", **more: Any) -> InModule:
    more = {"example": {"rate": 0.125}, **more}
    where = "" if ":" in params else "specimens_components:"
    return InModule("integrator", f"specimens_components:{factory}", where + params, **more)


TABLE: list[tuple[str, InModule, str]] = [
    ("summary-is-short", specimen(summary="very " * 25 + "long"), "129 > 100"),
    ("summary-is-short", specimen(summary="two\nlines"), "one line"),
    ("entry-module-is-light", specimen(module="specimens_components"), "imports pydantic"),
    ("example-is-valid", specimen(example={"rate": -1}), "rate: Input should be greater than 0"),
    ("example-is-valid", specimen(example={}), "rate: Field required"),
    ("unknown-keys-are-refused", specimen("TypingMistakesPass"), "derive the model from PackParams"),
    ("parameters-are-frozen", specimen("CanBeChanged"), "not frozen"),
    ("defaults-are-valid", specimen("ImpossibleDefault"), "default 0.0 of 'capacity'"),
    ("defaults-are-valid", specimen("DefaultNotRead"), "validate_default"),
    ("parameters-survive-a-resolved-file", specimen("RoundedWhenWritten"), "rate=0.125.*read as.*rate=0.1"),
    ("parameters-survive-a-resolved-file", specimen("UnreadableWhenWritten"), "not valid when read"),
    ("keys-say-what-they-are", specimen("Silent"), "no description of rate"),
    ("parameters-need-no-torch", specimen("specimens_stepping:TorchParams", example={}), "imports torch"),
    ("factory-keeps-the-contract", specimen(factory="nothing_of_the_kind"), "dict instead of a Integrator"),
    ("construction-is-deterministic", specimen(factory="shuffled"), "Heun.table.weights.0 differs"),
    ("construction-draws-no-random-numbers", specimen(factory="initialised_at_random"), "generator of torch"),
]


@pytest.mark.parametrize(("check", "wrong", "message"), TABLE, ids=[f"{row[0]}-{i}" for i, row in enumerate(TABLE)])
def test_a_wrong_component_fails(check: str, wrong: InModule, message: str) -> None:
    result = wrong.run(check)
    assert result.status == "failed", result
    assert re.search(message, result.detail), result.detail


@pytest.mark.parametrize("check", dict.fromkeys(row[0] for row in TABLE))
def test_a_healthy_component_passes(check: str) -> None:
    result = specimen().run(check)
    assert result.status == "passed", result


def test_every_check_has_a_wrong_specimen() -> None:
    mine = {c.id for c in all_checks().values() if c.function.__module__ == MODULE}
    assert {row[0] for row in TABLE} == mine


def test_they_apply_to_every_contract() -> None:
    assert all(c.contracts == tuple(CONTRACTS) for c in all_checks().values() if c.function.__module__ == MODULE)


# --- mechanisms declared by a function --------------------------------------------------------------------------------

DECLARED = """
from __future__ import annotations
from typing import TYPE_CHECKING, Annotated
from gleg_core.mechanisms import Formula, Number, Positive, blocks, pointwise
if TYPE_CHECKING:
    from torch import Tensor
CONTRACT = (3, 0)

@pointwise("logistic growth", degree=2, examples=({"rate": 1}, {"rate": 2, "capacity": 3, "of": "v"}))
def logistic(u: Tensor, *, rate: Annotated[Number, "r"], capacity: Annotated[Positive, "c"] = 1.0) -> Tensor:
    return rate * u * (1 - u / capacity)

@pointwise("stimulus", degree=0, examples=({"current": "sin(t)*x"}, {}))
def stimulus(*, current: Annotated[Formula, "I(x, t)"] = 0.5) -> Tensor:
    return current

@pointwise("undescribed", degree=1, examples=({"a": 2},))
def undescribed(u: Tensor, *, a: Number) -> Tensor:
    return a * u

gleg_blocks = blocks(logistic, stimulus, undescribed)
"""


@pytest.fixture
def declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    (tmp_path / "declared_for_the_kit.py").write_text(DECLARED, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    pack = load(Claim("declared", "declared_for_the_kit", "gleg-declared", "1.0", "MIT", ""))
    assert isinstance(pack, Pack), pack
    yield Registry([*default_registry().packs, pack])
    sys.modules.pop("declared_for_the_kit")


def test_declared_mechanisms(declared: Registry) -> None:
    for name in ("logistic", "stimulus", "undescribed"):
        found = cases(declared.find("block", f"declared:{name}"), declared)
        results = [case.run() for case in found if case.check.function.__module__ == MODULE]
        assert {r.check: r.detail for r in results if r.status != "passed"} == {}
