"""Exact derivatives of expression graphs."""

import math
from collections.abc import Callable
from functools import reduce

from gleg_core.expressions.nodes import MINUS_ONE, ONE, TWO, ZERO, Node, apply, const


def derivative(root: Node, name: str) -> Node:
    """∂root/∂name as a graph that shares nodes with ``root``; worked out once per node and name."""
    if name not in root.free:
        return ZERO
    stack = [root]
    while stack:
        node = stack[-1]
        if name in node.derivatives:
            stack.pop()
        elif missing := [a for a in node.args if name in a.free and name not in a.derivatives]:
            stack.extend(missing)
        else:
            du = [a.derivatives[name] if name in a.free else ZERO for a in node.args]
            node.derivatives[name] = _rule(node, du, name) if du else ONE
    return root.derivatives[name]


def _mul(*factors: Node) -> Node:
    return reduce(lambda a, b: apply("mul", a, b), factors)


def _square(u: Node) -> Node:
    return apply("pow", u, TWO)


def _one_plus(u: Node) -> Node:
    return apply("add", ONE, u)


def _one_minus(u: Node) -> Node:
    return apply("add", ONE, apply("neg", u))


def _rule(node: Node, du: list[Node], name: str) -> Node:
    """Chain rule for one node, ``du`` the derivatives of its arguments."""
    args = node.args
    if node.op == "inside":
        return ZERO
    if len(args) == 1:
        return _mul(_OUTER[node.op](node, args[0]), du[0])
    if node.op == "where":  # away from the switch, which has no derivative; the branch not taken has no say
        return apply("where", args[0], du[1], du[2])
    (a, b), (da, db) = args, du
    match node.op:
        case "add":
            return apply("add", da, db)
        case "mul":
            return apply("add", _mul(da, b), _mul(a, db))
        case "div":
            return apply("add", apply("div", da, b), _mul(MINUS_ONE, apply("div", node, b), db))
        case "pow" if name not in b.free:  # also right at a = 0, where the logarithm below is not
            return _mul(b, apply("pow", a, apply("add", b, MINUS_ONE)), da)
        case "pow":
            logarithmic = apply("add", _mul(db, apply("log", a)), apply("div", _mul(b, da), a))
            return _mul(node, logarithmic)
        case "atan2":
            numerator = apply("add", _mul(b, da), _mul(MINUS_ONE, a, db))
            return apply("div", numerator, apply("add", _square(a), _square(b)))
        case "min" | "max":
            first = apply("less", a, b) if node.op == "min" else apply("less", b, a)
            return apply("add", _mul(first, da), _mul(_one_minus(first), db))
        case "less" | "lesseq" | "and" | "or":
            return ZERO
        case "besselj":  # J_0′ = −J_1, J_m′ = ½(J_{m−1} − J_{m+1})
            above = apply("neg", apply("besselj", const(a.value + 1), b))
            if a.value == 0:
                return _mul(above, db)
            return _mul(const(0.5), apply("add", apply("besselj", const(a.value - 1), b), above), db)
    raise NotImplementedError(node.op)


_OUTER: dict[str, Callable[[Node, Node], Node]] = {
    "sin": lambda f, u: apply("cos", u),
    "cos": lambda f, u: _mul(MINUS_ONE, apply("sin", u)),
    "tan": lambda f, u: _one_plus(_square(f)),
    "asin": lambda f, u: apply("pow", _one_minus(_square(u)), const(-0.5)),
    "acos": lambda f, u: _mul(MINUS_ONE, apply("pow", _one_minus(_square(u)), const(-0.5))),
    "atan": lambda f, u: apply("div", ONE, _one_plus(_square(u))),
    "sinh": lambda f, u: apply("cosh", u),
    "cosh": lambda f, u: apply("sinh", u),
    "tanh": lambda f, u: _one_minus(_square(f)),
    "exp": lambda f, u: f,
    "log": lambda f, u: apply("div", ONE, u),
    "sqrt": lambda f, u: apply("div", const(0.5), f),
    "abs": lambda f, u: apply("sign", u),
    "erf": lambda f, u: _mul(const(2 / math.sqrt(math.pi)), apply("exp", apply("neg", _square(u)))),
} | dict.fromkeys(("sign", "step", "not"), lambda f, u: ZERO)
"""f′(u) of the node f = f(u)."""
