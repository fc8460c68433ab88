"""Closures, motions, dynamics and reactions of machines that are no 6-UPS hexapods."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from drive_motions import TIME, drive_motion, home_drives
from other_machines import CLOSED, three_rps
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    inverse_dynamics,
)
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.errors import ConvergenceError, KinematicsError, SingularPoseError
from pkm_description.kinematics import (
    drive_positions,
    forward_kinematics,
    joint_motion,
)
from pkm_description.kinematics.closed_legs import body_poses
from pkm_description.machine import Machine, PlatformMotion


@pytest.fixture(scope='module', params=list(CLOSED))
def machine(request: pytest.FixtureRequest) -> Machine:
    return CLOSED[request.param]()


def centers_of_mass(machine: Machine, motion: PlatformMotion) -> Array:
    """Centres of mass (N, J, 3) m of the leg bodies."""
    rotations, origins = body_poses(machine, joint_motion(machine, motion).positions)
    own = np.array([joint.body.center_of_mass for joint in machine.joints])
    return origins + (rotations @ own[..., None])[..., 0]


def test_reactions_balance_every_body(machine: Machine) -> None:
    """Newton-Euler for the platform alone and for the whole machine, by sums that do not use the projection."""
    motion = drive_motion(machine, TIME)
    reactions = joint_reactions(machine, motion)
    np.testing.assert_allclose(reactions.drive_forces, inverse_dynamics(machine, motion), atol=1e-8)
    plane = np.zeros((len(TIME), 3))
    if machine.planar:
        plane[:, 2] = reactions.constraint_multipliers[:, -3]

    lever = motion.rotation_base_platform @ machine.platform.center_of_mass
    swing = np.cross(motion.angular_acceleration, lever)
    centripetal = np.cross(motion.angular_velocity, np.cross(motion.angular_velocity, lever))
    platform = machine.platform.mass * (motion.linear_acceleration + swing + centripetal - machine.gravity)
    np.testing.assert_allclose(reactions.closure_forces.sum(axis=1) + plane, platform, atol=1e-8)

    # accelerations of the centres of mass by fourth-order differences of their places
    step, weights = 4e-4, np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0
    places = [centers_of_mass(machine, drive_motion(machine, TIME + shift * step)) for shift in range(-2, 3)]
    acceleration = np.tensordot(weights, places, 1) / step**2
    masses = np.array([joint.body.mass for joint in machine.joints])
    total = platform + np.sum(masses[:, None] * (acceleration - machine.gravity), axis=1)
    roots = [part.start for part in machine.leg_slices]
    np.testing.assert_allclose(reactions.joint_forces[:, roots].sum(axis=1) + plane, total, atol=1e-3)


def test_motion_that_the_legs_forbid_is_refused() -> None:
    machine = three_rps()
    home = machine.home
    with pytest.raises(KinematicsError, match='sample 0: leg[23] misses its platform joint .*motion_from_drives'):
        drive_positions(machine, home.position[None] + [0.02, 0.0, 0.0], home.rotation_base_platform[None])
    rest = PlatformMotion.at_rest(home.position, home.rotation_base_platform)
    sideways = dataclasses.replace(rest, linear_velocity=np.array([[0.0, 0.1, 0.0]]))
    with pytest.raises(KinematicsError, match='sample 0: .* does not admit this velocity'):
        inverse_dynamics(machine, sideways)


def test_unreachable_and_singular_drives_are_named() -> None:
    machine = three_rps()
    drives = np.tile(home_drives(machine), (3, 1))
    drives[1, 0] += 2.0
    drives[2, 2] = np.nan
    result = forward_kinematics(machine, drives)
    assert result.trusted.tolist() == [True, False, False]
    with pytest.raises((ConvergenceError, SingularPoseError), match='sample 1'):
        result.require()


def test_planar_machines_stay_in_their_plane() -> None:
    machine = CLOSED['planar 3-PRR']()
    home = machine.home
    with pytest.raises(KinematicsError, match='moves in a plane'):
        drive_positions(machine, home.position[None] + [0.0, 0.0, 0.01], home.rotation_base_platform[None])
