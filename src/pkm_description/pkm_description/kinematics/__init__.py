"""Kinematics of parallel machines, batched over samples."""

from pkm_description.kinematics.forward import (
    forward_kinematics,
    forward_kinematics_sequence,
    platform_twist,
)
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.leg_lengths import leg_lengths, length_jacobian
from pkm_description.kinematics.leg_motion import LegMotion, joint_positions, leg_motion

__all__ = [
    'ForwardKinematicsResult',
    'LegMotion',
    'forward_kinematics',
    'forward_kinematics_sequence',
    'joint_positions',
    'leg_lengths',
    'leg_motion',
    'length_jacobian',
    'platform_twist',
]
