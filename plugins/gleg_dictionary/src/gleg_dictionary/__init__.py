"""Candidate dictionaries for law discovery with gleg."""
