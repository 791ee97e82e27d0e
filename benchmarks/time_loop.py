"""How close the time loop is to what this machine can do, and how its cost grows.

    OMP_NUM_THREADS=1 python benchmarks/time_loop.py [--repeats 5] [--out out/time-loop.json]

On one thread, all ratios from the same run:

* the machine: bandwidth of a matrix–vector product with tables of the size used, and speed of a matrix–matrix product;
* MMS-I with r ≈ 300 (Legendre) and r ≈ 740 (Fourier): one evaluation n(z, t), against the two products with tables that it stands for;
* 256 trajectories in one batch against a single one, evaluation and whole run;
* an equation of 1 to 12 terms; one to four fields; resolutions K; 1 to 256 states together;
* peak memory of the process beside the times.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.pop("OPENBLAS_CORETYPE", None)  # read when numpy is loaded: kernels for this processor, not for a stated one
import numpy as np
import torch

import gleg
from gleg_core.system.discretise import Discretisation, discretise

ROOT = Path(__file__).parents[1]
ROSETTE = ROOT / "examples/mms-1-rosette.yaml"
BATCH = 256


def seconds(work: Callable[[], Any], repeats: int, least: float = 0.2) -> float:
    """Median over ``repeats`` of the time of one call, each averaged over calls that last ``least`` seconds together."""
    work()
    start = time.perf_counter()
    work()
    calls = max(1, round(least / max(time.perf_counter() - start, 1e-6)))
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        found.append((time.perf_counter() - start) / calls)
    return statistics.median(found)


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def rosette(**changes: Any) -> Discretisation:
    with torch.no_grad():
        return discretise(gleg.load(ROSETTE, changes))


def machine(r: int, n: int, repeats: int) -> dict[str, float]:
    """GB/s of z @ Φ for one table (r, n), GF/s of Z @ Φ for a batch, by the faster of numpy and torch."""
    table, z, Z = (np.random.default_rng(0).standard_normal(shape) for shape in ((r, n), (r,), (BATCH, r)))
    by_torch = [torch.from_numpy(a) for a in (table, z, Z)]
    vector, matrix = (
        min(seconds(lambda a=a: a @ table, repeats), seconds(lambda b=b: b @ by_torch[0], repeats))
        for a, b in zip((z, Z), by_torch[1:], strict=True)
    )
    torch_alone = seconds(lambda: by_torch[2] @ by_torch[0], repeats)
    return {
        "GB/s": 8e-9 * r * n / vector, "GF/s": 2e-9 * BATCH * r * n / matrix, "GF/s of torch": 2e-9 * BATCH * r * n / torch_alone,
        "product": vector, "batched": matrix,
    }  # fmt: skip


def small_products(repeats: int) -> dict[str, float]:
    """GF/s of numpy and torch in the products of a transform: 160 lines, 68 points on each, 45 functions, 8 states."""
    a, b = (np.random.default_rng(0).standard_normal(shape) for shape in ((160, 68, 45), (160, 45, 8)))
    A, B = torch.from_numpy(a), torch.from_numpy(b)
    work = {"numpy": lambda: np.matmul(a, b), "torch": lambda: torch.bmm(A, B)}
    found = {name: 2e-9 * a.size * 8 / seconds(product, repeats) for name, product in work.items()}
    print("small products: " + ", ".join(f"{name} {speed:.0f} GF/s" for name, speed in found.items()))
    return found


def time_loop(name: str, d: Discretisation, repeats: int) -> dict[str, Any]:
    field = d.system.fields["u"]
    r, n = field.r, len(field.space.weights)
    peak = machine(r, n, repeats)
    z = d.initial
    Z = z * (1 + 0.1 * torch.randn(BATCH, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1)))
    d.system.prepare([0.1], 1e-9)
    with torch.no_grad():
        one = seconds(lambda: d.system.nonlinear(z, 0.1), repeats)
        many = seconds(lambda: d.system.nonlinear(Z, 0.1), repeats) / BATCH
    naive = 2 * peak["product"]
    row = {
        "case": name, "r": r, "nodes": n, "by transform": field.interior.functions.by_transform, "machine": peak,
        "evaluation": one, "of two products": naive / one, "in a batch": many, "batch gain": one / many,
        "batch GF/s": 4e-9 * r * n / many, "of matrix–matrix peak": 4e-9 * r * n / many / peak["GF/s"], "peak MB": megabytes(),
    }  # fmt: skip
    print(
        f"{name:18} r {r:5} n {n:6}  n(z, t) {1e3 * one:7.3f} ms = {100 * naive / one:4.0f} % of two products at {peak['GB/s']:.0f} GB/s"
        f"{' (transform)' if row['by transform'] else ''};  batch of {BATCH}: {one / many:5.1f} times cheaper each, "
        f"{100 * row['of matrix–matrix peak']:3.0f} % of {peak['GF/s']:.0f} GF/s ({peak['GF/s of torch']:.0f} by torch)"
    )
    return row


def ensemble(repeats: int) -> dict[str, Any]:
    """256 initial states of MMS-I in one rollout against one run, both with cached spaces, validation included."""
    keys = {"output": {"frames": 1}, "time": {"end": 1, "step": 0.01}}
    with tempfile.TemporaryDirectory() as cache:
        os.environ["GLEG_CACHE"] = cache
        start = "q*A*E*waves"
        members = [{"fields": {"u": {"initial": f"{1 + 0.001 * i}*{start}"}}} for i in range(BATCH)]
        one = seconds(lambda: gleg.solve(ROSETTE, **keys), repeats, 0.0)
        many = seconds(lambda: gleg.ensemble(ROSETTE, members, **keys), max(1, repeats // 2), 0.0) / BATCH
        os.environ["GLEG_CACHE"] = "off"
    print(f"one run {one:.2f} s; in an ensemble of {BATCH} {many:.3f} s each: {one / many:.1f} times cheaper")
    return {"one run": one, "each of the ensemble": many, "gain": one / many}


def terms(repeats: int) -> list[dict[str, Any]]:
    """u_t = D Δu + Σ c_p u^p with 1 to 12 nonlinear terms, at r ≈ 740."""
    rows = []
    for count in (1, 2, 4, 8, 12):
        powers = [{"block": "power", "p": 2 + i % 6, "coefficient": 0.01 * (i + 1)} for i in range(count)]
        field = {"equation": [{"block": "diffusion", "coefficient": 0.015}, *powers], "forcing": "none"}
        d = rosette(fields={"u": field})
        with torch.no_grad():
            rows.append(
                {"terms": count, "evaluation": seconds(lambda d=d: d.system.nonlinear(d.initial, 0.1), repeats)}
            )
    for row in rows:
        row["ratio"] = row["evaluation"] / rows[0]["evaluation"]
        print(f"{row['terms']:3} nonlinear terms: {1e3 * row['evaluation']:.3f} ms, {row['ratio']:.2f} of one")
    return rows


def fields(repeats: int) -> list[dict[str, Any]]:
    """Coupled fields, each with Δ and a product with its neighbour."""
    rows = []
    for count in (1, 2, 4):
        names = [f"u{i}" for i in range(count)]
        own = {
            name: {
                "initial": "0.1*exp(-9*(x^2 + y^2))",
                "boundary": [{"kind": "dirichlet"}],
                "equation": [
                    {"block": "diffusion", "coefficient": 0.01},
                    {"block": "product", "powers": {name: 1, names[i - 1]: 1} if count > 1 else {name: 2}},
                ],
            }
            for i, name in enumerate(names)
        }
        problem = {
            "domain": {"kind": "rosette"},
            "basis": {"kind": "fourier", "K": 16},
            "fields": own,
            "time": {"end": 1},
        }
        with torch.no_grad():
            d = discretise(gleg.load(problem))
            rows.append(
                {"fields": count, "evaluation": seconds(lambda d=d: d.system.nonlinear(d.initial, 0.1), repeats)}
            )
    for row in rows:
        row["per field"] = row["evaluation"] / row["fields"] / rows[0]["evaluation"]
        print(f"{row['fields']:3} fields: {1e3 * row['evaluation']:.3f} ms, {row['per field']:.2f} of one, per field")
    return rows


def batches(d: Discretisation, repeats: int) -> list[dict[str, Any]]:
    """One evaluation of 1 to 256 states together, per state; a step of collocation has 4 to 8 of them even in a single run."""
    rows = []
    for count in (1, 4, 8, 16, 64, BATCH):
        Z = d.initial * (1 + 0.1 * torch.arange(count, dtype=torch.float64)[:, None] / count)
        d.system.prepare([0.1], 1e-9)
        with torch.no_grad():
            each = seconds(lambda Z=Z: d.system.nonlinear(Z, 0.1), repeats) / count
        rows.append({"states": count, "evaluation": each, "peak MB": megabytes()})
        print(f"{count:4} states together: {1e3 * each:.3f} ms each, {rows[0]['evaluation'] / each:.1f} times cheaper")
    return rows


def resolutions(repeats: int) -> list[dict[str, Any]]:
    """Cold realisation and one evaluation against K."""
    rows = []
    for K in (8, 12, 16, 22, 28):
        began = time.perf_counter()
        d = rosette(basis={"kind": "fourier", "K": K})
        cold = time.perf_counter() - began
        d.system.prepare([0.1], 1e-9)
        with torch.no_grad():
            one = seconds(lambda d=d: d.system.nonlinear(d.initial, 0.1), repeats)
        field = d.system.fields["u"]
        rows.append(
            {
                "K": K,
                "r": field.r,
                "nodes": len(field.space.weights),
                "cold": cold,
                "evaluation": one,
                "peak MB": megabytes(),
            }
        )
        print(
            f"K {K:3}  r {field.r:5}  realised in {cold:6.2f} s, evaluation {1e3 * one:.3f} ms, peak {megabytes():.0f} MB"
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("out/time-loop.json"))
    given = parser.parse_args()
    os.environ["GLEG_CACHE"] = "off"
    torch.set_num_threads(1)
    cases = {"Fourier K = 22": rosette()}
    if "legendre:legendre" in gleg.default_registry().entries("basis"):
        legendre = {"basis": {"kind": "legendre", "degree": 30}, "space": {"box": "auto", "quadrature": 1e-8}}
        cases = {"Legendre p = 30": rosette(**legendre), **cases}
    found = {
        "small products": small_products(given.repeats),
        "time loop": [time_loop(name, d, given.repeats) for name, d in cases.items()],
        "ensemble": ensemble(given.repeats),
        "batches": batches(cases["Fourier K = 22"], given.repeats),
        "terms": terms(given.repeats),
        "fields": fields(given.repeats),
        "resolutions": resolutions(given.repeats),
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    print(f"wrote {given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
