"""Validation errors in words: place, what was found, what is allowed, the nearest valid choice."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from gleg_core.errors import SpecError, did_you_mean, listing
from gleg_core.spec.loading import Document, Place


class Complaints:
    """Collects what is wrong with a document and raises it as one error, one line per mistake."""

    def __init__(self, document: Document):
        self._document = document
        self._lines: list[str] = []

    def add(self, place: Place, message: str) -> None:
        line = f"{self._document.locate(place)}: {message}"
        if line not in self._lines:
            self._lines.append(line)

    def add_validation(self, error: ValidationError, model: type[BaseModel], prefix: Place, data: Any) -> None:
        """Every mistake pydantic found, grouped by its place in the document (a union reports one per alternative)."""
        grouped: dict[Place, list[str]] = {}
        for item in error.errors(include_url=False):
            place = _existing(item["loc"], data, item["type"])
            message = _message(item, _allowed(model, place[:-1]))
            grouped.setdefault(place, [])
            if message not in grouped[place]:
                grouped[place].append(message)
        for place, messages in grouped.items():
            self.add((*prefix, *place), _either(messages))

    def settle(self) -> None:
        """Raise if anything was wrong."""
        if self._lines:
            raise SpecError("\n".join(self._lines))


def _either(messages: list[str]) -> str:
    if len(messages) == 1:
        return messages[0]
    plain = [m.removesuffix(".") for m in messages]
    return "; or ".join(plain)


def _existing(loc: tuple[int | str, ...], data: Any, kind: str) -> Place:
    """The part of a pydantic location that is really in the document (it also names union branches)."""
    place: list[str | int] = []
    for part in loc:
        if (isinstance(data, Mapping) and part in data) or (
            isinstance(data, list) and isinstance(part, int) and part < len(data)
        ):
            place.append(part)
            data = data[part]
    if kind == "missing":
        place.append(loc[-1])
    return tuple(place)


def _message(item: Any, allowed: list[str]) -> str:
    found = item.get("input")
    match item["type"]:
        case "missing":
            return "this key is missing"
        case "extra_forbidden":
            word = str(item["loc"][-1])
            return f"unknown key. Allowed: {listing(allowed, 30)}.{did_you_mean(word, allowed)}"
        case "value_error":
            return str(item["msg"]).removeprefix("Value error, ")
        case "literal_error":
            expected = item["ctx"]["expected"]
            words = [w.strip().strip("'") for w in expected.replace(" or ", ", ").split(",")]
            return f"found {found!r}, allowed: {listing(words)}.{did_you_mean(str(found), words)}"
        case "greater_than":
            return f"found {found!r}, it must be greater than {item['ctx']['gt']:g}"
        case "greater_than_equal":
            return f"found {found!r}, it must be at least {item['ctx']['ge']:g}"
        case "less_than":
            return f"found {found!r}, it must be less than {item['ctx']['lt']:g}"
        case "less_than_equal":
            return f"found {found!r}, it must be at most {item['ctx']['le']:g}"
        case "dict_type" | "model_type" | "model_attributes_type":
            return f"found {_short(found)}, a mapping of keys is needed"
        case "list_type":
            return f"found {_short(found)}, a list is needed"
        case "too_short":
            return "must not be empty"
    text = str(item["msg"]).replace("Input should be", "it should be")
    return f"found {_short(found)}, {text[0].lower()}{text[1:]}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _allowed(model: type[BaseModel], place: Place) -> list[str]:
    """The keys allowed at a place below ``model``."""
    kinds: list[Any] = [model]
    for part in place:
        kinds = [child for kind in kinds for child in _children(kind, part)]
    return sorted({name for kind in kinds if _is_model(kind) for name in kind.model_fields})


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _children(kind: Any, part: str | int) -> list[Any]:
    """Types that may stand under key or index ``part`` of a value of type ``kind``."""
    if _is_model(kind):
        return _alternatives(kind.model_fields[part].annotation) if part in kind.model_fields else []
    origin, args = get_origin(kind), get_args(kind)
    if origin is dict:
        return _alternatives(args[1])
    if origin is list:
        return _alternatives(args[0])
    return []


def _alternatives(annotation: Any) -> list[Any]:
    if get_origin(annotation) in (Union, types.UnionType):
        return [a for arg in get_args(annotation) for a in _alternatives(arg)]
    return [annotation]
