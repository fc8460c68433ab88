"""The feasible fit as linear matrix inequalities, solved by Clarabel through cvxpy (Sousa & Cortesao 2014).

The conic solver certifies its answer by a dual one: independent of how the product's barrier searches.
"""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp
import numpy as np
from pkm_description.arrays import Array
from pkm_identification.estimator.bodies import BASIS
from pkm_identification.estimator.feasible_problem import FeasibleProblem
from pkm_identification.estimator.least_squares import SolverRecord

#: factors of the bodies' size in the conic problem, whose misfit is of order one
REGULARISERS = (1e-9, 1e-8, 1e-7, 1e-6)


class LmiEngine:
    """Solves a problem for one weight after the other; cvxpy translates it once."""

    name = 'lmi'

    def __init__(self, problem: FeasibleProblem, inside: Array) -> None:
        del inside  # interior-point methods start by themselves
        self._problem = problem
        self._weight = cp.Parameter(nonneg=True)
        self._unknowns, self._matrices = unknowns_of(problem)
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
        answer = solve_conic(self._task)
        unknowns = np.asarray(self._unknowns.value, dtype=float)
        return unknowns, record_of(answer, problem.cost(unknowns, weight))


def nearest_base_values(problem: FeasibleProblem) -> Array:
    """Unknowns (Z,) whose base values are nearest to those of the problem."""
    unknowns, matrices = unknowns_of(problem)
    inner = [matrix >> 0 for matrix in matrices]
    size = sum(cp.trace(matrix) for matrix in matrices) if matrices else 0.0
    scale = max(1.0, float(np.linalg.norm(problem.matrix @ problem.start - problem.target)))
    misfit = cp.norm(problem.matrix @ unknowns - problem.target) / scale
    # the size of what no force shows must not run away; where that little is too little for the solver, take more
    for regulariser in REGULARISERS:
        first = cp.Problem(cp.Minimize(misfit + regulariser * size), [*inner, *linear_constraints(problem, unknowns)])
        try:
            solve_conic(first)
            break
        except cp.error.SolverError:
            if regulariser == REGULARISERS[-1]:
                raise
    return np.asarray(unknowns.value, dtype=float)


def unknowns_of(problem: FeasibleProblem) -> tuple[Any, list[Any]]:
    """Variables: all unknowns, and each body's whitened pseudo-inertia as an expression of them."""
    unknowns = cp.Variable(len(problem.start))
    basis = BASIS.reshape(10, 16).T
    matrices = [
        cp.reshape(basis @ unknowns[10 * place : 10 * place + 10], (4, 4), order='F')
        for place in range(len(problem.bodies))
    ]
    return unknowns, matrices


def linear_constraints(problem: FeasibleProblem, unknowns: Any) -> list[Any]:
    """Limits and held parameters."""
    found = []
    if len(problem.limits):
        found.append(problem.limits @ unknowns <= problem.limit_values)
    if len(problem.held):
        found.append(problem.held @ unknowns == problem.held_values)
    return found


def solve_conic(task: Any) -> Any:
    """Solve, or raise what Clarabel says; its own answer."""
    data, chain, inverse = task.get_problem_data(cp.CLARABEL, solver_opts={})
    answer = chain.solve_via_data(task, data)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', UserWarning)  # "may be inaccurate": the record says so
        task.unpack_results(answer, chain, inverse)
    if task.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise ValueError(f'Clarabel found the problem {task.status}')
    return answer


def record_of(answer: Any, cost: float) -> SolverRecord:
    """What Clarabel says of a solved problem."""
    gap = abs(float(answer.obj_val) - float(answer.obj_val_dual)) / max(1.0, abs(float(answer.obj_val)))
    figures = {
        'relative duality gap': gap, 'primal residual': float(answer.r_prim), 'dual residual': float(answer.r_dual),
    }  # fmt: skip
    stop = str(answer.status)
    return SolverRecord('lmi, Clarabel through cvxpy', int(answer.iterations), stop == 'Solved', figures, 1, stop, cost)
