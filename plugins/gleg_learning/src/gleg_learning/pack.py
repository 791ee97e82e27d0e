"""Entry point of the pack ``learning``."""

CONTRACT = (2, 1)
