"""``gleg new-pack``: a complete distribution to start from, for each of the six contracts."""
