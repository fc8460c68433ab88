"""Checks of the whole suite: papers, laws of mechanics, other engines, the estimator's own claims.

``./pkm verify`` runs them. Every figure in the table is computed when the check runs. The packages of ``src/`` never
import this one.
"""
