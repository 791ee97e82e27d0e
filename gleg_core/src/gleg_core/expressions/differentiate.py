"""Exact derivatives of expression graphs."""

import math
from functools import reduce

from gleg_core.expressions.nodes import MINUS_ONE, ONE, TWO, ZERO, Node, apply, const, inside, walk


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


def _rule(node: Node, du: list[Node], name: str) -> Node:
    """Chain rule for one node, ``du`` the derivatives of its arguments."""
    args = node.args
    if node.op == "inside":
        return ZERO
    if len(args) == 1:
        return _mul(_outer(node, args[0]), du[0])
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
            return apply("add", _mul(first, da), _mul(apply("add", ONE, apply("neg", first)), db))
        case "less" | "lesseq" | "and" | "or":
            return ZERO
        case "besselj":  # J_0′ = −J_1, J_m′ = ½(J_{m−1} − J_{m+1})
            above = apply("neg", apply("besselj", const(a.value + 1), b))
            if a.value == 0:
                return _mul(above, db)
            return _mul(const(0.5), apply("add", apply("besselj", const(a.value - 1), b), above), db)
    raise NotImplementedError(node.op)


def _outer(node: Node, u: Node) -> Node:
    """f′(u) for node = f(u)."""
    match node.op:
        case "sin":
            return apply("cos", u)
        case "cos":
            return _mul(MINUS_ONE, apply("sin", u))
        case "tan":
            return _one_plus(_square(node))
        case "asin":
            return apply("pow", apply("add", ONE, apply("neg", _square(u))), const(-0.5))
        case "acos":
            return _mul(MINUS_ONE, apply("pow", apply("add", ONE, apply("neg", _square(u))), const(-0.5)))
        case "atan":
            return apply("div", ONE, _one_plus(_square(u)))
        case "sinh":
            return apply("cosh", u)
        case "cosh":
            return apply("sinh", u)
        case "tanh":
            return apply("add", ONE, apply("neg", _square(node)))
        case "exp":
            return node
        case "log":
            return apply("div", ONE, u)
        case "sqrt":
            return apply("div", const(0.5), node)
        case "abs":
            return apply("sign", u)
        case "sign" | "step" | "not":
            return ZERO
        case "erf":
            return _mul(const(2 / math.sqrt(math.pi)), apply("exp", apply("neg", _square(u))))
    raise NotImplementedError(node.op)


def substitute(root: Node, values: dict[str, Node]) -> Node:
    """``root`` with variables replaced."""
    new: dict[int, Node] = {}
    for node in walk(root):
        if node.op == "var":
            new[id(node)] = values.get(node.name, node)
        elif not node.args or not (node.free & values.keys()):
            new[id(node)] = node
        elif node.shape is not None:
            new[id(node)] = inside(node.shape, *(new[id(a)] for a in node.args))
        else:
            new[id(node)] = apply(node.op, *(new[id(a)] for a in node.args))
    return new[id(root)]
