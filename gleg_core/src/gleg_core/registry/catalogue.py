"""What could be installed, as far as core knows by itself: ``catalogue.json``, which comes with it.

It names the distributions of this project, which are *first-party*: no other pack can take their ids or the names of their components.
A pack of the hook ``gleg_catalogues`` adds what other catalogues offer.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).with_name("catalogue.json")


@dataclass(frozen=True)
class Offer:
    """One component or tool that a distribution provides."""

    key: str
    contract: str
    summary: str
    distribution: str
    licence: str = ""
    keywords: tuple[str, ...] = ()
    homepage: str = ""
    version: str = ""
    """Contract version of its pack, such as 3.0."""
    about: str = ""
    """What the distribution is."""

    @property
    def pack(self) -> str:
        return self.key.partition(":")[0]

    @property
    def name(self) -> str:
        return self.key.partition(":")[2]


def canonical(distribution: str) -> str:
    """Distribution names compare without case and with ``-`` for ``_`` and ``.``."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


@cache
def _distributions() -> dict[str, dict[str, Any]]:
    return json.loads(SHIPPED.read_text(encoding="utf-8"))["distributions"]


@cache
def first_party() -> dict[str, tuple[str, ...]]:
    """Distribution → ids of its packs, for the distributions of this project."""
    ours = {name: facts for name, facts in _distributions().items() if facts.get("first_party")}
    return {name: tuple({c["key"].partition(":")[0] for c in facts["components"]}) for name, facts in ours.items()}


def shipped_offers() -> tuple[Offer, ...]:
    """All that the shipped catalogue lists."""
    return tuple(o for name, facts in _distributions().items() for o in offers_in(name, facts))


def offers_in(distribution: str, facts: dict[str, Any]) -> Iterator[Offer]:
    """The offers of one distribution of a catalogue whose form has been checked."""
    licence, homepage = facts["licence"], facts.get("homepage", "")
    for c in facts["components"]:
        component, keywords = (c["key"], c["contract"], c["summary"]), tuple(c.get("keywords", ()))
        yield Offer(*component, distribution, licence, keywords, homepage, facts["contract"], facts["summary"])


@cache
def bringer(contract: str, name: str) -> str | None:
    """The first-party distribution that brings a component or tool, whether it is installed or not."""
    ours = (o for o in shipped_offers() if o.distribution in first_party())
    return next((o.distribution for o in ours if o.contract == contract and o.name == name), None)
