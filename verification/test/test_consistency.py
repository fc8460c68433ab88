"""What the consistency checks stand on; that they see wrong filters, the mutants show."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.kinematics.rotation import quaternion_from_matrix, rotation_exp
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile

from verification.consistency.monte_carlo import Normalised
from verification.consistency.plan import Extent
from verification.consistency.state_error import free_directions, normalised_error_squared
from verification.consistency.sweep import JITTER, sweep_checks


def test_chi_square_numbers_are_inside_and_others_are_not():
    values = np.random.default_rng(0).chisquare(4, size=(400, 30))
    right = Normalised(values, np.full(400, 4))
    assert right.mean == pytest.approx(4.0, abs=0.1)
    assert 0.92 < right.part_inside() < 0.98
    assert Normalised(1.5 * values, np.full(400, 4)).part_inside() < 0.3


@pytest.mark.parametrize(('name', 'count'), [('valencia_3rps', 3), ('khalifa_3prr', 3), ('hexaglide_6pus', 6)])
def test_free_directions_are_those_of_the_motion(name, count):
    """Differences of neighbouring poses and velocities of an admissible motion lie in their span."""
    machine = load_machine(name)
    motion = profile('drives', machine, 4.0, 1000.0)
    k = 3000
    chart = rotation_exp(np.array([0.05, -0.1, 0.2])) @ motion.rotation_base_platform[k]
    directions = free_directions(machine, motion, k, chart)
    np.testing.assert_allclose(directions.T @ directions, np.eye(directions.shape[1]), atol=1e-12)
    assert count + 6 < directions.shape[1] <= 15

    def pose(sample):
        rotation = motion.rotation_base_platform[sample]
        place = motion.position[sample] + rotation @ machine.imu.position
        return np.concatenate([chart.T @ place, quaternion_from_matrix(chart.T @ rotation)[:3]])

    change = (pose(k + 1) - pose(k - 1)) / 2e-3
    span = directions[[0, 1, 2, 6, 7, 8]]
    outside = change - span @ (np.linalg.pinv(span) @ change)
    assert np.linalg.norm(outside) < 1e-4 * np.linalg.norm(change)
    assert np.linalg.matrix_rank(span, tol=1e-9) == count


def test_error_is_normalised_within_the_directions_only():
    covariance = np.diag([4.0, 1e-12, 9.0])
    directions = np.eye(3)[:, [0, 2]]
    assert normalised_error_squared(np.array([2.0, 1.0, 6.0]), covariance, directions) == pytest.approx(1.0 + 4.0)


@pytest.mark.campaign
def test_sweep_accepts_stamps_that_jitter():
    assert [check.what for check in sweep_checks('srs', 1.0, 100.0, 5, 4.0, JITTER) if check.failed] == []


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'seeds': 0}, 'seeds = 0: must be at least 1'),
        ({'duration': 3.0}, 'at least 4 s'),
        ({'fault_duration': 10.0}, 'more than 10 s'),
        ({'duration': float('nan')}, 'at least 4 s'),
        ({'sections': ('legs', 'arms')}, 'some of nees,sweep,smoother'),
        ({'sweep_rates': ('100', '50')}, 'some of 100,1000,250'),
    ],
)
def test_too_little_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Extent(**changes)
