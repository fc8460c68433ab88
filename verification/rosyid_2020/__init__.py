"""Rosyid and El-Khasawneh (2020): the planar 3-PRR, guide forces, varying friction."""
