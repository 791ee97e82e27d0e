"""Diffusion mechanisms for gleg."""
