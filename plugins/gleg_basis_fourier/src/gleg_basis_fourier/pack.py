"""Entry point of the pack ``fourier``."""

CONTRACT = (1, 0)
