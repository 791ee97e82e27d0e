"""Transport mechanisms for gleg: quadratic transport, linear advection, advection by another field."""
