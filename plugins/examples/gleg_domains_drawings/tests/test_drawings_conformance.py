"""The conformance kit on both kinds, with the samples of the pack."""

from typing import Any

from gleg_conformance.testing import conformance


@conformance("drawings")
def test_conformance(case: Any) -> None:
    case.verify()
