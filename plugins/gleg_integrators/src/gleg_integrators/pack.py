"""Entry point of the pack ``integrators``."""

CONTRACT = (1, 0)
