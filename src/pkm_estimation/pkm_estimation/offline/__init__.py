"""Offline estimation of recordings: estimate, errors, comparison with a live run, files and report."""
