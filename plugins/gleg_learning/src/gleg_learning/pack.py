"""Entry point of the pack ``learning``."""

CONTRACT = (3, 0)
