"""A small, safe formula language: ``0.3*exp(-(x^2+y^2)/w^2)*cos(omega*t)``.

Formulas are parsed through a whitelist, differentiated exactly, and evaluated on floats, numpy arrays or torch tensors.
This package imports neither numpy nor torch until arrays of that kind are passed in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gleg_core.expressions.differentiate import derivative
from gleg_core.expressions.evaluate import Evaluator
from gleg_core.expressions.nodes import Node, const
from gleg_core.expressions.parse import FUNCTIONS, FormulaError, parse
from gleg_core.expressions.switches import Switch, switches

__all__ = ["FUNCTIONS", "Evaluator", "Expression", "FormulaError", "Node", "Switch", "formula", "switches"]


@dataclass(frozen=True, eq=False)
class Expression:
    """A formula: its ``text`` as written and its graph ``node``."""

    text: str
    node: Node

    @property
    def free(self) -> frozenset[str]:
        """Variables the formula depends on."""
        return self.node.free

    @property
    def number(self) -> float | None:
        """Its value if it is a constant, else None."""
        return self.node.value if self.node.op == "const" else None

    def d(self, *names: str) -> "Expression":
        """Derivative with respect to each name in turn: ``f.d("x", "x")`` is ∂²f/∂x²."""
        node = self.node
        for name in names:
            node = derivative(node, name)
        return Expression(f"∂{''.join(names)}({self.text})", node)

    def __call__(self, **variables: Any) -> Any:
        """Value with the given variables: floats, numpy arrays or torch tensors."""
        return Evaluator(variables)(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and other.node is self.node

    def __hash__(self) -> int:
        return id(self.node)

    def __str__(self) -> str:
        return self.text


def formula(
    text: str | float, variables: Iterable[str] = ("x", "y", "t"), names: Mapping[str, Expression | float] | None = None
) -> Expression:
    """Parse a formula. ``names`` are constants and named formulas it may use."""
    scope = {k: v.node if isinstance(v, Expression) else const(v) for k, v in (names or {}).items()}
    return Expression(str(text), parse(str(text), variables, scope))
