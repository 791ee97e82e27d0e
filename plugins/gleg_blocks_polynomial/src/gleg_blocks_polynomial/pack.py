"""Entry point of the pack ``polynomial``."""

CONTRACT = (1, 0)
