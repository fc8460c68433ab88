"""Whether any machine can have given base parameters (Yoshida & Khalil 2000; Mata et al. 2008, section 4).

Base parameters are combinations: a negative one need not be impossible, and a set of positive ones can be. The test
searches the bodies behind them: all of positive mass and positive definite pseudo-inertia, friction not negative.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from scipy.stats import chi2

from pkm_identification.estimator.feasible import WEIGHTS, BarrierEngine, active_limits, inside
from pkm_identification.estimator.feasible_problem import FeasibleProblem
from pkm_identification.estimator.least_squares import SolverRecord
from pkm_identification.estimator.pseudo_inertia import BASIS

#: verdicts: a machine with exactly these values exists; none does, but the noise of the values explains that; none does
FEASIBLE, WITHIN_NOISE, INFEASIBLE = 'feasible', 'infeasible within the noise', 'infeasible'

#: probability below which noise no longer explains the distance
CHANCE = 0.01

#: distance, in standard deviations, that counts as none: the solvers' accuracy
NONE = {'lmi': 1e-3, 'barrier': 3e-2}

#: factors of the bodies' size in the conic problem, whose misfit is of order one
REGULARISERS = (1e-9, 1e-8, 1e-7, 1e-6)


@dataclass(frozen=True)
class BaseFeasibility:
    """Verdict on a set of base parameters.

    Attributes
    ----------
    verdict : :data:`FEASIBLE`, :data:`WITHIN_NOISE` or :data:`INFEASIBLE`
    distance : to the nearest base parameters that a machine can have, in standard deviations (of all values with their
        correlations: the root of a chi-square)
    probability : that noise takes values of a real machine this far
    shifts : (B,) changes of single base parameters to the nearest ones, in their standard deviations
    margin : least eigenvalue of the whitened pseudo-inertias and least slack of the limits of a machine with exactly
        these values; 0 where there is none. ``lmi`` gives the largest one, ``barrier`` one that was found
    edge : what stands in the way, in words; empty where a machine exists
    solver : figures of the engine
    """

    verdict: str
    distance: float
    probability: float
    shifts: Array
    margin: float
    edge: tuple[str, ...]
    solver: SolverRecord


def base_feasibility(problem: FeasibleProblem, engine: str = 'lmi') -> BaseFeasibility:
    """Test the base parameters of a problem; the trust in the nominal bodies has no say.

    Parameters
    ----------
    problem : of :func:`~pkm_identification.estimator.feasible_problem.feasible_problem`, with its limits
    engine : ``'lmi'`` (exact, needs cvxpy) or ``'barrier'`` (the distance is an upper bound)
    """
    if engine == 'lmi':
        nearest, margin, record = _by_lmi(problem)
    elif engine == 'barrier':
        nearest, margin, record = _by_barrier(problem)
    else:
        raise ConfigurationError(f'engine = {engine!r}: choose lmi or barrier')
    distance = float(np.sqrt(problem.misfit(nearest)))
    probability = float(chi2.sf(distance**2, len(problem.target)))
    if distance <= NONE[engine] and margin > 0.0:
        verdict = FEASIBLE
    else:
        verdict = WITHIN_NOISE if probability >= CHANCE else INFEASIBLE
    edge = () if verdict == FEASIBLE else active_limits(problem, nearest)
    return BaseFeasibility(
        verdict, distance, probability, problem.shifts(nearest), margin if verdict == FEASIBLE else 0.0, edge, record
    )


def _by_barrier(problem: FeasibleProblem) -> tuple[Array, float, SolverRecord]:
    """Nearest unknowns, margin and record along ever smaller weights of the pull."""
    engine, unknowns = BarrierEngine(problem, inside(problem)), None
    for weight in WEIGHTS:
        unknowns, record = engine.solve(weight, unknowns)
        if problem.is_far(unknowns, weight):
            break
    assert unknowns is not None
    return unknowns, _margin(problem, unknowns), record


def _by_lmi(problem: FeasibleProblem) -> tuple[Array, float, SolverRecord]:
    """Nearest unknowns, largest margin and record by two conic problems."""
    cp = require_cvxpy()
    unknowns, matrices = unknowns_of(cp, problem)
    inner = [matrix >> 0 for matrix in matrices]
    size = sum(cp.trace(matrix) for matrix in matrices) if matrices else 0.0
    scale = max(1.0, float(np.linalg.norm(problem.matrix @ problem.start - problem.target)))
    misfit = cp.norm(problem.matrix @ unknowns - problem.target) / scale
    # the size of what no force shows must not run away; where that little is too little for the solver, take more
    for regulariser in REGULARISERS:
        first = cp.Problem(cp.Minimize(misfit + regulariser * size), [*inner, *linear_constraints(problem, unknowns)])
        try:
            answer = solve_conic(cp, first)
            break
        except cp.error.SolverError:
            if regulariser == REGULARISERS[-1]:
                raise
    nearest = np.asarray(unknowns.value, dtype=float)
    record = record_of(answer, problem.misfit(nearest))
    if np.sqrt(problem.misfit(nearest)) > NONE['lmi']:
        return nearest, 0.0, record
    margin = cp.Variable()
    slack = [problem.limits @ unknowns + margin <= problem.limit_values] if len(problem.limits) else []
    held = [problem.held @ unknowns == problem.held_values] if len(problem.held) else []
    second = cp.Problem(
        cp.Maximize(margin),
        [matrix - margin * np.eye(4) >> 0 for matrix in matrices]
        + [problem.matrix @ unknowns == problem.target, margin <= 1.0, *slack, *held],
    )
    solve_conic(cp, second)
    return nearest, float(margin.value), record


def _margin(problem: FeasibleProblem, unknowns: Array) -> float:
    """Smallest eigenvalue of a whitened pseudo-inertia and smallest slack."""
    values = np.linalg.eigvalsh(problem.matrices(unknowns))[:, 0] if problem.bodies else np.ones(1)
    slack = problem.limit_values - problem.limits @ unknowns
    return float(min(values.min(), slack.min(initial=np.inf)))


def require_cvxpy() -> Any:
    """Import cvxpy, or say what to do."""
    try:
        import clarabel  # noqa: F401
        import cvxpy
    except ImportError as error:
        raise ConfigurationError(
            f"engine = 'lmi' needs cvxpy and clarabel ({error}); pip install cvxpy clarabel, or choose 'barrier'"
        ) from error
    return cvxpy


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
