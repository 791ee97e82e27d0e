"""Writing a run."""

import json
from dataclasses import replace
from pathlib import Path

import yaml

from gleg_core.errors import OutputError, PackError
from gleg_core.run import Run
from gleg_core.spec.blame import failure
from gleg_results.dataset import write_netcdf
from gleg_results.replaced_folder import Kind, finite, reserve, temporary_beside, write_folder
from gleg_results.resolved import resolved_yaml
from gleg_results.sections import OutputKeys, subfolder

RUN = Kind(
    "a run",
    "spec.resolved.yaml",
    frozenset(
        ["spec.resolved.yaml", "metrics.json", "result.nc", "fields.png", "histories.png", "probes.png", "estimate.png",
         "movie.gif", "score.json", "score.png"]
    ),
)  # fmt: skip
"""The folder of a run and of its score."""


def save(run: Run, folder: str | Path) -> list[str]:
    """Files of the run in ``folder``, replacing an earlier run there, all of them or none; the result are their names. What packs write
    beside them is added afterwards: a pack that fails costs its own output only."""
    folder, formats = Path(folder), run.problem.keys(OutputKeys).formats
    own = RUN.own | set(map(subfolder, formats)) | _formats_in(folder)
    write_folder(folder, replace(RUN, own=own), lambda temporary: _fill(run, temporary))
    if failed := [text for name in formats if (text := _add(run, name, folder))]:
        raise PackError("\n".join([*failed, f"Everything else is in {folder}"]))
    return sorted(p.name for p in folder.iterdir())


def _add(run: Run, name: str, folder: Path) -> str | None:
    """The output of a pack, in a folder of its own; what went wrong, if nothing could be written."""
    target = folder.resolve() / subfolder(name)
    registry = run.problem.registry
    try:
        offered = registry.required("gleg_outputs", name)
        with temporary_beside(target) as temporary:
            try:
                registry.target(offered)(run, temporary)
                if not any(temporary.iterdir()):
                    raise ValueError("it wrote nothing")
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"interrupted while {name} was written; everything else is in {folder}"
                ) from None
            except OutputError as error:  # what it cannot write of this run, and not a mistake of the pack
                return f"output.formats: {name}: {error}"
            except (Exception, SystemExit) as error:
                return f"output.formats: {failure(offered.pack, f'while it wrote {name}', error)}"
            temporary.chmod(0o755)
            temporary.rename(target)
    except (PackError, OSError) as error:
        return f"output.formats: {error}"
    return None


def _formats_in(folder: Path) -> frozenset[str]:
    """Subfolders that an earlier run has written: the formats of its problem."""
    try:
        output = yaml.safe_load((folder / RUN.mark).read_text(encoding="utf-8"))["output"]
        return frozenset(subfolder(str(name)) for name in output.get("formats", ()))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError):
        return frozenset()


def _fill(run: Run, folder: Path) -> None:
    (folder / RUN.mark).write_text(resolved_yaml(run.problem), encoding="utf-8")
    (folder / "metrics.json").write_text(json.dumps(finite(run.metrics), indent=2, allow_nan=False), encoding="utf-8")
    reserve(folder / "result.nc", run.arrays.nbytes)
    write_netcdf(run.arrays, folder / "result.nc")
    output = run.problem.keys(OutputKeys)
    if output.pictures or output.movie:
        from gleg_results import pictures  # imports matplotlib
    if output.pictures:
        for name, figure in pictures.all_pictures(run).items():
            figure.savefig(folder / f"{name}.png", dpi=130)
    if output.movie:
        pictures.movie(run, folder / "movie.gif")
