"""Polynomial reactions and sources for gleg."""
