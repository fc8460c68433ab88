"""The home configuration with closed loops, where simulations start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces
from pkm_description.dynamics.open_chain import open_chain_forces
from pkm_description.kinematics import joint_positions
from pkm_description.kinematics.chain import chain_pose
from pkm_description.machine import Machine


@dataclass(frozen=True)
class HomeConfiguration:
    """A machine at rest at home.

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


def home_configuration(machine: Machine) -> HomeConfiguration:
    """Joint positions, link poses and holding forces at home.

    Raises
    ------
    KinematicsError
        If the legs do not reach the platform at home, or the pose there is singular.
    """
    home = machine.home
    poses = {}
    if machine.has_platform:
        pose = home.position[None], home.rotation_base_platform[None]
        positions = joint_positions(machine, *pose)
        forces = gravity_forces(machine, *pose)[0]
        poses[machine.platform.name] = (home.position, home.rotation_base_platform)
    else:
        positions = machine.home_positions[None]
        still = np.zeros_like(positions)
        forces = open_chain_forces(machine, positions, still, still, friction=False)[0, :, machine.actuated_index]
    chain = chain_pose(machine, positions)
    for number, leg in enumerate(machine.legs):
        for place, joint in enumerate(leg.joints):
            poses[joint.body.name] = (chain.origins[place][0, number], chain.rotations[place][0, number])
    by_name = dict(zip(machine.joint_names, positions[0].ravel().tolist(), strict=True))
    return HomeConfiguration(by_name, forces, poses)
