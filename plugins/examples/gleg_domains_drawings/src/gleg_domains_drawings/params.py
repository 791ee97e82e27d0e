"""Keys of the kinds ``svg`` and ``map`` in a problem file."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gleg_core.spec.params import FilePath, NonNegative, Number, PackParams, Positive

CommandRange = tuple[int, int]


def _not_reserved(names: Mapping[str, CommandRange]) -> Mapping[str, CommandRange]:
    for word in ("all", "rest"):
        if word in names:
            raise ValueError(f"a segment cannot be called '{word}': the word has a meaning of its own in 'where'")
    return names


def _on_earth(centre: tuple[float, float]) -> tuple[float, float]:
    if abs(centre[0]) > 180 or abs(centre[1]) > 90:
        raise ValueError(f"[longitude, latitude] in degrees is needed, within ±180 and ±90, found {list(centre)}")
    return centre


class SvgParams(PackParams):
    path: FilePath = Field(description="SVG file, relative to the problem file")
    element: str | None = Field(
        None, description="id of the path, polygon, circle, ellipse or rect; default: the only one"
    )
    width: Positive | None = Field(None, description="width of the result; default: one unit of the drawing is 1")
    flip: bool = Field(True, description="turn y upwards; in an SVG file it points down")
    segments: Annotated[Mapping[str, CommandRange], AfterValidator(_not_reserved)] = Field(
        default_factory=dict,
        description="name: [first, last] drawing command of the path, both included, counted from 0 without moves. What is "
        "left of the outer boundary is 'outer'",
    )


class MapParams(PackParams):
    path: FilePath = Field(description="GeoJSON file in longitude and latitude, relative to the problem file")
    feature: int | Mapping[str, str | bool | int | float] | None = Field(
        None,
        description="which feature: its index from 0, or properties it has, {name: Lake Geneva}; default: the only one",
    )
    part: int | Literal["largest"] | None = Field(
        None, description="which part of a MultiPolygon: its index from 0, or largest"
    )
    centre: Annotated[tuple[Number, Number], AfterValidator(_on_earth)] | None = Field(
        None, description="[longitude, latitude] that becomes (0, 0); default: the centroid of the feature"
    )
    simplify: NonNegative = Field(
        0.0, description="largest distance, in km, by which the shore may move to lose vertices"
    )
    smooth: bool = Field(False, description="join the vertices by a closed cubic spline instead of straight edges")
