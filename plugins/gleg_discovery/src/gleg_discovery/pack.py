"""Entry point of the pack ``discovery``."""

CONTRACT = (2, 1)
