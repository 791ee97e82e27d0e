"""Several formulas of place and time, evaluated together in a few arrays that stay in the processor's cache.

A formula and its derivatives have hundreds of sub-expressions. For T times at n points each is an array (T, n), and keeping them all costs
far more than computing them. A program knows what is wanted, so that an array is used again as soon as its values are not needed any more,
and it takes a block of times and points after the other.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gleg_core.expressions.functions import is_unrolled, table, unrolled
from gleg_core.expressions.nodes import Node
from gleg_core.expressions.separate import worthwhile

POINTS, VALUES = 2048, 16384
"""Points, and points × times, of a block."""

Given = tuple[Node, int]
"""An operand from outside: (node, 0) is a number, a function of place (n,) or of time (T, 1), or the factor (T, k) of a node that is a
matrix product; (node, 1) is the factor (k, n) of that."""
Operand = int | Given
"""The result of a step, or something from outside."""
Step = tuple[Callable, tuple[Operand, ...]]


class Program:
    """Steps f(a, b) → c that give the values of ``roots``.

    Operands have numbers: first those from outside, then the roots, then arrays that are used again and again.
    """

    def __init__(self, roots: Sequence[Node]):
        steps, results = _steps(roots)
        self._given = list(dict.fromkeys(o for _, operands in steps for o in operands if isinstance(o, tuple)))
        numbers: dict[Operand, int] = {o: i for i, o in enumerate(self._given)}
        numbers |= {result: len(self._given) + i for i, result in enumerate(results)}
        self._roots, first = len(results), len(numbers)
        self._steps = list(_allocated(steps, numbers))
        self._arrays = max(0, *(result + 1 - first for _, _, result in self._steps))

    def run(self, value: Callable[[Node], Any], times: int, points: int) -> list[Any]:
        """Values (T, n) of the roots. ``value`` gives those from outside, of a matrix product both factors."""
        import numpy as np

        known = {node: value(node) for node, _ in self._given}
        given = [known[node][part] if node.steps else known[node] for node, part in self._given]
        out = [np.empty((times, points)) for _ in range(self._roots)]
        buffers = np.empty((self._arrays, VALUES))
        rows = max(1, VALUES // max(1, min(points, POINTS)))
        for x in spans(points, POINTS):
            for t in spans(times, rows):
                shape = t.stop - t.start, x.stop - x.start
                slots = [_part(g, node, part, t, x) for g, (node, part) in zip(given, self._given, strict=True)]
                slots += [root[t, x] for root in out]
                slots += list(buffers[:, : shape[0] * shape[1]].reshape(-1, *shape))
                for function, operands, result in self._steps:
                    function(*[slots[o] for o in operands], slots[result])
        return out


def spans(size: int, most: int) -> list[slice]:
    """As few slices of at most ``most`` as possible, and those of nearly equal length."""
    length = -(-size // max(1, -(-size // most)))
    return [slice(i, min(i + length, size)) for i in range(0, size, max(1, length))]


def _part(value: Any, node: Node, part: int, t: slice, x: slice) -> Any:
    """The part of an operand from outside that belongs to a block."""
    if not getattr(value, "ndim", 0):
        return value
    return value[t] if "t" in node.free and not part else value[..., x]


def _order(roots: Sequence[Node]) -> Iterator[Node]:
    """Functions of time and place, arguments before their users; arguments of matrix products are left out."""
    seen: set[Node] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            yield node
        elif node not in seen and node.steps:
            seen.add(node)
            stack.append((node, True))
            if worthwhile(node) is None:
                stack.extend((a, False) for a in reversed(node.args))


def _steps(roots: Sequence[Node]) -> tuple[list[Step], list[int]]:
    """The steps, and which of them give the roots."""
    import numpy as np

    functions = table("numpy")
    known: dict[Node, int] = {}
    steps: list[Step] = []

    def add(function: Callable, *operands: Operand) -> int:
        steps.append((function, operands))
        return len(steps) - 1

    def operand(node: Node) -> Operand:
        return known[node] if node.steps else (node, 0)

    for node in _order(roots):
        a, *others = node.args
        if worthwhile(node) is not None:
            known[node] = add(np.matmul, (node, 0), (node, 1))
        elif node.op == "pow" and is_unrolled(others[0].value if others[0].op == "const" else None):
            n = int(others[0].value)
            known[node] = unrolled(operand(a), abs(n), lambda p, q: add(np.multiply, p, q))
            if n < 0:
                known[node] = add(np.reciprocal, known[node])
        else:
            known[node] = add(functions[node.op], *map(operand, node.args))
    return steps, [known[root] for root in roots]


def _allocated(steps: list[Step], numbers: dict[Operand, int]) -> Iterator[tuple[Callable, list[int], int]]:
    """Steps with numbers for operands and results. A result may take the place of an operand that is not read later: functions write
    value by value, and the factors of matrix products come from outside."""
    readers = Counter(o for _, operands in steps for o in set(operands) if o not in numbers)
    free: list[int] = []
    size = len(numbers)
    for i, (function, operands) in enumerate(steps):
        for o in set(operands) & readers.keys():
            readers[o] -= 1
            if not readers[o]:
                free.append(numbers[o])
        if i not in numbers:
            size += not free
            numbers[i] = free.pop() if free else size - 1
        yield function, [numbers[o] for o in operands], numbers[i]
