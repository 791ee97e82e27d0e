"""What gleg discover writes: law.yaml, states.nc, report.json and pictures, in one folder."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import yaml

from gleg_core.errors import NumericsError, listing
from gleg_core.solver import solve
from gleg_discovery.discover import Discovery
from gleg_discovery.guards import Remark
from gleg_discovery.identify import FieldLaw
from gleg_discovery.law import in_words, law_data
from gleg_results.replaced_folder import Kind, finite, reserve, write_folder
from gleg_results.restart import basis_record

if TYPE_CHECKING:
    import xarray

LAW = Kind(
    "a law",
    "report.json",
    frozenset(
        ["report.json", "law.yaml", "states.nc", "coefficients.png", "selection.png", "sensors.png", "rollout.png"]
    ),
)


def write_law(found: Discovery, folder: Path, extra: dict[str, Any] | None = None) -> tuple[list[str], list[Remark]]:
    """All files, or none, and what is to be said of the rollout. Without a term for every field there is no law.yaml."""
    remarks: list[Remark] = []
    return write_folder(folder, LAW, lambda temporary: _fill(found, temporary, extra or {}, remarks)), remarks


def _fill(found: Discovery, folder: Path, extra: dict[str, Any], remarks: list[Remark]) -> None:
    from gleg_discovery.pictures import all_pictures, rollout

    states = stored_states(found)
    reserve(folder / "states.nc", states.nbytes)
    states.to_netcdf(folder / "states.nc", engine="h5netcdf")
    figures = all_pictures(found)
    if complete(found):
        (folder / "law.yaml").write_text(law_yaml(found), encoding="utf-8")
        try:
            figures["rollout"] = rollout(found, solve(folder / "law.yaml"))
        except NumericsError as error:
            remarks.append(Remark("warning", f"the law cannot be rolled out: {error}"))
    else:
        bare = [f.name for f in found.problem.fields if not (f.terms or found.law.get(f.name))]
        remarks.append(Remark("warning", f"no term was found for {listing(bare)}: there is no law to roll out"))
    told = [{"level": r.level, "text": r.text} for r in (*found.remarks, *remarks)]
    text = json.dumps(finite(report(found) | {"remarks": told} | extra), indent=1, allow_nan=False, ensure_ascii=False)
    (folder / LAW.mark).write_text(text + "\n", encoding="utf-8")
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=130)


def complete(found: Discovery) -> bool:
    """True if every field has an equation: the law can be rolled out."""
    return all(f.terms or found.law.get(f.name) for f in found.problem.fields)


def law_yaml(found: Discovery) -> str:
    """A problem file of the law, from the state the first recording starts in."""
    paths = found.identification.paths.values()
    # with boundary data few functions do not suffice: the lift of a run is not made smooth for them
    rank = max(p.rank for p in paths) if all(p.field.lift is None for p in paths) else None
    data = law_data(found.problem, found.law, rank, "states.nc", float(found.recordings[0].times[0]))
    lines = [f"# {in_words(name, terms)}" for name, terms in found.law.items()]
    lines.append("# gleg run rolls it out; restart.trajectory chooses the recording it starts from")
    return "\n".join(lines) + "\n" + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)


def stored_states(found: Discovery) -> xarray.Dataset:
    """Ambient coefficients of every field at the start of every recording, for ``restart``."""
    import xarray as xr

    data: dict[str, Any] = {}
    names = [s.name for s in next(iter(found.identification.paths.values())).series]
    by_name = {r.name: r for r in found.recordings}
    starts = [float(by_name[name].times[0]) for name in names]
    for name, paths in found.identification.paths.items():
        # P_l(−1) = (−1)^l: the path at the start of its window
        z = torch.from_numpy(np.stack([((-1.0) ** np.arange(len(Z))) @ Z for Z in paths.Z]))
        if found.refinement is not None:
            z = torch.from_numpy(np.asarray(found.refinement.states[name]))
        a = z @ paths.field.space.N.T
        theta = paths.field.theta(torch.tensor(starts, dtype=torch.float64)[:, None])
        if theta is not None and paths.field.lift is not None:
            a = a + theta @ paths.field.lift.columns.T
        data[f"{name}_coefficients"] = (("trajectory", "time", "coefficient"), a.numpy()[:, None])
    coordinates = {"time": (("trajectory", "time"), np.array(starts)[:, None]), "recording": ("trajectory", names)}
    return xr.Dataset(data, coordinates, {"source": "gleg discover", "basis": basis_record(found.problem, found.basis)})


def report(found: Discovery) -> dict[str, Any]:
    """Everything that was found, as plain data."""
    refined = found.refinement
    return {
        "refined": None
        if refined is None
        else {
            "law": {
                n: [{"label": c.candidate.label, **_estimate(c.value, c.error, np.array(c.interval))} for c in t]
                for n, t in found.law.items()
            },
            "chi2_before": refined.before,
            "chi2_after": refined.after,
            "converged": refined.converged,
        },
        "law": {name: in_words(name, terms) for name, terms in found.law.items()},
        "fields": {name: _field(law) for name, law in found.identification.laws.items()},
        "seconds": dict(found.identification.seconds),
    }


def _field(law: FieldLaw) -> dict[str, Any]:
    kept = dict(zip(law.law.labels, range(len(law.law.labels)), strict=True))
    candidates = []
    for p, label in enumerate(law.labels):
        full, selection = law.full, law.selection
        entry: dict[str, Any] = {
            "label": label,
            "kept": label in kept,
            "full": _estimate(full.c[p], full.errors[p], full.intervals[p]),
            "law": None,
            "inclusion_probability": float(selection.inclusion[p]),
            "log10_bayes_factor": math.log10(odds) if (odds := float(selection.bayes_factor[p])) > 0 else None,
        }
        if label in kept:
            i = kept[label]
            entry["law"] = _estimate(law.law.c[i], law.law.errors[i], law.law.intervals[i])
        if selection.stability is not None:
            entry["stability"] = float(selection.stability[p])
        candidates.append(entry)
    info, paths = law.information, law.paths
    return {
        "candidates": candidates,
        "known": dict(law.known),
        "noise": paths.sigma,
        "functions": paths.rank,
        "degree_in_time": paths.degree,
        "condition": info.condition,
        "residual_variance_over_noise": info.chi2,
        "misfit_at_sensors": paths.misfit,
        "ranking": [
            {"terms": [law.labels[p] for p in support], "bic_above_best": bic} for support, bic in law.selection.ranking
        ],
    }


def _estimate(c: float, error: float, interval: np.ndarray) -> dict[str, Any]:
    return {"value": float(c), "standard_error": float(error), "interval_95": [float(x) for x in interval]}
