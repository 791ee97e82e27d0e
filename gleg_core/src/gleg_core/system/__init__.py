"""The reduced system ż = A z + n(z, t) and its rollout."""
