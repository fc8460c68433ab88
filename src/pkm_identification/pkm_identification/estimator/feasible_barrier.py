"""Engine ``barrier``: Newton's method in a trust region on the pseudo-inertias themselves, where the problem is convex.

The divergence is its own barrier; linear limits get a logarithmic one, which fades. SciPy's ``trust-exact`` has exact
gradient and Hessian, and takes a cost of infinity outside as a step too long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pkm_description.arrays import Array
from scipy.linalg import cholesky, null_space, solve_triangular
from scipy.optimize import minimize

from pkm_identification.estimator.feasible_problem import FeasibleProblem
from pkm_identification.estimator.least_squares import SolverRecord
from pkm_identification.estimator.pseudo_inertia import BASIS
from pkm_identification.estimator.residual_covariance import definite

#: last factor of the limits' barrier, in units of the cost (chi-square), and steps downwards of factor and weight
LAST_BARRIER, STEP = 1e-6, 0.1

#: iterations until the coordinates are chosen anew, how often at the last weight and on the way to it, and the gradient
#: in them that is enough: half of its square is what the cost still has to lose
ITERATIONS, ROUNDS, ROUNDS_ON_THE_WAY, GRADIENT = 20, 40, 5, 1e-3


class BarrierEngine:
    """Solves a problem for one weight after the other.

    Parameters
    ----------
    problem : the problem
    inside : (Z,) keeps all limits strictly
    """

    name = 'barrier'

    def __init__(self, problem: FeasibleProblem, inside: Array) -> None:
        self._problem = problem
        self._inside = inside
        self._free = null_space(problem.held) if len(problem.held) else None
        self._square = 2.0 * problem.matrix.T @ problem.matrix

    def solve(self, weight: float, start: Array | None = None) -> tuple[Array, SolverRecord]:
        """Unknowns (Z,) at the optimum, from the solution of a near weight, or by ever smaller weights from 1 on."""
        problem, unknowns = self._problem, self._inside if start is None else start
        iterations = evaluations = 0
        last = LAST_BARRIER if len(problem.limits) else 0.0
        stages = [(weight, last)]
        if start is None:
            # from where pull and barrier outweigh the misfit: they keep Newton's steps off the edge
            first = max(1.0, problem.misfit(unknowns) / max(len(problem.target), 1))
            count = 1 + int(np.ceil(np.log(min(weight, LAST_BARRIER if last else weight) / first) / np.log(STEP)))
            weights = np.maximum(first * STEP ** np.arange(count), weight)
            barriers = np.maximum(first * STEP ** np.arange(count), last) if last else np.zeros(count)
            stages = [*zip(weights.tolist(), barriers.tolist(), strict=True)]
        for now in stages:
            for _ in range(ROUNDS if now is stages[-1] else ROUNDS_ON_THE_WAY):
                unknowns, found = self._newton(unknowns, *now)
                iterations, evaluations = iterations + found.nit, evaluations + found.nfev
                gain = float(np.sqrt(np.sum(found.jac**2)))
                if gain <= GRADIENT:
                    break
        record = SolverRecord(
            'barrier, trust-exact on pseudo-inertias', iterations, gain <= GRADIENT,
            {
                'gradient in the metric of the Hessian': gain,
                'duality gap of the limits': now[1] * len(problem.limits),
            },
            evaluations, str(found.message), problem.cost(unknowns, weight),
        )  # fmt: skip
        return unknowns, record

    def _newton(self, start: Array, weight: float, barrier: float) -> tuple[Array, Any]:
        """Minimise from ``start`` for one pair of weights, in coordinates in which its Hessian is one."""
        free = np.eye(len(start)) if self._free is None else self._free
        hessian = free.T @ self._derivatives(start, weight, barrier)[1] @ free
        scale = np.sqrt(np.diag(hessian))
        # at the edge of what can exist its condition number exceeds the digits
        root = cholesky(definite(hessian / np.outer(scale, scale)), lower=False)
        steps = free @ (solve_triangular(root, np.eye(len(root))) / scale[:, None])

        def cost(step: Array) -> float:
            return self._cost(start + steps @ step, weight, barrier)

        def gradient(step: Array) -> Array:
            return np.asarray(steps.T @ self._derivatives(start + steps @ step, weight, barrier)[0], dtype=float)

        def second(step: Array) -> Array:
            return np.asarray(
                steps.T @ self._derivatives(start + steps @ step, weight, barrier)[1] @ steps, dtype=float
            )

        found = minimize(
            cost, np.zeros(len(root)), jac=gradient, hess=second, method='trust-exact',
            options={'gtol': 1e-6, 'maxiter': ITERATIONS, 'initial_trust_radius': 1.0, 'max_trust_radius': 1e4},
        )  # fmt: skip
        return start + steps @ found.x, found

    def _cost(self, unknowns: Array, weight: float, barrier: float) -> float:
        problem = self._problem
        slack = problem.limit_values - problem.limits @ unknowns
        if slack.size and slack.min() <= 0.0:
            return np.inf
        return problem.cost(unknowns, weight) - barrier * float(np.log(slack).sum())

    def _derivatives(self, unknowns: Array, weight: float, barrier: float) -> tuple[Array, Array]:
        """Gradient (Z,) and Hessian (Z, Z); inside only."""
        problem = self._problem
        gradient = 2.0 * problem.matrix.T @ (problem.matrix @ unknowns - problem.target)
        hessian = self._square.copy()
        inverse = np.linalg.inv(problem.matrices(unknowns))
        factors = weight * problem.pulls
        slopes = factors[:, None, None] * (np.eye(4) - inverse)
        gradient[: problem.size] += np.einsum('bij,kij->bk', slopes, BASIS).ravel()
        product = np.einsum('bij,kjm->bkim', inverse, BASIS)
        blocks = factors[:, None, None] * np.einsum('bkim,blmi->bkl', product, product)
        for place, block in enumerate(blocks):
            at = slice(10 * place, 10 * place + 10)
            hessian[at, at] += block
        if len(problem.limits):
            slack = problem.limit_values - problem.limits @ unknowns
            gradient += barrier * problem.limits.T @ (1.0 / slack)
            hessian += barrier * (problem.limits.T / slack**2) @ problem.limits
        return gradient, hessian
