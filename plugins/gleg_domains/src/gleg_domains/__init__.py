"""Domains for gleg: disks, polygons, polar and level-set curves, Boolean combinations."""
