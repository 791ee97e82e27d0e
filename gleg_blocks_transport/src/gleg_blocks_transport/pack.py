"""Entry point of the pack ``transport``."""

CONTRACT = (1, 0)
