"""What gleg discover writes: law.yaml, states.nc, report.json and pictures, in one folder."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import yaml

from gleg_core.errors import NumericsError, SpecError, listing
from gleg_core.solver import solve
from gleg_discovery.discover import Discovery
from gleg_discovery.guards import Remark, warning
from gleg_discovery.identify import FieldLaw
from gleg_discovery.law import in_words, law_data
from gleg_results.replaced_folder import Kind, json_text, reserve, write_folder
from gleg_results.resolved import resolved_yaml
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


def write_law(found: Discovery, folder: Path, extra: dict[str, Any]) -> tuple[list[str], list[Remark]]:
    """All files, or none, and what is to be said of the rollout. Without a term for every field there is no law.yaml."""
    remarks: list[Remark] = []
    return write_folder(folder, LAW, lambda temporary: _fill(found, temporary, extra, remarks)), remarks


def _fill(found: Discovery, folder: Path, extra: dict[str, Any], remarks: list[Remark]) -> None:
    from gleg_discovery.pictures import all_pictures, rollout

    states = stored_states(found)
    reserve(folder / "states.nc", states.nbytes)
    states.to_netcdf(folder / "states.nc", engine="h5netcdf")
    figures = all_pictures(found)
    if bare := [f.name for f in found.problem.fields if not (f.terms or found.law.get(f.name))]:
        remarks += warning(f"no term was found for {listing(bare)}: there is no law to roll out")
    else:
        (folder / "law.yaml").write_text(law_yaml(found), encoding="utf-8")
        try:
            figures["rollout"] = rollout(found, solve(folder / "law.yaml"))
        except (NumericsError, SpecError) as error:
            remarks += warning(f"the law cannot be rolled out: {error}")
    told = {"remarks": [asdict(r) for r in (*found.remarks, *remarks)]}
    (folder / LAW.mark).write_text(json_text(report(found) | told | extra) + "\n", encoding="utf-8")
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=130)


def law_yaml(found: Discovery) -> str:
    """A problem file of the law, from the state the first recording starts in."""
    paths = found.identification.paths.values()
    # with boundary data few functions do not suffice: the lift of a run is not made smooth for them
    rank = max(p.rank for p in paths) if all(p.field.lift is None for p in paths) else None
    data = law_data(found.problem, found.law, rank, "states.nc", float(found.recordings[0].times[0]))
    lines = [f"# {in_words(name, terms)}" for name, terms in found.law.items()]
    lines.append("# gleg run rolls it out; restart.trajectory chooses the recording it starts from")
    return "\n".join(lines) + "\n" + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)


def stored_states(found: Discovery) -> "xarray.Dataset":
    """Ambient coefficients of every field at the start of every recording, for ``restart``."""
    import xarray as xr

    data: dict[str, Any] = {}
    series = next(iter(found.identification.paths.values())).series
    times = np.array([s.sample_times.times[:1] for s in series])
    for name, paths in found.identification.paths.items():
        z = torch.from_numpy(paths.starts if found.refinement is None else found.refinement.states[name])
        a = paths.field.ambient_coefficients(z, paths.field.theta(torch.from_numpy(times)))
        data[f"{name}_coefficients"] = (("trajectory", "time", "coefficient"), a.numpy()[:, None])
    coordinates = {"time": (("trajectory", "time"), times), "recording": ("trajectory", [s.name for s in series])}
    made = {"basis": basis_record(found.problem, found.basis), "spec": resolved_yaml(found.problem)}
    return xr.Dataset(data, coordinates, {"source": "gleg discover", **made})


def report(found: Discovery) -> dict[str, Any]:
    """Everything that was found, as plain data."""
    refined = None
    if found.refinement is not None:
        law = {
            name: [{"label": c.candidate.label, **_estimate(c.value, c.error, c.interval)} for c in terms]
            for name, terms in found.law.items()
        }
        r = found.refinement
        refined = {"law": law, "chi2_before": r.before, "chi2_after": r.after, "converged": r.converged}
    return {
        "refined": refined,
        "law": {name: in_words(name, terms) for name, terms in found.law.items()},
        "fields": {name: _field(law) for name, law in found.identification.laws.items()},
        "seconds": dict(found.identification.seconds),
    }


def _field(law: FieldLaw) -> dict[str, Any]:
    full, kept = ({label: _estimate(*own) for label, own in fit.estimates.items()} for fit in (law.full, law.law))
    info, paths, selection = law.information, law.paths, law.selection
    candidates = []
    for p, label in enumerate(law.labels):
        entry: dict[str, Any] = {
            "label": label,
            "kept": label in kept,
            "full": full[label],
            "law": kept.get(label),
            "inclusion_probability": float(selection.inclusion[p]),
            "log10_bayes_factor": math.log10(odds) if (odds := float(selection.bayes_factor[p])) > 0 else None,
        }
        if selection.stability is not None:
            entry["stability"] = float(selection.stability[p])
        candidates.append(entry)
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
            {"terms": [law.labels[p] for p in support], "bic_above_best": bic} for support, bic in selection.ranking
        ],
    }


def _estimate(c: float, error: float, interval: tuple[float, float]) -> dict[str, Any]:
    return {"value": c, "standard_error": error, "interval_95": list(interval)}
