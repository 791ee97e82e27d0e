"""Ablations and parameter studies: one problem file, some keys varied, one dataset."""
