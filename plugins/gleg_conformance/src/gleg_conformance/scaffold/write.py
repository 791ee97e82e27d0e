"""Writing a new pack: templates of the chosen contract with the author's names filled in."""

import tempfile
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from gleg_core import __version__
from gleg_core.errors import OutputError, PackError, SpecError, did_you_mean
from gleg_core.pack import CONTRACT, CONTRACTS
from gleg_core.registry import Registry
from gleg_core.registry.installed import IDENTIFIER

_TEMPLATES = Path(__file__).parent / "templates"
_LICENCES = ("MIT", "BSD-3-Clause", "Apache-2.0")
_PREFIX = {
    "block": "gleg-blocks",
    "basis": "gleg-basis",
    "boundary": "gleg-bc",
    "integrator": "gleg-integrators",
    "dictionary": "gleg-dictionary",
    "domain": "gleg-domains",
}
_NEEDS = {
    "block": (),
    "basis": ("numpy>=1.26", "pydantic>=2.7", "torch>=2.3"),
    "boundary": ("pydantic>=2.7", "torch>=2.3"),
    "integrator": ("torch>=2.3",),
    "dictionary": ("pydantic>=2.7",),
    "domain": ("numpy>=1.26", "pydantic>=2.7"),
}
"""What the template of a contract imports besides gleg-core."""


@dataclass(frozen=True)
class NewPack:
    """What the author chose."""

    id: str
    contract: str
    author: str
    licence: str

    @property
    def distribution(self) -> str:
        return f"{_PREFIX[self.contract]}-{self.id}"

    @property
    def package(self) -> str:
        return self.distribution.replace("-", "_")


def check_choice(pack: NewPack, registry: Registry) -> None:
    """Refuse names that cannot work, or that would collide with a pack that is installed or known."""
    if not IDENTIFIER.fullmatch(pack.id):
        raise SpecError(f"the name '{pack.id}' must match [a-z][a-z0-9-]*: lower-case letters, digits, hyphens")
    for words, found in ((CONTRACTS, pack.contract), (_LICENCES, pack.licence)):
        if found not in words:
            raise SpecError(f"'{found}' is not possible here.{did_you_mean(found, words)} Possible: {', '.join(words)}")
    known = {p.id: p.distribution for p in registry.packs}
    known |= {offer.key.partition(":")[0]: offer.distribution for offer in registry.catalogue()}
    if pack.id in known:
        raise PackError(
            f"the pack id '{pack.id}' belongs to {known[pack.id]}: two packs with one id would both be refused. Choose another"
        )


def write_pack(pack: NewPack, parent: Path) -> Path:
    """The folder ``parent/DISTRIBUTION``, complete or not at all; an existing one is never touched."""
    target = parent / pack.distribution
    if target.exists():
        raise OutputError(f"{target} exists already: choose another name, or remove it first")
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix=f".{pack.distribution}.") as scratch:
        partial = Path(scratch, pack.distribution)
        for path, text in pack_files(pack).items():
            (partial / path).parent.mkdir(parents=True, exist_ok=True)
            (partial / path).write_text(text, encoding="utf-8")
        partial.rename(target)
    return target


def pack_files(pack: NewPack) -> dict[str, str]:
    """Path in the new folder → text."""
    places = {"src": f"src/{pack.package}/", "trial": f"tests/test_{pack.package}_", "examples": "examples/"}
    files = {"LICENSE": _filled(_TEMPLATES / "licences" / f"{pack.licence}.txt", pack)}
    files[f"src/{pack.package}/py.typed"] = ""
    for source in sorted((_TEMPLATES / "common").glob("*.txt")):
        name = {"workflow.yml": ".github/workflows/test.yml", "gitignore": ".gitignore"}.get(source.stem, source.stem)
        files[name] = _filled(source, pack)
    for folder, place in places.items():
        for source in sorted((_TEMPLATES / pack.contract / folder).glob("*.txt")):
            files[place + source.stem] = _filled(source, pack)
    return files


def _filled(source: Path, pack: NewPack) -> str:
    """A template with every ``@name@`` replaced."""
    text = source.read_text(encoding="utf-8")
    notes = (_TEMPLATES / pack.contract / "notes.txt").read_text(encoding="utf-8")
    about, _, use = notes.partition("\n---\n")
    major, minor = map(int, __version__.split(".")[:2])
    needs = (f"gleg-core>={major}.{minor},<{major}.{minor + 1}", *_NEEDS[pack.contract])
    names = {
        "about": about.strip(),
        "use": use.strip(),
        "pack": pack.id,
        "package": pack.package,
        "distribution": pack.distribution,
        "contract": pack.contract,
        "CONTRACT": repr(CONTRACT),
        "author": pack.author,
        "licence": pack.licence,
        "year": str(date.today().year),
        "dependencies": ", ".join(f'"{need}"' for need in needs),
    }
    for name, value in names.items():
        text = text.replace(f"@{name}@", value)
    return text
