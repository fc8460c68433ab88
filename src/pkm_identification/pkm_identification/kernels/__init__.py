"""Estimators that run sample by sample, one sample at a time, compiled; plain Python as well."""
