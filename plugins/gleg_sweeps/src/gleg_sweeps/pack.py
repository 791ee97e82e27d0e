"""Entry point of the pack ``sweeps``."""

CONTRACT = (3, 0)
