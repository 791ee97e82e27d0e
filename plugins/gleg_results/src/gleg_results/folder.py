"""Writing a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from gleg_results.dataset import write_netcdf
from gleg_results.replaced_folder import Kind, finite, reserve, write_folder
from gleg_core.spec.resolve import resolved_yaml

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


def write_run(run: Run, folder: Path) -> list[str]:
    """Files of the run in ``folder``, replacing an earlier run there; all of them or none."""
    return write_folder(folder, RUN, lambda temporary: _fill(run, temporary))


def _fill(run: Run, folder: Path) -> None:
    (folder / RUN.mark).write_text(resolved_yaml(run.problem), encoding="utf-8")
    (folder / "metrics.json").write_text(json.dumps(finite(run.metrics), indent=2, allow_nan=False), encoding="utf-8")
    reserve(folder / "result.nc", run.arrays.nbytes)
    write_netcdf(run.arrays, folder / "result.nc")
    output = run.problem.section.output
    if output.pictures or output.movie:
        from gleg_results import pictures  # imports matplotlib
    if output.pictures:
        for name, figure in pictures.all_pictures(run).items():
            figure.savefig(folder / f"{name}.png", dpi=130)
    if output.movie:
        pictures.movie(run, folder / "movie.gif")
