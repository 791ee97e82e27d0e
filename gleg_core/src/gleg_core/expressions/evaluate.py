"""Evaluation of expression graphs on numbers, numpy arrays or torch tensors."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from gleg_core.expressions.nodes import Node, bessel
from gleg_core.expressions.separate import Terms, worthwhile

if TYPE_CHECKING:
    from gleg_core.expressions import Expression

_SAME_NAME = ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "abs", "sign"]
_MAX_UNROLLED_POWER = 32


def _numpy_table() -> dict[str, Callable]:
    import numpy as np

    def special(name: str) -> Callable:
        def call(*args: Any) -> Any:
            import scipy.special

            return getattr(scipy.special, name)(*args)

        return call

    table: dict[str, Callable] = {name: getattr(np, name) for name in _SAME_NAME}
    table |= {
        "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "min": np.minimum,
        "max": np.maximum, "pow": np.power, "step": lambda v: np.where(v >= 0, 1.0, 0.0),
        "less": lambda a, b: np.where(a < b, 1.0, 0.0),
        "erf": special("erf"), "besselj": special("jv"),
    }  # fmt: skip
    return table


def _torch_table() -> dict[str, Callable]:
    import torch

    def two(function: Callable) -> Callable:
        """Promote a number next to a tensor: torch's binary functions want two tensors."""

        def call(a: Any, b: Any) -> Any:
            like = a if isinstance(a, torch.Tensor) else b
            a = a if isinstance(a, torch.Tensor) else like.new_tensor(a)
            b = b if isinstance(b, torch.Tensor) else like.new_tensor(b)
            return function(a, b)

        return call

    table: dict[str, Callable] = {name: getattr(torch, name) for name in _SAME_NAME}
    table |= {
        "asin": torch.asin, "acos": torch.acos, "atan": torch.atan, "atan2": two(torch.atan2),
        "min": two(torch.minimum), "max": two(torch.maximum), "pow": torch.pow,
        "step": lambda v: (v >= 0).to(v.dtype), "less": two(lambda a, b: (a < b).to(a.dtype)),
        "erf": torch.special.erf, "besselj": _torch_bessel(),
    }  # fmt: skip
    return table


def _torch_bessel() -> Callable:
    """J_m of a tensor with derivatives of any order: torch has J_0 and J_1 only, without derivatives."""
    import torch

    class Bessel(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, order: float, v: torch.Tensor) -> torch.Tensor:
            from scipy.special import jv

            ctx.order = order
            ctx.save_for_backward(v)
            return torch.as_tensor(jv(order, v.detach().cpu().numpy())).to(v)

        @staticmethod
        def backward(ctx: Any, *slopes: torch.Tensor) -> Any:
            (v,) = ctx.saved_tensors
            below, above = (Bessel.apply(ctx.order + k, v) for k in (-1, 1))
            return None, slopes[0] * (below - above) / 2

    return Bessel.apply


def _number_table() -> dict[str, Callable]:
    table: dict[str, Callable] = {
        n: getattr(math, n) for n in ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"]
    }
    table |= {n: getattr(math, n) for n in ["exp", "log", "sqrt", "atan2", "erf"]}
    table["besselj"] = bessel
    table |= {
        "abs": abs, "min": min, "max": max, "pow": math.pow, "sign": lambda v: float((v > 0) - (v < 0)),
        "step": lambda v: float(v >= 0), "less": lambda a, b: float(a < b),
    }  # fmt: skip
    return {name: _like_arrays(name, function) for name, function in table.items()}


def _like_arrays(name: str, function: Callable) -> Callable:
    """Numbers behave as arrays do: inf or nan where Python raises an exception."""

    def call(*args: float) -> float:
        try:
            return function(*args)
        except OverflowError:
            odd_root = name == "pow" and args[0] < 0 and args[1] % 2 == 1
            return -math.inf if odd_root or (name == "sinh" and args[0] < 0) else math.inf
        except ValueError:
            if name == "log" and args[0] == 0:
                return -math.inf
            return math.inf if name == "pow" and args[0] == 0 else math.nan

    return call


def _divided(a: Any, b: Any) -> Any:
    try:
        return a / b
    except ZeroDivisionError:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _quiet() -> AbstractContextManager[Any]:
    """No warnings of numpy: a value that is not finite is reported by those who use it, with its place."""
    numpy = sys.modules.get("numpy")
    return nullcontext() if numpy is None else numpy.errstate(all="ignore")


_tables: dict[str, dict[str, Callable]] = {}


def _kind(value: Any) -> str:
    if isinstance(value, (int, float)):
        return "number"
    return "torch" if type(value).__module__.split(".")[0] == "torch" else "numpy"


