"""Sines of single coordinates: around home, derivatives against finite differences, the trajectories of Oh (2003)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.kinematics.rotation import rotation_log
from pkm_description.loading import load_machine
from pkm_description.motion.coordinate_sines import OH_FREQUENCIES, OH_TRAJECTORIES, CoordinateSines, oh_trajectory

HOME = load_machine('uf').home


@pytest.mark.parametrize('number', OH_TRAJECTORIES)
def test_derivatives(number: int) -> None:
    motion, times, step = oh_trajectory(number, HOME, OH_FREQUENCIES['medium']), np.linspace(0.0, 1.0, 41), 1e-4
    now, before, after = (motion.evaluate(times + shift) for shift in (0.0, -step, step))
    for found, values in (
        (now.linear_velocity, (before.position, after.position)),
        (now.linear_acceleration, (before.linear_velocity, after.linear_velocity)),
        (now.angular_acceleration, (before.angular_velocity, after.angular_velocity)),
    ):
        np.testing.assert_allclose(found, (values[1] - values[0]) / (2.0 * step), atol=1e-5)
    turn = rotation_log(after.rotation_base_platform @ np.swapaxes(before.rotation_base_platform, 1, 2))
    np.testing.assert_allclose(now.angular_velocity, turn / (2.0 * step), atol=1e-6)
    assert np.abs(now.twist).max() > 0.1


def test_amplitudes_and_offset() -> None:
    quarter = np.array([0.0, 0.5])  # s: middle and end of a motion with a period of 2 s
    for number, (coordinates, has_offset) in OH_TRAJECTORIES.items():
        motion = oh_trajectory(number, HOME, OH_FREQUENCIES['low']).evaluate(quarter)
        middle = motion.position[0] - HOME.position
        assert np.linalg.norm(middle) == pytest.approx(0.0127 if has_offset else 0.0)
        np.testing.assert_allclose(motion.rotation_base_platform[0], HOME.rotation_base_platform, atol=1e-15)
        moved = motion.position[1] - motion.position[0]
        expected = [0.0254 if axis in coordinates else 0.0 for axis in range(3)]
        np.testing.assert_allclose(moved, expected, atol=1e-15)


def test_wrong_input_is_named() -> None:
    with pytest.raises(ValueError, match=r'coordinates = \(6,\)'):
        CoordinateSines(HOME, (6,), 1.0)
    with pytest.raises(ValueError, match='frequency = -1'):
        replace(CoordinateSines(HOME, (0,), 1.0), frequency=-1.0)
    with pytest.raises(ValueError, match='trajectory 7'):
        oh_trajectory(7, HOME, 1.0)
