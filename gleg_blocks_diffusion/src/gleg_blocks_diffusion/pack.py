"""Entry point of the pack ``diffusion``."""

CONTRACT = (1, 0)
