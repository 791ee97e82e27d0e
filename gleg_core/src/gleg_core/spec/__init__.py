"""Problem files: reading, validation, resolution. Nothing here imports torch."""
