"""Selections where(c, a, b) of tensors that are differentiated.

Backwards through a branch, autograd multiplies: where the branch is not taken and its slope is infinite it forms 0·∞ = nan. So each part of
the formula is cut from its arguments at those points at which no branch that is taken needs it. Values are the same.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gleg_core.expressions.nodes import Node, walk

Places = Any
"""True for all points, or a tensor that is true at some."""
Part = tuple[Places, list[tuple[Node, Places]]]
"""Where a node is needed, and where it needs each of its arguments."""


def selected(
    root: Node,
    variables: Mapping[str, Any],
    decided: Callable[[Node], Any],
    compute: Callable[[Node, Sequence[Any]], Any],
) -> Any:
    """The value of a where-node. ``decided`` gives conditions, which have no slope, and ``compute`` op(values) of a node."""
    parts = _parts(root, decided)
    values: dict[Node, Any] = {}
    for node, (places, arguments) in reversed(parts.items()):
        if not node.args:
            values[node] = node.value if node.op == "const" else _cut(variables[node.name], places)
            continue
        read = [values[a] if at is parts[a][0] else _cut(values[a], at) for a, at in arguments]
        if node.op != "where":
            values[node] = compute(node, read)
        else:
            values[node] = compute(node, [decided(node.args[0]), *read]) if len(read) == 2 else read[0]
    return values[root]


def _parts(root: Node, decided: Callable[[Node], Any]) -> dict[Node, Part]:
    """What the value is made of, users before their arguments: without conditions, and without branches that a number decides against."""
    needed: dict[Node, Places] = {root: True}
    parts: dict[Node, Part] = {}
    for node in reversed(list(walk(root))):
        if node not in needed:
            continue
        places = needed[node]
        arguments = [(a, places) for a in node.args]
        if node.op == "where":
            c = decided(node.args[0])
            if isinstance(c, (int, float)):
                arguments = [arguments[1 if c else 2]]
            else:
                taken = zip(node.args[1:], (c != 0, c == 0), strict=True)
                arguments = [(a, t if places is True else places & t) for a, t in taken]
        parts[node] = places, arguments
        for a, at in arguments:
            p = needed.get(a, at)
            needed[a] = p if p is at or p is True else True if at is True else p | at
    return parts


def _cut(value: Any, places: Places) -> Any:
    """The value, with a slope only at ``places``."""
    if places is True or not getattr(value, "requires_grad", False):
        return value
    import torch

    return torch.where(places, value, value.detach())
