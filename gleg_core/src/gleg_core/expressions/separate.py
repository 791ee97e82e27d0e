"""Formulas as sums of products of functions of time and functions of place:  f(x, t) = Σ_ij C_ij α_i(t) β_j(x).

Travelling waves, modulated modes and polynomials have such a form with few terms, sin(κx + ωt) = sin κx cos ωt + cos κx sin ωt for
example. For T times at n points it is one matrix product (T, k)(k, n) instead of T·n evaluations of every function in the formula.
Products are written as the set of their factors, so that equal ones are found whatever their order.
"""

from collections.abc import Mapping
from functools import reduce
from operator import attrgetter

from gleg_core.expressions.nodes import MINUS_ONE, ONE, ZERO, Node, apply, const

FEWEST_STEPS = 4
"""Operations a matrix product must replace to be worth its own cost; two if it has no more terms than that."""
MOST_TERMS = 96
"""Beyond this a matrix product is no faster than evaluating the formula."""

Monomial = tuple[Node, ...]
"""A product of its nodes, which are in the order of their making; () is 1."""
Terms = Mapping[tuple[Monomial, Monomial], float]
"""(α_i, β_j) ↦ C_ij."""

_serial = attrgetter("serial")


def separated(root: Node) -> Terms | None:
    """The terms of a formula, or None if there is no such form or it has too many. Worked out once per node."""
    stack = [root]
    while stack:
        node = stack[-1]
        if node.separation is not ...:
            stack.pop()
        elif missing := [a for a in _parts(node) if a.separation is ...]:
            stack.extend(missing)
        else:
            terms = _terms(node)
            node.separation = terms if terms is not None and rank(terms) <= MOST_TERMS else None
    return root.separation


def rank(terms: Terms) -> int:
    """k of the matrix product."""
    return min(len({time for time, _ in terms}), len({place for _, place in terms}))


def worthwhile(node: Node) -> Terms | None:
    """The terms of a formula of time and place if a matrix product is cheaper than its operations one by one, else None."""
    if node.product is ...:
        terms = separated(node) if node.steps > 1 else None
        most = 2 if node.steps < FEWEST_STEPS else 4 * node.steps
        node.product = terms if terms is not None and rank(terms) <= most else None
    return node.product


def _parts(node: Node) -> tuple[Node, ...]:
    """Arguments whose terms give those of the node."""
    return node.args if node.steps or node.op == "mul" else ()


def _terms(node: Node) -> Terms | None:
    parts = [a.separation for a in _parts(node)]
    if None in parts:
        return None
    match node.op:
        case "const":
            return {((), ()): node.value}
        case "mul":
            return _product(*parts)
        case _ if "t" not in node.free:
            return {((), (node,)): 1.0}
        case _ if len(node.free) == 1:
            return {((node,), ()): 1.0}
        case "add":
            return _sum(*parts)
        case "div" if not node.args[1].steps:
            return _product(parts[0], separated(apply("div", ONE, node.args[1])))
        case "pow" if node.args[1].op == "const" and node.args[1].value in (2.0, 3.0, 4.0):
            return reduce(_product, [parts[0]] * int(node.args[1].value))
        case "sin" | "cos":
            return _wave(node.op, parts[0])
    return None


def _sum(a: Terms, b: Terms) -> Terms:
    total = dict(a)
    for key, c in b.items():
        total[key] = total.get(key, 0.0) + c
    return total


def _product(a: Terms | None, b: Terms | None) -> Terms | None:
    if a is None or b is None or len(a) * len(b) > 4 * MOST_TERMS:
        return None
    total: dict[tuple[Monomial, Monomial], float] = {}
    for (s, p), c in a.items():
        for (t, q), d in b.items():
            key = _joined(s, t), _joined(p, q)
            total[key] = total.get(key, 0.0) + c * d
    return total


def _joined(a: Monomial, b: Monomial) -> Monomial:
    return tuple(sorted(a + b, key=_serial)) if a and b else a or b


def _wave(op: str, argument: Terms) -> Terms | None:
    """sin(a + b) and cos(a + b) for an argument a(x) + b(t)."""
    place = time = ZERO
    for (alpha, beta), c in argument.items():
        if alpha and beta:
            return None
        term = reduce(lambda a, b: apply("mul", a, b), alpha or beta, const(c))
        if alpha:
            time = apply("add", time, term)
        else:
            place = apply("add", place, term)
    (sx, cx), (st, ct) = ((separated(apply("sin", u)), separated(apply("cos", u))) for u in (place, time))
    if op == "cos":
        st = _product(separated(MINUS_ONE), st)
    first, second = (_product(ct, sx), _product(st, cx)) if op == "sin" else (_product(ct, cx), _product(st, sx))
    assert first is not None and second is not None
    return _sum(first, second)
