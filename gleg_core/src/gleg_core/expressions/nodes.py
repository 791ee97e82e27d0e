"""Expression graphs: immutable, shared nodes.

Equal sub-expressions are one object, so a derivative that repeats a factor a hundred times costs one evaluation of it.
"""

import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, Protocol


class Shape(Protocol):
    """A part of space with a name, which formulas may ask whether a point is in it. Equal ones are the same; hashable."""

    @property
    def name(self) -> str: ...

    def contains(self, points: Any) -> Any:
        """Which of the points (n, dim) are in it: (n,)."""


class Node:
    """``op`` with ``args``; ``op == 'const'`` carries ``value``, ``op == 'var'`` carries ``name``, ``op == 'inside'`` the ``shape``
    that the point of its arguments may lie in."""

    __slots__ = (
        "__weakref__", "args", "derivatives", "free", "name", "op", "product", "separation", "serial", "shape", "steps", "value"
    )  # fmt: skip
    op: str
    args: "tuple[Node, ...]"
    value: float
    name: str
    shape: Shape | None
    free: frozenset[str]
    """Names of the variables it depends on."""
    derivatives: "dict[str, Node]"
    """∂/∂name for the names asked for so far."""
    separation: Any
    """See :mod:`gleg_core.expressions.separate`; ``...`` until it is known, as for ``product``."""
    product: Any
    serial: int
    """Nodes made later have larger ones; gives factors of a product an order."""
    steps: int
    """How many operations on functions of time and place it takes, at most."""

    def __repr__(self) -> str:
        if self.op == "const":
            return repr(self.value)
        if self.op == "var":
            return self.name
        return f"{self.op}({', '.join(map(repr, self.args))})"


_known: weakref.WeakValueDictionary[tuple, Node] = weakref.WeakValueDictionary()
_serial = count()


def _make(op: str, args: tuple[Node, ...] = (), value: float = 0.0, name: str = "", shape: Shape | None = None) -> Node:
    key = (op, *map(id, args), shape) if args else (op, value, math.copysign(1.0, value), name)
    node = _known.get(key)
    if node is None:
        node = Node()
        node.op, node.args, node.value, node.name, node.shape, node.derivatives = op, args, value, name, shape, {}
        node.separation, node.product, node.serial = ..., ..., next(_serial)
        node.free = _union(args) if args else frozenset({name} if name else ())
        mixed = "t" in node.free and len(node.free) > 1
        node.steps = 1 + sum([a.steps for a in args]) if mixed else 0
        _known[key] = node
    return node


def _union(args: tuple[Node, ...]) -> frozenset[str]:
    """Variables of all arguments. Most sets equal one that exists, which then is used again."""
    free = args[0].free
    for a in args[1:]:
        free = free if a.free <= free else a.free if free <= a.free else free | a.free
    return free


def const(value: float) -> Node:
    return _make("const", value=float(value))


def var(name: str) -> Node:
    return _make("var", name=name)


def inside(shape: Shape, *coordinates: Node) -> Node:
    """The condition that a point lies in a shape."""
    return _make("inside", coordinates, name=shape.name, shape=shape)


ZERO, ONE, TWO, MINUS_ONE = const(0), const(1), const(2), const(-1)


def is_const(node: Node, value: float | None = None) -> bool:
    return node.op == "const" and (value is None or node.value == value)


def bessel(order: float, v: float) -> float:
    """J_order(v)."""
    from scipy.special import jv

    return float(jv(order, v))


ON_NUMBERS: dict[str, Callable[..., float]] = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan,
    "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "exp": math.exp, "log": math.log, "sqrt": math.sqrt,
    "abs": abs, "erf": math.erf, "sign": lambda v: float((v > 0) - (v < 0)), "step": lambda v: float(v >= 0),
    "neg": lambda v: -v, "besselj": bessel,
    "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "pow": math.pow,
    "atan2": math.atan2, "min": min, "max": max, "less": lambda a, b: float(a < b), "lesseq": lambda a, b: float(a <= b),
    "and": min, "or": max, "not": lambda v: 1.0 - v, "where": lambda c, a, b: a if c else b,
}  # fmt: skip
"""Operations on finite numbers; what has no finite value is an exception."""
_CHOICES = frozenset(["where", "and", "or", "not"])
"""What chooses. ``less``, ``lesseq``, ``inside`` and what these make of them are conditions: exactly 1 or 0, even where one is nan."""


def fold(op: str, args: Sequence[Node]) -> float | None:
    """The value of op(args) if all are constants and it is a finite number, else None. Doubles only, so it is always quick."""
    for a in args:
        if a.op != "const":
            return None
    try:
        value = float(ON_NUMBERS[op](*(a.value for a in args)))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return value if math.isfinite(value) else None


def apply(op: str, *args: Node) -> Node:
    """op(args), with constants folded and neutral elements removed. What has no finite value, such as log(0), is left to
    evaluation, which gives inf or nan as arrays do."""
    value = fold(op, args)
    if value is not None:
        return const(value)
    if op == "add":
        for one, other in (args, args[::-1]):
            if is_const(one, 0):
                return other
    if op == "mul":
        return _product(*args)
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
    if op in _CHOICES:
        return _choice(op, args)
    return _make(op, args)


def _choice(op: str, args: tuple[Node, ...]) -> Node:
    """where, and, or, not: what is decided already is left out."""
    first, *rest = args
    if op == "where":
        a, b = rest
        if first.op == "const":
            return a if first.value else b
        return a if a is b else _make(op, args)
    if op == "not":
        return first.args[0] if first.op == "not" else _make(op, args)
    decisive = 0.0 if op == "and" else 1.0
    for one, other in (args, args[::-1]):
        if one.op == "const":
            return one if one.value == decisive else other
    return first if first is rest[0] else _make(op, args)


def _product(a: Node, b: Node) -> Node:
    """a b with one constant, in front: what differs by a factor only then shares all the rest."""
    (c, p), (d, q) = _scaled(a), _scaled(b)
    if c == 0 or d == 0:
        return ZERO
    factor = c * d
    if not 1e-290 < abs(factor) < 1e290:  # joined, the constants could overflow where the product does not
        return _make("mul", (a, b))
    rest = q if p is ONE else p if q is ONE else _make("mul", (p, q))
    return rest if factor == 1 else _make("mul", (const(factor), rest))


def _scaled(node: Node) -> tuple[float, Node]:
    """(c, rest) with node = c·rest."""
    if node.op == "const":
        return node.value, ONE
    if node.op == "mul" and node.args[0].op == "const":
        return node.args[0].value, node.args[1]
    return 1.0, node


def walk(root: Node) -> Iterator[Node]:
    """Every distinct node once, arguments before their users."""
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            yield node
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((a, False) for a in node.args)
