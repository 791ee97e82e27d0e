"""Entry point of the pack ``conformance``."""

CONTRACT = (3, 0)
