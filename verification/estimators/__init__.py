"""Estimators of the identification, and machines that can exist, over noisy runs."""
