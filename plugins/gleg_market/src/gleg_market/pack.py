"""Entry point of the pack ``market``."""

CONTRACT = (2, 1)
