"""Frozen weights of learned mechanisms: where they lie, their cards, how they are loaded and guarded. Nothing is trained here."""
