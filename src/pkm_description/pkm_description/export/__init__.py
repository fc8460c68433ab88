"""Machine models for other programs, all written from the machine file."""
