"""How far off a run is, and why."""
