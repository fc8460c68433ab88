"""Text summary of a machine."""
