"""Keys of a problem file that belong to packs: found, checked by the packs' own models, kept with the problem."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import BaseModel

from gleg_core.errors import GlegError, PackError
from gleg_core.pack import OWN_KEYS
from gleg_core.registry import OfferedKeys, Registry
from gleg_core.registry.absent import installation, refused
from gleg_core.registry.catalogue import bringer
from gleg_core.spec.blame import failure
from gleg_core.spec.complaints import Complaints, allowed_keys
from gleg_core.spec.loading import Place
from gleg_core.spec.models import ComponentSection, ProblemSection, TermSection
from gleg_core.spec.params import Scope

if TYPE_CHECKING:
    from gleg_core.spec.problem import Resolved, TermSpec

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Reading:
    """What the keys of a pack mean: any ``value``, the ``components`` it uses, and ``data``, the keys with full names as plain data."""

    value: Any
    components: "tuple[Resolved, ...]"
    data: dict[str, Any]


class Reader(Protocol):
    """What ``Keys.read`` is given: names in a problem file become components and terms. None: a complaint was made."""

    scope: Scope

    def component(self, contract: str, section: ComponentSection, place: Place) -> "Resolved | None": ...
    def term(self, section: TermSection, place: Place) -> "TermSpec | None": ...
    def complain(self, place: Place, message: str) -> None: ...


@dataclass(frozen=True)
class StatedKeys:
    """The keys of one pack at one place of a file. ``value`` is what was read from the ``model``, or the model itself."""

    offered: OfferedKeys
    place: Place
    model: BaseModel
    value: Any
    components: "tuple[Resolved, ...]" = ()
    data: Mapping[str, Any] | None = None

    def dump(self) -> dict[str, Any]:
        """Plain data that mean the same in another file."""
        return dict(self.data) if self.data is not None else dumped(self.model)


def dumped(model: BaseModel) -> dict[str, Any]:
    """Keys as plain data, those left out that have no value."""
    return model.model_dump(mode="json", exclude_none=True)


@dataclass(frozen=True)
class KeyHolder:
    """A part of a problem that packs add keys to."""

    added: tuple[StatedKeys, ...]

    def keys(self, kind: type[M]) -> M:
        """The keys of this model, with its defaults for what the file does not state."""
        return next((a.model for a in self.added if isinstance(a.model, kind)), None) or kind()

    def reading(self, kind: type[BaseModel]) -> Any:
        """What ``Keys.read`` made of the keys of this model; None if the file does not state them."""
        return next((a.value for a in self.added if isinstance(a.model, kind)), None)


class AddedKeys:
    """All keys of a document that are not core's, by the packs they belong to."""

    def __init__(self, data: Mapping[str, Any], registry: Registry, complaints: Complaints):
        self._registry, self._complaints = registry, complaints
        self._found: list[tuple[OfferedKeys, Place, dict[str, Any]]] = []
        self.core = {**self._split("problem", (), data)}
        """The document without them."""
        if isinstance(output := self.core.get("output"), Mapping):
            self.core["output"] = self._split("output", ("output",), output)
        if isinstance(fields := self.core.get("fields"), Mapping):
            self.core["fields"] = {
                name: self._split("field", ("fields", name), field) if isinstance(field, Mapping) else field
                for name, field in fields.items()
            }

    def _split(self, at: str, place: Place, data: Mapping[str, Any]) -> dict[str, Any]:
        """What core reads itself; the rest is kept by owner."""
        own: dict[str, Any] = {}
        groups: dict[int, tuple[OfferedKeys, Place, dict[str, Any]]] = {}
        for name, value in data.items():
            try:
                owner = None if name in OWN_KEYS[at] else self._registry.key(at, str(name))
            except PackError as error:
                self._complaints.add((*place, name), str(error), pack=True)
                continue
            if owner is not None:
                groups.setdefault(id(owner.keys), (owner, place, {}))[2][name] = value
            elif name not in OWN_KEYS[at] and (distribution := bringer("keys", name)) is not None:
                brings = installation(self._registry, distribution)
                self._complaints.note((*place, name), f"not used here: it belongs to {brings}")
            else:
                own[name] = value
        self._found += groups.values()
        return own

    def fill(self, folder: str) -> None:
        """Put what follows from the keys of packs in the place of what the document leaves out."""
        for offered, place, stated in self._found:
            if not offered.keys.fills:
                continue
            try:
                filled = self._registry.function(offered, offered.keys.fills)(stated, Path(folder))
                for (section, key), value in filled.items():
                    if key not in allowed_keys(ProblemSection, (section,)):
                        raise ValueError(f"it fills '{section}.{key}', which is no key of core")
                    if isinstance(known := self.core.get(section, {}), Mapping) and key not in known:
                        self.core[section] = {**known, key: value}
            except GlegError as error:
                self._complaints.add((*place, *list(stated)[:1]), str(error), pack=isinstance(error, PackError))
            except (Exception, SystemExit) as error:
                said = failure(offered.pack, "while it read its keys", error)
                self._complaints.add((*place, *list(stated)[:1]), said, pack=True)

    def allowed(self, place: Place) -> list[str]:
        """Names of keys that installed packs add at a place of the file, where it has another; packs that were refused may know it."""
        at = "problem" if not place else "output" if place == ("output",) else "field" if _is_field(place) else None
        if at and (lost := refused(self._registry).strip("\n")) not in ("", *self._complaints.notes):
            self._complaints.notes.append(lost)
        return list(self._registry.keys(at, strangers=True)) if at else []

    def names(self, at: str, replacing: str) -> list[str]:
        """Keys of installed packs that may stand in the place of a key of core."""
        return [name for name, o in self._registry.keys(at).items() if replacing in o.keys.replaces]

    def replaced(self, place: Place) -> set[str]:
        """Keys of core that may be left out at a place, because of what stands there or at the top."""
        return {key for o, where, _ in self._found if where in ((), place) for key in o.keys.replaces}

    def validated(self, scope: Scope, *, in_fields: bool) -> list[StatedKeys]:
        """Every group of the fields, or of all other places, by its pack's model; mistakes are complaints."""
        found = []
        for offered, place, data in self._found:
            if _is_field(place) != in_fields:
                continue
            try:
                model = self._registry.model(offered)
            except PackError as error:
                self._complaints.add((*place, *list(data)[:1]), str(error), pack=True)
                continue
            what = f"the key '{next(iter(data))}'"
            if (made := self._complaints.validated(model, data, scope, place, offered.pack, what)) is not None:
                found.append(StatedKeys(offered, place, made, made))
        return found

    def read(self, stated: StatedKeys, reader: Reader) -> StatedKeys:
        """With names resolved, if its pack has a way to do so."""
        keys = stated.offered.keys
        if not keys.read:
            return stated
        place = (*stated.place, next(n for n in keys.names if n in stated.model.model_fields_set))
        try:
            made = self._registry.function(stated.offered, keys.read)(stated.model, stated.place, reader)
            if not (isinstance(made, Reading) and isinstance(made.data, Mapping)):
                wrong = f"'{keys.read}' returned {type(made).__name__}"
                raise TypeError(f"{wrong} instead of a Reading with a mapping of data")
            return StatedKeys(stated.offered, stated.place, stated.model, made.value, made.components, made.data)
        except GlegError as error:
            self._complaints.add(place, str(error), pack=isinstance(error, PackError))
        except (Exception, SystemExit) as error:
            self._complaints.add(place, failure(stated.offered.pack, "while it read its keys", error), pack=True)
        return stated


def _is_field(place: Place) -> bool:
    return len(place) == 2 and place[0] == "fields"
