"""Looking at a problem file before it is read: may it be solved with what is installed? A pack of locks answers."""

from typing import Protocol

from gleg_core.errors import PackError
from gleg_core.registry import Registry, default_registry
from gleg_core.spec.loading import Document


class Guard(Protocol):
    """The target of the hook ``gleg_guards``."""

    def check(self, document: Document, *, required: bool, refuse: bool) -> list[str]:
        """Warnings about the file as it was read. It is an error if nothing can be compared and that is ``required``; differences are
        errors if they ``refuse`` the run."""

    def absent(self, document: Document) -> str:
        """For a file that names components nobody provides: further lines of the message."""


def _guards(registry: Registry) -> list[Guard]:
    return [registry.target(o) for o in registry.own_tools("gleg_guards")]


def check_document(document: Document, *, required: bool, refuse: bool) -> list[str]:
    """The warnings of all installed guards."""
    registry = default_registry()
    guards = _guards(registry)
    if required and not guards:
        raise PackError(
            f"{document.name}: no installed pack can compare it with a lock: {registry.missing('gleg_guards', 'lock')}"
        )
    return [text for guard in guards for text in guard.check(document, required=required, refuse=refuse)]


def explained(error: PackError, document: Document) -> PackError:
    """A pack error with what guards know of the packs that are gone."""
    return PackError(str(error) + "".join(guard.absent(document) for guard in _guards(default_registry())))
