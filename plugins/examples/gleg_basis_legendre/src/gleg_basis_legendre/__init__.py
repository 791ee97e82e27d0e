"""Total-degree Legendre basis for gleg."""
