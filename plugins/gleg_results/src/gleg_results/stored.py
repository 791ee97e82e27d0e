"""A run read back from its folder: the problem from spec.resolved.yaml, the states from result.nc, the spaces from the cache."""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gleg_core.contracts.integrator import Integrator
from gleg_core.errors import GlegError, PackError, SpecError
from gleg_core.estimate import CAUSES, Choice, Estimate, Part
from gleg_core.registry import default_registry
from gleg_core.registry.catalogue import canonical
from gleg_core.run import Run
from gleg_core.spec.loading import load_document
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.discretise import Discretisation, discretise
from gleg_core.system.rollout import Trajectory
from gleg_core.system.spaces import Report
from gleg_results.coordinates import column, evenly, state_of, synthesis
from gleg_results.resolved import resolved_yaml

if TYPE_CHECKING:
    import xarray

SPEC, RESULT = "spec.resolved.yaml", "result.nc"


def stored_problem(folder: Path) -> Problem:
    """The problem of a run folder; if it cannot be read any more, with the packs that are gone."""
    for name in (SPEC, RESULT):
        if not (folder / name).is_file():
            raise SpecError(f"{folder}: is not the folder of a run: there is no {name}. Write one with gleg run")
    try:
        return load_problem(replace(load_document(folder / SPEC), stored=True))
    except GlegError as error:
        there = default_registry().versions
        made_with = [(pack, facts.split(",")[0].split()) for pack, facts in _packs(_text(folder)).items()]
        gone = [(pack, words) for pack, words in made_with if words and canonical(words[0]) not in there]
        lines = [f"\n  It was made with '{p}' of {' '.join(w)}:   pip install {'=='.join(w)}" for p, w in gone]
        raise (PackError if gone else type(error))(str(error) + "".join(lines)) from error


def open_run(folder: str | Path) -> Run:
    """A saved run, to be evaluated, measured and drawn like a fresh one: its problem from spec.resolved.yaml, its states from result.nc."""
    return load_run(stored_problem(Path(folder)), Path(folder))


def changed_packs(problem: Problem, folder: Path) -> list[str]:
    """Packs that are not those of the run, as ``then → now``: lines of the header of spec.resolved.yaml."""
    then, now = _packs(_text(folder)), _packs(resolved_yaml(problem))
    return [
        f"pack '{name}': {then[name]} → {now.get(name, 'not used')}" for name in then if now.get(name) != then[name]
    ]


def _text(folder: Path) -> str:
    return (folder / SPEC).read_text(encoding="utf-8")


def _packs(text: str) -> dict[str, str]:
    """Pack id → "distribution version, …", from the header of spec.resolved.yaml."""
    lines = (line.removeprefix("#   ") for line in text.splitlines() if line.startswith("#   "))
    return {name: rest.strip() for name, _, rest in (line.partition(":") for line in lines)}


def load_run(problem: Problem, folder: Path, report: Report = lambda stage, facts: None) -> Run:
    """The run in ``folder``, whose problem is ``problem``: discretised anew, its states from the stored coefficients."""
    import xarray as xr

    try:
        data = xr.load_dataset(folder / RESULT, engine="h5netcdf")
    except Exception:  # what a damaged file raises depends on where it is damaged
        raise SpecError(f"{folder / RESULT}: cannot be read; write it again with gleg run") from None
    if data.attrs.get("spec") != _text(folder):
        raise SpecError(f"{folder}: {SPEC} and {RESULT} are not of the same run; write them again with gleg run")
    if missing := [f.name for f in problem.fields if f"{f.name}_coefficients" not in data]:
        raise SpecError(
            f"{folder / RESULT}: has no coefficients of '{missing[0]}': an older gleg wrote it. Write it again with gleg run"
        )
    with problem.located(), torch.no_grad():
        d = discretise(problem, report)
        integrator: Integrator = problem.build(problem.integrator)
        times = [float(t) for t in data["time"].values]
        states = _states(d, data, times, folder)
    trajectory = Trajectory(times, list(states), interrupted=bool(data.attrs.get("interrupted", 0)))
    metrics = _metrics(folder)
    rollout, chosen = metrics.get("rollout", {}), metrics.get("accuracy")
    trajectory.steps, trajectory.rejected = int(rollout.get("steps", 0)), int(rollout.get("rejected", 0))
    trajectory.longest = float(rollout.get("longest_step", 0.0))
    choice = Choice(**{f.name: chosen[f.name] for f in fields(Choice) if f.name in chosen}) if chosen else None
    return Run(d, integrator, trajectory, {}, (), choice, estimate_from(metrics.get("estimate")))


def _states(d: Discretisation, data: "xarray.Dataset", times: list[float], folder: Path) -> Tensor:
    """z = NᵀM_Ω (a − a_bc) of every evolving field, shape (F, R); refused if a_bc + N z is not what was stored."""
    stored: dict[str, Tensor] = {n: torch.from_numpy(data[f"{n}_coefficients"].values) for n in d.system.fields}
    fits = all(a.shape[1] == d.basis.size for a in stored.values())
    if fits:
        states = torch.cat([_projected(d.system.fields[name], stored[name], times) for name in d.system.slices], dim=1)
        some = evenly(len(times), 9)
        for name, a in stored.items():
            again = torch.stack([d.system.coefficients(name, states[i], times[i]) for i in some])
            x = d.system.fields[name].space.nodes.x
            there, difference = (synthesis(d.basis, b, x) for b in (a[some], again - a[some]))
            fits &= float(difference.norm()) <= 1e-6 * float(there.norm())
        if fits:
            return states
    raise SpecError(
        f"{folder / RESULT}: its fields are not in the space that is built now: packs or core have changed. "
        "Write it again with gleg run"
    )


def estimate_from(data: Any) -> Estimate | None:
    """What :meth:`gleg_core.estimate.Estimate.as_data` gave."""
    if not isinstance(data, dict):
        return None
    return Estimate(tuple(Part(cause, data[cause], "a saved run") for cause in CAUSES if cause in data))


def _projected(field: DiscreteField, a: Tensor, times: list[float]) -> Tensor:
    """z of every row of coefficients (F, M), some rows at a time: their values at all nodes are formed on the way."""
    pieces = zip(a.split(500), column(times).split(500), strict=True)
    return torch.cat([state_of(field, part, field.theta(t)) for part, t in pieces])


def _metrics(folder: Path) -> dict[str, Any]:
    """What metrics.json says, nothing if it cannot be read."""
    try:
        found = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}
