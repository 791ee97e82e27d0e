"""Evaluation of expression graphs on numbers, numpy arrays or torch tensors."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from gleg_core.expressions.nodes import Node, bessel, walk

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

    ``static`` keeps results that do not depend on t; share it between evaluators on the same points.
    """

    def __init__(self, variables: Mapping[str, Any], static: dict | None = None):
        self._variables = variables
        self._static = {} if static is None else static
        self._memo: dict[int, Any] = {}
        self._alive: list[Node] = []

    def __call__(self, expression: Expression) -> Any:
        root = expression.node
        with _quiet():
            for node in walk(root):
                if id(node) not in self._memo:
                    self._memo[id(node)] = self._value(node)
        self._alive.append(root)
        return self._memo[id(root)]

    def _value(self, node: Node) -> Any:
        if node.op == "const":
            return node.value
        if node.op == "var":
            return self._variables[node.name]
        if "t" in node.free:
            return self._compute(node)
        if node not in self._static:
            self._static[node] = self._compute(node)
        return self._static[node]

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
