"""Estimates of whole recordings: run, collected, judged, written, reported."""
