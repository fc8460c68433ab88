"""Pictures for the documentation, made from real runs with seeds: ``./pkm pictures``."""
