"""Domains for gleg from drawings (SVG) and maps (GeoJSON)."""
