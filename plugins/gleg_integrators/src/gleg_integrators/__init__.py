"""Time integrators for gleg: RK4, Crank-Nicolson, Strang, IMEX, exponential, adaptive."""
