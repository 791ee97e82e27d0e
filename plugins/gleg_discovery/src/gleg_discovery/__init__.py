"""Laws from observations: which mechanisms, with which coefficients, and how surely."""
