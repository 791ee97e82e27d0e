"""The machine-readable report of a conformance run."""

import math
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import torch

from gleg_conformance import VERSION
from gleg_conformance.runner import Result
from gleg_core import __version__
from gleg_core.registry import Component, Pack


def totals(results: Sequence[Result]) -> dict[str, int]:
    """How many of each status."""
    counted = Counter(r.status for r in results)
    return {status: counted[status] for status in ("passed", "failed", "expected", "not applicable")}


def report(pack: Pack, found: Mapping[Component, Sequence[Result]]) -> dict[str, Any]:
    """Plain data for JSON; ``found`` holds the results of every component examined."""
    everything = [r for results in found.values() for r in results]
    return {
        "kit": VERSION,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": {"gleg-core": __version__, "python": platform.python_version(), "torch": torch.__version__},
        "pack": {
            "id": pack.id,
            "distribution": pack.distribution,
            "version": pack.version,
            "contract": list(pack.contract),
            "licence": pack.licence,
        },
        "totals": totals(everything),
        "components": [
            {"key": c.key, "contract": c.contract, "totals": totals(results), "results": [_plain(r) for r in results]}
            for c, results in found.items()
        ],
    }


def _plain(result: Result) -> dict[str, Any]:
    """JSON has no number for infinity or not-a-number: null, and ``detail`` tells."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in asdict(result).items()}
