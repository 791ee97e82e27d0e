"""Pictures of meshes: what is drawn lies where the domain says, and what cannot be drawn is said."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

import gleg
from gleg_basis_elements.picture import outlines
from gleg_core.errors import OutputError, PackError
from gleg_core.run import Run

RING = {"kind": "annulus", "inner": 0.5, "outer": 1}
DISK = {"kind": "disk", "radius": 1}
INTERVAL = {"kind": "interval", "left": -1, "right": 1}
COARSE = {"kind": "elements", "order": 3, "size": 0.5}


def solved(domain: dict[str, Any], basis: dict[str, Any] = COARSE, initial: str = "1", **keys: Any) -> Run:
    u = {"initial": initial, "boundary": [{"kind": "neumann"}], "equation": [{"block": "diffusion"}]}
    time = {"end": 0.01, "step": 0.01, "integrator": "crank-nicolson"}
    return gleg.solve({"domain": domain, "basis": basis, "fields": {"u": u}, "time": time, **keys})


def drawn(figure: Figure) -> dict[str, np.ndarray]:
    """Label → all points of the lines (n, 2)."""
    lines = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
    return {str(c.get_label()): np.concatenate(c.get_segments()) for c in lines}


def test_segments_follow_their_curves(tmp_path: Path) -> None:
    figure = solved(RING).plot_mesh(tmp_path / "ring.png")
    lines = drawn(figure)
    for name, radius in (("inner", 0.5), ("outer", 1.0)):
        np.testing.assert_allclose(np.hypot(*lines[name].T), radius, rtol=1e-12)
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {"inner", "outer"}
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_aspect()) == ("x", "y", 1.0)
    assert (tmp_path / "ring.png").read_bytes().startswith(b"\x89PNG")


def test_cells_are_drawn_curved() -> None:
    """Edges of cells with both ends on a circle: the blended map keeps them there, as exactly as a polynomial of degree p + 2 can."""
    edges = outlines(solved(RING).discretisation.basis.mesh)
    for radius in (0.5, 1.0):
        on_it = [e for e in edges if np.allclose(np.hypot(*e[[0, -1]].T), radius, rtol=1e-9) and len(e) > 2]
        bent = [e for e in on_it if np.hypot(*(e.mean(axis=0) - e[[0, -1]].mean(axis=0))) > 1e-3]
        assert len(bent) >= 6
        np.testing.assert_allclose(np.hypot(*np.concatenate(bent).T), radius, rtol=1e-6)


def test_interfaces_are_dashed() -> None:
    side, basis = 0.4, {"kind": "elements", "order": 2, "grading": 0, "size": 0.3}
    run = solved(DISK, basis, f"where(max(abs(x), abs(y)) < {side}, 1, 0)")
    figure = run.plot_mesh()
    np.testing.assert_allclose(np.abs(drawn(figure)["interfaces"]).max(axis=1), side, atol=1e-9)
    (dashed,) = (c for c in figure.axes[0].collections if c.get_label() == "interfaces")
    assert dashed.get_linestyle()[0][1] is not None  # a pattern


def test_intervals_are_ticks() -> None:
    run = solved(INTERVAL)
    lines = drawn(run.plot_mesh())
    places = np.unique(np.concatenate([points[:, 0] for points in lines.values()]))
    np.testing.assert_allclose(np.diff(places), run.discretisation.basis.mesh.diameters())
    np.testing.assert_allclose(places[[0, -1]], [-1, 1])


def test_as_an_output_format(tmp_path: Path) -> None:
    run = solved(INTERVAL, output={"formats": ["mesh"], "pictures": False})
    run.save(tmp_path / "run")
    assert [p.name for p in (tmp_path / "run" / "mesh").iterdir()] == ["mesh.png"]
    gleg.open_run(tmp_path / "run").plot_mesh(tmp_path / "again.png")
    assert (tmp_path / "again.png").is_file()


def test_other_bases_have_no_mesh(tmp_path: Path) -> None:
    run = solved(INTERVAL, {"kind": "fourier", "K": 6}, output={"formats": ["mesh"], "pictures": False})
    says = r"there is no mesh: the basis of this run is 'fourier:fourier'"
    with pytest.raises(OutputError, match=f"^{says}"):
        run.plot_mesh()
    with pytest.raises(PackError, match=f"^output.formats: mesh: {says}") as caught:
        run.save(tmp_path / "run")
    assert "author" not in str(caught.value)
    assert (tmp_path / "run" / "result.nc").is_file()


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    run, found = solved(INTERVAL), importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "matplotlib" else found(name))
    with pytest.raises(PackError, match=r"needs matplotlib, .*pip install 'gleg-basis-elements\[pictures\]'"):
        run.plot_mesh()
    with pytest.raises(PackError, match=r"output.formats\[0\]: .*gleg-basis-elements\[pictures\]"):
        solved(INTERVAL, output={"formats": ["mesh"]})


def test_solving_does_not_import_matplotlib() -> None:
    program = dedent("""
        import sys, gleg
        u = {"initial": 1, "boundary": [{"kind": "neumann"}], "equation": [{"block": "diffusion"}]}
        gleg.solve({"domain": {"kind": "interval", "left": 0, "right": 1}, "basis": {"kind": "elements"}, "fields": {"u": u},
                    "time": {"end": 0.01}})
        assert "matplotlib" not in sys.modules
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
