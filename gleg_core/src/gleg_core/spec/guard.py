"""Looking at a problem file before it is read: may it be solved with what is installed? A pack of locks answers."""

from typing import Protocol

from gleg_core.errors import PackError
from gleg_core.registry import default_registry
from gleg_core.spec.loading import Document


class Guard(Protocol):
    """The target of the hook ``gleg_guards``."""

    def check(self, document: Document, *, required: bool, refuse: bool) -> list[str]:
        """Warnings about the file as it was read. It is an error if nothing can be compared and that is ``required``; differences are
        errors if they ``refuse`` the run."""

    def absent(self, document: Document) -> str:
        """For a file that names components nobody provides: further lines of the message."""


def check_document(document: Document, *, required: bool, refuse: bool) -> list[str]:
    """The warnings of all installed guards."""
    registry = default_registry()
    guards: list[Guard] = [registry.target(o) for o in registry.own_tools("gleg_guards")]
    if required and not guards:
        raise PackError(
            f"{document.name}: no installed pack can compare it with a lock: {registry.missing('gleg_guards', 'lock')}"
        )
    return [text for guard in guards for text in guard.check(document, required=required, refuse=refuse)]
