"""Locks: what a problem is solved with, kept beside its file as NAME.lock.json, so that a run can be repeated or refused.

A lock holds version and hash of core and of every pack the problem uses, the versions of Python, torch and numpy, and a hash of
the problem (its content, not its comments). Other packs or another core are differences; another Python, torch or numpy, which change
numbers in their last digits, and a changed problem, which its author knows of, are only worth a warning.
"""

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import importlib_metadata
from pydantic import BaseModel, ConfigDict, ValidationError

from gleg_core import __version__, atomic
from gleg_core.errors import OutputError, PackError, SpecError
from gleg_core.pack import CONTRACT
from gleg_core.registry import Pack, Registry, default_registry
from gleg_core.registry.fingerprint import files_hash, sha256_of
from gleg_core.spec.loading import Document
from gleg_core.spec.problem import Problem, components, packs_of
from gleg_core.weight_files import weight_path
from gleg_market.weights import weights_hashes


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class LockedPack(_Section):
    """A distribution as it was: ``sha256`` of its files, ``weights`` by component."""

    distribution: str
    version: str
    contract: str
    sha256: str
    weights: dict[str, str] = {}

    @property
    def release(self) -> str:
        return f"{self.distribution} {self.version}"


class LockedProblem(_Section):
    """The problem: hash of its content, and of the files it names (relative to its own)."""

    name: str
    sha256: str
    files: dict[str, str] = {}


class Lock(_Section):
    """The content of a lock file."""

    lock: Literal[1] = 1
    problem: LockedProblem
    core: LockedPack
    packs: dict[str, LockedPack]
    environment: dict[str, str]


def lock_path(problem: Path) -> Path:
    """lake.yaml → lake.lock.json."""
    return problem.parent / f"{problem.stem}.lock.json"


def make_lock(problem: Problem) -> Lock:
    """The lock of a validated problem, without anything set from outside."""
    document = problem.document
    return Lock(
        problem=LockedProblem(
            name=Path(document.name).name, sha256=_content(document.data), files=_files(problem, Path(document.folder))
        ),
        core=_core(),
        packs={pack.id: _locked(pack) for pack in packs_of(problem)},
        environment=_environment(),
    )


def write_lock(path: Path, lock: Lock) -> None:
    try:
        atomic.write_text(path, lock.model_dump_json(indent=1) + "\n")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None


def read_lock(path: Path) -> Lock | None:
    """None if there is no lock."""
    try:
        return Lock.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SpecError(f"{path}: the lock cannot be read: {error.strerror or error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise SpecError(
            f"{path}: not a lock: {place}: {first['msg'][0].lower()}{first['msg'][1:]}. Write it again with gleg lock"
        ) from None


def check_lock(document: Document, *, required: bool, refuse: bool) -> list[str]:
    """Compare the lock beside a problem file, as it was read, with what is installed; the result are warnings.

    No lock is an error if it is ``required``; differences are errors if they ``refuse`` the run, else warnings too.
    """
    path = Path(document.name)
    lock = read_lock(lock_path(path))
    if lock is None:
        if required:
            raise SpecError(f"{path}: there is no lock {lock_path(path).name} beside it. Make one:   gleg lock {path}")
        return []
    differences = list(_differences(lock, default_registry()))
    remarks = list(_remarks(lock, document))
    if not differences:
        return remarks
    lines = [f"{path}: the installed packs differ from {lock_path(path).name} (locked → found)"]
    lines += [f"  {line}" for line, _ in differences]
    lines += [f"  To go back:   {remedy}" for _, remedy in differences]
    lines.append(f"  To accept them:   gleg lock {path}   To run all the same:   gleg run {path} --ignore-lock")
    text = "\n".join(lines)
    if refuse:
        raise PackError(text)
    return [text, *remarks]


