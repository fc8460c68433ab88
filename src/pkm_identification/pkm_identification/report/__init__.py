"""Output of an identification: HTML report, numbers, overlay of the machine file."""
