"""Machines in figures, for people."""
