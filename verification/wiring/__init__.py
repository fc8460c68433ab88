"""Seeded faults of a robot's wiring, and whether check_robot names them and nothing else."""
