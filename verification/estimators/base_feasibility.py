"""Whether any machine can have given base parameters (Yoshida & Khalil 2000; Mata et al. 2008, section 4).

Base parameters are combinations: a negative one need not be impossible, and a set of positive ones can be. The test
searches the bodies behind them: all of positive mass and positive definite pseudo-inertia, friction not negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_identification.estimator.feasible import WEIGHTS, BarrierEngine, active_limits, inside
from pkm_identification.estimator.feasible_problem import FeasibleProblem
from scipy.stats import chi2

#: verdicts: a machine with exactly these values exists; none does, but the noise of the values explains that; none does
FEASIBLE, WITHIN_NOISE, INFEASIBLE = 'feasible', 'infeasible within the noise', 'infeasible'
#: probability below which noise no longer explains the distance
CHANCE = 0.01
#: distance, in standard deviations, that counts as none: the solver's accuracy
NONE = 3e-2


@dataclass(frozen=True)
class BaseFeasibility:
    """Verdict on a set of base parameters.

    Attributes
    ----------
    verdict : :data:`FEASIBLE`, :data:`WITHIN_NOISE` or :data:`INFEASIBLE`
    distance : to the nearest base parameters that a machine can have, in standard deviations (of all values with their
        correlations: the root of a chi-square)
    margin : least eigenvalue of the whitened pseudo-inertias and least slack of the limits of a machine with exactly
        these values, one that was found; 0 where there is none
    edge : what stands in the way, in words; empty where a machine exists
    """

    verdict: str
    distance: float
    margin: float
    edge: tuple[str, ...]


def base_feasibility(problem: FeasibleProblem) -> BaseFeasibility:
    """Test the base parameters of a problem; the trust in the nominal bodies has no say.

    Parameters
    ----------
    problem : of :func:`~pkm_identification.estimator.feasible_problem.feasible_problem`, with its limits

    Notes
    -----
    The nearest base parameters are approached by ever smaller weights of the pull towards the nominal bodies, so the
    distance is an upper bound.
    """
    engine, nearest = BarrierEngine(problem, inside(problem)), None
    for weight in WEIGHTS:
        nearest, _ = engine.solve(weight, nearest)
    assert nearest is not None
    values = np.linalg.eigvalsh(problem.matrices(nearest))[:, 0] if problem.bodies else np.ones(1)
    slack = problem.limit_values - problem.limits @ nearest
    distance = float(np.sqrt(problem.misfit(nearest)))
    verdict = WITHIN_NOISE if chi2.sf(distance**2, len(problem.target)) >= CHANCE else INFEASIBLE
    margin = float(min(values.min(), slack.min(initial=np.inf)))
    if distance <= NONE and margin > 0.0:
        verdict = FEASIBLE
    edge = () if verdict == FEASIBLE else active_limits(problem, nearest)
    return BaseFeasibility(verdict, distance, margin if verdict == FEASIBLE else 0.0, edge)

