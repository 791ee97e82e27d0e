"""Problem files → plain data with line numbers. YAML, TOML and JSON."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gleg_core.errors import SpecError, listing, nearest

Place = tuple[str | int, ...]
_MAX_NODES = 200_000
_INT = re.compile(r"[-+]?[0-9][0-9_]*\Z")
_FLOAT = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)?\Z")
_SPECIAL = {".inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}


@dataclass(frozen=True)
class Document:
    """The data of a problem file, its name for messages, and the line of every place in it (YAML only)."""

    data: dict[str, Any]
    name: str = "problem"
    folder: str = "."
    lines: dict[Place, int] = field(default_factory=dict)

    def locate(self, place: Place) -> str:
        """``lake.yaml:12: fields.u.equation[1]`` for a message; the nearest known line if the place itself has none."""
        head = next((self.lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self.lines), None)
        where = self.name if head is None else f"{self.name}:{head}"
        return f"{where}: {dotted(place)}" if place else where


def dotted(place: Place) -> str:
    """('fields', 'u', 'equation', 1) → 'fields.u.equation[1]'."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def load_document(path: str | Path) -> Document:
    """Read a problem file; the ending decides the format."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        siblings = [p.name for p in path.parent.glob("*") if p.suffix in READERS] if path.parent.is_dir() else []
        close = nearest(path.name, siblings)
        hint = f" Did you mean '{path.parent / close}'?" if close else ""
        raise SpecError(f"{path}: there is no such file.{hint}") from None
    except IsADirectoryError:
        raise SpecError(f"{path}: is a folder, a problem file is needed ({listing(READERS)})") from None
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from None
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise SpecError(f"{path}: unknown ending '{path.suffix}', use one of {listing(READERS)}")
    data, lines = reader(text, str(path))
    if not isinstance(data, dict):
        raise SpecError(
            f"{path}: a problem file is a mapping of keys such as domain, fields, time; found {_kind(data)}"
        )
    return Document(data, str(path), str(path.parent), lines)


def _kind(value: Any) -> str:
    return {type(None): "nothing", list: "a list", str: "a text"}.get(type(value), type(value).__name__)


def _read_json(text: str, name: str) -> tuple[Any, dict[Place, int]]:
    def refuse(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [k for k, _ in pairs]
        double = next((k for k in keys if keys.count(k) > 1), None)
        if double is not None:
            raise SpecError(f"{name}: the key '{double}' appears twice in one mapping")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=refuse), {}
    except json.JSONDecodeError as error:
        raise SpecError(f"{name}:{error.lineno}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise SpecError(f"{name}: is nested too deeply") from None


def _read_toml(text: str, name: str) -> tuple[Any, dict[Place, int]]:
    try:
        return tomllib.loads(text), {}
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{name}: not valid TOML: {error}") from None


def _read_yaml(text: str, name: str) -> tuple[Any, dict[Place, int]]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        detail = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise SpecError(f"{name}{line}: not valid YAML: {detail}") from None
    except RecursionError:
        raise SpecError(f"{name}: is nested too deeply") from None
    lines: dict[Place, int] = {}
    budget = iter(range(_MAX_NODES))
    return (None if root is None else _construct(root, (), lines, name, budget)), lines


def _construct(node: Any, place: Place, lines: dict[Place, int], name: str, budget: Iterator[int]) -> Any:
    """Plain data from a YAML node. Our own scalar rules: ``1e-3`` is a number, ``on`` and ``yes`` are texts."""
    if next(budget, None) is None or len(place) > 60:
        raise SpecError(f"{name}:{node.start_mark.line + 1}: too large or nested too deeply for a problem file")
    lines[place] = node.start_mark.line + 1
    if node.id == "scalar":
        return _scalar(node.value) if node.style is None else node.value
    if node.id == "sequence":
        return [_construct(child, (*place, i), lines, name, budget) for i, child in enumerate(node.value)]
    result: dict[str, Any] = {}
    for key_node, child in node.value:
        line = key_node.start_mark.line + 1
        if key_node.id != "scalar":
            raise SpecError(f"{name}:{line}: a key must be a plain word")
        if key_node.value in result:
            raise SpecError(f"{name}:{line}: {dotted((*place, key_node.value))}: this key appears twice")
        result[key_node.value] = _construct(child, (*place, key_node.value), lines, name, budget)
        lines[(*place, key_node.value)] = line
    return result


def _scalar(text: str) -> Any:
    if text in ("", "~", "null"):
        return None
    if text in ("true", "True", "false", "False"):
        return text.lower() == "true"
    if _INT.match(text):
        return int(text.replace("_", ""))
    if _FLOAT.match(text):
        return float(text.replace("_", ""))
    return _SPECIAL.get(text.lower(), text)


READERS = {".yaml": _read_yaml, ".yml": _read_yaml, ".toml": _read_toml, ".json": _read_json}


def with_overrides(document: Document, overrides: dict[str, Any]) -> Document:
    """The document with values replaced: nested mappings are merged, everything else is set."""

    def merge(old: Any, new: Any) -> Any:
        if isinstance(old, dict) and isinstance(new, dict):
            return {**old, **{k: merge(old.get(k), v) for k, v in new.items()}}
        return new

    return Document(merge(document.data, overrides), document.name, document.folder, document.lines)


def parse_setting(text: str) -> dict[str, Any]:
    """``constants.r=1.2`` → {'constants': {'r': 1.2}}."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise SpecError(f"--set {text}: write key=value, for example --set constants.D=0.1")
    result: Any = _scalar(value.strip())
    for part in reversed(key.strip().split(".")):
        result = {part: result}
    return result
