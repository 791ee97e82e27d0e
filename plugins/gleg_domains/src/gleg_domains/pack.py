"""Entry point of the pack ``domains``."""

CONTRACT = (1, 0)
