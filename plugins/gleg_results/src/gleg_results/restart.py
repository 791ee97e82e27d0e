"""States stored as ambient coefficients: u = Σ a_j φ_j on the box they were computed on, so that any later space can start from them.

A file holds ``<field>_coefficients`` with the dimensions time and coefficient, and trajectory if there are several; its attribute
``basis`` says which functions φ_j are meant.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import yaml
from torch import Tensor

from gleg_core.capabilities import BasisCapabilities
from gleg_core.contracts.basis import Basis, Frame, Site
from gleg_core.contracts.location import Location
from gleg_core.errors import PackError, SpecError, listing
from gleg_core.spec.problem import Problem, Resolved, load_problem
from gleg_core.system.discretise import all_terms
from gleg_core.system.sources import NodalSource
from gleg_core.system.spaces import build_spaces
from gleg_results.sections import RestartKey

if TYPE_CHECKING:
    import xarray

_FRAME = ("centre", "half_widths", "rotation")


def basis_record(problem: Problem, basis: Basis) -> str:
    """The basis in words that :func:`stored_state` reads: kind, parameters and box."""
    box = {key: getattr(basis.frame, key).tolist() for key in _FRAME}
    return json.dumps({"kind": problem.basis.key, "params": problem.basis.dump(), **box})


def stored_state(problem: Problem, field: str) -> NodalSource:
    """The state of ``field`` at the start of the run, from the file that ``restart`` names."""
    section = problem.keys(RestartKey).restart
    assert section is not None
    place = problem.document.locate(("restart", "file"))
    data = _opened(Path(section.file), place)
    name = f"{field}_coefficients"
    if name not in data or "basis" not in data.attrs or "time" not in data:
        raise SpecError(
            f"{place}: {Path(section.file).name} has no states of '{field}' to start from (the variable {name} with the attribute basis); "
            "result.nc of a run has them"
        )
    basis = _basis(problem, data.attrs, place)
    states = data[name]
    if "trajectory" in states.dims:
        count = states.sizes["trajectory"]
        if section.trajectory >= count:
            where = problem.document.locate(("restart", "trajectory"))
            raise SpecError(f"{where}: found {section.trajectory}, the file has {count} trajectories, counted from 0")
        states, data = states.isel(trajectory=section.trajectory), data.isel(trajectory=section.trajectory)
    times = data["time"].values.astype(float)
    start, end = problem.section.time.start, problem.section.time.end
    nearest = int(np.abs(times - start).argmin())
    if abs(times[nearest] - start) > 1e-9 * (end - start):
        raise SpecError(
            f"{place}: there is no state at the start of the run, t = {start:g}; stored are "
            f"{listing(f'{t:g}' for t in times[:6])}{' …' * (len(times) > 6)}. The nearest is time.start: {times[nearest]:.12g}"
        )
    a = torch.from_numpy(states.transpose("time", "coefficient").values[nearest].astype(float))
    if len(a) != basis.size:
        raise SpecError(f"{place}: {len(a)} coefficients of '{field}' for a basis of {basis.size} functions")

    def state(at: Location) -> Tensor:
        return basis.evaluate(a, at.x)

    return state


def last_time(stated: Mapping[str, Any], folder: Path) -> dict[tuple[str, str], float]:
    """A run goes on from the end of the file that ``restart`` names, where the problem file states no start."""
    section = stated.get("restart")
    name = section.get("file") if isinstance(section, Mapping) else None
    if not isinstance(name, str) or not (folder / name).is_file():
        return {}  # a mistake that is told with the others
    times = _opened(folder / name, "file").get("time")
    return {} if times is None or not times.size else {("time", "start"): float(times.values.ravel()[-1])}


def _opened(path: Path, place: str) -> "xarray.Dataset":
    import xarray as xr

    if not path.is_file():
        raise SpecError(f"{place}: there is no file {path}")
    try:
        return xr.load_dataset(path, engine="h5netcdf")
    except Exception:  # what a damaged file raises depends on where it is damaged
        raise SpecError(f"{place}: {path.name} is not a NetCDF file that can be read") from None


def _basis(problem: Problem, attributes: Mapping[str, Any], place: str) -> Basis:
    said = json.loads(attributes["basis"])
    try:
        installed = problem.registry.find("basis", said["kind"])
    except PackError as error:
        raise PackError(f"{place}: the stored states need the basis '{said['kind']}': {error}") from None
    if installed.capabilities(BasisCapabilities).local:
        return _basis_of_run(problem, attributes, place)
    params = problem.registry.params(installed).model_validate(said["params"], context=problem.scope)
    frame = Frame(*(np.array(said[key]) for key in _FRAME))
    return problem.build(Resolved(installed, params, ("restart",)), Site(frame))


def _basis_of_run(problem: Problem, attributes: Mapping[str, Any], place: str) -> Basis:
    """The basis of a run whose functions were made for its domain: made again from its problem."""
    if "spec" not in attributes:
        raise SpecError(
            f"{place}: the functions of the stored states were made for a domain, and the file does not say for which: "
            "result.nc of a run does"
        )
    stored = load_problem(yaml.safe_load(attributes["spec"]), registry=problem.registry)
    with stored.located(), torch.no_grad():
        return build_spaces(stored, all_terms(stored)).basis
