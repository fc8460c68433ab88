"""Feasible by construction: engine and conic peer agree; limits, honest covariance, and the test of base values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from base_values import Case, case_of
from pkm_description.errors import ConfigurationError
from pkm_identification.estimator.bodies import (
    bodies_by_name,
    infeasibilities,
    is_inertial,
    nominal_covariance,
    share_out,
)
from pkm_identification.estimator.feasible import BarrierEngine, feasible_parameters, inside
from pkm_identification.estimator.feasible_problem import FeasibleProblem, Limits, feasible_problem
from scipy.optimize import approx_fprime

from verification.estimators.base_feasibility import FEASIBLE, INFEASIBLE, WITHIN_NOISE, base_feasibility
from verification.estimators.conic_peer import LmiEngine, nearest_base_values

ENGINES = {'barrier': BarrierEngine, 'lmi': LmiEngine}


@pytest.fixture(scope='module')
def srs_case() -> Case:
    """Return 12 s of a hexapod, noise of 1 % of the forces, a nominal machine that is 10 % wrong."""
    return case_of('srs', 0.01, overlay=True)


def problem_of(case: Case, seed: int, limits: Limits | None = None) -> FeasibleProblem:
    values = case.draw(np.random.default_rng(seed))
    return feasible_problem(case.base, values, case.covariance, case.names, case.nominal, limits=limits)


@pytest.mark.parametrize(
    ('name', 'noise'),
    [
        ('srs', 0.1),
        ('palida', 0.01),
        *(pytest.param(name, 0.01, marks=pytest.mark.campaign) for name in ('srs', 'octopod_8ups')),
    ],
)
def test_engines_agree(name: str, noise: float) -> None:
    """Newton on pseudo-inertias and Clarabel's conic programme find the same machine."""
    problem = problem_of(case_of(name, noise), 1)
    for weight in (1.0, 1e-2):
        found = {name: feasible_parameters(problem, weight, engine) for name, engine in ENGINES.items()}
        std = np.where(np.isfinite(found['lmi'].std), found['lmi'].std, 1.0)
        for engine, other in found.items():
            assert other.solver.converged, engine
            assert np.abs((other.values - found['lmi'].values) / std).max() < 0.02, engine
            assert other.solver.cost == pytest.approx(found['lmi'].solver.cost, rel=1e-4, abs=1e-4)


def test_engines_choose_the_same_pull() -> None:
    """The strongest one that leaves every base value within its standard deviation."""
    problem = problem_of(case_of('palida', 0.002, overlay=True), 0)
    found = {name: feasible_parameters(problem, engine=engine) for name, engine in ENGINES.items()}
    assert len({other.weight for other in found.values()}) == 1
    gaps = np.ptp([other.values for other in found.values()], axis=0) / found['lmi'].std
    assert gaps.max() < 0.02
    assert found['lmi'].weight < 1.0
    assert np.abs(found['lmi'].base_shifts).max() <= 1.0
    stronger = feasible_parameters(problem, weight=4.0 * found['lmi'].weight)
    assert np.abs(stronger.base_shifts).max() > 0.9


def test_derivatives_are_exact(srs_case: Case) -> None:
    """Gradient and Hessian against finite differences."""
    problem = problem_of(srs_case, 2, Limits({'platform_link.m': (2000.0, 4000.0)}))
    place = inside(problem) + 1e-3 * np.random.default_rng(0).normal(size=len(problem.start))
    barrier = BarrierEngine(problem, inside(problem))
    gradient, hessian = barrier._derivatives(place, 0.5, 0.1)
    rough = approx_fprime(place, lambda z: barrier._cost(z, 0.5, 0.1), 1e-7)
    assert gradient == pytest.approx(rough, rel=1e-3, abs=1e-4 * np.abs(rough).max())
    slopes = approx_fprime(place, lambda z: barrier._derivatives(z, 0.5, 0.1)[0], 1e-7)
    assert np.abs(slopes - hessian).max() < 1e-5 * np.abs(hessian).max()


def test_no_noise_gives_an_impossible_machine(srs_case: Case) -> None:
    """5 of 5 runs feasible, with noise from a tenth of the usual to 30 times as much (200 runs: ./pkm verify)."""
    for seed in range(5):
        factor = 10.0 ** np.random.default_rng(seed).uniform(-1.0, 1.5)
        case = replace(srs_case, covariance=srs_case.covariance * factor**2)
        found = feasible_parameters(problem_of(case, seed))
        assert min(found.least_eigenvalue.values()) > 0.0
        assert infeasibilities(bodies_by_name(found.names, found.values)) == ()
        friction = [value for name, value in zip(found.names, found.values, strict=True) if not is_inertial(name)]
        assert min(friction) >= 0.0


