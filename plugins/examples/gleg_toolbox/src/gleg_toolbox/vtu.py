"""The output format ``vtu``: one file per saved time, a cloud of points with the values of all fields."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gleg_core.run import Run


def write(run: Run, folder: Path) -> None:
    """Called after a run with the folder of this format."""
    points = run.discretisation.fields[0].space.nodes.x.numpy()
    for i, t in enumerate(run.times):
        values = {name: run.evaluate(name, points, t) for name in run.field_names}
        (folder / f"{i:04d}.vtu").write_text(as_vtu(points, values), encoding="utf-8")


def as_vtu(points: np.ndarray, values: Mapping[str, np.ndarray]) -> str:
    """Points (n, dim) and values (n,) as an unstructured grid of vertices, VTK's cell type 1."""
    n = len(points)

    def array(name: str, data: np.ndarray, kind: str = "Float64") -> str:
        text = " ".join(map(str, data.ravel().tolist()))
        components = data.shape[1] if data.ndim == 2 else 1
        return f'<DataArray Name="{name}" type="{kind}" NumberOfComponents="{components}" format="ascii">{text}</DataArray>'

    fields = "".join(array(name, data) for name, data in values.items())
    space = array("points", np.pad(points, ((0, 0), (0, 3 - points.shape[1]))))
    cells = {"connectivity": np.arange(n), "offsets": np.arange(1, n + 1), "types": np.ones(n, dtype=int)}
    vertices = "".join(array(name, data, "Int64") for name, data in cells.items())
    return (
        f'<VTKFile type="UnstructuredGrid" version="1.0"><UnstructuredGrid><Piece NumberOfPoints="{n}" NumberOfCells="{n}">'
        f"<PointData>{fields}</PointData><Points>{space}</Points><Cells>{vertices}</Cells></Piece></UnstructuredGrid></VTKFile>"
    )
