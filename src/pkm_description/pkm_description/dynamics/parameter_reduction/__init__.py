"""Minimal parameters: which combinations of parameters forces can show, numerically and in readable form."""
