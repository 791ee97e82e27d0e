"""gleg core."""
