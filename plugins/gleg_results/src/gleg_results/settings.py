"""Values set on the command line: ``--set constants.r=1.2``. Torch is not imported."""

import re
from collections.abc import Iterable
from typing import Any

from gleg_core.errors import SpecError, did_you_mean, listing
from gleg_core.spec.loading import READERS, Document, Place
from gleg_core.spec.overrides import replaced

_PART = re.compile(r"([^\[\].]+)((?:\[\d+\])*)\Z")


def with_settings(document: Document, settings: Iterable[str]) -> Document:
    """The document after every ``key=value`` of the command line."""
    parsed = [(text, *parse_setting(text)) for text in settings]
    _check_constants(document, [place for _, place, _ in parsed])
    for text, place, value in parsed:
        document = replaced(document, place, value, f"--set {text}")
    return document


def _check_constants(document: Document, places: Iterable[Place]) -> None:
    """A constant that the file does not have is used nowhere in it, unless formulas are replaced as well."""
    places, known = list(places), document.data.get("constants")
    names = known if isinstance(known, dict) else {}
    if any(place[0] != "constants" for place in places):
        return
    for place in places:
        if len(place) == 2 and place[1] not in names:
            raise SpecError(
                f"{document.name}: there is no constant '{place[1]}' to replace. Constants: {listing(names)}."
                f"{did_you_mean(str(place[1]), names)}"
            )


def parse_setting(text: str) -> tuple[Place, Any]:
    """``constants.r=1.2`` → (('constants', 'r'), 1.2); list items as in ``fields.u.equation[0].coefficient=2``."""
    key, separator, value = text.partition("=")
    place: list[str | int] = []
    for part in key.strip().split("."):
        found = _PART.match(part.strip())
        if not separator or not found:
            raise SpecError(f"--set {text}: write key=value, for example --set constants.D=0.1")
        place += [found[1], *map(int, re.findall(r"\d+", found[2]))]
    return tuple(place), load_value(value.strip(), f"--set {text}")


def load_value(text: str, name: str) -> Any:
    """One value of the command line, spelled as in a YAML file: ``0.1``, ``sin(x)``, ``[[0, 0.1]]``."""
    try:
        return READERS[".yaml"](text, name)[0]
    except SpecError as error:
        raise SpecError(re.sub(rf"^{re.escape(name)}:\d+:", f"{name}:", str(error))) from None
