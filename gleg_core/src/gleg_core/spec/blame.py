"""Who is at fault when a pack's code fails: messages that name the pack, the stage and what helps."""

import traceback
from importlib import import_module
from typing import TYPE_CHECKING

from gleg_core.errors import PackError, listing
from gleg_core.pack import CONTRACTS
from gleg_core.registry import Component, Pack
from gleg_core.registry.records import one_line

if TYPE_CHECKING:
    from gleg_core.spec.problem import Problem


def remedy(pack: Pack) -> str:
    return f"Report it to the pack's author, or try another version: pip install --upgrade {pack.distribution}"


def failure(pack: Pack, stage: str, error: BaseException) -> str:
    """``pack 'x' (gleg-x 1.2) failed while …: KeyError: 'a'``, and what helps."""
    return f"{pack} failed {stage}: {one_line(error)}. {remedy(pack)}"


def pack_failed(where: str, pack: Pack, stage: str, error: BaseException) -> PackError:
    """The same as an error, about a place in a file."""
    return PackError(f"{where}: {failure(pack, stage, error)}")


def check_contract(made: object, component: Component) -> None:
    """Refuse what a factory returned if it does not derive from the class of its contract, or lacks what that declares."""
    module, _, name = CONTRACTS[component.contract].base.partition(":")
    wanted = getattr(import_module(module), name)
    found = "" if isinstance(made, wanted) else f" instead of a {name}"
    if not found and (missing := [word for word in wanted.__annotations__ if not hasattr(made, word)]):
        found = f" without {listing(missing)}, which every {name} has"
    if found:
        raise PackError(
            f"{component.pack}: the factory of '{component.key}' returned {type(made).__name__}{found}. "
            f"{remedy(component.pack)}"
        )


def guilty_pack(problem: "Problem", error: BaseException) -> tuple[Pack, str] | None:
    """The pack in whose code an error arose, and where in it; None if no pack of the problem had a part in it."""
    from gleg_core.spec.problem import components

    guilty = [(c.installed.pack, c.installed.entry.factory) for c in components(problem)]
    guilty += [(a.offered.pack, a.offered.keys.model) for holder in (problem, *problem.fields) for a in holder.added]
    words = [(word, pack) for pack, target in guilty for word in (pack.module, target)]
    packages = {word.partition(":")[0].partition(".")[0]: pack for word, pack in words}
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        module = str(frame.f_globals.get("__name__", ""))
        if (pack := packages.get(module.partition(".")[0])) is not None:
            return pack, f"while it was running, in {module}.{frame.f_code.co_qualname} (line {line})"
    return None
