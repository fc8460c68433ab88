"""Identification while the machine runs: sample by sample, in bounded memory."""
