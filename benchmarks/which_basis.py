"""The same rough problem on finite elements and on Fourier functions: heat on the L-shape, u = 0 on ∂Ω.

    python benchmarks/which_basis.py        # and: python benchmarks/which_basis.py 30 40, rates of more wave numbers K

Solves the file without a basis, which gets elements, and with `basis: {kind: fourier}`; prints the first decay rate of each beside that of
Fox, Henrici & Moler (SIAM J. Numer. Anal. 4, 1967), 9.6397238440 for a side of 2, and writes docs/elements/which-basis.png (the fields and
their difference) and docs/elements/mesh.png (the elements).

    python benchmarks/which_basis.py accuracy

solves it to accuracies instead, with a part of u that grows, and compares the errors estimated with those against a fine solution.

    python benchmarks/which_basis.py coasts

solves heat inside random coasts of 50 and 500 edges, told `accuracy: 1e-3`; prints functions, seconds of processor time, the error that is
estimated, and the one against elements of order 6 and another tolerance. The latter take a minute for each condition of 500 edges.
"""

from __future__ import annotations

import io
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from scipy.sparse.linalg import eigsh

import gleg
from gleg_core.algebra.sparse_linear import SparsePart
from gleg_core.spec.problem import load_problem
from gleg_core.system.discretise import Discretisation, discretise

