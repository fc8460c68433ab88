"""Fits of physical parameters: pattern search, least squares from several starts, global search, constrained SQP."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.errors import ConfigurationError
from pkm_description.machine import INERTIAL_PARAMETERS
from pkm_identification.estimator import constrained
from pkm_identification.estimator.bodies import FROM_PSEUDO, infeasibilities, pseudo_inertia
from pkm_identification.methods import (
    ForceFit,
    bounded_least_squares,
    design_bounds,
    global_search,
    pattern_search,
    sqp,
    weak_directions,
)
from scipy.optimize import approx_fprime, lsq_linear

LINEAR = np.random.default_rng(0).normal(size=(40, 4)) * [1.0, 2.0, 0.5, 1.0]
TARGET = LINEAR @ [2.0, -1.0, 8.0, 3.0]


def linear_fit(lower: float = -np.inf, upper: float = np.inf) -> ForceFit:
    return ForceFit(
        ('a', 'b', 'c', 'd'), np.ones(4), np.full(4, lower), np.full(4, upper), lambda x: LINEAR @ x - TARGET,
        lambda x: LINEAR,
    )  # fmt: skip


def waves() -> ForceFit:
    """A frequency: many local minima."""
    time = np.linspace(0.0, 6.0, 80)
    return ForceFit(
        ('frequency',), np.array([1.0]), np.array([0.2]), np.array([9.0]),
        lambda x: np.sin(x[0] * time) - np.sin(6.3 * time), lambda x: (time * np.cos(x[0] * time))[:, None],
    )  # fmt: skip


def test_pattern_search_keeps_bounds_and_its_constants() -> None:
    """R2-33: no evaluation outside; the bounded optimum (SciPy's lsq_linear); the mesh and what ends it."""
    fit = linear_fit(-0.5, 5.0)
    places = []

    def watched(values: np.ndarray) -> np.ndarray:
        places.append(values.copy())
        return fit.residuals(values)

    found = pattern_search(replace(fit, residuals=watched))
    tried = np.array(places)
    assert tried.min() >= -0.5 and tried.max() <= 5.0
    assert found.values == pytest.approx(lsq_linear(LINEAR, TARGET, (-0.5, 5.0)).x, abs=1e-4)
    assert set(found.at_bounds) == {'b', 'c'}
    assert found.solver.converged and found.solver.stop == 'mesh below 1e-06'
    # one evaluation at the start, then at most 2N per iteration
    assert len(places) <= 2 + 8 * found.solver.iterations
    steps = np.abs(tried - 1.0).max(axis=1)[1:9]
    assert steps[0] == 1.0  # the first poll has mesh 1 in units of the start
    short = pattern_search(fit, evaluations=20)
    assert not short.solver.converged and short.solver.stop == '20 evaluations' and short.solver.evaluations == 20
    assert short.cost == pytest.approx(short.solver.cost)


def test_several_starts_and_global_searches_leave_a_local_minimum() -> None:
    """R2-34: from the start alone the frequency is wrong; several starts and each global method find it."""
    fit = waves()
    assert bounded_least_squares(fit).cost > 1.0
    assert bounded_least_squares(fit, starts=30, seed=2).values == pytest.approx([6.3], rel=1e-6)
    for method in ('direct', 'differential_evolution', 'dual_annealing'):
        found = global_search(fit, method, seed=1, evaluations=3000)
        assert found.values == pytest.approx([6.3], rel=1e-6), method
        assert method in found.solver.method and found.solver.evaluations > 50
    with pytest.raises(ConfigurationError, match="method = 'luck': choose direct"):
        global_search(fit, 'luck')


def test_what_data_do_not_hold_is_named() -> None:
    """R2-35, R2-40: a parameter that runs away, and a direction without effect."""
    falling = ForceFit(
        ('v',), np.array([1.0]), np.array([0.0]), np.array([np.inf]), lambda x: 1.0 / (1.0 + x),
        lambda x: -1.0 / (1.0 + x[:, None]) ** 2,
    )  # fmt: skip
    assert pattern_search(falling).runaways == ('v',)
    assert pattern_search(replace(falling, upper=np.array([50.0]))).at_bounds == ('v',)
    blind = replace(linear_fit(), jacobian=lambda x: LINEAR * [1.0, 1.0, 1.0, 0.0])
    assert np.abs(weak_directions(blind, np.ones(4))) == pytest.approx(np.array([[0.0, 0.0, 0.0, 1.0]]))


def test_bounds_come_from_design_values() -> None:
    """R2-36: masses 1 to 1.5, moments and inertias 0.75 to 1.5 times the design value; negative ones the right way."""
    low, high = design_bounds(('rod.m', 'rod.mx', 'rod.my', 'slider.viscous'), np.array([4.0, -2.0, 0.0, 3.0]))
    assert low.tolist() == [4.0, -3.0, -np.inf, 0.0]
    assert high.tolist() == [6.0, -1.5, np.inf, np.inf]
    with pytest.raises(ConfigurationError, match='a: start 1 is not within its bounds 2 .. 3'):
        replace(linear_fit(), lower=np.full(4, 2.0), upper=np.full(4, 3.0))


def body_fit(seed: int, noise: float) -> ForceFit:
    """Ten parameters of a body from noisy linear data."""
    random = np.random.default_rng(seed)
    root = random.normal(size=(4, 4)) * 0.5 + np.eye(4)
    truth = FROM_PSEUDO @ (root @ root.T).ravel()
    nominal = FROM_PSEUDO @ (1.5 * np.eye(4)).ravel()
    matrix = random.normal(size=(30, 10))
    target = matrix @ truth + noise * random.normal(size=30)
    return ForceFit(
        tuple(f'body.{kind}' for kind in INERTIAL_PARAMETERS), nominal, np.full(10, -np.inf), np.full(10, np.inf),
        lambda x: matrix @ x - target, lambda x: matrix,
    )  # fmt: skip


@pytest.mark.parametrize('triangle', [False, True])
def test_derivatives_of_the_constraints_are_exact(triangle: bool) -> None:
    place = body_fit(1, 0.0).start + 0.1 * np.random.default_rng(2).normal(size=10)
    slopes = approx_fprime(place, lambda x: constrained._conditions(x, triangle)[0], 1e-7)
    assert constrained._conditions(place, triangle)[1] == pytest.approx(slopes, rel=1e-4, abs=1e-5)


def test_sqp_ends_where_the_conic_programme_does() -> None:
    """M26, M27: with the triangle inequality pseudo-inertias are positive definite, and Clarabel has the same optimum.

    Never below least squares, never an impossible body; several of these least-squares solutions are impossible.
    """
    cp = pytest.importorskip('cvxpy', reason='an independent solver: pip install -r requirements-test.txt')

    impossible = 0
    for seed in range(6):
        fit = body_fit(seed, 3.0)
        matrix = fit.jacobian(fit.start)
        target = -fit.residuals(np.zeros(10))
        plain = np.linalg.lstsq(matrix, target, rcond=None)[0]
        impossible += bool(infeasibilities({'body': plain}))
        found = sqp(fit, triangle=True, pull=1e-9)
        assert found.solver.converged
        assert found.solver.optimality['KKT residual, relative'] < 1e-4
        assert infeasibilities({'body': found.values}) == ()
        assert np.linalg.eigvalsh(pseudo_inertia(found.values))[0] > 0.0
        assert found.cost >= fit.cost(plain) * (1.0 - 1e-9)
        pseudo = cp.Variable((4, 4), PSD=True)
        best = cp.Problem(cp.Minimize(cp.sum_squares(matrix @ (FROM_PSEUDO @ cp.vec(pseudo, order='F')) - target)))
        best.solve(solver=cp.CLARABEL)
        assert found.cost == pytest.approx(best.value, rel=0.01)
        # the paper's constraints alone are weaker
        assert fit.cost(plain) * (1.0 - 1e-9) <= sqp(fit, pull=1e-9).cost <= best.value * 1.01
    assert impossible >= 3
