"""The results of a sweep as a table (a row per case) and as a dataset (a dimension per varied key)."""

import csv
import io
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray

from gleg_results.settings import load_value
from gleg_sweeps.cases import Plan
from gleg_sweeps.outcome import Outcome

MEANING = {
    "error_final": "relative L² error at the end",
    "error_mean": "relative L² error, mean over saved times",
    "error_max": "relative L² error, largest over saved times",
    "boundary_residual": "RMS of B u − g on unseen boundary points, relative to the RMS of u or |∇u|",
    "boundary_residual_rms": "RMS of B u − g on unseen boundary points",
    "r": "degrees of freedom of all fields",
    "M": "functions of the basis",
    "boundary_rows": "rows of the boundary system, of the field with most",
    "nodes": "nodes of the volume quadrature",
    "steps": "time steps",
    "rejected": "time steps rejected by the step control",
    "stiffness": "spectral radius of the linear part",
    "mass_drift": "largest |∫u(t) − ∫u(0)| over saved times and fields",
    "seconds": "time of all stages, s",
}
Results = Mapping[str, Outcome]
"""Digest of a case → its outcome."""


def measures(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a run that a sweep compares."""
    error = metrics.get("relative_l2", {})
    fields, space, rollout, timing = (metrics[key] for key in ("fields", "space", "rollout", "timing"))
    masses = {name: np.array(f["invariants"]["mass"], dtype=float) for name, f in fields.items()}
    found: dict[str, Any] = {f"error_{key}": error.get(key) for key in ("final", "mean", "max")}
    found |= {
        "boundary_residual": metrics["boundary_residual"]["relative"],
        "boundary_residual_rms": metrics["boundary_residual"]["rms"],
        "r": space["r"],
        "M": space["M"],
        "boundary_rows": max(f["space"]["boundary_rows"] for f in fields.values()),
        "nodes": max(f["space"]["quadrature_nodes"] for f in fields.values()),
        "steps": rollout["steps"],
        "rejected": rollout["rejected"],
        "stiffness": rollout["stiffness"],
        "mass_drift": max(float(np.abs(m - m[0]).max()) for m in masses.values()),
    }
    for name, field in fields.items():
        found |= {f"{name}_{key}": field["invariants"][key][-1] for key in ("mass", "energy")}
    found |= {f"seconds_{stage}": seconds for stage, seconds in timing.items()}
    found["seconds"] = round(sum(timing.values()), 4)
    return {key: math.nan if value is None else value for key, value in found.items()}


def rows(plan: Plan, results: Results) -> list[dict[str, Any]]:
    """A row per case: varied keys, measures, failure (empty if all went well, 'not run' if it was not reached)."""
    table = []
    for case in plan.cases:
        outcome = results.get(case.digest)
        row = {key: load_value(text, key) for key, _, text in (word.partition("=") for word in case.settings)}
        if outcome is not None and outcome["metrics"] is not None:
            row |= measures(outcome["metrics"])
        table.append(row | {"failure": outcome["failure"] if outcome else "not run"})
    return table


def columns(table: list[dict[str, Any]]) -> list[str]:
    """Names of all columns, in the order they first appear, without measures that nobody has; failure is the last one."""
    names = {name: any(row.get(name, math.nan) == row.get(name) for row in table) for row in table for name in row}
    return [name for name, known in names.items() if known and name != "failure"] + ["failure"]


def as_csv(table: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns(table), extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: "" if v != v else v for k, v in row.items()} for row in table)
    return text.getvalue()


def as_dataset(plan: Plan, table: list[dict[str, Any]], title: str) -> xarray.Dataset:
    """A dimension per varied key, or one called ``case`` if they walk together; measures that are missing are NaN."""
    keys = [v.key for v in plan.variations]
    dims = ["case"] if plan.zipped else keys
    names = [name for name in columns(table) if name not in (*keys, "failure")]
    data = xarray.Dataset(attrs={"title": title, "varied": ", ".join(keys)})
    for v in plan.variations:
        points = np.array(v.values if v.numeric else v.texts)
        data = data.assign_coords({v.key: ("case" if plan.zipped else v.key, points)})
    for name in names:
        column = np.array([row.get(name, np.nan) for row in table], dtype=float).reshape(plan.shape)
        data[name] = (dims, column, {"long_name": MEANING.get(name, name)})
    data["failure"] = (dims, np.array([row["failure"] for row in table], dtype=object).reshape(plan.shape))
    return data