def test_values_that_can_exist_are_kept() -> None:
    """Base values that a machine can have move by less than their standard deviation, whatever the nominal one says."""
    case = case_of('palida', 0.002, overlay=True)
    kept = 0
    for seed in range(10):
        problem = problem_of(case, seed)
        if base_feasibility(problem).verdict == FEASIBLE:
            kept += 1
            assert np.abs(feasible_parameters(problem).base_shifts).max() <= 1.0
    assert kept >= 5


def test_impossible_values_move_to_the_nearest(srs_case: Case) -> None:
    """Forces of the wrong sign: all that comes back exists, and says what holds it."""
    problem = feasible_problem(
        srs_case.base, -srs_case.base.values(srs_case.truth), srs_case.covariance, srs_case.names, srs_case.nominal
    )
    found = feasible_parameters(problem)
    assert min(found.least_eigenvalue.values()) > 0.0
    assert found.chi_square > 1e4
    assert any('viscous at its lower bound 0' in text for text in found.active)


def test_weight_one_is_the_most_probable_machine(srs_case: Case) -> None:
    """With a narrow trust the divergence is the prior's Gaussian: the same as the linear share-out, covariance too."""
    problem_arguments = srs_case.base, srs_case.draw(np.random.default_rng(3)), srs_case.covariance
    problem = feasible_problem(
        *problem_arguments, srs_case.names, srs_case.truth, platform_uncertainty=1e-3, leg_uncertainty=1e-3
    )
    found = feasible_parameters(problem, weight=1.0)
    prior = nominal_covariance(srs_case.names, srs_case.truth, 1e-3, 1e-3)
    values, covariance = share_out(*problem_arguments, srs_case.truth, prior)
    std = np.sqrt(np.diag(covariance))
    assert np.abs((found.values - values) / std).max() < 0.02
    assert found.std == pytest.approx(std, rel=0.01)


@pytest.mark.parametrize('weight', [1.0, None])
def test_covariance_is_honest(srs_case: Case, weight: float | None) -> None:
    """True bodies drawn around the nominal ones as the trust says: errors in standard deviations have rms 1."""
    prior = nominal_covariance(srs_case.names, srs_case.truth, 0.1, 0.05)
    random = np.random.default_rng(4)
    bodies = np.array([is_inertial(name) for name in srs_case.names])
    root = np.linalg.cholesky(prior[np.ix_(bodies, bodies)])
    errors = []
    for _ in range(16):
        truth = srs_case.truth.copy()
        truth[bodies] += root @ random.normal(size=bodies.sum())
        problem = feasible_problem(
            srs_case.base, srs_case.draw(random, truth), srs_case.covariance, srs_case.names, srs_case.truth,
            platform_uncertainty=0.1,
        )  # fmt: skip
        found = feasible_parameters(problem, weight=weight)
        errors.append((found.values - truth) / found.std)
    rms = np.sqrt(np.mean(np.square(errors)))
    print(f'weight {weight}: rms {rms:.3f}, largest {np.abs(errors).max():.2f}')
    assert 0.8 < rms < 1.15


def test_limits_are_kept_and_named() -> None:
    """Bounds on masses, friction and inertias, a box of the centre of mass: kept to rounding, active ones named."""
    case = case_of('palida', 0.01)
    limits = Limits(
        {'platform_link.m': (8.5, 9.5), '*.coulomb': (0.0, 7.0), 'leg_rod.Izz': (0.0, 0.01)},
        {'platform_link': ((-0.1, -0.1, -0.1), (0.1, 0.1, 0.02))},
    )
    problem = problem_of(case, 5, limits)
    for engine in ENGINES.values():
        found = feasible_parameters(problem, 1.0, engine)
        values = dict(zip(found.names, found.values, strict=True))
        assert 8.5 - 1e-6 <= values['platform_link.m'] <= 9.5
        assert values['platform_link.mz'] <= 0.02 * values['platform_link.m'] + 1e-6
        assert max(value for name, value in values.items() if name.endswith('coulomb')) <= 7.0 + 1e-6
        assert 'platform_link: centre of mass z at its upper bound 0.02 m' in found.active


def test_parameters_can_be_held() -> None:
    """A held body, and single held parameters of another, stay what they are; the rest of that body is real."""
    case = case_of('palida', 0.01)
    free = [
        index for index, name in enumerate(case.names) if not name.startswith('leg_cross') and name != 'platform_link.m'
    ]
    base = replace(
        case.base, full_names=tuple(case.names[index] for index in free), combination=case.base.combination[:, free],
        independent=np.arange(0), dependent=np.arange(0), absent=np.arange(0),
    )  # fmt: skip
    held = np.setdiff1d(np.arange(len(case.names)), free)
    known = case.base.combination[:, held] @ case.truth[held]
    values = case.draw(np.random.default_rng(6)) - known
    problem = feasible_problem(
        replace(base, independent=case.base.independent), values, case.covariance, case.names, case.truth
    )
    for engine in ENGINES.values():
        found = feasible_parameters(problem, 1.0, engine)
        assert found.values[held] == pytest.approx(case.truth[held], rel=1e-6, abs=1e-9)
        assert min(found.least_eigenvalue.values()) > 0.0
        assert np.abs((found.values - case.truth)[free] / np.maximum(found.std[free], 1e-12)).max() < 5.0


