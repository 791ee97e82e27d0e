"""Fourth-order mechanisms for gleg: plates, Cahn–Hilliard, Kuramoto–Sivashinsky."""
