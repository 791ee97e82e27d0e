"""Text → expression graph, through a whitelist. Nothing in a problem file is ever executed as Python."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping

from gleg_core.errors import did_you_mean, listing
from gleg_core.expressions.nodes import ONE, Node, apply, const, var


class FormulaError(ValueError):
    """A formula that cannot be read; the message says what was found and what is allowed."""


CONSTANTS = {"pi": math.pi, "e": math.e}
_ALIASES = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "heaviside": "step"}
_ONE_ARGUMENT = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "exp",
        "log",
        "sqrt",
        "abs",
        "sign",
        "step",
        "erf",
        "besselj0",
        "besselj1",
    ]
)
FUNCTIONS = _ONE_ARGUMENT | {"atan2", "min", "max", "sigmoid", "gauss"} | set(_ALIASES)
_MAX_LENGTH = 20_000
_OPERATORS: dict[type, str] = {ast.Add: "add", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}


def parse(text: str, variables: Iterable[str], names: Mapping[str, Node]) -> Node:
    """Read ``text`` over ``variables`` (x, y, t …) and ``names`` (constants and named formulas). ``^`` is the power."""
    if len(text) > _MAX_LENGTH:
        raise FormulaError(f"a formula has at most {_MAX_LENGTH} characters, this one has {len(text)}")
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        detail = getattr(error, "msg", None) or type(error).__name__
        raise FormulaError(f"cannot read the formula '{_short(text)}': {detail}") from None
    scope = {**{k: const(v) for k, v in CONSTANTS.items()}, **{v: var(v) for v in variables}, **names}
    try:
        return _convert(tree.body, scope, text)
    except RecursionError:
        raise FormulaError(f"the formula '{_short(text)}' is nested too deeply") from None


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"


def _convert(node: ast.expr, scope: Mapping[str, Node], text: str) -> Node:
    match node:
        case ast.Constant(value=bool()):
            raise FormulaError(f"'{node.value}' is not a number")
        case ast.Constant(value=int() | float() as value):
            return const(value)
        case ast.Name(id=name):
            if name in scope:
                return scope[name]
            if name in FUNCTIONS:
                raise FormulaError(f"'{name}' is a function: write {name}(…)")
            raise FormulaError(
                f"unknown name '{name}' in '{_short(text)}'. Known: {listing(scope)}.{did_you_mean(name, scope)}"
            )
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return apply("neg", _convert(operand, scope, text))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _convert(operand, scope, text)
        case ast.BinOp(op=ast.Sub(), left=left, right=right):
            return apply("add", _convert(left, scope, text), apply("neg", _convert(right, scope, text)))
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _OPERATORS:
            return apply(_OPERATORS[type(op)], _convert(left, scope, text), _convert(right, scope, text))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return _call(name, [_convert(a, scope, text) for a in args], scope, text)
    raise FormulaError(
        f"'{_short(ast.unparse(node))}' is not allowed in a formula: use numbers, {listing(scope, 6)}, "
        "+ - * / ^ ( ) and functions such as sin, exp, sqrt, tanh"
    )


def _call(name: str, args: list[Node], scope: Mapping[str, Node], text: str) -> Node:
    if name not in FUNCTIONS:
        hint = " It is a name, not a function." if name in scope else did_you_mean(name, FUNCTIONS)
        raise FormulaError(
            f"unknown function '{name}' in '{_short(text)}'.{hint or ' Known: ' + listing(FUNCTIONS, 40)}"
        )
    op = _ALIASES.get(name, name)
    if op in ("min", "max") and len(args) >= 2:
        result = args[0]
        for a in args[1:]:
            result = apply(op, result, a)
        return result
    wanted = 2 if op in ("atan2", "min", "max") else 1
    if len(args) != wanted:
        raise FormulaError(f"{name}(…) takes {wanted} argument{'s' * (wanted > 1)}, found {len(args)}")
    if op == "sigmoid":  # ½(1 + tanh(w/2)) = 1/(1 + e^{−w}), without overflow
        half = const(0.5)
        return apply("mul", half, apply("add", ONE, apply("tanh", apply("mul", half, args[0]))))
    if op == "gauss":  # exp(−w²)
        return apply("exp", apply("neg", apply("pow", args[0], const(2))))
    return apply(op, *args)
