"""Joint positions close the legs; velocities and accelerations are their time derivatives."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from closing_points import closing_gap
from hand_built_machines import heimann_check_robot, simona_z_down, turned_link_frames
from pkm_description.errors import KinematicsError, SingularPoseError
from pkm_description.kinematics import joint_motion, joint_positions, joint_rates, leg_lengths, length_jacobian
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine


@pytest.fixture(
    params=[heimann_check_robot, simona_z_down, turned_link_frames], ids=['heimann', 'simona', 'turned']
)
def machine(request: pytest.FixtureRequest) -> Machine:
    return request.param()


def test_angles_count_from_the_zero_configuration(machine: Machine) -> None:
    home = machine.home
    positions = joint_positions(machine, home.position, home.rotation_base_platform).reshape(6, 3)
    # at zero angles the struts lie in the plane of the first axis and the leg at home
    np.testing.assert_allclose(positions[..., 0], 0.0, atol=1e-12)
    assert np.abs(positions[..., 1]).max() < 0.5


def test_joint_rates_are_those_of_the_whole_motion(machine: Machine) -> None:
    motion = random_states(machine, 200, seed=8)
    legs = joint_motion(machine, motion)
    positions, velocities = joint_rates(
        machine, motion.position, motion.rotation_base_platform, motion.linear_velocity, motion.angular_velocity
    )
    np.testing.assert_array_equal(positions, legs.positions)
    np.testing.assert_array_equal(velocities, legs.velocities)


def test_joint_map_agrees_with_length_jacobian(machine: Machine) -> None:
    motion = random_states(machine, 20, seed=5)
    legs = close_legs(machine, motion.position, motion.rotation_base_platform)
    jacobian = length_jacobian(machine, motion.position, motion.rotation_base_platform)
    np.testing.assert_allclose(legs.drive_map, jacobian, atol=1e-12)
    lengths = leg_lengths(machine, motion.position, motion.rotation_base_platform)
    np.testing.assert_allclose(lengths - machine.lengths_at_zero, legs.positions[:, machine.drive_columns], atol=1e-14)


def test_strut_on_the_first_universal_axis_is_refused(machine: Machine) -> None:
    first_axis = machine.joints[6].rotation_parent_joint @ machine.joints[6].axis
    position = machine.base_points[2] + 1.5 * first_axis - machine.platform_points[2]
    with pytest.raises(SingularPoseError, match='sample 1: leg3 lies along its first universal axis'):
        joint_positions(
            machine, np.stack([machine.home.position, position]), np.stack([np.eye(3)] * 2)
        )


def test_poses_that_are_no_numbers_are_named(machine: Machine) -> None:
    motion = random_states(machine, 5)
    motion.position[3, 1] = np.nan
    with pytest.raises(KinematicsError, match='sample 3: the platform pose contains NaN'):
        joint_motion(machine, motion)
    motion = random_states(machine, 5)
    motion.angular_velocity[2, 0] = np.nan
    with pytest.raises(KinematicsError, match='sample 2: a velocity, acceleration or force contains NaN'):
        joint_motion(machine, motion)
    motion = random_states(machine, 5)
    motion.linear_acceleration[4, 2] = np.inf
    with pytest.raises(KinematicsError, match='sample 4: a velocity, acceleration or force contains NaN'):
        joint_motion(machine, motion)


def test_legs_without_a_closed_form_are_closed_by_iterations() -> None:
    machine = heimann_check_robot()
    legs = tuple(leg.with_end(point=leg.tip + np.array([0.0, 0.01, 0.0])) for leg in machine.legs)
    crooked = dataclasses.replace(machine, legs=legs)
    assert machine.has_closed_form and not crooked.has_closed_form
    motion = random_states(machine, 20, seed=8)
    closed = close_legs(crooked, motion.position, motion.rotation_base_platform)
    assert not crooked.model.closed_form.any()
    assert closing_gap(crooked, closed.positions, motion.position, motion.rotation_base_platform) < 1e-12
