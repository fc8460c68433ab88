"""Identification while the machine moves, sample by sample."""
