"""The six contracts packs implement. Each module states the equation its contract stands for."""
