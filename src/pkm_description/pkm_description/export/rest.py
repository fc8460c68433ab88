"""A machine at rest with closed loops, where simulations start; and the inertia that its drives feel there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics import forward_dynamics, gravity_forces
from pkm_description.dynamics.open_chain import open_chain_forces, open_chain_mass_matrix
from pkm_description.kinematics import joint_positions
from pkm_description.kinematics.closed_legs import body_poses, close_legs
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_gravity
from pkm_description.viewing.posing import Poser


@dataclass(frozen=True)
class RestConfiguration:
    """A machine at rest.

    Attributes
    ----------
    joint_positions : joint name -> rad or m, that close the loops
    drive_forces : (A,) N or N m that hold the weight, in the order of ``machine.actuated_joints``; of an open chain
        those that act while all other joints are held, too
    link_poses : link name -> position (3,) m and rotation (3, 3) in ``base_link``, of leg bodies and platform
    """

    joint_positions: dict[str, float]
    drive_forces: Array
    link_poses: dict[str, tuple[Array, Array]]


def home_configuration(machine: Machine) -> RestConfiguration:
    """Joint positions, link poses and holding forces at home.

    Raises
    ------
    KinematicsError
        If the legs do not reach the platform at home, or the pose there is singular.
    """
    if not machine.has_platform:
        return _open_chain(machine, machine.home_positions[None])
    return _closed(machine, machine.home.position, machine.home.rotation_base_platform)


def start_configuration(machine: Machine, coordinates: Mapping[str, float]) -> RestConfiguration:
    """The machine off home.

    Parameters
    ----------
    machine : any
    coordinates : of the platform: x, y, z [m] and roll, pitch, yaw [rad] from home, as
        :class:`~pkm_description.viewing.posing.Poser` has them; of open chains joint positions. Those that are not
        given are as at home; zeros may be given of any.

    Raises
    ------
    KinematicsError
        The loops cannot be closed there, a joint limit is in the way, the pose is singular or lies beyond a singular
        one, or the machine cannot be moved by a coordinate.
    """
    at_zero = {name for name, value in coordinates.items() if value == 0.0} if machine.has_platform else set()
    wanted = {name: value for name, value in coordinates.items() if name not in at_zero}
    if not wanted:
        return home_configuration(machine)
    posture = Poser(machine).from_coordinates(wanted)
    if posture.position is None or posture.rotation_base_platform is None:
        return _open_chain(machine, posture.joint_positions[None])
    return _closed(machine, posture.position, posture.rotation_base_platform)


def _closed(machine: Machine, position: Array, rotation: Array) -> RestConfiguration:
    pose = position[None], rotation[None]
    positions = joint_positions(machine, *pose)
    platform = {machine.platform.name: (position, rotation)}
    return _configuration(machine, positions, gravity_forces(machine, *pose)[0], platform)


def _open_chain(machine: Machine, positions: Array) -> RestConfiguration:
    still = np.zeros_like(positions)
    forces = open_chain_forces(machine, positions, still, still, friction=False)[0, machine.drive_columns]
    return _configuration(machine, positions, forces, {})


def _configuration(
    machine: Machine, positions: Array, forces: Array, platform: dict[str, tuple[Array, Array]]
) -> RestConfiguration:
    """Of joint positions (1, J), with the poses of all leg bodies."""
    poses = dict(platform)
    rotations, origins = body_poses(machine, positions)
    for joint, origin, rotation in zip(machine.joints, origins[0], rotations[0], strict=True):
        poses[joint.body.name] = origin, rotation
    by_name = dict(zip(machine.joint_names, positions[0].tolist(), strict=True))
    return RestConfiguration(by_name, forces, poses)


def lightest_inertia(machine: Machine) -> float:
    """Smallest inertia that the drives feel at home, all of them moving together, kg or kg m^2."""
    weightless = with_gravity(machine, np.zeros(3))
    if not machine.has_platform:
        mass, driven = open_chain_mass_matrix(weightless, weightless.home_positions[None])[0], weightless.drive_columns
        return float(1.0 / np.linalg.inv(mass)[driven, driven].max())
    position, rotation = machine.home.position[None], machine.home.rotation_base_platform[None]
    jacobian = close_legs(weightless, position, rotation).drive_map[0]
    drives = len(jacobian)
    accelerations = forward_dynamics(
        weightless, np.repeat(position, drives, axis=0), np.repeat(rotation, drives, axis=0), np.zeros((drives, 6)),
        np.eye(drives), friction=False,
    )  # fmt: skip
    mobility = accelerations @ jacobian.T
    return float(1.0 / np.linalg.eigvalsh(0.5 * (mobility + mobility.T))[-1])
