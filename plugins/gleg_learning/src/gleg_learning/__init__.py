"""Learned mechanisms: sampling, training, certification, weights."""
