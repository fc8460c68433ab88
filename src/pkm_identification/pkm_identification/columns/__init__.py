"""Columns of the observation matrix: how the drive forces depend on the parameters."""
