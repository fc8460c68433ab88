"""Fault detection: a chi-square gate on the innovations of the legs, and the faults of legs that are left out."""
