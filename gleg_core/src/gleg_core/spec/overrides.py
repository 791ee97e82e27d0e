"""Values that replace those of a problem file: ``--set constants.r=1.2`` and the keywords of ``solve``."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gleg_core.errors import SpecError, did_you_mean, listing
from gleg_core.spec.loading import Document, Place, dotted, load_value

_PART = re.compile(r"([^\[\].]+)((?:\[\d+\])*)\Z")


def with_overrides(document: Document, overrides: dict[str, Any]) -> Document:
    """The document with values replaced: nested mappings are merged, unless they name another kind; everything else is set."""
    for place, value in _leaves(overrides, (), document.data):
        document = _replaced(document, place, value, document.name)
    return document


def with_settings(document: Document, settings: Iterable[str]) -> Document:
    """The document after every ``key=value`` of the command line."""
    parsed = [(text, *parse_setting(text)) for text in settings]
    _check_constants(document, [place for _, place, _ in parsed])
    for text, place, value in parsed:
        document = _replaced(document, place, value, f"--set {text}")
    return document


def _check_constants(document: Document, places: Iterable[Place]) -> None:
    """A constant that the file does not have is used nowhere in it, unless formulas are replaced as well."""
    places, known = list(places), document.data.get("constants")
    names = known if isinstance(known, dict) else {}
    if any(place[0] != "constants" for place in places):
        return
    for place in places:
        if len(place) == 2 and place[1] not in names:
            raise SpecError(
                f"{document.name}: there is no constant '{place[1]}' to replace. Constants: {listing(names)}."
                f"{did_you_mean(str(place[1]), names)}"
            )


def parse_setting(text: str) -> tuple[Place, Any]:
    """``constants.r=1.2`` → (('constants', 'r'), 1.2); list items as in ``fields.u.equation[0].coefficient=2``."""
    key, separator, value = text.partition("=")
    place: list[str | int] = []
    for part in key.strip().split("."):
        found = _PART.match(part.strip())
        if not separator or not found:
            raise SpecError(f"--set {text}: write key=value, for example --set constants.D=0.1")
        place += [found[1], *map(int, re.findall(r"\d+", found[2]))]
    return tuple(place), load_value(value.strip(), f"--set {text}")


def _replaced(document: Document, place: Place, value: Any, name: str) -> Document:
    if place[-1] == "kind" and len(place) > 1:  # a component of another kind has other keys
        stated: Any = document.data
        for part in place[:-1]:
            stated = stated.get(part) if isinstance(stated, dict) else None
        if isinstance(stated, dict) and stated.get("kind", value) != value:
            place, value = place[:-1], {"kind": value}
    data = _put(document.data, place, value, name)
    return replace(document, data=data, replaced=document.replaced | {_new_part(document.data, place)})


def _new_part(data: Any, place: Place) -> Place:
    """The first part of ``place`` that is not in ``data`` yet, or that is replaced there."""
    for n, part in enumerate(place):
        if isinstance(part, int):
            inside = data[part] if isinstance(data, list) else None
        else:
            inside = data.get(part) if isinstance(data, dict) else None
        if not isinstance(inside, dict | list):
            return place[: n + 1]
        data = inside
    return place


def _leaves(value: Any, place: Place, data: Any) -> Iterable[tuple[Place, Any]]:
    """(place, value) of everything in nested mappings that is not itself a mapping with entries; ``data`` is what stands there.
    A component of another kind has other keys, so it replaces what stands there as a whole."""
    inside = data if isinstance(data, dict) else {}
    if isinstance(value, dict) and value and inside.get("kind", None) == value.get("kind", inside.get("kind", None)):
        for key, child in value.items():
            yield from _leaves(child, (*place, key), inside.get(key))
    elif place:
        yield place, value


def _put(data: Any, place: Place, value: Any, name: str, done: Place = ()) -> Any:
    """A copy of ``data`` with ``value`` at ``place``; mappings on the way are made, list items must exist."""
    if not place:
        return value
    part, rest = place[0], place[1:]
    if isinstance(part, str):
        inside = data if isinstance(data, dict) else {}
        return {**inside, part: _put(inside.get(part), rest, value, name, (*done, part))}
    if not isinstance(data, list) or part >= len(data):
        count = f"a list with {len(data)} items, the first is [0]" if isinstance(data, list) else "not a list"
        raise SpecError(f"{name}: there is no {dotted((*done, part))}: {dotted(done)} is {count}")
    return [_put(v, rest, value, name, (*done, part)) if i == part else v for i, v in enumerate(data)]
