"""The front door of gleg."""
