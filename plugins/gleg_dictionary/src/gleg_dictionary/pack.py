"""Entry point of the pack ``dictionary``."""

CONTRACT = (1, 0)
