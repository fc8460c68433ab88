"""Rotors and screws of the drives: inertia reflected to the driven joint, one parameter per drive."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.joint_shares import joint_shares
from pkm_description.kinematics.joint_motion import JointMotion
from pkm_description.machine import Machine


def rotor_regressor(machine: Machine, joint_motion: JointMotion) -> Array:
    """Regressor (N, A, A): the rotors' share of the drive forces = regressor @ ``rotor_parameters``.

    Rotor and screw turn with the joint, so only their sum is seen, and only by their own drive (Mata et al. 2008,
    Eqs. 18 and 19); redundant drives share it.
    """
    columns = machine.drive_columns
    shares = joint_shares(machine, joint_motion, columns)
    return np.swapaxes(joint_motion.accelerations[:, columns, None] * shares, 1, 2)


def rotor_parameters(machine: Machine) -> Array:
    """Reflected inertia (A,) kg or kg m^2 of the drives."""
    return np.array([joint.rotor_inertia for joint in machine.actuated_joints])


def rotor_parameter_names(machine: Machine) -> list[str]:
    """Names (A,) such as ``leg1_prismatic.rotor_inertia``."""
    return [f'{joint.name}.rotor_inertia' for joint in machine.actuated_joints]
