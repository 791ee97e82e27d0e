"""The values of a varied key, as ``--vary`` writes them.

basis.K=10,14,18              a list, of numbers or words
constants.r=0.2:2:25          25 equal steps, both ends included; also linspace(0.2,2,25)
constants.D=logspace(-3,-1,40)     40 powers of ten from 1e-3 to 1e-1
basis.K=range(10,24,4)        10, 14, 18, 22: without the end, as in Python
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gleg_core.errors import SpecError
from gleg_core.spec.params import shown
from gleg_results.settings import load_value, parse_setting

_CALL = re.compile(r"(linspace|logspace|range)\s*\((.*)\)\Z", re.DOTALL)
_MOST = 100_000
"""Values of one key."""


@dataclass(frozen=True)
class Variation:
    """A key and the values it takes, spelled as in ``--set KEY=VALUE``."""

    key: str
    texts: tuple[str, ...]

    @property
    def values(self) -> list[Any]:
        """Plain values: numbers, texts, lists."""
        return [load_value(text, self.key) for text in self.texts]

    @property
    def numeric(self) -> bool:
        return all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)


def parse_variation(text: str) -> Variation:
    """``constants.D=logspace(-3,-1,40)`` → the key and its values."""
    key, _, listed = (part.strip() for part in text.partition("="))
    if not key or not listed:
        raise SpecError(f"--vary {text}: write key=values, for example --vary basis.K=10,14,18")
    try:
        texts = [value for part in _split(listed) for value in _expand(part)]
        for value in texts:
            parse_setting(f"{key}={value}")
    except ValueError as error:
        raise SpecError(f"--vary {text}: {error}") from None
    except SpecError as error:
        raise SpecError(str(error).replace("--set", "--vary")) from None
    variation = Variation(key, tuple(texts))
    values = variation.values
    if double := [v for i, v in enumerate(values) if v in values[:i]]:
        raise SpecError(f"--vary {text}: the value {shown(double[0])} is there twice")
    return variation


def _split(text: str) -> list[str]:
    """The parts between commas that are not inside brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    if depth:
        raise ValueError("a bracket is not closed" if depth > 0 else "there is a closing bracket too many")
    if not all(part.strip() for part in parts):
        raise ValueError("there is nothing between two commas, or before the first, or after the last")
    return [part.strip() for part in parts]


def _expand(part: str) -> list[str]:
    if found := _CALL.match(part):
        name, arguments = found[1], [a.strip() for a in found[2].split(",")]
        return _SEQUENCES[name](f"{name}({found[2]})", *(_number(a, part) for a in arguments))
    ends = part.split(":")
    if len(ends) == 3 and isinstance(load_value(ends[0], part), int | float):
        return _linspace(part, *(_number(end, part) for end in ends))
    return [part]


def _number(text: str, part: str) -> float:
    value = load_value(text, part)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"'{part}' needs numbers, found {shown(value)}")
    return value


def _steps(spelled: str, ends: tuple[float, ...]) -> tuple[list[float], bool]:
    """``a, b, n`` → n equally spaced numbers, and whether all of them are whole."""
    if len(ends) != 3 or ends[2] != int(ends[2]) or not 1 <= ends[2] <= _MOST:
        raise ValueError(f"'{spelled}' needs a start, a stop and how many values there are, 1 to {_MOST:,}")
    a, b, n = ends[0], ends[1], int(ends[2])
    whole = isinstance(a, int) and isinstance(b, int) and (b - a) % max(n - 1, 1) == 0
    return [a + (b - a) * i / max(n - 1, 1) for i in range(n - 1)] + [b if n > 1 else a], whole


def _linspace(spelled: str, *ends: float) -> list[str]:
    values, whole = _steps(spelled, ends)
    return [repr(round(v) if whole else v) for v in values]


def _logspace(spelled: str, *ends: float) -> list[str]:
    try:
        return [repr(10.0**v) for v in _steps(spelled, ends)[0]]
    except OverflowError:
        raise ValueError(f"'{spelled}' holds powers of ten, of which one is too large for a number") from None


def _range(spelled: str, *ends: float) -> list[str]:
    if len(ends) not in (2, 3) or (len(ends) == 3 and ends[2] == 0):
        raise ValueError(f"'{spelled}' needs a start, a stop and perhaps a step, which is not zero")
    a, b, step = (*ends, 1)[:3]
    count = math.ceil((b - a) / step - 1e-9)  # 0:1:0.1 has ten values, not eleven, although 10·0.1 may round below 1
    if not 1 <= count <= _MOST:
        raise ValueError(f"'{spelled}' has {max(count, 0):,} values, 1 to {_MOST:,} are needed")
    return [repr(a + i * step) for i in range(count)]


_SEQUENCES: dict[str, Callable[..., list[str]]] = {"linspace": _linspace, "logspace": _logspace, "range": _range}
