"""What a run leaves behind: evaluation, metrics, files, pictures."""
