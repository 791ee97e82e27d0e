"""Text → expression graph, through a whitelist. Nothing in a problem file is ever executed as Python."""

import ast
import math
import re
import warnings
from collections.abc import Iterable, Mapping
from functools import reduce

from gleg_core.errors import did_you_mean, listing
from gleg_core.expressions.nodes import ONE, TWO, ZERO, Node, apply, const, fold, var


class FormulaError(ValueError):
    """A formula that cannot be read; the message says what was found and what is allowed.

    ``unknown`` is the name that has no meaning, if that is what is wrong.
    """

    def __init__(self, message: str, unknown: str | None = None):
        super().__init__(message)
        self.unknown = unknown


class _NoValue(FormulaError):
    """Constants without a finite value, such as 1/0."""


CONSTANTS = {"pi": math.pi, "e": math.e}
_ALIASES = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "heaviside": "step"}
_ONE_ARGUMENT = frozenset(
    ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "abs", "sign", "step",
     "erf"]
)  # fmt: skip
_TWO_ARGUMENTS = frozenset(["atan2", "min", "max", "besselj"])
FUNCTIONS = _ONE_ARGUMENT | _TWO_ARGUMENTS | {"sigmoid", "gauss", "besselj0", "besselj1", "where"} | set(_ALIASES)
_MAX_LENGTH = 20_000
_OPERATORS: dict[type, str] = {ast.Add: "add", ast.Sub: "add", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}
_SYNTAX = re.compile(r"\s*(\(<[^>]*>[^)]*\)|for integer string conversion.*)$", re.DOTALL)
"""Parts of Python's messages that mean nothing to the writer of a formula."""
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CONDITIONS = frozenset(["less", "lesseq", "inside", "and", "or", "not", "step"])
"""Operations whose value is 1 or 0."""
_UNIT = re.compile(r"\s*[-+]?[\d.]+(e[-+]?\d+)?\s*[^\W\d_]", re.IGNORECASE)
_TRY_CONDITION = re.compile(r"[<>=!&|]|\b(and|or|not)\b")


def parse(text: str, variables: Iterable[str], names: Mapping[str, Node]) -> Node:
    """Read ``text`` over ``variables`` (x, y, t …) and ``names`` (constants and named formulas). ``^`` is the power."""
    if len(text) > _MAX_LENGTH:
        raise FormulaError(f"a formula has at most {_MAX_LENGTH} characters, this one has {len(text)}")
    scope = {**{k: const(v) for k, v in CONSTANTS.items()}, **{v: var(v) for v in variables}, **names}
    try:
        return _Reader(scope, text).read(_tree(text))
    except (RecursionError, MemoryError):  # Python's parser says the one or the other
        raise FormulaError(f"the formula '{_short(text)}' is nested too deeply; split it into named formulas") from None


def _tree(text: str) -> ast.expr:
    """The syntax tree of a formula. It is only looked at, never compiled."""
    if not text.strip():
        raise FormulaError("the formula is empty")
    if "#" in text:
        raise FormulaError(f"'#' is not allowed in the formula '{_short(text)}'")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's own advice on style is no advice to the writer of a formula
            return ast.parse(" ".join(text.split()).replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError) as error:
        detail = _SYNTAX.sub("", getattr(error, "msg", None) or str(error))
        misread = detail == "invalid syntax" and _TRY_CONDITION.search(text)
        hint = "; conditions are like x < 1 (also <=, >, >=), joined by and, or, not" if misread else ""
        if not hint and _UNIT.match(text):
            hint = "; a number has no unit here (choose units and use them everywhere), and a product needs its *"
        raise FormulaError(f"cannot read the formula '{_short(text)}': {detail}{hint}") from None


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"


def _source(node: ast.expr) -> str:
    return _short(ast.unparse(node).replace("**", "^"))


def _is_condition(root: Node) -> bool:
    """Is its value always 1 or 0? Conditions, and what min, max, products and where make of conditions."""
    pending, seen = [root], {root}
    while pending:
        node = pending.pop()
        if node.op in ("mul", "min", "max", "where"):
            new = set(node.args[node.op == "where" :]) - seen
            pending.extend(new)
            seen |= new
        elif node.op not in _CONDITIONS and not (node.op == "const" and node.value in (0.0, 1.0)):
            return False
    return True


