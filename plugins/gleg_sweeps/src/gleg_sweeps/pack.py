"""Entry point of the pack ``sweeps``."""

CONTRACT = (2, 1)
