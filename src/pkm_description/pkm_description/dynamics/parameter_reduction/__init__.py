"""Base parameters and models with fewer parameters, computed numerically and printed as readable text."""
