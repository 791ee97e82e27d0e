"""Problem files → plain data with line numbers. YAML, TOML and JSON."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gleg_core.errors import SpecError, listing, nearest

Place = tuple[str | int, ...]
_MAX_BYTES = 10_000_000
_MAX_NODES = 200_000
_MAX_DEPTH = 60
_LONGEST_INTEGER = 300
_INT = re.compile(r"[-+]?[0-9][0-9_]*\Z")
_FLOAT = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)?\Z")
_PLAIN_TAG = "tag:yaml.org,2002:"
_SPECIAL = {".inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}


@dataclass(frozen=True)
class Document:
    """The data of a problem file, its name for messages, and the line of every place in it (YAML only).

    ``replaced`` are the places whose values do not come from the file (``--set``, keywords of ``solve``). A ``stored`` one was valid when
    an earlier version wrote it: names that have got a meaning since then are kept.
    """

    data: dict[str, Any]
    name: str = "problem"
    folder: str = "."
    lines: dict[Place, int] = field(default_factory=dict)
    replaced: frozenset[Place] = frozenset()
    stored: bool = False

    def locate(self, place: Place) -> str:
        """``lake.yaml:12: fields.u.equation[1]`` for a message; the nearest known line if the place itself has none."""
        if any(place[: len(r)] == r for r in self.replaced):
            return f"{self.name}: {dotted(place)} (set from outside)"
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
    text = _text(path)
    data, lines = READERS[path.suffix.lower()](text, str(path))
    if not isinstance(data, dict):
        found = _kind(data)
        raise SpecError(f"{path}: a problem file is a mapping of keys such as domain, fields, time; found {found}")
    return Document(data, str(path), str(path.parent), lines)


def _text(path: Path) -> str:
    """The text of a problem file, or a complaint that says why there is none."""
    try:
        if not path.exists():
            siblings = [p.name for p in path.parent.glob("*") if p.suffix in READERS] if path.parent.is_dir() else []
            close = nearest(path.name, siblings)
            hint = f" Did you mean '{path.parent / close}'?" if close else ""
            raise SpecError(f"{path}: there is no such file.{hint}")
        if path.is_dir():
            raise SpecError(f"{path}: is a folder, a problem file is needed ({listing(READERS)})")
        if path.suffix.lower() not in READERS:
            found = f"unknown ending '{path.suffix}'" if path.suffix else "the name has no ending"
            raise SpecError(f"{path}: {found}, use one of {listing(READERS)}")
        if not path.is_file():
            raise SpecError(f"{path}: is not a regular file")
        if (size := path.stat().st_size) > _MAX_BYTES:
            raise SpecError(f"{path}: has {size:,} bytes, a problem file has at most {_MAX_BYTES:,}")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror or error}") from None


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
    except ValueError:
        raise SpecError(f"{name}: holds a number with too many digits") from None
    except RecursionError:
        raise SpecError(f"{name}: is nested too deeply") from None


def _read_toml(text: str, name: str) -> tuple[Any, dict[Place, int]]:
    import tomllib

    try:
        return tomllib.loads(text), {}
    except tomllib.TOMLDecodeError as error:
        place = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error), re.DOTALL)
        text, line = (place[1], f":{place[2]}") if place else (str(error), "")
        raise SpecError(f"{name}{line}: not valid TOML: {text}") from None
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{name}: not valid TOML: {type(error).__name__}") from None


def _read_yaml(text: str, name: str) -> tuple[Any, dict[Place, int]]:
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
    reader = _Yaml(name)
    return (None if root is None else reader.construct(root, ())), reader.lines


class _Yaml:
    """Plain data from YAML nodes by our own scalar rules: ``1e-3`` is a number, ``on`` and ``yes`` are texts."""

    def __init__(self, name: str):
        self.lines: dict[Place, int] = {}
        self._name = name
        self._nodes = 0

    def construct(self, node: Any, place: Place) -> Any:
        self._nodes += 1
        self.lines[place] = node.start_mark.line + 1
        if self._nodes > _MAX_NODES or len(place) > _MAX_DEPTH:
            raise self._refusal(node, "too large or nested too deeply for a problem file")
        if not node.tag.startswith(_PLAIN_TAG) or "python" in node.tag:
            raise self._refusal(node, f"the tag '{node.tag}' is not allowed in a problem file")
        if node.id == "scalar":
            return node.value if node.style else _scalar(node.value)
        if node.id == "sequence":
            return [self.construct(child, (*place, i)) for i, child in enumerate(node.value)]
        return self._mapping(node, place)

    def _mapping(self, node: Any, place: Place) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, child in node.value:
            if key.id != "scalar":
                raise self._refusal(key, "a key must be a plain word")
            here = (*place, key.value)
            if key.value in result:
                raise self._refusal(key, f"{dotted(here)}: this key appears twice (first on line {self.lines[here]})")
            result[key.value] = self.construct(child, here)
            self.lines[here] = key.start_mark.line + 1
        return result

    def _refusal(self, node: Any, message: str) -> SpecError:
        return SpecError(f"{self._name}:{node.start_mark.line + 1}: {message}")


def _scalar(text: str) -> Any:
    if text in ("", "~", "null"):
        return None
    if text in ("true", "True", "false", "False"):
        return text.lower() == "true"
    if _INT.match(text) and len(text) < _LONGEST_INTEGER:
        return int(text.replace("_", ""))
    if _FLOAT.match(text):
        return float(text.replace("_", ""))
    return _SPECIAL.get(text.lower(), text)


READERS = {".yaml": _read_yaml, ".yml": _read_yaml, ".toml": _read_toml, ".json": _read_json}
