"""Entry point of the pack ``cli``."""

CONTRACT = (3, 0)
