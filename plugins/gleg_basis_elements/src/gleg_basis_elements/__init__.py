"""Finite elements as a basis for gleg."""
