"""The home configuration of a machine, with closed loops: what simulators start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.dynamics import gravity_forces
from pkm_description.kinematics import joint_positions
from pkm_description.kinematics.chain import ChainPose, chain_pose
from pkm_description.machine.model import Machine
from pkm_description.mechanism import Mechanism

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HomeConfiguration:
    """A machine at rest at home.

    Attributes
    ----------
    joint_positions : joint name -> rad or m, that close the loops
    drive_forces : (A,) N or N m that hold the weight, in the order of ``machine.actuated_joints``
    link_poses : link name -> position (3,) m and rotation (3, 3) in ``base_link``, of leg bodies and platform
    """

    joint_positions: dict[str, float]
    drive_forces: Array
    link_poses: dict[str, tuple[Array, Array]]


def home_configuration(machine: Machine) -> HomeConfiguration:
    """Joint positions, link poses and holding forces at home.

    Raises
    ------
    KinematicsError
        If the legs do not reach the platform at home, or the pose there is singular.
    """
    mechanism, home = Mechanism(machine), machine.home
    poses = {}
    if machine.has_platform:
        pose = home.position[None], home.rotation_base_platform[None]
        positions = joint_positions(mechanism, *pose)
        forces = gravity_forces(mechanism, *pose)[0]
        poses[machine.platform.name] = (home.position, home.rotation_base_platform)
    else:
        positions = mechanism.home_positions[None]
    chain = chain_pose(mechanism, positions)
    if not machine.has_platform:
        forces = _holding_forces(mechanism, chain)
    for number, leg in enumerate(machine.legs):
        for place, joint in enumerate(leg.joints):
            poses[joint.body.name] = (chain.origins[place][0, number], chain.rotations[place][0, number])
    by_name = dict(zip(machine.joint_names, positions[0].ravel().tolist(), strict=True))
    return HomeConfiguration(by_name, forces, poses)


def _holding_forces(mechanism: Mechanism, chain: ChainPose) -> Array:
    """Forces (L,) of the driven joints that hold the weight of an open chain, all other joints held too."""
    driven = mechanism.actuated_index
    axis, origin = chain.axes[driven][0], chain.origins[driven][0]
    work = np.zeros(mechanism.leg_count)
    for place in range(driven, mechanism.joint_count):
        mass, moment = mechanism.leg_parameters[:, place, 0], mechanism.leg_parameters[:, place, 1:4]
        first_moment = mass[:, None] * (chain.origins[place][0] - origin)
        first_moment = first_moment + (chain.rotations[place][0] @ moment[..., None])[..., 0]
        if mechanism.joint_kinds[driven] == 'revolute':
            work = work + np.cross(axis, first_moment) @ mechanism.gravity
        else:
            work = work + mass * (axis @ mechanism.gravity)
    return -work
