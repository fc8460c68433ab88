"""Engine ``lmi``: the problem as linear matrix inequalities, solved by Clarabel through cvxpy (Sousa & Cortesao 2014).

The conic solver certifies its answer by a dual one: independent of how the other engines search.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError

from pkm_identification.estimator.feasible_problem import FeasibleProblem
from pkm_identification.estimator.least_squares import SolverRecord
from pkm_identification.estimator.pseudo_inertia import BASIS


def require_cvxpy() -> Any:
    """Import cvxpy, or say what to do."""
    try:
        import clarabel  # noqa: F401
        import cvxpy
    except ImportError as error:
        raise ConfigurationError(
            f"engine = 'lmi' needs cvxpy and clarabel ({error}); pip install cvxpy clarabel, or choose 'barrier' or "
            "'log_cholesky', which need neither"
        ) from error
    return cvxpy


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


def unknowns_of(cp: Any, problem: FeasibleProblem) -> tuple[Any, list[Any]]:
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


def solve_conic(cp: Any, task: Any) -> Any:
    """Solve, or raise what Clarabel says; its own answer."""
    data, chain, inverse = task.get_problem_data(cp.CLARABEL, solver_opts={})
    answer = chain.solve_via_data(task, data)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', UserWarning)  # "may be inaccurate": the record says so
        task.unpack_results(answer, chain, inverse)
    if task.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise ConfigurationError(
            f'engine lmi: Clarabel found the problem {task.status}: bounds, boxes and held parameters leave no machine '
            'that can exist; widen them'
        )
    return answer


def record_of(answer: Any, cost: float) -> SolverRecord:
    """What Clarabel says of a solved problem."""
    gap = abs(float(answer.obj_val) - float(answer.obj_val_dual)) / max(1.0, abs(float(answer.obj_val)))
    figures = {
        'relative duality gap': gap, 'primal residual': float(answer.r_prim), 'dual residual': float(answer.r_dual),
    }  # fmt: skip
    stop = str(answer.status)
    return SolverRecord('lmi, Clarabel through cvxpy', int(answer.iterations), stop == 'Solved', figures, 1, stop, cost)
