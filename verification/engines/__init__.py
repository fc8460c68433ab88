"""Pinocchio and MuJoCo as judges of every machine."""
