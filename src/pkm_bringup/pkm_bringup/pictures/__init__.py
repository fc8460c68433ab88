"""Pictures for the documentation, made from real runs with seeds: program ``make_pictures``."""
