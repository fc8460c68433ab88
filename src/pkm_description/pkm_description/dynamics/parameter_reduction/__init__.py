"""Base parameters, computed numerically and printed as readable text."""
