"""Evaluation of expression graphs on numbers, numpy arrays or torch tensors."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gleg_core.expressions.functions import divided, function, indicator, kind, power, quiet
from gleg_core.expressions.nodes import Node
from gleg_core.expressions.program import Program
from gleg_core.expressions.selection import selected
from gleg_core.expressions.separate import Monomial, Terms, worthwhile

if TYPE_CHECKING:
    from gleg_core.expressions import Expression


class Evaluator:
    """Evaluates formulas for one binding of the variables, each distinct sub-expression once.

    ``static`` keeps results that do not depend on t; share it between evaluators on the same points. Where these are numpy arrays (n,) and
    t is a column of times (T, 1), parts of the form Σ_ij C_ij α_i(t) β_j(x) are matrix products. If those times are a piece of a longer
    column, ``clock`` is an evaluator of that column and the slice: functions of time alone are then evaluated once for all pieces.
    """

    def __init__(
        self, variables: Mapping[str, Any], static: dict | None = None, clock: "tuple[Evaluator, slice] | None" = None
    ):
        self._variables = variables
        self._static = {} if static is None else static
        self._clock = clock
        self._memo: dict[Node, Any] = {}
        self._products: dict[Any, Any] = {}
        self.asked: dict[Expression, None] = {}
        """The formulas asked for so far, in their order."""
        t, x = variables.get("t"), variables.get("x")
        self._many_times = getattr(t, "ndim", 0) == 2 and getattr(x, "ndim", 0) == 1 and kind(x) == "numpy"

    def __call__(self, expression: "Expression") -> Any:
        self.asked[expression] = None
        with quiet():
            return self._evaluate(expression.node)

    def together(self, expressions: "Collection[Expression]") -> list[Any]:
        """Values of several formulas. For a column of times they are computed piece by piece, with few numbers in use at a time."""
        self.asked |= dict.fromkeys(expressions)
        nodes = [e.node for e in expressions]
        with quiet():
            if self._many_times:
                new = [n for n in dict.fromkeys(nodes) if n.steps and n not in self._memo]
                if roots := tuple(n for n in new if worthwhile(n) is None):
                    key = ("program", roots)
                    program = self._static[key] = self._static.get(key) or Program(roots)
                    values = program.run(self._outside, len(self._variables["t"]), len(self._variables["x"]))
                    self._memo.update(zip(roots, values, strict=True))
            return [self._evaluate(n) for n in nodes]

    def _outside(self, node: Node) -> Any:
        """What a program takes as given: a number, a function of place or of time, the two factors of a product."""
        if not node.steps:
            return self._evaluate(node)
        terms = worthwhile(node)
        assert terms is not None
        return self._factors(node, terms)

    def _evaluate(self, root: Node) -> Any:
        """The value of a node; arguments are looked at only where they are needed."""
        memo, stack = self._memo, [root]
        while stack:
            node = stack[-1]
            if node in memo:
                stack.pop()
                continue
            value = self._at_once(node)
            if value is None:
                if missing := [a for a in node.args if a not in memo]:
                    stack.extend(missing)
                    continue
                value = self._compute(node)
                if "t" not in node.free:
                    self._static[node] = value
            memo[node] = value
        return memo[root]

    def _at_once(self, node: Node) -> Any:
        """The value if it needs no arguments: a leaf, known at these points or times, or a sum of products of functions of t and of x."""
        op = node.op
        if op == "const":
            return node.value
        if op == "var":
            return self._variables[node.name]
        if op == "where" and any(getattr(self._variables[name], "requires_grad", False) for name in node.free):
            decided = Evaluator({k: v.detach() if hasattr(v, "detach") else v for k, v in self._variables.items()})
            return selected(node, self._variables, decided._evaluate, self._compute)
        if "t" not in node.free:
            return self._static.get(node)
        if len(node.free) == 1:
            return None if self._clock is None else self._clock[0]._evaluate(node)[self._clock[1]]
        if self._many_times and (terms := worthwhile(node)) is not None:
            amplitudes, places = self._factors(node, terms)
            return amplitudes @ places
        return None

    def _factors(self, node: Node, terms: Terms) -> tuple[Any, Any]:
        """(T, k) and (k, n), the second one made once."""
        key = ("product", node)
        if key not in self._static:
            self._static[key] = self._places(terms)
        times, mixing, places = self._static[key]
        clock, rows = (self, slice(None)) if self._clock is None else self._clock
        if key not in clock._products:
            table = clock._table(times, len(clock._variables["t"])).T
            clock._products[key] = table.copy() if mixing is None else table @ mixing
        return clock._products[key][rows], places

    def _places(self, terms: Terms) -> tuple[list[Monomial], Any, Any]:
        """α_i, C and β_j at the points; C is multiplied to β_j, and then None, unless there are fewer of those."""
        import numpy as np

        times, places = (list(dict.fromkeys(key[side] for key in terms)) for side in (0, 1))
        C = np.zeros((len(times), len(places)))
        row, column = ({m: i for i, m in enumerate(monomials)} for monomials in (times, places))
        for (alpha, beta), c in terms.items():
            C[row[alpha], column[beta]] = c
        table = self._table(places, len(self._variables["x"]))
        return (times, None, C @ table) if len(times) <= len(places) else (times, C, table)

    def _table(self, monomials: Sequence[Monomial], size: int) -> Any:
        """Products of functions of time alone or of place alone, one in each row."""
        import numpy as np

        table = np.empty((len(monomials), size))
        for row, monomial in zip(table, monomials, strict=True):
            row[:] = np.ravel(self._monomial(monomial))
        return table

    def _monomial(self, factors: Monomial) -> Any:
        if len(factors) < 2:
            return self._evaluate(factors[0]) if factors else 1.0
        if factors not in self._products:
            self._products[factors] = self._monomial(factors[:-1]) * self._evaluate(factors[-1])
        return self._products[factors]

    def _compute(self, node: Node, values: Sequence[Any] | None = None) -> Any:
        """op(values), those of the arguments if none are given."""
        if values is None:
            values = [self._memo[a] for a in node.args]
        match node.op:
            case "add":
                return values[0] + values[1]
            case "mul":
                return values[0] * values[1]
            case "div":
                return divided(*values)
            case "pow":
                return power(*values)
            case "inside" if node.shape is not None:
                return indicator(node.shape, *values)
        return function(node.op, *values)(*values)
