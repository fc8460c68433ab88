"""Columns from a user's own equations: coordinates and constraints as functions."""
