"""Volume-constrained Allen–Cahn on the disk and vector Burgers on the square, against spectral methods that share no code with gleg."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import gleg
from gleg_core.contracts.basis import as_points

EXAMPLES = Path(__file__).parents[1] / "examples"


def reference(name: str) -> xr.Dataset:
    return xr.load_dataset(EXAMPLES / "references" / f"{name}.nc", engine="h5netcdf", decode_times=False)


def errors(run: gleg.Run, data: xr.Dataset, t: float) -> tuple[float, float]:
    """Relative L² of all fields together at time t: of the run, and of the best approximation in its spaces."""
    points = np.stack([data.x.values, data.y.values], axis=1)
    root = np.sqrt(data.weights.values)
    wrong = best = total = 0.0
    for name in run.field_names:
        truth = root * data[name].sel(time=t, method="nearest").values
        space = run.discretisation.system.fields[name].space
        table = space.basis.tabulate(as_points(points), [(0, 0)])[0, 0].T @ space.N
        Q = np.linalg.qr(root[:, None] * table.numpy())[0]
        wrong += np.sum((root * run.evaluate(name, points, t) - truth) ** 2)
        best += np.sum((truth - Q @ (Q.T @ truth)) ** 2)
        total += np.sum(truth**2)
    return float(np.sqrt(wrong / total)), float(np.sqrt(best / total))


def integral(run: gleg.Run, values: np.ndarray) -> float:
    return float(values @ run.discretisation.system.fields["u"].space.weights.numpy())


def jet(run: gleg.Run, name: str, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """u, u_x, u_y at the quadrature nodes."""
    nodes = run.discretisation.system.fields[name].space.nodes.x.numpy()
    u, u_x, u_y = (run.evaluate(name, nodes, t, alpha) for alpha in ((0, 0), (1, 0), (0, 1)))
    return u, u_x, u_y


@pytest.mark.parametrize("name", ["allen-cahn-disk", "burgers-square"])
def test_references_start_where_the_problem_files_do(name: str) -> None:
    data, problem = reference(name), gleg.load(EXAMPLES / f"{name}.yaml")
    assert data.estimated_error < 1e-9
    for field in problem.fields:
        start = field.section.initial(x=data.x.values, y=data.y.values)
        assert data[field.name].values[0] == pytest.approx(start, abs=1e-12)


# --- Allen–Cahn -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def allen_cahn() -> gleg.Run:
    return gleg.solve(EXAMPLES / "allen-cahn-disk.yaml")


def test_allen_cahn_error(allen_cahn: gleg.Run) -> None:
    """The true error of the paper's pipeline is 4.5e-5 at the end."""
    assert allen_cahn.metrics["space"]["r"] <= 520
    history = [errors(allen_cahn, reference("allen-cahn-disk"), t) for t in (0.2, 2.0, 4.0)]
    assert max(error for error, _ in history) < 5e-7
    assert history[-1][0] < 1.3 * history[-1][1], "close to the best approximation in the space"
    assert allen_cahn.metrics["boundary_residual"]["relative"] < 1e-10


def test_allen_cahn_keeps_the_mean(allen_cahn: gleg.Run) -> None:
    means = np.array(allen_cahn.metrics["fields"]["u"]["invariants"]["mass"]) / (np.pi * 0.4**2)
    assert np.abs(means - means[0]).max() < 1e-12
    assert abs(means[0]) < 1e-12


def test_allen_cahn_energy_never_grows(allen_cahn: gleg.Run) -> None:
    def energy(t: float) -> float:
        u, u_x, u_y = jet(allen_cahn, "u", t)
        return integral(allen_cahn, 0.5 * 5e-3 * (u_x**2 + u_y**2) + 0.25 * (u**2 - 1) ** 2)

    steps = np.diff([energy(t) for t in allen_cahn.times])
    assert steps.max() < 1e-12 and steps.min() < -1e-4


# --- Burgers --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def burgers() -> gleg.Run:
    return gleg.solve(
        EXAMPLES / "burgers-square.yaml",
        basis={"K": 14},
        space={"margin": "auto"},
        time={"end": 0.2, "step": 0.01},
        output={"frames": 20},
        reference=None,
    )


def test_burgers_against_chebyshev_collocation(burgers: gleg.Run) -> None:
    early, _ = errors(burgers, reference("burgers-square"), 0.1)
    error, best = errors(burgers, reference("burgers-square"), 0.2)
    assert early < 1e-6 and error < 5e-5
    assert error < 1.1 * best, "within 10 % of the best approximation in the space"


def test_burgers_kinetic_energy_budget(burgers: gleg.Run) -> None:
    """dE/dt = ½∫(u² + v²)(u_x + v_y) − ν∫(|∇u|² + |∇v|²), both sides integrated in time (Simpson)."""

    def balance(t: float) -> tuple[float, float]:
        (u, u_x, u_y), (v, v_x, v_y) = (jet(burgers, name, t) for name in "uv")
        energy = 0.5 * integral(burgers, u**2 + v**2)
        made = 0.5 * integral(burgers, (u**2 + v**2) * (u_x + v_y))
        return energy, made - 0.01 * integral(burgers, u_x**2 + u_y**2 + v_x**2 + v_y**2)

    energies, rates = np.array([balance(t) for t in burgers.times]).T
    simpson = np.array([1, *[4, 2] * 9, 4, 1]) / 3 * 0.01
    assert energies[-1] - energies[0] == pytest.approx(rates @ simpson, abs=1e-7)
    assert energies[-1] - energies[0] < -1e-3
