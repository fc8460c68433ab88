"""Estimators: parameters with covariance from rows of the observation matrix."""
