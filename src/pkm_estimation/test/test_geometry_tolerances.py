"""Machines built otherwise than their file says: slopes of what is measured, claims, and the setting of these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.kinematics.geometry_constants import geometry_constants, with_geometry
from pkm_description.kinematics.rotation import (
    matrix_from_quaternion,
    matrix_from_rpy,
    quaternion_from_matrix,
    rotation_log,
)
from pkm_description.machine import Machine, Tolerances
from pkm_estimation.filtering.parts import measurement_model
from pkm_estimation.models import ATTITUDE, POSITION, STATE_SIZE, EstimatorGeometry
from pkm_estimation.models.extra_states import StateLayout

from pkm_description import load_machine, profile
from pkm_estimation import EstimatorConfig, estimate, measure

#: step of the differences [standard deviations of 1 m]
_STEP = 1e-6


def _with_tolerance(name: str, tolerance: float) -> Machine:
    return replace(load_machine(name), tolerances=Tolerances(tolerance, tolerance))


def _model(machine: Machine):
    model = measurement_model(EstimatorGeometry.from_machine(machine), StateLayout(STATE_SIZE), machine)
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


@pytest.mark.parametrize(
    'name', ['srs', 'palida', 'hexaglide_6pus', 'delta', 'valencia_3rps', 'khalifa_3prr', 'octopod_8ups']
)
def test_slopes_are_the_differences_of_machines_with_other_numbers(name: str) -> None:
    """Each constant: the machine with another number in its place, its legs closed on the same pose."""
    machine = _with_tolerance(name, 1.0)
    point, model = _point(machine), _model(machine)
    model.observe(point)
    slopes = model.slopes_by_constants(point)
    count = len(geometry_constants(machine).kind)
    assert slopes.shape[1] % 6 == 0 and not slopes[:, count:].any()
    for constant, unit in enumerate(np.eye(count)):
        measured = []
        for sign in (_STEP, -_STEP):
            other = _model(with_geometry(machine, sign * unit))
            measured.append(other.observe(point)[0] - other.measured(np.zeros(other.drive_count)))
        assert slopes[:, constant] == pytest.approx((measured[0] - measured[1]) / (2.0 * _STEP), abs=1e-8), constant


def _normalised_errors(name: str, tolerance: float, seed: int, config: EstimatorConfig | None = None):
    """Normalised squared errors (N,) of the pose on a machine that was drawn from the tolerances of the file."""
    machine = _with_tolerance(name, tolerance)
    count = len(geometry_constants(machine).kind)
    built = with_geometry(machine, np.random.default_rng(seed).normal(size=count))
    motion = profile('drives', built, duration=3.0, rate=100.0)
    result = estimate(machine, measure(built, motion, seed=seed), config).motion
    rotation = np.array([matrix_from_quaternion(one) for one in result.orientation])
    turn = rotation_log(rotation @ motion.rotation_base_platform.transpose(0, 2, 1))
    error = np.hstack([result.position - motion.position, turn])
    return np.einsum('ni,nij,nj->n', error, np.linalg.inv(result.pose_covariance), error), result


@pytest.mark.parametrize(
    ('name', 'tolerance'), [('srs', 1e-4), ('srs', 1e-3), ('valencia_3rps', 1e-4), ('delta', 3e-4)]
)
def test_claims_contain_the_geometry(name: str, tolerance: float) -> None:
    """At all times; 6 is expected of one seed, 3 is the standard deviation of a chi-square of six."""
    nees = np.mean([_normalised_errors(name, tolerance, seed)[0] for seed in range(4)], axis=0)
    assert nees.max() < 12.0 and nees.min() > 1.0


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


def test_estimated_offsets_are_no_tolerances() -> None:
    """Zeros of drives that are estimated as states are not considered beside them."""
    machine = _with_tolerance('srs', 1e-4)
    layout = StateLayout.of(STATE_SIZE, 6, ('leg_offsets',))
    model = measurement_model(EstimatorGeometry.from_machine(machine), layout, machine)
    slopes = model.slopes_by_constants(np.hstack([_point(machine), np.zeros((1, 6))]))
    assert not slopes[:, 6::7].any() and slopes[:, 0].any()
