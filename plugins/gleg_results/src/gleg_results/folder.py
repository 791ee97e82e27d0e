"""Writing a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from gleg_core.errors import GlegError, PackError
from gleg_core.spec.blame import failure
from gleg_core.spec.resolve import resolved_yaml
from gleg_results.dataset import write_netcdf
from gleg_results.replaced_folder import Kind, finite, reserve, write_folder
from gleg_results.sections import OutputKeys

if TYPE_CHECKING:
    from gleg_core.run import Run

RUN = Kind(
    "a run",
    "spec.resolved.yaml",
    frozenset(
        ["spec.resolved.yaml", "metrics.json", "result.nc", "fields.png", "histories.png", "probes.png", "movie.gif",
         "score.json", "score.png"]
    ),
)  # fmt: skip
"""The folder of a run and of its score."""


def save(run: Run, folder: str | Path) -> list[str]:
    """Files of the run in ``folder``, replacing an earlier run there, all of them or none; the result are their names."""
    formats = frozenset(map(_subfolder, run.problem.keys(OutputKeys).formats)) | _formats_in(Path(folder))
    return write_folder(Path(folder), replace(RUN, own=RUN.own | formats), lambda temporary: _fill(run, temporary))


def _subfolder(name: str) -> str:
    """Of an output format, which may be named with its pack."""
    return name.rpartition(":")[2]


def _formats_in(folder: Path) -> frozenset[str]:
    """Subfolders that an earlier run has written: the formats of its problem."""
    try:
        output = yaml.safe_load((folder / RUN.mark).read_text(encoding="utf-8"))["output"]
        return frozenset(_subfolder(str(name)) for name in output.get("formats", ()))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError):
        return frozenset()


def _fill(run: Run, folder: Path) -> None:
    (folder / RUN.mark).write_text(resolved_yaml(run.problem), encoding="utf-8")
    (folder / "metrics.json").write_text(json.dumps(finite(run.metrics), indent=2, allow_nan=False), encoding="utf-8")
    reserve(folder / "result.nc", run.arrays.nbytes)
    write_netcdf(run.arrays, folder / "result.nc")
    output, registry = run.problem.keys(OutputKeys), run.problem.registry
    if output.pictures or output.movie:
        from gleg_results import pictures  # imports matplotlib
    if output.pictures:
        for name, figure in pictures.all_pictures(run).items():
            figure.savefig(folder / f"{name}.png", dpi=130)
    if output.movie:
        pictures.movie(run, folder / "movie.gif")
    for name in output.formats:
        offered = registry.required("gleg_outputs", name)
        (folder / _subfolder(name)).mkdir()
        try:
            registry.target(offered)(run, folder / _subfolder(name))
        except (GlegError, KeyboardInterrupt, OSError):
            raise
        except Exception as error:
            raise PackError(f"output.formats: {failure(offered.pack, f'while it wrote {name}', error)}") from error
