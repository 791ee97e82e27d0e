"""Validation errors in words: place, what was found, what is allowed, the nearest valid choice."""

import types
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from gleg_core.errors import PackError, SpecError, did_you_mean, listing, nearest
from gleg_core.registry import Pack
from gleg_core.spec.blame import failure
from gleg_core.spec.loading import Document, Place
from gleg_core.spec.params import shown

Item = Mapping[str, Any]
"""One error as pydantic reports it: type, loc, msg, input, ctx."""
Also = Callable[[Place], Iterable[str]]


class Complaints:
    """Collects what is wrong with a document and raises it as one error, one line per mistake."""

    def __init__(self, document: Document):
        self._document = document
        self._lines: list[str] = []
        self._only_packs = True
        self.notes: list[str] = []
        """Keys of tools that are not installed: what brings them. No mistakes, but they may explain one."""

    def add(self, place: Place, message: str, *, pack: bool = False) -> None:
        """``pack``: the file may be right, but a pack is missing or broken."""
        line = f"{self._document.locate(place)}: {message}"
        if line not in self._lines:
            self._lines.append(line)
            self._only_packs &= pack

    def add_validation(
        self, error: ValidationError, model: type[BaseModel], prefix: Place, data: Any, also: Also = lambda place: ()
    ) -> None:
        """Every mistake pydantic found, grouped by its place in the document (a union reports one per alternative).

        ``also`` gives keys beside those of ``model`` that may stand at a place below ``prefix``.
        """
        grouped: dict[Place, list[Item]] = {}
        for item in error.errors(include_url=False):
            place = _existing(item["loc"], data, item["type"])
            grouped.setdefault(place, []).append(item)
        misspelt = {
            (*place[:-1], nearest(str(place[-1]), allowed_keys(model, place[:-1], also)))
            for place, items in grouped.items()
            if items[0]["type"] == "extra_forbidden"
        }
        for place, items in grouped.items():
            if items[0]["type"] == "missing" and place in misspelt:
                continue  # the same mistake: it is there under a wrong name
            self.add((*prefix, *place), _words(items, model, place, also))

    def validated(
        self, model: Any, data: Any, scope: Any, place: Place, pack: Pack, what: str, also: Also = lambda place: ()
    ) -> Any:
        """``data`` as the model of a pack has them; None after complaints."""
        try:
            return model.model_validate(data, context=scope)
        except ValidationError as error:
            self.add_validation(error, model, place, data, also)
        except (Exception, SystemExit) as error:
            self.add(place or tuple(data)[:1], failure(pack, f"while it checked {what}", error), pack=True)
        return None

    def note(self, place: Place, text: str) -> None:
        self.notes.append(f"{self._document.locate(place)}: {text}")

    def settle(self) -> None:
        """Raise if anything was wrong."""
        if self._lines:
            raise (PackError if self._only_packs else SpecError)("\n".join([*self._lines, *self.notes]))


def unknown_key(word: str, allowed: Iterable[str]) -> str:
    allowed = sorted(allowed)
    return f"unknown key. Allowed: {listing(allowed, 30)}.{did_you_mean(word, allowed)}"


def _existing(loc: tuple[int | str, ...], data: Any, kind: str) -> Place:
    """The part of a pydantic location that is really in the document (it also names union branches)."""
    place: list[str | int] = []
    for part in loc:
        listed = isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)
        inside = part in data if isinstance(data, Mapping) else listed
        if inside:
            data = data[part]
            place.append(part)
    if kind == "missing":
        place.append(loc[-1])
    return tuple(place)


def _words(items: list[Item], model: type[BaseModel], place: Place, also: Also) -> str:
    """What is wrong at one place, the alternatives of a union joined."""
    literals = [word for item in items if item["type"] == "literal_error" for word in _choices(item)]
    others = [item for item in items if item["type"] != "literal_error"]
    found = items[0].get("input")
    if literals and (not others or (isinstance(found, str) and nearest(found, literals))):
        return f"found {shown(found)}, allowed: {listing(literals)}.{did_you_mean(str(found), literals)}"
    messages: list[str] = []
    for item in others:
        message = _message(item, model, place, also)
        if message not in messages:
            messages.append(message)
    messages = [*(m.removesuffix(".") for m in messages[:-1]), messages[-1]]
    return "; or ".join(messages) + (f"; or write {' or '.join(literals)}" if literals else "")


def _choices(item: Item) -> list[str]:
    expected = str(item["ctx"]["expected"])
    return [word.strip().strip("'") for word in expected.replace(" or ", ", ").split(",")]


_LIMITS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
_NEEDED = {
    **dict.fromkeys(["dict_type", "model_type", "model_attributes_type"], "a mapping of keys"),
    **dict.fromkeys(["list_type", "tuple_type"], "a list"),
    **dict.fromkeys(["bool_type", "bool_parsing"], "true or false"),
    "string_type": "a text",
}


def _message(item: Item, model: type[BaseModel], place: Place, also: Also) -> str:
    found, kind, ctx = item.get("input"), item["type"], item.get("ctx", {})
    if kind == "missing":
        if isinstance(place[-1], int):
            return "this item is missing"
        about = _description(model, place)
        return f"this key is missing ({about})" if about else "this key is missing"
    if kind == "extra_forbidden":
        return unknown_key(str(place[-1]), allowed_keys(model, place[:-1], also))
    if kind == "value_error":
        return str(item["msg"]).removeprefix("Value error, ")
    if kind in _LIMITS:
        key, words = _LIMITS[kind]
        return f"found {shown(found)}, it must be {words} {ctx[key]:g}"
    if kind in _NEEDED:
        return f"found {shown(found)}, {_NEEDED[kind]} is needed"
    if kind in ("too_short", "too_long"):
        bound = f"at least {ctx['min_length']}" if kind == "too_short" else f"at most {ctx['max_length']}"
        return f"it has {ctx['actual_length']} items, it must have {bound}"
    text = str(item["msg"]).replace("Input should be", "it should be")
    return f"found {shown(found)}, {text[0].lower()}{text[1:]}"


def allowed_keys(model: type[BaseModel], place: Place, also: Also = lambda place: ()) -> list[str]:
    """The keys allowed at a place below ``model``."""
    models = filter(_is_model, _kinds(model, place))
    return sorted({name for kind in models for name in kind.model_fields} | set(also(place)))


def _description(model: type[BaseModel], place: Place) -> str:
    """What the missing key at ``place`` means, in the words of its field."""
    for kind in _kinds(model, place[:-1]):
        info: FieldInfo | None = kind.model_fields.get(str(place[-1])) if _is_model(kind) else None
        if info is not None and info.description:
            return info.description
    return ""


def _kinds(model: type[BaseModel], place: Place) -> list[Any]:
    """Types that may stand at a place below ``model``."""
    kinds: list[Any] = [model]
    for part in place:
        kinds = [child for kind in kinds for child in _children(kind, part)]
    return kinds


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _children(kind: Any, part: str | int) -> list[Any]:
    """Types that may stand under key or index ``part`` of a value of type ``kind``."""
    if _is_model(kind):
        return _alternatives(kind.model_fields[part].annotation) if part in kind.model_fields else []
    origin, args = get_origin(kind), get_args(kind)
    if origin in (dict, Mapping):
        return _alternatives(args[1])
    if origin in (list, tuple):
        return _alternatives(args[0])
    return []


def _alternatives(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [a for arg in get_args(annotation) for a in _alternatives(arg)]
    return [annotation]
