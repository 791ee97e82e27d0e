"""Entry point of the pack ``bc``."""

CONTRACT = (1, 0)