@pytest.mark.parametrize(
    'name',
    ['valencia_3rps', *(pytest.param(name, marks=pytest.mark.campaign) for name in ('delta', 'tricept', 'three_upu'))],
)
def test_flat_bodies_and_bodies_without_mass(name: str) -> None:
    """A platform that is drawn as a disc gets a thickness; a joint's massless frame stays one."""
    case = case_of(name, 0.01)
    for engine in ENGINES.values():
        found = feasible_parameters(problem_of(case, 7), engine=engine)
        assert min(found.least_eigenvalue.values()) > 0.0
        massless = [
            index for body, ten in bodies_by_name(case.names, case.nominal).items() if not ten.any()
            for index, text in enumerate(case.names) if text.startswith(f'{body}.')
        ]  # fmt: skip
        assert not found.values[massless].any()


def judged(values: np.ndarray, case: Case):
    """Verdict on base values, whose distance a peer confirms."""
    problem = feasible_problem(case.base, values, case.covariance, case.names, case.nominal)
    found, peer = base_feasibility(problem), np.sqrt(problem.misfit(nearest_base_values(problem)))
    assert peer - 0.01 <= found.distance <= 1.1 * peer + 0.03  # from above, and not from far
    return found


@pytest.mark.parametrize(('sigmas', 'verdict'), [(None, FEASIBLE), (-2.0, WITHIN_NOISE), (-20.0, INFEASIBLE)])
def test_base_values_are_judged(sigmas: float | None, verdict: str) -> None:
    """Values of a real machine are feasible; friction that is a little below zero is so within the noise."""
    case = case_of('palida', 0.01)
    values = case.base.values(case.truth)
    friction = next(index for index, name in enumerate(case.base.names) if name == 'leg1_prismatic.coulomb')
    if sigmas is not None:
        values[friction] = sigmas * np.sqrt(case.covariance[friction, friction])
    found = judged(values, case)
    assert found.verdict == verdict
    if sigmas is None:
        assert found.edge == () and found.margin > 0.9  # the nominal machine itself has 1
    else:
        assert found.distance >= -sigmas - 1e-6  # its own sigmas are the least that it has to move
        assert 'leg1_prismatic.coulomb at its lower bound 0' in found.edge


@pytest.mark.campaign
def test_a_negative_mass_is_judged() -> None:
    """Far from all that can be."""
    case = case_of('palida', 0.01)
    signs = [-1.0 if name.startswith('platform_link.m ') else 1.0 for name in case.base.names]
    bad = judged(signs * case.base.values(case.truth), case)
    assert (bad.verdict, bad.margin) == (INFEASIBLE, 0.0) and bad.distance > 100.0
    assert any('platform_link' in text for text in bad.edge)


def test_what_cannot_be_is_refused(srs_case: Case) -> None:
    for limits, text in (
        (Limits({'platform_link.mass': (1.0, 2.0)}), "'platform_link.mass' matches none"),
        (Limits({'platform_link.m': (2.0, 1.0)}), r'platform_link.m = \(2.0, 1.0\): the first must be below'),
        (Limits({}, {'platform': ((0, 0, 0), (1, 1, 1))}), 'no body platform; there are platform_link'),
    ):
        with pytest.raises(ConfigurationError, match=text):
            problem_of(srs_case, 0, limits)
    # Ixx <= Iyy + Izz of any body
    impossible = Limits({'leg_rod.Ixx': (50.0, 60.0), 'leg_rod.Iyy': (1.0, 2.0), 'leg_rod.Izz': (1.0, 2.0)})
    with pytest.raises(ConfigurationError, match=r'no machine that can exist keeps all limits; in the way: leg_rod'):
        feasible_parameters(problem_of(srs_case, 0, impossible))
    with pytest.raises(ConfigurationError, match='must be positive'):
        feasible_parameters(problem_of(srs_case, 0), weight=0.0)
    nothing = srs_case.nominal.copy()
    nothing[srs_case.names.index('leg_rod.m')] = -1.0
    with pytest.raises(ConfigurationError, match='leg_rod: the nominal body cannot exist'):
        feasible_problem(srs_case.base, srs_case.base.values(nothing), srs_case.covariance, srs_case.names, nothing)
