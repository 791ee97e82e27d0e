"""The pack's listing and its parameter models."""

from __future__ import annotations

import subprocess
import sys

import pytest
from integration_problems import ENTRIES, integrator
from pydantic import ValidationError

from gleg_core.contracts.integrator import Integrator


@pytest.mark.parametrize("name", ENTRIES)
def test_examples_validate_and_capabilities_are_true(name: str) -> None:
    entry = ENTRIES[name]
    assert {} in entry.examples
    for example in entry.examples:
        method = integrator(name, **example)
        assert isinstance(method, Integrator)
        assert (method.order, method.embedded) == (entry.capabilities["order"], entry.capabilities["embedded"])


@pytest.mark.parametrize("name", ENTRIES)
def test_unknown_parameters_are_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="oder"):
        integrator(name, oder=4)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("etdrk4", {"scheme": "krogstadt"}),
        ("strang", {"substeps": 0}),
        ("strang", {"substeps": 1.5}),
        ("strang", {"linear": "euler"}),
        ("strang", {"nonlinear": "exact"}),
        ("midpoint", {"tolerance": 0}),
        ("midpoint", {"tolerance": float("nan")}),
        ("midpoint", {"iterations": 0}),
    ],
)
def test_bad_values_are_refused(name: str, params: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        integrator(name, **params)


def test_listing_the_pack_imports_nothing_heavy() -> None:
    code = (
        "import sys, gleg_integrators.pack as pack; pack.gleg_integrators();"
        "print({'torch', 'numpy', 'pydantic'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
