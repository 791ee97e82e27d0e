"""The kind ``svg``: the inside of one shape of a drawing, with its curves as they were drawn."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import svgelements

from gleg_core.errors import GeometryError
from gleg_domains_drawings.arcs import Arc, bezier, elliptical
from gleg_domains_drawings.branches import Loop
from gleg_domains_drawings.drawing import NUMBER, Shape, read_shape
from gleg_domains_drawings.params import CommandRange, SvgParams
from gleg_domains_drawings.region import Region, bounding_box, check_size, filled

Array = np.ndarray
_PATH_TOKEN = re.compile(rf"[MmZzLlHhVvCcSsQqTtAa]|{NUMBER}|[\s,]+")
_GEOMETRY = {
    "circle": (svgelements.Circle, ("cx", "cy"), ("r",)),
    "ellipse": (svgelements.Ellipse, ("cx", "cy"), ("rx", "ry")),
    "rect": (svgelements.Rect, ("x", "y", "rx", "ry"), ("width", "height")),
}
"""What draws a shape, its attributes with a default, and those that must be given and positive."""


def svg_domain(params: SvgParams) -> Region:
    """The shape, scaled to the width, with the middle of its bounding box at (0, 0)."""
    file = Path(params.path)
    shape = read_shape(file, params.element)
    what = f"{shape} in {file.name}"
    drawn, commands = _loops(shape, what)
    box = bounding_box(drawn)
    scale = params.width / float(np.ptp(box[0])) if params.width else 1.0
    matrix = scale * np.diag([1.0, -1.0 if params.flip else 1.0])
    placed = [[arc.moved(matrix, -matrix @ box.mean(axis=1)) for arc in loop] for loop in drawn]
    loops = filled(placed, shape.even_odd, what)
    return Region(loops, _named(loops, params.segments, commands, what))


def _named(loops: list[Loop], names: Mapping[str, CommandRange], commands: int, what: str) -> dict[str, list[Arc]]:
    """Arcs of every segment: as named, then what is left of the outer boundary and of each hole."""
    owner: dict[int, str] = {}
    for name, (first, last) in names.items():
        if not 0 <= first <= last < commands:
            raise GeometryError(
                f"segment '{name}': commands [{first}, {last}] are out of range; {what} has drawing commands 0 to {commands - 1} "
                "and a range is [first, last] with first ≤ last"
            )
        for command in range(first, last + 1):
            if command in owner:
                raise GeometryError(f"segments '{owner[command]}' and '{name}' both claim command {command} of {what}")
            owner[command] = name
    groups: dict[str, list[Arc]] = {name: [] for name in names}
    for i, loop in enumerate(loops):
        left_over = f"hole-{i}" if i else "outer"
        for arc in loop:
            groups.setdefault(owner.get(arc.command, left_over), []).append(arc)
    for name, arcs in groups.items():
        if not arcs:
            raise GeometryError(f"segment '{name}': its commands draw nothing of the boundary of {what}")
    return groups


def _loops(shape: Shape, what: str) -> tuple[list[Loop], int]:
    """Closed loops of arcs in the units of the drawing, and the number of drawing commands."""
    m = shape.matrix
    matrix, shift = np.array([[m.a, m.c], [m.b, m.d]]), np.array([m.e, m.f])
    outline = _outline(shape, what)
    points = np.concatenate([np.zeros((0, 2)), *(_controls(p) for p in outline if not isinstance(p, svgelements.Move))])
    if not len(points):
        raise GeometryError(f"{what} draws nothing")
    with np.errstate(invalid="ignore", over="ignore"):
        check_size(points @ matrix.T + shift, what)
    shortest = 1e-12 * float(np.ptp(points, axis=0).max())  # Z often closes a gap of rounding errors
    chains: list[list[Arc]] = [[]]
    command = 0
    for part in outline:
        if not isinstance(part, svgelements.Move):
            chains[-1] += [replace(arc.moved(matrix, shift), command=command) for arc in _arcs(part, shortest)]
            command += 1
        if isinstance(part, (svgelements.Move, svgelements.Close)):
            chains.append([])
    loops = [_closed(chain, what) for chain in chains if chain]
    if not loops:
        raise GeometryError(f"{what} draws nothing")
    return loops, command


def _closed(chain: list[Arc], what: str) -> Loop:
    first, last = chain[0].start, chain[-1].stop
    extent = max(float(np.abs(arc.coefficients - first).max()) for arc in chain)
    if np.abs(last - first).max() > 1e-9 * extent:
        a, b = (f"({x:.6g}, {y:.6g})" for x, y in (first, last))
        raise GeometryError(
            f"{what} is open: an outline starts at {a} and ends at {b}. Close it (Z at the end of the path)"
        )
    return chain


def _outline(shape: Shape, what: str) -> svgelements.Path:
    """The shape as path commands. svgelements skips what it does not understand; here that is an error."""
    if shape.tag in ("path", "polygon"):
        text = shape.node.get("d" if shape.tag == "path" else "points", "")
        unknown = _PATH_TOKEN.sub("", text) if shape.tag == "path" else re.sub(rf"{NUMBER}|[\s,]+", "", text)
        if unknown:
            raise GeometryError(f"{what} cannot be drawn: '{unknown:.20}' is not part of a path or list of points")
        numbers = len(re.findall(NUMBER, text))
        if shape.tag == "polygon" and numbers % 2:
            raise GeometryError(f"{what} has {numbers} coordinates, an odd number; points are pairs x,y")
        if shape.tag == "path" and text.strip()[:1] not in ("", "M", "m"):
            raise GeometryError(f"{what} cannot be drawn: a path starts with M or m, found '{text.strip():.20}'")
        try:
            return svgelements.Path(text if shape.tag == "path" else svgelements.Polygon(text))
        except (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError):
            raise GeometryError(
                f"{what} cannot be drawn: a command of its path lacks numbers or has wrong ones"
            ) from None
    kind, optional, needed = _GEOMETRY[shape.tag]
    values = {key: _length(shape, key, what) for key in (*optional, *needed) if key in shape.node.attrib}
    for key in needed:
        if not values.get(key, 0.0) > 0:
            raise GeometryError(f"{what} needs a positive {key}, found {shape.node.get(key, 'none')}")
    return svgelements.Path(kind(**values))


def _length(shape: Shape, key: str, what: str) -> float:
    text = shape.node.get(key, "").strip()
    if not re.fullmatch(rf"{NUMBER}(px)?", text):
        raise GeometryError(f"{what}: {key} is '{text:.30}'; a number in units of the drawing is needed")
    return float(text.removesuffix("px"))


def _controls(part: svgelements.PathSegment) -> Array:
    """The points that define a drawing command, shape (k, 2): those of a Bézier curve, or start, end, centre and axes of an arc."""
    return np.array([(p.x, p.y) for p in part], dtype=float)


def _arcs(part: svgelements.PathSegment, shortest: float) -> list[Arc]:
    """Smooth arcs of one drawing command; none if it has no length to speak of."""
    points = _controls(part)
    if isinstance(part, svgelements.Arc):
        start, stop, centre, *ends = points
        axes = np.column_stack(ends) - centre[:, None]
        if part.sweep and np.linalg.det(axes):
            first, last = (np.arctan2(*np.linalg.solve(axes, p - centre)[::-1]) for p in (start, stop))
            # part.sweep is an arc cosine, good to 1e-8 only near half a turn; the end points give the rest.
            sweep = part.sweep + np.angle(np.exp(1j * (last - first - part.sweep)))
            return elliptical(centre, axes, float(first), float(sweep))
        points = np.array([start, stop])  # a radius of zero means a straight line
    return [bezier(points)] if np.ptp(points, axis=0).max() > shortest else []
