"""Names a problem file defines: constants, regions, formulas and fields."""

import keyword
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gleg_core.expressions import FUNCTIONS, Expression, FormulaError
from gleg_core.registry.catalogue import bringer
from gleg_core.spec.params import COORDINATES, Scope, read_formula

RESERVED = {"t", "pi", "e", "all", "rest", *COORDINATES, *FUNCTIONS}
_NEWLY_RESERVED = {"where"}
"""Since version 0.1; a stored problem keeps it, for a name is not called."""
_OUTPUT = {"time", "node", "probe", "node_weight"} | {f"{n}_{c}" for n in ("node", "probe") for c in COORDINATES}
"""Names of the output files' own coordinates."""
RUN_ATTRIBUTES = frozenset(
    ["amended", "choice", "discretisation", "estimate", "evaluate", "field_names", "integrator", "problem", "stages", "state", "times",
     "timing", "trajectory"]
)  # fmt: skip
"""What every run has; a field of that name could not be reached as run.NAME."""
_WORD = r"[^\W\d]\w*"
"""Compiled where it is needed: after a mistake, and that takes longer than reading a whole problem."""

Names = dict[str, Expression | float]
Complain = Callable[[str, str], None]
"""Called with (name, what is wrong with it)."""


def objection(name: Any, stored: bool = False) -> str | None:
    """Why ``name`` cannot be the name of a constant, region, formula or field; of a ``stored`` problem, if it never could."""
    if not isinstance(name, str) or not name.isidentifier() or name != unicodedata.normalize("NFKC", name):
        return f"'{name}' is not a name: use letters, digits and _"
    if name in RESERVED and not (stored and name in _NEWLY_RESERVED):
        return f"'{name}' has a meaning in formulas already; choose another name"
    if keyword.iskeyword(name):
        return f"'{name}' is reserved in formulas; choose another name, such as '{name}_'"
    return None


def field_objection(name: Any, taken: Mapping[str, str], fields: Iterable[str], stored: bool = False) -> str | None:
    """Why ``name`` cannot be the name of a field. ``taken`` says what other names stand for."""
    if problem := objection(name, stored):
        return problem
    if name in taken:
        return f"'{name}' is also a {taken[name]}; choose another name"
    if not stored and (name in RUN_ATTRIBUTES or bringer("run attribute", name)):
        return f"'{name}' is something that every run has (run.{name}); choose another name, such as '{name}_'"
    owner, _, ending = name.rpartition("_")
    if name.startswith("_") or name in _OUTPUT or (ending in ("nodes", "probes") and owner in fields):
        return f"'{name}' has a meaning in the output already; choose another name"
    return None


def read_constants(values: Mapping[str, Any], complain: Complain, stored: bool = False) -> Names:
    """Numbers by name; later ones may use earlier ones."""

    def read(value: Any, known: Names) -> float:
        number = read_formula(value, Scope(known), ()).number
        if number is None:
            raise ValueError(f"a number is needed, '{value}' has no finite value")
        return number

    return _in_order(values, {}, read, complain, stored)


def read_formulas(values: Mapping[str, Any], scope: Scope, complain: Complain, stored: bool = False) -> Names:
    """Formulas of the coordinates and t by name; later ones may use earlier ones."""
    variables = (*COORDINATES[: scope.dim], "t")

    def read(value: Any, known: Names) -> Expression:
        return read_formula(value, Scope(known, scope.dim), variables)

    return _in_order(values, dict(scope.names), read, complain, stored)


def _in_order(
    values: Mapping[str, Any],
    known: Names,
    read: Callable[[Any, Names], Expression | float],
    complain: Complain,
    stored: bool,
) -> Names:
    """Read one after another. A name that failed is not complained about again where it is used."""
    found: Names = {}
    failed: set[str] = set()
    for name, value in values.items():
        problem = objection(name, stored)
        if problem is None and name in known:
            what = "region" if isinstance(known[name], Expression) else "constant"
            problem = f"'{name}' is also a {what}; choose another name"
        if problem is None:
            try:
                found[name] = read(value, {**known, **found})
                continue
            except FormulaError as error:
                if error.unknown in failed:
                    failed.add(name)
                    continue
                problem = _order_problem(name, error.unknown, values) or str(error)
            except ValueError as error:
                problem = str(error)
        failed.add(name)
        complain(name, problem)
    return found


def _order_problem(name: str, unknown: str | None, values: Mapping[str, Any]) -> str | None:
    """For a name that is defined, but not before ``name``: what to do about it."""
    if unknown is None or unknown not in values:
        return None
    if unknown == name:
        return f"'{name}' refers to itself"
    if circle := _path(unknown, name, values):
        return f"circular: {' → '.join([name, *circle])}"
    return f"'{unknown}' is defined further down and values are read in order: move '{unknown}' above '{name}'"


def _path(start: str, goal: str, values: Mapping[str, Any]) -> list[str] | None:
    """Names from ``start`` to ``goal``, each used by the one before it."""
    trails, seen = [[start]], {start}
    while trails:
        trail = trails.pop()
        for word in re.findall(_WORD, str(values[trail[-1]])):
            if word == goal:
                return [*trail, goal]
            if word in values and word not in seen:
                seen.add(word)
                trails.append([*trail, word])
    return None
