"""Fits a model to a recording, and extends it by the forces that the recording shows."""
