"""Monte Carlo checks: is the filter as good as it claims, and does it find its way from far-off starts."""
