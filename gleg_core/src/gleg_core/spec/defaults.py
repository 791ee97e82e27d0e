"""What stands in for a component that a problem file does not name: the packs suggest it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gleg_core.errors import GlegError, PackError
from gleg_core.registry import Offered, Registry
from gleg_core.spec.blame import failure
from gleg_core.spec.models import ComponentSection, ProblemSection
from gleg_core.spec.params import Scope


@dataclass(frozen=True)
class Question:
    """What is asked of a pack's ``gleg_defaults``: which ``what`` suits this problem? A training recipe asks without a ``section``."""

    what: Literal["basis", "integrator"]
    section: ProblemSection | None
    scope: Scope
    registry: Registry


@dataclass(frozen=True)
class Suggestion:
    """A component and its parameters; ``reason`` is shown where there was a choice."""

    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


def suggested(question: Question) -> ComponentSection | None:
    """The first suggestion: first-party packs are asked first, others only if none of those has an answer."""
    registry = question.registry
    for ask in (registry.own_tools, registry.tools):
        for offered in ask("gleg_defaults"):
            if offered.tool.name == question.what and (answer := _answer(offered, question)) is not None:
                return ComponentSection(kind=answer.kind, **answer.parameters)
    return None


def _answer(offered: Offered, question: Question) -> Suggestion | None:
    try:
        answer = question.registry.target(offered)(question)
        if not isinstance(answer, Suggestion | None):
            raise TypeError(f"it suggests {type(answer).__name__} instead of a Suggestion")
    except GlegError:
        raise
    except (Exception, SystemExit) as error:
        raise PackError(failure(offered.pack, f"while it suggested the {question.what}", error)) from error
    return answer