class _Reader:
    """Turns the syntax tree of one formula into nodes; anything that is not on the list is refused."""

    def __init__(self, scope: Mapping[str, Node], text: str):
        self._scope, self._text = scope, text

    def read(self, tree: ast.expr) -> Node:
        match tree:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return self._number(value, tree)
            case ast.Name(id=name):
                return self._name(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return apply("neg", self.read(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand)
            case ast.BinOp(op=op) if type(op) in _OPERATORS:
                return self._chain(tree)
            case ast.Call(func=ast.Name(id="where"), args=args, keywords=[]):
                return self._where(args, tree)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, [self.read(a) for a in args], tree)
            case ast.Compare():
                return self._comparison(tree)
            case ast.BoolOp(op=op, values=values):
                joint = "and" if isinstance(op, ast.And) else "or"
                return reduce(lambda a, b: apply(joint, a, b), [self._condition(v, tree) for v in values])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return apply("not", self._condition(operand, tree))
        raise FormulaError(
            f"'{_source(tree)}' is not allowed in a formula: use numbers, {listing(self._scope, 6)}, "
            "+ - * / ^ ( ), functions such as sin, exp, sqrt, tanh, and conditions such as x < 1 in where(condition, a, b)"
        )

    def _number(self, value: float, tree: ast.expr) -> Node:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise FormulaError(f"the number in '{_short(self._text)}' is too large (at most 1.8e308)")
        return const(number)

    def _name(self, name: str) -> Node:
        if name in self._scope:
            return self._scope[name]
        if name in FUNCTIONS:
            raise FormulaError(f"'{name}' is a function: write {name}(…)")
        hint = f"Known: {listing(self._scope, 20)}.{did_you_mean(name, self._scope)}"
        raise FormulaError(f"unknown name '{name}' in '{_short(self._text)}'. {hint}", unknown=name)

    def _chain(self, tree: ast.BinOp) -> Node:
        """a + b − c + …, read along its left side in a loop: a sum of thousands of terms is not nested."""
        pending: list[ast.BinOp] = []
        left: ast.expr = tree
        while isinstance(left, ast.BinOp) and type(left.op) in _OPERATORS:
            pending.append(left)
            left = left.left
        result = self.read(left)
        for step in reversed(pending):
            right = self.read(step.right)
            if isinstance(step.op, ast.Sub):
                right = apply("neg", right)
            result = self._apply(_OPERATORS[type(step.op)], (result, right), step)
        return result

    def _comparison(self, tree: ast.Compare) -> Node:
        """a < b, and a < b <= c, which is a < b and b <= c."""
        if not all(isinstance(op, _COMPARISONS) for op in tree.ops):
            raise FormulaError(
                f"'{_source(tree)}' is not allowed in a formula: compare with <, <=, > or >=; instead of a == b write abs(a - b) < 1e-9"
            )
        values = [self.read(v) for v in (tree.left, *tree.comparators)]
        result = ONE
        for op, a, b in zip(tree.ops, values, values[1:], strict=False):
            first, second = (a, b) if isinstance(op, ast.Lt | ast.LtE) else (b, a)
            strict = isinstance(op, ast.Lt | ast.Gt)
            result = apply("and", result, apply("less" if strict else "lesseq", first, second))
        return result

    def _condition(self, tree: ast.expr, whole: ast.expr) -> Node:
        node = self.read(tree)
        if not _is_condition(node):
            raise FormulaError(
                f"'{_source(whole)}' is not allowed in a formula: a condition such as x < 1 is needed where '{_source(tree)}' is"
            )
        return node

    def _where(self, args: list[ast.expr], tree: ast.expr) -> Node:
        if len(args) != 3:
            raise FormulaError(
                f"where(condition, a, b) takes 3 arguments, found {len(args)}: a where x < 1, say, and b elsewhere"
            )
        condition = self._condition(args[0], tree)
        decided = condition.value if condition.op == "const" else None
        return apply("where", condition, self._branch(args[1], decided == 0), self._branch(args[2], decided == 1))

    def _branch(self, tree: ast.expr, never: bool) -> Node:
        """A branch that is never taken is read too, but needs no value: where(k > 0, log(k), 0)."""
        try:
            return self.read(tree)
        except _NoValue:
            if never:
                return ZERO
            raise

    def _apply(self, op: str, args: tuple[Node, ...], tree: ast.expr) -> Node:
        if all(a.op == "const" for a in args) and fold(op, args) is None:
            raise _NoValue(f"'{_source(tree)}' has no finite value")
        return apply(op, *args)

    def _call(self, name: str, args: list[Node], tree: ast.expr) -> Node:
        if name not in FUNCTIONS:
            hint = " It is a name, not a function." if name in self._scope else did_you_mean(name, FUNCTIONS)
            raise FormulaError(
                f"unknown function '{name}' in '{_short(self._text)}'.{hint or ' Known: ' + listing(FUNCTIONS, 40)}"
            )
        op = _ALIASES.get(name, name)
        if op in ("min", "max") and len(args) >= 2:
            return reduce(lambda a, b: apply(op, a, b), args)
        wanted = 2 if op in _TWO_ARGUMENTS else 1
        if len(args) != wanted:
            more = " or more" * (op in ("min", "max"))
            raise FormulaError(f"{name}(…) takes {wanted}{more} argument{'s' * (wanted > 1)}, found {len(args)}")
        if op == "sigmoid":  # ½(1 + tanh(w/2)) = 1/(1 + e^{−w}), without overflow
            half = const(0.5)
            return apply("mul", half, apply("add", ONE, apply("tanh", apply("mul", half, args[0]))))
        if op == "gauss":  # exp(−w²)
            return apply("exp", apply("neg", apply("pow", args[0], TWO)))
        if op in ("besselj0", "besselj1"):
            return self._apply("besselj", (const(float(op[-1])), args[0]), tree)
        if op == "besselj" and not (args[0].op == "const" and args[0].value in range(1001)):
            raise FormulaError(f"besselj(m, …) takes a whole number m from 0 to 1000 first, found '{_source(tree)}'")
        return self._apply(op, tuple(args), tree)
