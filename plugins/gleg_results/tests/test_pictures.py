"""Pictures and animations in one and two dimensions, and none in three."""

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

import gleg
from gleg_core.contracts.domain import ROUNDING, BoundarySample, Domain, Quadrature, Segment
from gleg_core.errors import OutputError

PLANES = {
    "interval": {"kind": "interval", "left": 0, "right": 1},
    "disk": {"kind": "disk", "radius": 1},
}


def spec(domain: dict) -> dict:
    field = {"initial": "1 + x", "boundary": [{"kind": "neumann"}], "equation": [{"block": "diffusion"}]}
    return {
        "domain": domain,
        "basis": {"kind": "fourier", "K": 4},
        "fields": {"u": field},
        "time": {"end": 0.1, "step": 0.05},
        "output": {"frames": 2, "movie": True, "probes": [[0.5]] if domain["kind"] == "interval" else [[0.1, 0.2]]},
    }


@pytest.mark.parametrize("name", PLANES)
def test_every_picture_and_the_animation_are_written(name: str, tmp_path: Path) -> None:
    files = gleg.solve(spec(PLANES[name])).save(tmp_path / "run")
    assert {"fields.png", "histories.png", "probes.png", "estimate.png", "movie.gif"} <= set(files)
    picture = matplotlib.image.imread(tmp_path / "run" / "fields.png")
    assert picture[..., :3].std() > 0.01  # something is drawn


class Face(Segment):
    """One face of the unit cube, Gauss nodes."""

    def __init__(self, axis: int, side: int):
        self.name, self.length = f"{'xyz'[axis]}{side}", 1.0
        self._axis, self._side = axis, side

    def sample(self, n: int) -> BoundarySample:
        nodes, weights = np.polynomial.legendre.leggauss(7)
        a, b = (m.ravel() for m in np.meshgrid((nodes + 1) / 2, (nodes + 1) / 2))
        points = np.insert(np.stack([a, b], axis=1), self._axis, float(self._side), axis=1)
        normal = np.zeros(3)
        normal[self._axis] = 2.0 * self._side - 1.0
        return BoundarySample(points, np.tile(normal, (len(points), 1)), np.outer(weights, weights).ravel() / 4)

    def outline(self, n: int) -> np.ndarray:
        return self.sample(n).points


class Cube(Domain):
    """The unit cube: three dimensions work although no first-party domain has them."""

    dim = 3
    segments = tuple(Face(axis, side) for axis in range(3) for side in (0, 1))
    bounds = np.array([[0.0, 1.0]] * 3)

    def __init__(self, params: object):
        pass

    def contains(self, points: np.ndarray) -> np.ndarray:
        return ((points > 0) & (points < 1)).all(axis=1)

    def quadrature(self, wavenumber: float, tolerance: float = ROUNDING) -> Quadrature:
        nodes, weights = np.polynomial.legendre.leggauss(12)
        mesh = np.meshgrid(*[(nodes + 1) / 2] * 3, indexing="ij")
        w = weights[:, None, None] * weights[:, None] * weights / 8
        return Quadrature(np.stack([m.ravel() for m in mesh], axis=1), w.ravel())


def test_three_dimensions_are_solved_and_saved_without_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heat in a cube: with no flux cos πx decays like e^{−π²t}. The domain stands in for one from somebody's pack."""
    problem = gleg.load(spec(PLANES["disk"]))
    field = {
        "initial": "cos(pi*x)",
        "boundary": [{"kind": "neumann"}],
        "equation": [{"block": "diffusion", "twin": "analytic"}],
    }
    monkeypatch.setattr("gleg_domains.simple.Disk", Cube, raising=True)
    entry = problem.domain.installed.entry
    monkeypatch.setitem(entry.capabilities.__dict__, "dim", 3)  # type: ignore[union-attr]
    cube = {
        **spec(PLANES["disk"]),
        "fields": {"u": field},
        "basis": {"kind": "fourier", "K": 5},
        "output": {"grid": 9, "frames": 2},
    }
    run = gleg.solve(cube)
    assert run.u(0.25, 0.5, 0.5, 0.1) == pytest.approx(np.cos(np.pi / 4) * np.exp(-(np.pi**2) * 0.1), rel=2e-2)
    assert set(run.save(tmp_path / "run")) == {"histories.png", "metrics.json", "result.nc", "spec.resolved.yaml"}
    with pytest.raises(OutputError, match="three-dimensional"):
        run.plot()


def test_a_picture_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    run = gleg.solve(spec(PLANES["interval"]))
    with pytest.raises(OutputError, match=r"nowhere/a\.png: could not be written: No such file or directory$"):
        run.plot(tmp_path / "nowhere" / "a.png")
