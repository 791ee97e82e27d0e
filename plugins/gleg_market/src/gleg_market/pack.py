"""Entry point of the pack ``market``."""

CONTRACT = (3, 0)
