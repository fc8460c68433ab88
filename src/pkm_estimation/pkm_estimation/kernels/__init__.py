"""Equations of the estimator (Miletovic et al. 2017), one state or one step at a time, compiled; plain Python as well.

Points are rows (2 n + 1, n), so that a state is contiguous in memory. Vectors are tuples of three numbers.
"""
