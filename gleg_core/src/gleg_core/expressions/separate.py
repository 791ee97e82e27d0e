"""Formulas as sums of products of a function of time and a function of place:  f(x, t) = Σ_k τ_k(t) σ_k(x).

Travelling waves, modulated modes and polynomials have such a form with few terms, sin(κx + ωt) = sin κx cos ωt + cos κx sin ωt for
example. For T times at n points it is one matrix product (T, k)(k, n) instead of T·n evaluations of every function in the formula.
"""

from __future__ import annotations

from collections.abc import Sequence

from gleg_core.expressions.nodes import MINUS_ONE, ONE, Node, apply, const, walk

FEWEST_STEPS = 4
"""Operations a matrix product must replace to be worth its own cost."""
MOST_TERMS = 96
"""Beyond this a matrix product is no faster than evaluating the formula."""

Terms = tuple[tuple[Node, Node], ...]
"""(τ_k, σ_k)."""


def separated(root: Node) -> Terms | None:
    """The terms of a formula, or None if there is no such form or it has too many. Worked out once per node."""
    if not root.separation_known:
        for node in walk(root):
            if not node.separation_known:
                node.separation, node.separation_known = _terms(node), True
    return root.separation


def worthwhile(node: Node) -> Terms | None:
    """The terms of a formula of time and place if a matrix product is cheaper than its operations one by one, else None."""
    if node.steps < FEWEST_STEPS:
        return None
    terms = separated(node)
    return terms if terms is not None and len(terms) <= 4 * node.steps else None


def _terms(node: Node) -> Terms | None:
    if "t" not in node.free:
        return ((ONE, node),)
    if len(node.free) == 1:
        return ((node, ONE),)
    parts = [a.separation for a in node.args]
    match node.op:
        case "add":
            a, b = parts
            return None if a is None or b is None else _collected([*a, *b])
        case "mul":
            return _product(*parts)
        case "div":
            numerator, divisor = parts[0], node.args[1]
            if numerator is None or divisor.steps:
                return None
            return _product(numerator, separated(apply("div", ONE, divisor)))
        case "pow" if node.args[1].op == "const" and node.args[1].value in (2.0, 3.0, 4.0):
            power = parts[0]
            for _ in range(int(node.args[1].value) - 1):
                power = _product(power, parts[0])
            return power
        case "sin" | "cos":
            return _wave(node.op, parts[0])
    return None


def _product(a: Terms | None, b: Terms | None) -> Terms | None:
    if a is None or b is None or len(a) * len(b) > 4 * MOST_TERMS:
        return None
    return _collected([(apply("mul", s, t), apply("mul", f, g)) for s, f in a for t, g in b])


def _collected(terms: Sequence[tuple[Node, Node]]) -> Terms | None:
    """Terms with the same function of place joined, then those with the same function of time."""
    by_place: dict[int, tuple[Node, Node]] = {}
    for time, place in terms:
        known = by_place.get(id(place))
        by_place[id(place)] = (time if known is None else apply("add", known[0], time), place)
    by_time: dict[int, tuple[Node, Node]] = {}
    for time, place in by_place.values():
        known = by_time.get(id(time))
        by_time[id(time)] = (time, place if known is None else apply("add", known[1], place))
    return tuple(by_time.values()) if len(by_time) <= MOST_TERMS else None


def _wave(op: str, argument: Terms | None) -> Terms | None:
    """sin(a + b) and cos(a + b) for an argument a(x) + b(t)."""
    if argument is None:
        return None
    place, time = const(0), const(0)
    for t, x in argument:
        if t.op == "const":
            place = apply("add", place, apply("mul", t, x))
        elif x.op == "const":
            time = apply("add", time, apply("mul", x, t))
        else:
            return None
    (sx, cx), (st, ct) = ((apply("sin", u), apply("cos", u)) for u in (place, time))
    if op == "sin":
        return ((ct, sx), (st, cx))
    return ((ct, cx), (apply("mul", MINUS_ONE, st), sx))
