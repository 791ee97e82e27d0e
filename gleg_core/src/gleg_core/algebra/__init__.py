"""The algebra between contracts: box, boundary system, admissible space, linear operators."""
