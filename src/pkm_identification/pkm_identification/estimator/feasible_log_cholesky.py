"""Engine ``log_cholesky``: every point of an unconstrained space is a real body (Rucker & Wensing 2022).

The map is one to one, so that the convex problem has no other stationary point here either. The divergence is a sum
of squares of these coordinates (:mod:`~pkm_identification.estimator.log_cholesky`)::

    d = sum of T_ij^2 (i < j) + sum of exp(2 a_i) - 2 a_i - 1,    a_i = log T_ii

so the whole cost is one: SciPy's ``least_squares`` with the exact Jacobian. Friction has bounds; other linear limits
and held parameters enter by an augmented Lagrangian.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from scipy.optimize import least_squares

from pkm_identification.estimator.feasible_problem import FeasibleProblem
from pkm_identification.estimator.least_squares import SolverRecord
from pkm_identification.estimator.log_cholesky import DIAGONAL, coordinates_of, matrices_of, slopes_of
from pkm_identification.estimator.pseudo_inertia import COLUMNS, ROWS

#: first factor of the limits' squares, in units of the cost; passes of the augmented Lagrangian; accuracy of limits
PENALTY, PASSES, ACCURACY = 1e4, 40, 1e-9


class LogCholeskyEngine:
    """Solves a problem for one weight after the other."""

    name = 'log_cholesky'

    def __init__(self, problem: FeasibleProblem, inside: Array) -> None:
        self._problem = problem
        scalar = np.count_nonzero(problem.limits[:, : problem.size], axis=1) == 0
        lower, upper = np.full(len(problem.start), -np.inf), np.full(len(problem.start), np.inf)
        for row, end in zip(problem.limits[scalar], problem.limit_values[scalar], strict=True):
            at = int(np.argmax(np.abs(row)))
            if row[at] > 0.0:
                upper[at] = min(upper[at], end / row[at])
            else:
                lower[at] = max(lower[at], end / row[at])
        self._bounds, self._penalty = (lower, upper), PENALTY
        self._rows, self._ends = problem.limits[~scalar], problem.limit_values[~scalar] - ACCURACY
        self._start = np.concatenate([self._coordinates(inside), inside[problem.size :]])

    def solve(self, weight: float, start: Array | None = None) -> tuple[Array, SolverRecord]:
        """Unknowns (Z,) at the optimum, from the solution of a near weight, or by ever smaller weights from 1 on."""
        problem, evaluations = self._problem, 0
        found, larger = self._start, [10.0**-power for power in range(12) if 10.0**-power > 1.5 * weight]
        if start is not None:
            found, larger = np.concatenate([self._coordinates(start), start[problem.size :]]), []
        prices, self._penalty = (np.zeros(len(self._rows)), np.zeros(len(problem.held))), PENALTY
        for now in (*larger, weight):
            last = np.inf
            for _ in range(PASSES):
                result = least_squares(
                    self._residuals, found, self._jacobian, bounds=self._bounds, args=(now, prices), x_scale='jac',
                    xtol=1e-14, ftol=1e-14, gtol=1e-11, max_nfev=1000,
                )  # fmt: skip
                found, evaluations = result.x, evaluations + result.nfev
                excess, gap = self._violations(self._unknowns(found))
                prices = np.maximum(prices[0] + self._penalty * excess, 0.0), prices[1] + self._penalty * gap
                worst = max(float(excess.max(initial=0.0)), float(np.abs(gap).max(initial=0.0)))
                if worst <= ACCURACY or now > weight:
                    break
                if worst > 0.25 * last:
                    self._penalty *= 10.0
                last = worst
        unknowns = self._unknowns(found)
        return unknowns, SolverRecord(
            'log_cholesky, scipy least_squares (trf)', evaluations, bool(result.success) and worst <= ACCURACY,
            {'gradient': float(result.optimality), 'largest violation of a limit': worst}, evaluations,
            str(result.message), problem.cost(unknowns, weight),
        )  # fmt: skip

    def _coordinates(self, unknowns: Array) -> Array:
        """Coordinates of whitened pseudo-inertias."""
        return coordinates_of(self._problem.matrices(unknowns)).ravel()

    def _unknowns(self, place: Array) -> Array:
        """Unknowns (Z,) at a place."""
        size = self._problem.size
        matrices = matrices_of(place[:size].reshape(-1, 10))
        return np.concatenate([matrices[:, ROWS, COLUMNS].ravel(), place[size:]])

    def _violations(self, unknowns: Array) -> tuple[Array, Array]:
        return self._rows @ unknowns - self._ends, self._problem.held @ unknowns - self._problem.held_values

    def _residuals(self, place: Array, weight: float, prices: tuple[Array, Array]) -> Array:
        problem = self._problem
        unknowns = self._unknowns(place)
        excess, gap = self._violations(unknowns)
        root = np.sqrt(self._penalty)
        return np.concatenate([
            problem.matrix @ unknowns - problem.target,
            (self._root_of_pull(weight) * _pull(place[: problem.size].reshape(-1, 10))[0]).ravel(),
            root * np.maximum(excess + prices[0] / self._penalty, 0.0),
            root * (gap + prices[1] / self._penalty),
        ])  # fmt: skip

    def _jacobian(self, place: Array, weight: float, prices: tuple[Array, Array]) -> Array:
        problem, size = self._problem, self._problem.size
        unknowns, slopes = self._unknowns(place), slopes_of(place[:size].reshape(-1, 10))
        active = self._violations(unknowns)[0] + prices[0] / self._penalty > 0.0
        root = np.sqrt(self._penalty)
        pull = np.zeros((size, len(place)))
        factors = self._root_of_pull(weight) * _pull(place[:size].reshape(-1, 10))[1]
        pull[np.arange(size), np.arange(size)] = factors.ravel()

        def chain(matrix: Array) -> Array:
            result = matrix.copy()
            for number, slope in enumerate(slopes):
                at = slice(10 * number, 10 * number + 10)
                result[:, at] = matrix[:, at] @ slope
            return result

        parts = [chain(problem.matrix), pull, root * active[:, None] * chain(self._rows), root * chain(problem.held)]
        return np.concatenate(parts)

    def _root_of_pull(self, weight: float) -> Array:
        return np.sqrt(weight * self._problem.pulls)[:, None]


def _pull(place: Array) -> tuple[Array, Array]:
    """Roots of the terms of the divergence (bodies, 10), and their slopes."""
    value = np.where(DIAGONAL, place, 0.0)
    grown = np.expm1(2.0 * value)
    near = np.abs(value) < 1e-3  # where the difference loses its digits
    series = 1.0 + value / 3.0 + value**2 / 9.0 + 4.0 * value**3 / 135.0
    far = np.sign(value) * np.sqrt(np.maximum(grown - 2.0 * value, 0.0))
    root = np.where(near, np.sqrt(2.0) * value * series, far)
    rise = 1.0 + 2.0 * value / 3.0 + value**2 / 3.0 + 16.0 * value**3 / 135.0
    slope = np.where(near, np.sqrt(2.0) * rise, grown / np.where(near, 1.0, root))
    return np.where(DIAGONAL, root, place), np.where(DIAGONAL, slope, 1.0)
