"""All checks: papers, laws of mechanics, other engines, consistency of the estimator.

``./pkm verify`` runs them. Every figure in the table is computed when the check runs. The packages of ``src/`` never
import this one.
"""
