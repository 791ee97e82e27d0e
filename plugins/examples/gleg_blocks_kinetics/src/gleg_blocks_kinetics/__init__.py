"""Reaction kinetics for gleg."""
