"""Entry point of the pack ``conformance``."""

CONTRACT = (2, 1)
