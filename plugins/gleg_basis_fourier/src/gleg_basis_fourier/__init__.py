"""Fourier basis with radial cutoff for gleg."""
