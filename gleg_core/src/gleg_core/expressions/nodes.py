"""Expression graphs: immutable, shared nodes.

Equal sub-expressions are one object, so a derivative that repeats a factor a hundred times costs one evaluation of it.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Container, Iterator, Sequence


class Node:
    """``op`` with ``args``; ``op == 'const'`` carries ``value``, ``op == 'var'`` carries ``name``."""

    __slots__ = (
        "__weakref__",
        "args",
        "derivatives",
        "free",
        "name",
        "op",
        "separation",
        "separation_known",
        "steps",
        "value",
    )
    op: str
    args: tuple[Node, ...]
    value: float
    name: str
    free: frozenset[str]
    """Names of the variables it depends on."""
    derivatives: dict[str, Node]
    """∂/∂name for the names asked for so far."""
    separation: tuple[tuple[Node, Node], ...] | None
    """See :mod:`gleg_core.expressions.separate`; meaningful once ``separation_known``."""
    separation_known: bool
    steps: int
    """How many operations on functions of time and place it takes, at most."""

    def __repr__(self) -> str:
        if self.op == "const":
            return repr(self.value)
        if self.op == "var":
            return self.name
        return f"{self.op}({', '.join(map(repr, self.args))})"


_known: weakref.WeakValueDictionary[tuple, Node] = weakref.WeakValueDictionary()


def _make(op: str, args: tuple[Node, ...] = (), value: float = 0.0, name: str = "") -> Node:
    key = (op, tuple(map(id, args)), value, math.copysign(1.0, value), name)
    node = _known.get(key)
    if node is None:
        node = Node()
        node.op, node.args, node.value, node.name, node.derivatives = op, args, value, name, {}
        node.separation, node.separation_known = None, False
        node.free = frozenset({name}) if op == "var" else frozenset().union(*(a.free for a in args))
        mixed = "t" in node.free and len(node.free) > 1
        node.steps = 1 + sum(a.steps for a in args) if mixed else 0
        _known[key] = node
    return node


def const(value: float) -> Node:
    return _make("const", value=float(value))


def var(name: str) -> Node:
    return _make("var", name=name)


ZERO, ONE, TWO, MINUS_ONE = const(0), const(1), const(2), const(-1)


def is_const(node: Node, value: float | None = None) -> bool:
    return node.op == "const" and (value is None or node.value == value)


def bessel(order: float, v: float) -> float:
    """J_order(v)."""
    from scipy.special import jv

    return float(jv(order, v))


_FOLD: dict[str, Callable[..., float]] = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan,
    "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "exp": math.exp, "log": math.log, "sqrt": math.sqrt,
    "abs": abs, "erf": math.erf, "sign": lambda v: float((v > 0) - (v < 0)), "step": lambda v: float(v >= 0),
    "neg": lambda v: -v, "besselj": bessel,
    "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "pow": math.pow,
    "atan2": math.atan2, "min": min, "max": max, "less": lambda a, b: float(a < b),
}  # fmt: skip


def fold(op: str, args: Sequence[Node]) -> float | None:
    """The value of op(args) if all are constants and it is a finite number, else None. Doubles only, so it is always quick."""
    if not all(a.op == "const" for a in args):
        return None
    try:
        value = float(_FOLD[op](*(a.value for a in args)))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return value if math.isfinite(value) else None


def apply(op: str, *args: Node) -> Node:
    """op(args), with constants folded and neutral elements removed. What has no finite value, such as log(0), is left to
    evaluation, which gives inf or nan as arrays do."""
    value = fold(op, args)
    if value is not None:
        return const(value)
    if op in ("add", "mul"):
        return _sum_or_product(op, *args)
    if op == "div":
        a, b = args
        if is_const(a, 0) and not is_const(b, 0):
            return ZERO
        if b.op == "const" and b.value != 0:
            return apply("mul", a, const(1 / b.value))
    if op == "pow":
        base, exponent = args
        if is_const(exponent, 0):
            return ONE
        if is_const(exponent, 1):
            return base
    if op == "neg":
        return apply("mul", MINUS_ONE, args[0])
    return _make(op, args)


def _sum_or_product(op: str, a: Node, b: Node) -> Node:
    neutral = 0.0 if op == "add" else 1.0
    if is_const(a, neutral):
        return b
    if is_const(b, neutral):
        return a
    if op == "mul":
        if is_const(a, 0) or is_const(b, 0):
            return ZERO
        if b.op == "const":
            a, b = b, a
        if a.op == "const" and b.op == "mul" and b.args[0].op == "const":
            return apply("mul", const(a.value * b.args[0].value), b.args[1])
    return _make(op, (a, b))


def walk(root: Node, known: Container[int] = ()) -> Iterator[Node]:
    """Every distinct node once, arguments before their users; none whose id is ``known``, and nothing that only they use."""
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            yield node
        elif id(node) not in seen and id(node) not in known:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((a, False) for a in node.args)
