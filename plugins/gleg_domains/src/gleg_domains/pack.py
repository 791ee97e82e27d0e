"""Entry point of the pack ``domains``: the kinds of domains it offers."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (3, 0)

_DISK = {"kind": "disk", "radius": 0.5}
_BOX = {"kind": "rectangle", "x": [0.0, 0.8], "y": [-0.3, 0.3]}


def _entry(name: str, summary: str, address: str, segments: str, example: dict[str, object], dim: int = 2) -> Entry:
    """``address`` is ``module:Class`` inside this pack or ``module:Params:Class``."""
    module, *classes = address.split(":")
    params = classes[0] if len(classes) == 2 else f"{classes[0]}Params"
    return Entry(
        name,
        summary,
        params=f"gleg_domains.{module}:{params}",
        factory=f"gleg_domains.{module}:{classes[-1]}",
        capabilities={"dim": dim, "segments": segments},
        examples=(example,),
    )


@hookimpl
def gleg_domains() -> list[Entry]:
    return [
        _entry("interval", "left < x < right", "simple:Interval", "left, right", {"left": 0.0, "right": 1.0}, dim=1),
        _entry("disk", "disk", "simple:Disk", "boundary", {"radius": 0.6}),
        _entry("ellipse", "ellipse, possibly turned", "simple:Ellipse", "boundary", {"a": 0.7, "b": 0.4, "angle": "pi/6"}),
        _entry(
            "sector", "circular sector", "simple:Sector", "start, arc, end",
            {"radius": 0.6, "angles": [0.0, "3*pi/2"]},
        ),
        _entry(
            "rectangle", "rectangle along the axes", "simple:Rectangle", "left, right, bottom, top",
            {"x": [-0.5, 0.5], "y": [-0.4, 0.4]},
        ),
        _entry("annulus", "space between two circles", "polar:Annulus", "outer, inner", {"outer": 0.7, "inner": 0.3}),
        _entry(
            "polar", "star-shaped: r < R(theta)", "polar:Polar", "boundary", {"radius": "0.6 + 0.1*cos(5*theta)"}
        ),
        _entry(
            "polar-annulus", "between two polar curves", "polar:PolarAnnulus", "outer, inner",
            {"outer": "0.7 + 0.1*cos(5*theta)", "inner": 0.25},
        ),
        _entry(
            "polygon", "polygon with holes and named edges", "polygon:Polygon", "as named, boundary, hole0, …",
            {"vertices": [[0, 0], [0.8, 0], [0.8, 0.3], [0.3, 0.3], [0.3, 0.8], [0, 0.8]], "segments": {"south": [0, 0]}},
        ),
        _entry(
            "geojson", "one polygon from a GeoJSON file", "polygon:GeoJSON", "as named, boundary, hole0, …",
            {"path": "samples/island.geojson"},
        ),
        _entry(
            "curve", "inside of a smooth closed curve x(s), y(s)", "curve:Curve", "boundary, hole0, …",
            {"x": "0.6*cos(s)", "y": "0.4*sin(s) + 0.15*cos(2*s)"},
        ),
        _entry(
            "level-set", "where a formula f(x, y) is positive", "level_set:LevelSet", "boundary, hole0, …",
            {"function": "0.4 - x^2 - 2*y^2 + 0.3*x*y", "box": [[-1, 1], [-1, 1]]},
        ),
        _entry("union", "points in any of several domains", "boolean:BooleanParams:Union", "of the operands", {"of": [_DISK, _BOX]}),
        _entry(
            "intersection", "points in all of several domains", "boolean:BooleanParams:Intersection", "of the operands",
            {"of": [_DISK, _BOX]},
        ),
        _entry(
            "difference", "the first domain without the others", "boolean:BooleanParams:Difference", "of the operands",
            {"of": [_DISK, _BOX]},
        ),
        _entry("rosette", "six petals (benchmark MMS-I)", "named:NamedParams:Rosette", "boundary", {}),
        _entry("crescent", "disk minus disk, two corners (benchmark MMS-II)", "named:NamedParams:Crescent", "outer, inner", {}),
        _entry("bunny", "bunny head (benchmark MMS-III)", "named:NamedParams:Bunny", "boundary", {}),
        _entry("annular-star", "star with a hole (benchmark MMS-IV)", "named:NamedParams:AnnularStar", "outer, inner", {}),
        _entry("pinwheel", "pinwheel (benchmark MMS-V)", "named:NamedParams:Pinwheel", "boundary", {}),
        _entry("peanut", "R0 (1 + ε cos 2θ) (law discovery)", "named:Peanut", "boundary", {}),
        _entry(
            "oblique-channel", "sinusoidal channel, turned (law discovery)", "named:ObliqueChannel",
            "lower, upper, start, end", {},
        ),
        _entry(
            "cylinder-channel", "rectangle minus a disk (cylinder wake)", "named:CylinderChannel",
            "inlet, outlet, bottom, top, cylinder", {},
        ),
        _entry("heart", "sheared disk (clamped Swift–Hohenberg)", "named:Heart", "boundary", {}),
    ]  # fmt: skip
