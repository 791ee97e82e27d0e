"""Where piecewise formulas switch: level sets s(x, y, z, t) = 0 at which a formula may jump or have a kink, and how they are written."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gleg_core.expressions.differentiate import derivative
from gleg_core.expressions.nodes import MINUS_ONE, ZERO, Node, Shape, apply, const, walk

if TYPE_CHECKING:
    from gleg_core.expressions import Expression

_JUMPS = frozenset(["less", "lesseq", "step", "sign", "inside"])
_KINKS = frozenset(["min", "max", "abs"])
MOST = 60
"""Characters; a part that is longer is written …, for a graph of n nodes may be a formula of 2ⁿ characters."""
_LOGIC, _SUM, _PRODUCT, _POWER, _ATOM = range(5)
"""How strongly the last operation of a text binds."""
_SIGNS = {"less": "<", "lesseq": "<=", "and": "and", "or": "or"}


@dataclass(frozen=True)
class Switch:
    """At ``level`` = 0 the formula may ``jump``, or else have a kink. It jumps at the edge of a ``region``, where levels are −½ and ½."""

    level: "Expression"
    jump: bool
    region: Shape | None = None


def switches(expression: "Expression") -> tuple[Switch, ...]:
    """The switches of a formula: a − b for a < b, min(a, b), max(a, b), and v for step(v), sign(v), abs(v).

    Conditions of ``where`` are made of these. Levels that differ by a factor are one switch, which jumps if one of them does. Constant and
    piecewise constant levels are none: min(x < 1, y < 2) switches with its parts. Whether a level is zero anywhere, and whether what
    switches there differs, is not asked: min(x, 2) has the switch x − 2 on any domain, and where(x < 0, -x, x), which has a kink only, is
    said to jump. A level may be piecewise itself; its own switches are in the list.
    """
    levels: dict[Node, bool] = {}
    regions: dict[Node, Shape] = {}
    for node in walk(expression.node):
        if node.op not in _JUMPS and node.op not in _KINKS:
            continue
        if node.shape is not None:
            level = apply("add", node, const(-0.5))
            levels[level], regions[level] = True, node.shape
            continue
        level, mirrored = _difference(node.args), _difference(node.args[::-1])
        if all(derivative(level, name) is ZERO for name in level.free):
            continue
        if mirrored in levels:
            level = mirrored
        levels[level] = levels.get(level, False) or node.op in _JUMPS
    found = levels.items()
    return tuple(Switch(replace(expression, text=written(k), node=k), jump, regions.get(k)) for k, jump in found)


def _difference(args: tuple[Node, ...]) -> Node:
    """a − b, or v if there is only one, without a constant factor."""
    level = args[0] if len(args) == 1 else apply("add", args[0], apply("mul", MINUS_ONE, args[1]))
    return level.args[1] if level.op == "mul" and level.args[0].op == "const" else level


def written(root: Node) -> str:
    """The formula of a node, one that can be read again unless it is too long."""
    texts: dict[Node, tuple[str, int]] = {}
    for node in walk(root):
        text, binding = _text(node, [texts[a] for a in node.args])
        texts[node] = (text, binding) if len(text) <= MOST else ("…", _ATOM)
    return texts[root][0]


def _text(node: Node, args: list[tuple[str, int]]) -> tuple[str, int]:
    def within(i: int, least: int) -> str:
        text, binding = args[i]
        return f"({text})" if binding < least or (text.startswith("-") and least > _SUM) else text

    match node.op:
        case "const":
            return repr(node.value).removesuffix(".0"), _ATOM
        case "var" | "inside":
            return node.name, _ATOM
        case "add":
            a, b = within(0, _SUM), within(1, _SUM)
            return f"{a} - {b[1:]}" if b.startswith("-") else f"{a} + {b}", _SUM
        case "mul":
            if node.args[0] is MINUS_ONE:
                return f"-{within(1, _PRODUCT)}", _PRODUCT
            # a number keeps its sign in front
            first = args[0][0] if node.args[0].op == "const" else within(0, _PRODUCT)
            return f"{first}*{within(1, _PRODUCT)}", _PRODUCT
        case "div":
            return f"{within(0, _PRODUCT)}/{within(1, _POWER)}", _PRODUCT
        case "pow":
            return f"{within(0, _ATOM)}^{within(1, _ATOM)}", _POWER
        case "not":
            return f"not {within(0, _ATOM)}", _LOGIC
        case "less" | "lesseq" | "and" | "or":
            return f"{within(0, _SUM)} {_SIGNS[node.op]} {within(1, _SUM)}", _LOGIC
    return f"{node.op}({', '.join(text for text, _ in args)})", _ATOM
