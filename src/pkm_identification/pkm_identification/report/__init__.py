"""What an identification leaves: HTML report, numbers, overlay of the machine file."""
