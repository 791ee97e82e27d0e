"""Values that replace those of a problem file: the keywords of ``solve``, or settings of the command line."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gleg_core.errors import SpecError
from gleg_core.spec.loading import Document, Place, dotted


def with_overrides(document: Document, overrides: dict[str, Any]) -> Document:
    """The document with values replaced: nested mappings are merged, unless they name another kind; everything else is set."""
    for place, value in _leaves(overrides, (), document.data):
        document = replaced(document, place, value, document.name)
    return document


def replaced(document: Document, place: Place, value: Any, name: str) -> Document:
    """The document with another value at a place; ``name`` says in messages where that is from."""
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
