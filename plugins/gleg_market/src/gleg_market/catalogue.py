"""The catalogue: which distributions are known, and what each would bring if it were installed.

A curated file comes with core. ``GLEG_CATALOGUE`` (comma-separated) and ``--catalogue`` add others, each a file or an http(s)
address. The format, version 1::

    {"catalogue": 1,
     "distributions": {
      "gleg-blocks-kinetics": {
       "summary": "…", "licence": "MIT", "homepage": "https://…" (optional), "contract": "1.0",
       "components": [{"key": "kinetics:logistic", "contract": "block", "summary": "…", "keywords": ["growth"]}]}}}

``python -m gleg_market.curate`` brings a catalogue up to date with what is installed.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gleg_core.errors import SpecError
from gleg_core.pack import TABLE, Tool
from gleg_core.registry import Pack
from gleg_core.registry.catalogue import SHIPPED, Offer, canonical, offers_in

FORMAT = 1
_CONTRACTS = [row.name for row in TABLE]
_KEY = re.compile(r"[a-z][a-z0-9-]*:[A-Za-z][A-Za-z0-9_-]*")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_PLACES = {"problem": "top of a problem file", "field": "in a field", "output": "in output"}
_MOST_BYTES = 5_000_000


def read_catalogue(*sources: str) -> tuple[Offer, ...]:
    """All offers of the shipped catalogue, of GLEG_CATALOGUE and of ``sources``; the first description of a component counts."""
    further = [word.strip() for word in os.environ.get("GLEG_CATALOGUE", "").split(",")]
    return merged(offer for source in (str(SHIPPED), *further, *sources) if source for offer in read_offers(source))


def merged(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """One offer per distribution, contract and key: the first. Nobody can redescribe what is described already."""
    found: dict[tuple[str, str, str], Offer] = {}
    for offer in offers:
        found.setdefault((canonical(offer.distribution), offer.contract, offer.key), offer)
    return tuple(found.values())


def offers_of(pack: Pack) -> Iterator[Offer]:
    """What an installed pack provides, in the words of its entries."""
    version = ".".join(map(str, pack.contract))

    def offer(contract: str, name: str, summary: str) -> Offer:
        return Offer(f"{pack.id}:{name}", contract, summary, pack.distribution, pack.licence, version=version)

    for row in TABLE:
        for entry in pack.entries.get(row.name, ()):
            yield offer(row.name, entry.name, entry.summary)
        for tool in pack.tools.get(row.hook, ()):
            if isinstance(tool, Tool):
                yield offer(row.name, tool.name, tool.summary)
            else:
                yield from (offer(row.name, name, f"{_PLACES[tool.at]}: the key '{name}'") for name in tool.names)


def read_offers(source: str) -> list[Offer]:
    """The offers of one catalogue, a file or an address."""
    text = _download(source) if re.match(r"https?://", source) else _text(source)
    if len(text) > _MOST_BYTES:
        raise SpecError(f"{source}: not a catalogue: it has more than {_MOST_BYTES:,} bytes")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{source}: not a catalogue: not valid JSON: {error}") from None
    return check(data, source)


def check(data: object, source: str) -> list[Offer]:
    """The offers in the data of a catalogue; ``source`` names it in messages."""
    return list(_Reader(source).offers(data))


def _text(source: str) -> bytes:
    try:
        with Path(source).open("rb") as file:
            return file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SpecError(f"{source}: the catalogue cannot be read: {error.strerror or error}") from None


def _download(source: str) -> bytes:
    import http.client  # here, because few ever need them and every start would pay
    import urllib.request

    try:
        with urllib.request.urlopen(source, timeout=5.0) as answer:
            return answer.read(_MOST_BYTES + 1)
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise SpecError(f"{source}: the catalogue cannot be read: {reason}") from None


class _Reader:
    """Checks the form of a catalogue; what is wrong is named with its place in the file."""

    def __init__(self, source: str) -> None:
        self._source = source

    def offers(self, data: object) -> Iterator[Offer]:
        top = self._mapping(data, "the top")
        if (version := top.get("catalogue")) != FORMAT:
            raise self._wrong("catalogue", f"found {json.dumps(version)}, this gleg-core reads version {FORMAT}")
        for name, facts in self._mapping(top.get("distributions"), "distributions").items():
            place = f"distributions.{name}"
            if not _NAME.fullmatch(name):
                raise self._wrong(place, "not the name of a distribution")
            yield from self._distribution(name, self._mapping(facts, place), place)

    def _distribution(self, name: str, facts: dict[str, Any], place: str) -> Iterator[Offer]:
        for key in ("licence", "contract", "summary", *(["homepage"] if "homepage" in facts else [])):
            self._word(facts, key, place)
        for i, component in enumerate(self._list(facts.get("components"), f"{place}.components")):
            here = f"{place}.components[{i}]"
            part = self._mapping(component, here)
            key, contract, _ = (self._word(part, word, here) for word in ("key", "contract", "summary"))
            if not _KEY.fullmatch(key):
                raise self._wrong(f"{here}.key", f"found '{key}', it has the form pack:name")
            if contract not in _CONTRACTS:
                raise self._wrong(f"{here}.contract", f"found '{contract}', allowed: {', '.join(_CONTRACTS)}")
            keywords = self._list(part.get("keywords", []), f"{here}.keywords")
            if not all(isinstance(word, str) for word in keywords):
                raise self._wrong(f"{here}.keywords", "a list of texts is needed")
        yield from offers_in(name, facts)

    def _mapping(self, value: object, place: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(place, f"found {_kind(value)}, a mapping is needed")
        return value

    def _list(self, value: object, place: str) -> list[Any]:
        if not isinstance(value, list):
            raise self._wrong(place, f"found {_kind(value)}, a list is needed")
        return value

    def _word(self, facts: dict[str, Any], key: str, place: str) -> str:
        value = facts.get(key)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise self._wrong(f"{place}.{key}", f"found {_kind(value)}, one line of text is needed")
        return value

    def _wrong(self, place: str, message: str) -> SpecError:
        return SpecError(f"{self._source}: not a catalogue: {place}: {message}")


def _kind(value: object) -> str:
    names = {type(None): "nothing", dict: "a mapping", list: "a list", str: "another text", bool: "true or false"}
    return names.get(type(value), "a number")
