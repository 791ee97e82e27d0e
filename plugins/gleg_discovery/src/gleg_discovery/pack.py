"""Entry point of the pack ``discovery``."""

CONTRACT = (3, 0)
