"""Entry point of the pack ``drawings``: domains from SVG drawings and GeoJSON maps."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_domains() -> list[Entry]:
    return [
        Entry(
            "svg",
            "the inside of one shape of an SVG drawing",
            params="gleg_domains_drawings.params:SvgParams",
            factory="gleg_domains_drawings.svg:svg_domain",
            capabilities={"dim": 2, "segments": "as named, outer, hole-1, …"},
            examples=({"path": "samples/pear.svg", "element": "pear", "width": 2.0, "segments": {"crown": [0, 0]}},),
        ),
        Entry(
            "map",
            "a lake or region of a GeoJSON map, in kilometres",
            params="gleg_domains_drawings.params:MapParams",
            factory="gleg_domains_drawings.maps:map_domain",
            capabilities={"dim": 2, "segments": "shore, island-1, …"},
            examples=({"path": "samples/pond.geojson", "feature": {"name": "Pond"}, "smooth": True},),
        ),
    ]
