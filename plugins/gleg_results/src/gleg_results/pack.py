"""Entry point of the pack ``results``."""

CONTRACT = (2, 1)
