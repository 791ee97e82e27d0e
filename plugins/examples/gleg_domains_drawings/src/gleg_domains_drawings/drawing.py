"""SVG files: find one shape and what it inherits from its groups.

XML is read by the standard library, which runs no script and fetches nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import svgelements

from gleg_core.errors import GeometryError, did_you_mean, listing

SHAPES = ("path", "polygon", "circle", "ellipse", "rect")
_NOT_SHOWN = {"defs", "clipPath", "mask", "marker", "pattern", "symbol"}
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_CALL = re.compile(r"(matrix|translate|scale|rotate|skewX|skewY)\s*\(([^()]*)\)[\s,]*")
_ARGUMENTS = {"matrix": {6}, "translate": {1, 2}, "scale": {1, 2}, "rotate": {1, 3}, "skewX": {1}, "skewY": {1}}


@dataclass(frozen=True, eq=False)
class Shape:
    """One element with the transforms and the fill rule of its groups. ``shown``: not inside defs, clipPath, …"""

    node: ElementTree.Element
    tag: str
    name: str
    matrix: svgelements.Matrix
    even_odd: bool
    shown: bool

    def __str__(self) -> str:
        return f"<{self.tag}> '{self.name}'" if self.name else f"<{self.tag}>"


def read_shape(file: Path, name: str | None) -> Shape:
    """The shape with this id, or the only shape that is shown."""
    shapes = list(_shapes(_read(file), file.name))
    names = [shape.name for shape in shapes if shape.name]
    if name is not None:
        for shape in shapes:
            if shape.name == name:
                return shape
        raise GeometryError(
            f"{file.name} has no {', '.join(SHAPES[:-1])} or {SHAPES[-1]} with the id '{name}'. Ids: {listing(names)}."
            f"{did_you_mean(name, names)}"
        )
    shown = [shape for shape in shapes if shape.shown]
    if not shown:
        raise GeometryError(f"{file.name} shows no shape; one of {listing(SHAPES)} is needed")
    if len(shown) > 1:
        nameless = sum(not shape.name for shape in shown)
        also = f", and {nameless} without an id" if nameless else ""
        raise GeometryError(
            f"{file.name} shows {len(shown)} shapes; choose one by element: id. Ids: {listing(names)}{also}"
        )
    return shown[0]


def _read(file: Path) -> ElementTree.Element:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise GeometryError(f"cannot read the drawing {file}: {error.strerror or error}") from None
    if not data.strip():
        raise GeometryError(f"the drawing {file.name} is empty")
    if b"<!ENTITY" in data.replace(b"\0", b""):  # also in UTF-16
        raise GeometryError(f"{file.name} declares XML entities, which are not read; save the drawing as plain SVG")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:  # the latter two: unknown encodings
        raise GeometryError(f"{file.name} is not an SVG drawing: {error}") from None
    if _tag(root) != "svg":
        raise GeometryError(f"{file.name} is not an SVG drawing: its outermost element is <{_tag(root)}>, not <svg>")
    return root


def _tag(node: ElementTree.Element) -> str:
    return str(node.tag).rpartition("}")[2]


def _shapes(root: ElementTree.Element, file: str) -> Iterator[Shape]:
    """Every shape in the order of the file; a stack, because groups may be nested deeper than Python recurses."""
    stack = [(root, svgelements.Matrix(), False, True)]
    while stack:
        node, matrix, even_odd, shown = stack.pop()
        tag = _tag(node)
        matrix = _transform(node.get("transform", ""), file) * matrix
        style = dict(item.split(":", 1) for item in "".join(node.get("style", "").split()).split(";") if ":" in item)
        if "transform" in style:
            raise GeometryError(f"{file}: a transform inside a style is not read; write it as an attribute transform")
        rule = style.get("fill-rule") or node.get("fill-rule", "inherit").strip()
        even_odd = even_odd if rule == "inherit" else rule == "evenodd"
        shown = shown and tag not in _NOT_SHOWN
        if tag in SHAPES:
            yield Shape(node, tag, node.get("id", ""), matrix, even_odd, shown)
        stack += [(child, matrix, even_odd, shown) for child in reversed(node)]


def _transform(text: str, file: str) -> svgelements.Matrix:
    def understood(name: str, arguments: str) -> bool:
        words = arguments.replace(",", " ").split()
        return len(words) in _ARGUMENTS[name] and all(re.fullmatch(NUMBER, word) for word in words)

    if _CALL.sub("", text).strip() or not all(understood(*call) for call in _CALL.findall(text)):
        raise GeometryError(
            f"{file}: transform '{text:.60}' is not understood; allowed: {listing(_ARGUMENTS)} of numbers"
        )
    return svgelements.Matrix(text)
