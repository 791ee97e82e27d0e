"""Boundary conditions for gleg: Dirichlet, Neumann, Robin, clamped, floating."""
