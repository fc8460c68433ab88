"""Kinematics of parallel machines, batched over samples."""

from pkm_description.kinematics.closure import drive_positions, solve_closure
from pkm_description.kinematics.closure_result import ClosureResult
from pkm_description.kinematics.drive_motion import motion_from_drives
from pkm_description.kinematics.hexapod.assembly_modes import AssemblyModes, assembly_modes
from pkm_description.kinematics.hexapod.forward import (
    forward_kinematics,
    platform_twist,
)
from pkm_description.kinematics.hexapod.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.hexapod.forward_sequence import forward_kinematics_sequence
from pkm_description.kinematics.joint_rates import joint_rates
from pkm_description.kinematics.leg_lengths import leg_lengths, length_jacobian
from pkm_description.kinematics.leg_motion import LegMotion, joint_positions, leg_motion

__all__ = [
    'AssemblyModes',
    'ClosureResult',
    'ForwardKinematicsResult',
    'LegMotion',
    'assembly_modes',
    'drive_positions',
    'forward_kinematics',
    'forward_kinematics_sequence',
    'joint_positions',
    'joint_rates',
    'leg_lengths',
    'leg_motion',
    'length_jacobian',
    'motion_from_drives',
    'platform_twist',
    'solve_closure',
]
