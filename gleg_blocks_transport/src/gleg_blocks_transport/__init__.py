"""Transport mechanisms for gleg."""