def _function(op: str, *args: Any) -> Callable:
    kinds = {_kind(a) for a in args}
    kind = "torch" if "torch" in kinds else "numpy" if "numpy" in kinds else "number"
    if kind not in _tables:
        _tables[kind] = {"number": _number_table, "numpy": _numpy_table, "torch": _torch_table}[kind]()
    return _tables[kind][op]


def _power(base: Any, exponent: Any) -> Any:
    """Small integer powers by multiplication: exact, differentiable at 0, and far faster than pow."""
    if isinstance(exponent, float) and exponent.is_integer() and 1 <= abs(exponent) <= _MAX_UNROLLED_POWER:
        result = _unrolled(base, abs(int(exponent)))
        return result if exponent > 0 else _divided(1.0, result)
    return _function("pow", base, exponent)(base, exponent)


def _unrolled(base: Any, n: int) -> Any:
    """base^n by repeated squaring, n ≥ 1."""
    if n == 1:
        return base
    half = _unrolled(base, n // 2)
    return half * half * base if n % 2 else half * half


class Evaluator:
    """Evaluates formulas for one binding of the variables, each distinct sub-expression once.

    ``static`` keeps results that do not depend on t; share it between evaluators on the same points. Where t is a column of times (T, 1),
    parts of the form Σ_k τ_k(t) σ_k(x) are matrix products. If those times are a piece of a longer column, ``clock`` is an evaluator of
    that column and the slice: functions of time alone are then evaluated once for all pieces.
    """

    def __init__(
        self, variables: Mapping[str, Any], static: dict | None = None, clock: tuple[Evaluator, slice] | None = None
    ):
        self._variables = variables
        self._static = {} if static is None else static
        self._clock = clock
        self._memo: dict[int, Any] = {}
        self._columns: dict[Node, Any] = {}
        self._alive: list[Node] = []
        t, x = variables.get("t"), variables.get("x")
        self._many_times = getattr(t, "ndim", 0) == 2 and getattr(x, "ndim", 0) == 1 and _kind(x) == "torch"

    def __call__(self, expression: Expression) -> Any:
        with _quiet():
            return self._evaluate(expression.node)

    def _evaluate(self, root: Node) -> Any:
        """The value of a node; arguments are looked at only where they are needed."""
        memo, stack = self._memo, [root]
        while stack:
            node = stack[-1]
            if id(node) in memo:
                stack.pop()
                continue
            value = self._at_once(node)
            if value is None:
                if missing := [a for a in node.args if id(a) not in memo]:
                    stack.extend(missing)
                    continue
                value = self._compute(node)
                if "t" not in node.free:
                    self._static[node] = value
            memo[id(node)] = value
        self._alive.append(root)
        return memo[id(root)]

    def _at_once(self, node: Node) -> Any:
        """The value if it needs no arguments: a leaf, known at these points or times, or a sum of products of functions of t and of x."""
        if node.op == "const":
            return node.value
        if node.op == "var":
            return self._variables[node.name]
        if "t" not in node.free:
            return self._static.get(node)
        if len(node.free) == 1:
            return None if self._clock is None else self._clock[0]._evaluate(node)[self._clock[1]]
        if self._many_times and (terms := worthwhile(node)) is not None:
            return self._product(node, terms)
        return None

    def _product(self, node: Node, terms: Terms) -> Any:
        """(T, k)(k, n), the second factor made once."""
        import torch

        points = self._variables["x"]
        key = ("places", node)
        if key not in self._static:
            places = [torch.as_tensor(self._evaluate(place), dtype=points.dtype) for _, place in terms]
            self._static[key] = torch.stack([p.expand(len(points)) for p in places])
        column, rows = (self, slice(None)) if self._clock is None else self._clock
        return column._amplitudes(node, terms)[rows] @ self._static[key]

    def _amplitudes(self, node: Node, terms: Terms) -> Any:
        """τ_k at the times of this evaluator, (T, k)."""
        import torch

        if node not in self._columns:
            times = self._variables["t"]
            values = [torch.as_tensor(self._evaluate(time), dtype=times.dtype) for time, _ in terms]
            self._columns[node] = torch.cat([v.expand(len(times), 1) for v in values], dim=1)
        return self._columns[node]

    def _compute(self, node: Node) -> Any:
        values = [self._memo[id(a)] for a in node.args]
        match node.op:
            case "add":
                return values[0] + values[1]
            case "mul":
                return values[0] * values[1]
            case "div":
                return _divided(*values)
            case "pow":
                return _power(*values)
        return _function(node.op, *values)(*values)
