"""Expression graph → text."""

from gleg_core.expressions.nodes import MINUS_ONE, Node, walk

MOST = 60
"""Characters; a part that is longer is written …, for a graph of n nodes may be a formula of 2ⁿ characters."""
_LOGIC, _SUM, _PRODUCT, _POWER, _ATOM = range(5)
"""How strongly the last operation of a text binds."""
_SIGNS = {"less": "<", "lesseq": "<=", "and": "and", "or": "or"}


def written(root: Node) -> str:
    """The formula of a node, one that can be read again unless it is too long."""
    texts: dict[Node, tuple[str, int]] = {}
    for node in walk(root):
        text, binding = _text(node, [texts[a] for a in node.args])
        texts[node] = (text, binding) if len(text) <= MOST else ("…", _ATOM)
    return texts[root][0]


def _text(node: Node, args: list[tuple[str, int]]) -> tuple[str, int]:
    def within(i: int, least: int) -> str:
        text, binding = args[i]
        return f"({text})" if binding < least or (text.startswith("-") and least > _SUM) else text

    match node.op:
        case "const":
            return repr(node.value).removesuffix(".0"), _ATOM
        case "var" | "inside":
            return node.name, _ATOM
        case "add":
            a, b = within(0, _SUM), within(1, _SUM)
            return f"{a} - {b[1:]}" if b.startswith("-") else f"{a} + {b}", _SUM
        case "mul":
            if node.args[0] is MINUS_ONE:
                return f"-{within(1, _PRODUCT)}", _PRODUCT
            first = (
                args[0][0] if node.args[0].op == "const" else within(0, _PRODUCT)
            )  # a number keeps its sign in front
            return f"{first}*{within(1, _PRODUCT)}", _PRODUCT
        case "div":
            return f"{within(0, _PRODUCT)}/{within(1, _POWER)}", _PRODUCT
        case "pow":
            return f"{within(0, _ATOM)}^{within(1, _ATOM)}", _POWER
        case "not":
            return f"not {within(0, _ATOM)}", _LOGIC
        case "less" | "lesseq" | "and" | "or":
            return f"{within(0, _SUM)} {_SIGNS[node.op]} {within(1, _SUM)}", _LOGIC
    return f"{node.op}({', '.join(text for text, _ in args)})", _ATOM
