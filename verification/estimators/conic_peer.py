"""The feasible fit as linear matrix inequalities, solved by Clarabel through cvxpy (Sousa & Cortesao 2014).

The conic solver certifies its answer by a dual one: independent of how the product's barrier searches.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_identification.estimator.base_feasibility import (
    linear_constraints,
    record_of,
    require_cvxpy,
    solve_conic,
    unknowns_of,
)
from pkm_identification.estimator.feasible_problem import FeasibleProblem
from pkm_identification.estimator.least_squares import SolverRecord


class LmiEngine:
    """Solves a problem for one weight after the other; cvxpy translates it once."""

    name = 'lmi'

    def __init__(self, problem: FeasibleProblem, inside: Array) -> None:
        del inside  # interior-point methods start by themselves
        self._cp = cp = require_cvxpy()
        self._problem = problem
        self._weight = cp.Parameter(nonneg=True)
        self._unknowns, self._matrices = unknowns_of(cp, problem)
        pull = sum(
            factor * (cp.trace(matrix) - cp.log_det(matrix) - 4.0)
            for factor, matrix in zip(problem.pulls, self._matrices, strict=True)
        )
        # the fit in few rows and of order one
        self._scale = max(1.0, float(np.linalg.norm(problem.matrix @ problem.start - problem.target)))
        fit = cp.sum_squares((problem.matrix @ self._unknowns - problem.target) / self._scale)
        self._task = cp.Problem(cp.Minimize(fit + self._weight * pull), linear_constraints(problem, self._unknowns))

    def solve(self, weight: float, start: Array | None = None) -> tuple[Array, SolverRecord]:
        """Unknowns (Z,) at the optimum."""
        del start
        problem = self._problem
        self._weight.value = weight / self._scale**2
        answer = solve_conic(self._cp, self._task)
        unknowns = np.asarray(self._unknowns.value, dtype=float)
        return unknowns, record_of(answer, problem.cost(unknowns, weight))
