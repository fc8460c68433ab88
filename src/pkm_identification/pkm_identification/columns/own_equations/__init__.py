"""Columns from a user's own equations: coordinates and constraints as functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkm_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from pkm_identification.columns.own_equations.constraints import Constraints, OwnEquations, OwnMotion

__all__ = ['Constraints', 'OwnEquations', 'OwnMotion']

__getattr__, __dir__ = lazy_names(__name__)
