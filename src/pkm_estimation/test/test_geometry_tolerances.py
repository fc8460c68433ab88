"""Machines built otherwise than their file says: slopes of what is measured, claims, and the setting of these."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from estimated import follow, pose_errors, squares
from pkm_description.kernels.kinematics.geometry_slopes import DRIVE_ZERO
from pkm_description.kinematics.geometry_constants import geometry_constants, with_geometry
from pkm_description.kinematics.rotation import (
    matrix_from_rpy,
    quaternion_from_matrix,
    rotation_exp,
)
from pkm_description.machine import Machine, Tolerances
from pkm_description.machine.tolerances import Calibrated
from pkm_estimation.calibration.constants import Constants
from pkm_estimation.calibration.plan import built_machine
from pkm_estimation.filtering.constant_columns import considered_tolerances, named_columns
from pkm_estimation.filtering.parts import measurement_model
from pkm_estimation.models import ATTITUDE, POSITION, STATE_SIZE, EstimatorGeometry
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.leg_model import measures_lengths
from pkm_estimation.stream.stretch import RepeatablePipeline

from pkm_description import load_machine, profile
from pkm_estimation import EstimatorConfig, estimate, measure

#: step of the differences [standard deviations of 1 m]
_STEP = 1e-6


def _with_tolerance(name: str, tolerance: float) -> Machine:
    return replace(load_machine(name), tolerances=Tolerances(tolerance, tolerance))


def _model(machine: Machine):
    geometry = EstimatorGeometry.from_machine(machine)
    model = measurement_model(geometry, StateLayout(STATE_SIZE), machine, machine.tolerances)
    model.set_chart(np.eye(3))
    return model


def _point(machine: Machine):
    """State (1, n) away from home; machines with fewer freedoms stay there, where the legs close."""
    rotation, position = machine.home.rotation_base_platform, machine.home.position
    if machine.degrees_of_freedom == 6:
        rotation = rotation @ matrix_from_rpy(np.array([0.1, -0.07, 0.15]))
        position = position + 0.1 * machine.platform_radius * np.array([1.0, -0.5, 0.7])
    state = np.zeros((1, STATE_SIZE))
    state[0, POSITION] = position + rotation @ machine.imu.position
    state[0, ATTITUDE] = quaternion_from_matrix(rotation)[:3]
    return state


ALIKE = [pytest.param(name, marks=pytest.mark.campaign) for name in ('palida', 'delta')]


@pytest.mark.parametrize('name', ['srs', 'hexaglide_6pus', 'valencia_3rps', 'khalifa_3prr', 'octopod_8ups', *ALIKE])
def test_slopes_are_the_differences_of_machines_with_other_numbers(name: str) -> None:
    """Along mixtures of all constants: the machine with other numbers in their place, its legs closed on the pose."""
    machine = _with_tolerance(name, 1.0)
    point, model = _point(machine), _model(machine)
    model.observe(point)
    slopes = model.slopes_by_constants(point)
    known = geometry_constants(machine)
    count = len(known.kind)
    if measures_lengths(machine):  # its zeros come first
        order = [*np.flatnonzero(known.kind == DRIVE_ZERO), *np.flatnonzero(known.kind != DRIVE_ZERO)]
        slopes[:, order] = slopes[:, :count].copy()
    assert slopes.shape[1] % 6 == 0 and not slopes[:, count:].any()
    for mixture in np.random.default_rng(0).normal(size=(6, count)):
        measured = []
        for sign in (_STEP, -_STEP):
            other = _model(with_geometry(machine, sign * mixture))
            measured.append(other.observe(point)[0] - other.measured(np.zeros(other.drive_count)))
        difference = (measured[0] - measured[1]) / (2.0 * _STEP)
        assert slopes[:, :count] @ mixture == pytest.approx(difference, abs=1e-8)


@cache
def _normalised_errors(name: str, tolerance: float, seed: int, config: EstimatorConfig | None = None):
    """Normalised squared errors (N,) of the pose on a machine that was drawn from the tolerances of the file."""
    machine = _with_tolerance(name, tolerance)
    count = len(geometry_constants(machine).kind)
    built = with_geometry(machine, np.random.default_rng(seed).normal(size=count))
    motion = profile('drives', built, duration=3.0, rate=100.0)
    result = estimate(machine, measure(built, motion, seed=seed), config).motion
    return squares(pose_errors(result, motion), result.pose_covariance), result


@pytest.mark.parametrize(
    ('name', 'tolerance'), [('srs', 1e-4), ('srs', 1e-3), ('valencia_3rps', 1e-4), ('delta', 3e-4)]
)
def test_claims_contain_the_geometry(name: str, tolerance: float) -> None:
    """At all times; 6 is expected of one seed, 3 is the standard deviation of a chi-square of six."""
    nees = np.mean([_normalised_errors(name, tolerance, seed)[0] for seed in range(4)], axis=0)
    assert nees.max() < 12.0 and nees.min() > 1.0


def _calibrated(machine: Machine, seed: int) -> Machine:
    """Machine of which a calibration has seen most, but by far not all; the constants are correlated."""
    constants, random = Constants(machine), np.random.default_rng(seed)
    seen = 30.0 * random.normal(size=(len(constants) - 12, len(constants)))
    covariance = np.linalg.inv(np.eye(len(constants)) + seen.T @ seen)
    calibrated = Calibrated(tuple(constants.names), constants.std[:, None] * np.linalg.cholesky(covariance))
    return replace(machine, tolerances=replace(machine.tolerances, calibrated=calibrated))


@pytest.mark.parametrize('name', ['srs', 'valencia_3rps', 'delta'])
def test_claims_contain_what_a_calibration_left(name: str) -> None:
    """Of machines drawn from its covariance: the mean of twelve chi-squares of six has a standard deviation of 1."""
    found = []
    for seed in range(12):
        machine = _calibrated(_with_tolerance(name, 3e-4), seed)
        built = built_machine(machine, np.random.default_rng(seed))
        motion = profile('drives', built, duration=2.0, rate=100.0)
        data = measure(built, motion, seed=seed)
        result = estimate(machine, data, EstimatorConfig(baseline=False)).motion
        found.append(squares(pose_errors(result, motion), result.pose_covariance)[100:].mean())
    assert 4.0 < np.mean(found) < 9.0  # of 6: what the legs do not admit is uncertain, too


def test_an_imu_that_is_calibrated_is_as_uncertain_as_the_calibration_left_it() -> None:
    """Not as one that is usually turned and moved."""
    machine = _with_tolerance('srs', 1e-6)
    places = [f'{kind} {axis}' for kind in ('mounting', 'place') for axis in 'xyz']
    names, stds = ('zero of leg2_prismatic', *places), np.array([5e-7, *[1e-4] * 6])
    root = stds[:, None] * np.linalg.cholesky(0.5 * np.eye(7) + 0.5)
    known = replace(machine, tolerances=replace(machine.tolerances, calibrated=Calibrated(names, root)))
    pipeline = RepeatablePipeline(known, EstimatorConfig())
    own = named_columns(known, pipeline.filter.columns)
    places = [own[name].place for name in names]
    units = np.array([own[name].unit for name in names])
    prior = pipeline.filter.prior
    np.testing.assert_allclose(units[:, None] * prior[np.ix_(places, places)] * units, root @ root.T, rtol=1e-9)
    others = [place for place in np.flatnonzero(prior.diagonal()) if place not in places]
    assert not prior[np.ix_(places, others)].any() and len(others) == 41
    data = measure(machine, profile('drives', machine, duration=1.0, rate=100.0), seed=0)
    config = EstimatorConfig(baseline=False, imu_delay_std=1e-6)  # no file has a delay
    claims = [estimate(one, data, config).motion.pose_covariance[19, :3, :3].trace() for one in (machine, known)]
    assert claims[1] < 0.1 * claims[0]


def test_repeatability_leaves_the_geometry_out() -> None:
    """The estimate is the same in either case, and wrong by far more than repeatability."""
    of_noise, repeatable = _normalised_errors('srs', 1e-4, 0, EstimatorConfig(claim='repeatability'))
    with_all, accurate = _normalised_errors('srs', 1e-4, 0)
    assert of_noise.mean() > 1000.0 and with_all.mean() < 30.0
    assert np.array_equal(repeatable.position, accurate.position)


@pytest.mark.parametrize('kind', ['paper', 'ekf', 'iekf'])
def test_every_filter_claims_the_geometry(kind: str) -> None:
    """Kalman filters of all kinds take the sensitivity along."""
    nees, _ = _normalised_errors('srs', 1e-4, 1, EstimatorConfig(filter=kind, integrator='rk3'))
    assert 0.5 < nees[100:].mean() < 18.0


#: tolerances of the IMU and of gravity, and how a machine is one standard deviation off
_IMU = {
    'gravity': (0.03, lambda m, r: (replace(m, gravity=m.gravity + 0.03 * r), None)),
    'imu_position': (0.01, lambda m, r: (replace(m, imu=replace(m.imu, position=m.imu.position + 0.01 * r)), None)),
    'imu_rotation': (
        0.01,
        lambda m, r: (
            replace(m, imu=replace(m.imu, rotation_platform_imu=rotation_exp(0.01 * r) @ m.imu.rotation_platform_imu)),
            None,
        ),
    ),
    'imu_scale': (3e-3, lambda m, r: (m, r)),
}


@pytest.mark.parametrize('name', _IMU)
def test_claims_contain_gravity_and_the_imu(name: str) -> None:
    """Of fast motion, where each of them makes the estimate more wrong than the noise alone claims."""
    std, change = _IMU[name]
    tolerances = replace(Tolerances(0.0, 0.0, imu_rotation=1e-6, imu_position=1e-6), **{name: std})  # all else is exact
    machine = replace(load_machine('srs'), tolerances=tolerances)
    # the manifold filter finds them; an extended one considers them only; two seeds show that the rest is more wrong
    seeds = {('manifold', 'accuracy'): 6, ('ekf', 'accuracy'): 6, ('ekf', 'repeatability'): 2}
    found = {kind: [] for kind in seeds}
    motion = profile('drives', machine, duration=6.0, rate=100.0)[150:450]
    for seed in range(6):
        random = np.random.default_rng(seed)
        built, scales = change(machine, random.normal(size=3))
        data = measure(built, motion, seed=seed)
        if scales is not None:
            force, rate = 1.0 + std * random.normal(size=(2, 3))
            data = replace(data, specific_force=force * data.specific_force, angular_rate=rate * data.angular_rate)
        for (kind, claim), means in found.items():
            if seed >= seeds[kind, claim]:
                continue
            config = EstimatorConfig(filter=kind, claim=claim, leg_gate=0.0, baseline=False, imu_delay_std=1e-6)
            estimated = estimate(machine, data, config).motion
            error = estimated.position - motion.position[np.searchsorted(data.stamps, estimated.stamps)]
            means.append(squares(error, estimated.pose_covariance[:, :3, :3])[100:].mean() / 3.0)
    by_all, considered, by_noise = map(np.mean, found.values())
    assert 0.5 < by_all < 2.0 and considered < 2.0 < by_noise


def test_sample_by_sample_gives_the_same_bits() -> None:
    """Claims of the node are those of a recording."""
    machine, config = _with_tolerance('srs', 1e-4), EstimatorConfig(baseline=False)
    motion = profile('drives', machine, duration=3.0, rate=100.0)
    data = measure(machine, motion, seed=0)
    recorded = estimate(machine, data, config).motion
    live = np.array([output.motion.pose_covariance for output in follow(machine, data, config)[1]])
    assert len(live) >= len(recorded) - 1 and np.array_equal(live, recorded.pose_covariance[: len(live)])


def test_estimated_offsets_are_no_tolerances() -> None:
    """Zeros of drives that are estimated as states are not considered beside them."""
    machine = _with_tolerance('srs', 1e-4)
    layout = StateLayout.of(STATE_SIZE, 6, ('leg_offsets',))
    config = EstimatorConfig(estimate=('leg_offsets',))
    considered, units = considered_tolerances(machine, layout, config)
    assert considered == units
    model = measurement_model(EstimatorGeometry.from_machine(machine), layout, machine, units)
    slopes = model.slopes_by_constants(np.hstack([_point(machine), np.zeros((1, 6))]))
    assert not slopes[:, :6].any() and slopes[:, 6].any()
