"""Entry point of the pack ``cli``."""

CONTRACT = (2, 1)
