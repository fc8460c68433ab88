"""Kinematics of parallel machines: forward and inverse, Jacobians, joint motion, for N samples at once."""

from pkm_description.kinematics.assembly_modes import AssemblyModes, assembly_modes
from pkm_description.kinematics.closed_legs import drive_jacobian
from pkm_description.kinematics.drive_map import motion_from_drives
from pkm_description.kinematics.forward import ForwardKinematicsResult, forward_kinematics
from pkm_description.kinematics.joint_motion import (
    JointMotion,
    drive_positions,
    joint_motion,
    joint_positions,
    joint_rates,
    leg_lengths,
    length_jacobian,
)
from pkm_description.kinematics.pose_solver import PoseSolver, measured_tolerance
from pkm_description.lazy_names import exported

__all__ = exported(globals())