ROOT = Path(__file__).resolve().parents[1]
EXACT = 9.6397238440
PROBLEM = {
    "domain": {"kind": "polygon", "vertices": [[-1, -1], [1, -1], [1, 1], [0, 1], [0, 0], [-1, 0]]},
    "fields": {"u": {"initial": 1, "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}},
    "time": {"end": 0.2},
}
BASES = {"finite elements, the default": {}, "basis: {kind: fourier}": {"basis": {"kind": "fourier"}}}


def rate_of(discretisation: Discretisation) -> float:
    """The smallest λ with −Δφ = λφ, φ = 0 on ∂Ω, on a space."""
    part = discretisation.system.linear
    if isinstance(part, SparsePart):
        stiffness, mass = part.stiffness.matrix.tocsc(), part.mass.matrix.tocsc()
        return -float(eigsh(stiffness, k=1, M=mass, sigma=0, return_eigenvectors=False)[0])
    return -float(part.eigenvalues.max())


def accuracies() -> int:
    """Errors at the end of runs to an accuracy, estimated and measured, relative to the largest norm over time."""
    u = {"initial": "sin(pi*x)*sin(pi*y)*exp(x)", "boundary": [{"kind": "dirichlet", "value": "t*x"}],
         "equation": [{"block": "diffusion"}, {"block": "power", "coefficient": 9}]}  # fmt: skip
    problem = {**PROBLEM, "fields": {"u": u}}
    fine = {"basis": {"kind": "elements", "tolerance": 1e-8}, "time": {"end": 0.2, "tolerance": 1e-9}}
    exact = gleg.solve(problem, **fine)
    field = exact.discretisation.system.fields["u"]
    nodes, weights = field.space.nodes.x.numpy(), field.space.weights.numpy()
    size = max(float(exact.evaluate("u", nodes, t) ** 2 @ weights) for t in exact.times) ** 0.5
    for wanted in (1e-3, 1e-4, 1e-5, 1e-6):
        run = gleg.solve(problem, accuracy=wanted)
        found = max(
            float((run.evaluate("u", nodes, t) - exact.evaluate("u", nodes, t)) ** 2 @ weights) for t in run.times[1:]
        )
        told, count = {stage: facts for stage, facts, _ in run.stages}["estimate"], run.discretisation.basis.size
        print(f"accuracy {wanted:.0e}  {count:6,} functions  estimate {told}  error {found**0.5 / size:.1e}")
    return 0


def coasts() -> int:
    """Errors after the start, estimated and measured, relative to the largest norm over time."""
    sys.path.insert(0, str(ROOT / "plugins" / "gleg_basis_elements" / "tests"))
    from test_coasts_to_an_accuracy import CONDITIONS, errors, problem

    fine = {
        "basis": {"kind": "elements", "order": 6, "size": 0.1, "tolerance": 2e-5},
        "time": {"end": 0.1, "tolerance": 1e-5},
    }
    for edges in (50, 500):
        for condition in CONDITIONS:
            began = time.process_time()
            run = gleg.solve(problem(edges, condition), accuracy=1e-3)
            seconds, error = time.process_time() - began, errors(run, gleg.solve(problem(edges, condition), **fine))
            told = f"{run.discretisation.basis.size:7,} functions {seconds:5.1f} s  estimate {run.estimate:.1e}"
            print(f"{edges:3} edges, {condition:9} {told}  error {error:.1e}", flush=True)
    return 0


def main() -> int:
    warnings.simplefilter("ignore")  # that the solution is not smooth is the point
    runs = {title: gleg.solve(PROBLEM, **keys) for title, keys in BASES.items()}
    n = 321
    x = np.linspace(-1, 1, n + 1)[:-1] + 1 / n
    X, Y = np.meshgrid(x, x)
    end = float(PROBLEM["time"]["end"])
    figure, titles = Figure(figsize=(11, 3.5), layout="constrained"), []
    left, middle, right = figure.subplots(1, 3)
    values = [run.u(X, Y, end) for run in runs.values()]
    for title, run in runs.items():
        rate, size = rate_of(run.discretisation), run.discretisation.basis.size
        titles.append(f"{title}\n{size:,} functions, first rate {rate:.7f}")
        tell(title, size, rate)
    top = float(np.nanmax(values))
    for ax, field, title in zip((left, middle), values, titles, strict=True):
        image = ax.pcolormesh(X, Y, field, vmin=0, vmax=top, rasterized=True)
        ax.contour(X, Y, field, levels=np.linspace(0.1, 0.9, 5) * top, colors="white", linewidths=0.6)
        framed(ax, title)
    figure.colorbar(image, ax=[left, middle], shrink=0.85)
    gap = values[1] - values[0]
    bound = float(np.nanmax(np.abs(gap)))
    image = right.pcolormesh(X, Y, gap, vmin=-bound, vmax=bound, cmap="RdBu_r", rasterized=True)
    framed(right, f"second minus first at t = {end:g}\nat most {bound / top:.0%} of the largest value")
    figure.colorbar(image, ax=right, shrink=0.85)
    print(f"the fields differ by {bound / top:.1%} of the largest value at t = {end:g}")
    for K in map(int, sys.argv[1:]):
        d = discretise(load_problem(PROBLEM, {"basis": {"kind": "fourier", "K": K}}))
        tell(f"basis: {{kind: fourier, K: {K}}}", d.basis.size, rate_of(d))
    folder = ROOT / "docs" / "elements"
    folder.mkdir(exist_ok=True)
    shrunk(figure, folder / "which-basis.png")
    shrunk(next(iter(runs.values())).plot_mesh(), folder / "mesh.png")
    return 0


def tell(title: str, size: int, rate: float) -> None:
    print(f"{title:30} {size:6,} functions  first rate {rate:.10f}  relative error {abs(rate / EXACT - 1):.1e}")


def framed(ax: Axes, title: str) -> None:
    ax.plot(*np.array([*PROBLEM["domain"]["vertices"], PROBLEM["domain"]["vertices"][0]]).T, color="black", linewidth=1)
    ax.set_aspect("equal")
    ax.set_title(title, fontsize=9)
    ax.tick_params(labelsize=7)


def shrunk(figure: Figure, path: Path) -> None:
    """The figure as a small PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=110)
    Image.open(buffer).convert("RGB").save(path, optimize=True)


if __name__ == "__main__":
    tasks = {"accuracy": accuracies, "coasts": coasts}
    sys.exit(tasks.get(" ".join(sys.argv[1:]), main)())
