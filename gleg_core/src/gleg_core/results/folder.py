"""Writing a run: everything into a temporary folder beside the target, then one rename."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gleg_core.errors import OutputError
from gleg_core.results import pictures
from gleg_core.spec.resolve import resolved_yaml

if TYPE_CHECKING:
    from gleg_core.results.run import Run

_OWN = frozenset(
    ["spec.resolved.yaml", "metrics.json", "result.nc", "fields.png", "histories.png", "probes.png", "movie.gif"]
)
"""Files of a run; any other file in its folder is the user's."""
_MARK = "spec.resolved.yaml"
"""A folder with this file is an earlier run and may be replaced."""


def check_target(folder: Path) -> None:
    """Refuse, before any work, a target that is not ours to replace or cannot be written."""
    if folder.is_file():
        raise OutputError(f"{folder}: is a file; choose another folder with --out")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _MARK).exists():
        raise OutputError(f"{folder}: holds files that are not a run of gleg; choose another folder with --out")
    try:
        existing = next(p for p in folder.resolve().parents if p.exists())
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror}") from None


def write_run(run: Run, folder: Path) -> list[str]:
    """Files of the run in ``folder``, replacing an earlier run there; all of them or none."""
    check_target(folder)
    target = folder.resolve()
    try:
        with _parents_of(target), _temporary_beside(target) as temporary:
            _fill(run, temporary)
            temporary.chmod(0o755)
            _put(temporary, target)
    except OSError as error:
        raise OutputError(
            f"{folder}: could not be written: {error.strerror or error}. Nothing was left behind"
        ) from error
    return sorted(p.name for p in target.iterdir())


@contextmanager
def _parents_of(target: Path) -> Iterator[None]:
    """The folders above ``target``; those that were made here are removed again if it does not come to be."""
    missing = [p for p in target.parents if not p.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        if not target.exists():
            with suppress(OSError):
                for parent in missing:
                    parent.rmdir()


@contextmanager
def _temporary_beside(target: Path) -> Iterator[Path]:
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield temporary
    finally:
        if temporary.exists():
            shutil.rmtree(temporary, ignore_errors=True)


def _put(temporary: Path, target: Path) -> None:
    """``temporary`` becomes ``target``, in the place of an earlier run; what the user keeps beside it stays."""
    if not target.exists():
        temporary.rename(target)
        return
    for path in target.iterdir():
        if path.name not in _OWN:
            path.rename(temporary / path.name)
    old = temporary.with_name(temporary.name + ".old")
    target.rename(old)
    temporary.rename(target)
    shutil.rmtree(old)


def _fill(run: Run, folder: Path) -> None:
    (folder / _MARK).write_text(resolved_yaml(run.problem), encoding="utf-8")
    (folder / "metrics.json").write_text(json.dumps(finite(run.metrics), indent=2, allow_nan=False), encoding="utf-8")
    _reserve(folder / "result.nc", run.dataset.nbytes)
    run.dataset.to_netcdf(folder / "result.nc", engine="h5netcdf")
    output = run.problem.section.output
    if output.pictures:
        for name, figure in pictures.all_pictures(run).items():
            figure.savefig(folder / f"{name}.png", dpi=130)
    if output.movie:
        pictures.movie(run, folder / "movie.gif")


def finite(value: Any) -> Any:
    """Plain data with None for every number that JSON does not know: infinite, or not a number."""
    if isinstance(value, dict):
        return {key: finite(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _reserve(path: Path, size: int) -> None:
    """Fail now if ``size`` bytes do not fit on the disk: HDF5 crashes the process when it cannot write what it holds."""
    if hasattr(os, "posix_fallocate"):
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size + 2**16)
        path.unlink()
