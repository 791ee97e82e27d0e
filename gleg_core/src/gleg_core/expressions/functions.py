"""The functions of the formula language on numbers, numpy arrays and torch tensors."""

import math
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from gleg_core.expressions.nodes import ON_NUMBERS, Shape

_SAME_NAME = ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "abs", "sign"]
_MAX_UNROLLED_POWER = 32
_MANY = 1000
"""Numbers in an array that are worth a call of torch."""


def _numpy_table() -> dict[str, Callable]:
    """Each function takes its arguments and, if wanted, an array for the values."""
    import numpy as np

    def special(name: str) -> Callable:
        def call(*args: Any) -> Any:
            import scipy.special

            return getattr(scipy.special, name)(*args)

        return call

    def indicator(compare: Callable) -> Callable:
        """1 where it holds, 0 elsewhere."""

        def call(a: Any, b: Any, out: Any = None) -> Any:
            return compare(a, b, out=np.empty(np.broadcast(a, b).shape) if out is None else out)

        return call

    def select(c: Any, a: Any, b: Any, out: Any = None) -> Any:
        """a where c ≠ 0, else b. ``out`` may be one of the three."""
        values = np.where(np.not_equal(c, 0.0), a, b)
        if out is None:
            return values
        np.copyto(out, values)
        return out

    step, table = indicator(np.greater_equal), {name: getattr(np, name) for name in _SAME_NAME}
    return table | {
        "add": np.add, "mul": np.multiply, "div": np.divide, "pow": np.power, "sin": _wave("sin"), "cos": _wave("cos"),
        "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
        "min": lambda a, b, out=None: np.minimum(a, b, out=out), "max": lambda a, b, out=None: np.maximum(a, b, out=out),
        "step": lambda v, out=None: step(v, 0.0, out), "less": indicator(np.less),
        "lesseq": indicator(np.less_equal), "where": select, "not": lambda v, out=None: np.subtract(1.0, v, out=out),
        "and": lambda a, b, out=None: np.minimum(a, b, out=out), "or": lambda a, b, out=None: np.maximum(a, b, out=out),
        "erf": special("erf"), "besselj": special("jv"),
    }  # fmt: skip


def _wave(name: str) -> Callable:
    """Sine or cosine of an array. numpy takes those of doubles one after the other, torch several at once."""
    import numpy as np

    one_by_one = getattr(np, name)

    def call(v: Any, out: Any = None) -> Any:
        torch = sys.modules.get("torch")
        plain = isinstance(v, np.ndarray) and v.dtype == float and v.flags.carray
        if torch is None or not plain or v.size < _MANY:
            return one_by_one(v, out=out)
        values = np.empty_like(v) if out is None else out
        getattr(torch, name)(torch.from_numpy(v), out=torch.from_numpy(values))
        return values

    return call


def _torch_table() -> dict[str, Callable]:
    import torch

    def two(function: Callable) -> Callable:
        """Promote a number next to a tensor: torch's binary functions want two tensors."""

        def call(a: Any, b: Any) -> Any:
            like = a if isinstance(a, torch.Tensor) else b
            return function(*(v if isinstance(v, torch.Tensor) else like.new_tensor(v) for v in (a, b)))

        return call

    def select(*args: Any) -> Any:
        """a where c ≠ 0, else b, for c, a, b of which one at least is a tensor."""
        like = next(v for v in reversed(args) if isinstance(v, torch.Tensor))
        c, a, b = (v if isinstance(v, torch.Tensor) else like.new_tensor(v) for v in args)
        return torch.where(c != 0, a, b)

    table: dict[str, Callable] = {name: getattr(torch, name) for name in _SAME_NAME}
    table |= {
        "asin": torch.asin, "acos": torch.acos, "atan": torch.atan, "atan2": two(torch.atan2),
        "min": two(torch.minimum), "max": two(torch.maximum), "pow": torch.pow,
        "step": lambda v: (v >= 0).to(v.dtype), "less": two(lambda a, b: (a < b).to(a.dtype)),
        "lesseq": two(lambda a, b: (a <= b).to(a.dtype)), "where": select, "not": lambda v: 1.0 - v,
        "and": two(torch.minimum), "or": two(torch.maximum),
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
    return {name: _like_arrays(name, function) for name, function in ON_NUMBERS.items()}


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


def divided(a: Any, b: Any) -> Any:
    try:
        return a / b
    except ZeroDivisionError:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)


def indicator(shape: Shape, *coordinates: Any) -> Any:
    """1 where a point is in the shape, 0 elsewhere; like its coordinates a number, an array or a tensor."""
    import numpy as np

    like = next((v for v in coordinates if kind(v) == "torch"), None)
    plain = [v.detach().cpu().numpy() if kind(v) == "torch" else np.asarray(v, dtype=float) for v in coordinates]
    columns = np.broadcast_arrays(*plain)
    found = shape.contains(np.stack([c.ravel() for c in columns], axis=1)).astype(float).reshape(columns[0].shape)
    if like is not None:
        return like.new_tensor(found)
    return found if found.ndim else float(found)


def quiet() -> AbstractContextManager[Any]:
    """No warnings of numpy: a value that is not finite is reported by those who use it, with its place."""
    numpy = sys.modules.get("numpy")
    return nullcontext() if numpy is None else numpy.errstate(all="ignore")


_tables: dict[str, dict[str, Callable]] = {}


def kind(value: Any) -> str:
    if isinstance(value, (int, float)):
        return "number"
    return "torch" if type(value).__module__.split(".")[0] == "torch" else "numpy"


def function(op: str, *args: Any) -> Callable:
    kinds = {kind(a) for a in args}
    return table("torch" if "torch" in kinds else "numpy" if "numpy" in kinds else "number")[op]


def table(of: str) -> dict[str, Callable]:
    """The functions for numbers ("number"), numpy arrays ("numpy") or tensors ("torch")."""
    if of not in _tables:
        _tables[of] = {"number": _number_table, "numpy": _numpy_table, "torch": _torch_table}[of]()
    return _tables[of]


def is_unrolled(exponent: Any) -> bool:
    """True for small integer powers, taken by multiplication: exact, differentiable at 0, and far faster than pow."""
    return isinstance(exponent, float) and exponent.is_integer() and 1 <= abs(exponent) <= _MAX_UNROLLED_POWER


def power(base: Any, exponent: Any) -> Any:
    if is_unrolled(exponent):
        result = unrolled(base, abs(int(exponent)), lambda a, b: a * b)
        return result if exponent > 0 else divided(1.0, result)
    return function("pow", base, exponent)(base, exponent)


def unrolled(base: Any, n: int, times: Callable[[Any, Any], Any]) -> Any:
    """base^n by repeated squaring, n ≥ 1."""
    if n == 1:
        return base
    half = unrolled(base, n // 2, times)
    square = times(half, half)
    return times(square, base) if n % 2 else square