def missing_packs(document: Document) -> str:
    """For a problem that names components nobody provides: the locked packs that are gone, as lines of a message."""
    path = Path(document.name)
    try:
        lock = read_lock(lock_path(path))
    except SpecError:
        return ""
    there = {pack.id for pack in default_registry().packs}
    gone = {name: pack for name, pack in lock.packs.items() if name not in there} if lock else {}
    return "".join(
        f"\n  {lock_path(path).name} has the pack '{name}' from {pack.release}:   {_install(pack)}"
        for name, pack in gone.items()
    )


GUARD = SimpleNamespace(check=check_lock, absent=missing_packs)
"""What core asks before it reads a problem file: see :class:`gleg_core.spec.guard.Guard`."""


def _locked(pack: Pack) -> LockedPack:
    return LockedPack(
        distribution=pack.distribution,
        version=pack.version,
        contract=".".join(map(str, pack.contract)),
        sha256=files_hash(pack.module),
        weights=weights_hashes(pack),
    )


def _core() -> LockedPack:
    return _locked(Pack("core", "gleg-core", __version__, "gleg_core", CONTRACT, ""))


def _environment() -> dict[str, str]:
    """Versions of what the numbers are computed with; nothing is imported."""
    return {"python": platform.python_version()} | {n: importlib_metadata.version(n) for n in ("torch", "numpy")}


def _content(data: Mapping[str, Any]) -> str:
    """A hash of parsed content: comments, layout and the order of keys do not matter."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()


def _files(problem: Problem, folder: Path) -> dict[str, str]:
    """Hashes of the files that the problem names: they are absolute paths once validated; weights are named without ending."""
    dumps = [*(c.dump() for c in components(problem)), *(added.dump() for added in problem.added)]
    named = {Path(text) for text in _texts(dumps)}
    paths = sorted({p for name in named if name.is_absolute() for p in (name, weight_path(name)) if p.is_file()})
    return {_beside(path, folder): sha256_of(path) for path in paths}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _texts(child)


def _beside(path: Path, folder: Path) -> str:
    """The path relative to the problem's folder where it lies below it, so that both can move together."""
    home = folder.absolute()
    return path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path)


def _differences(lock: Lock, registry: Registry) -> Iterator[tuple[str, str]]:
    """(locked → found, the command that goes back) of core and of every pack that is not what it was."""
    if difference := _difference("gleg-core", lock.core, _core()):
        yield difference
    for name, locked in lock.packs.items():
        if (installed := registry.pack(name)) is not None:
            if difference := _difference(f"pack '{name}'", locked, _locked(installed)):
                yield difference
            continue
        failure = next((f for f in registry.failures if f.pack == name), None)
        found = f"refused at stage '{failure.stage}': {failure.message}" if failure else "not installed"
        yield f"pack '{name}': {locked.release} → {found}", _install(locked)


def _difference(name: str, locked: LockedPack, found: LockedPack) -> tuple[str, str] | None:
    if locked.release != found.release:
        return f"{name}: {locked.release} → {found.release}", _install(locked)
    if locked.sha256 == found.sha256 and locked.weights == found.weights:
        return None
    what = "weights and files" if locked.weights != found.weights else "files"
    line = f"{name}: {locked.release}, {what} changed, sha256 {locked.sha256[:12]} → {found.sha256[:12]}"
    return line, _install(locked, "--force-reinstall --no-deps ")


def _install(pack: LockedPack, how: str = "") -> str:
    return f"pip install {how}{pack.distribution}=={pack.version}"


def _remarks(lock: Lock, document: Document) -> Iterator[str]:
    """Differences that do not stop a run."""
    path = Path(document.name)
    name = lock_path(path).name
    for what, version in _environment().items():
        if (locked := lock.environment.get(what)) != version:
            yield f"{name}: {what} {locked} → {version}; numbers may differ in their last digits"
    if _content(document.data) != lock.problem.sha256:
        yield f"{name}: {path.name} has changed since it was locked"
    for file, digest in lock.problem.files.items():
        there = path.parent / file
        if not there.is_file() or sha256_of(there) != digest:
            yield f"{name}: {file}, which {path.name} uses, has changed since it was locked"
