"""What coordinates are called."""

COORDINATES = ("x", "y", "z")
