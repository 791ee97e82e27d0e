"""Entry point of the pack ``results``."""

CONTRACT = (3, 0)
