"""Checks of every machine against laws of mechanics, other engines and the papers' printed figures.

Each figure in the table is computed when the check runs. Nothing of the library depends on this package.
"""
