"""Mata et al. (2008): the 3-RPS, its regressor, base parameters."""
