"""Kinematics of serial chains of revolute and prismatic joints, for all samples and legs at once.

Everything is expressed in base axes. Lists have one entry per joint (= body), each an array (N, L, ...).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine


@dataclass(frozen=True)
class ChainPose:
    """Pose of every body of the legs.

    Attributes
    ----------
    rotations : J of (N, L, 3, 3), link axes to base axes
    origins : J of (N, L, 3) m, origins of the link frames
    axes : J of (N, L, 3), joint axes
    tip : (N, L, 3) m, closing points
    """

    rotations: list[Array]
    origins: list[Array]
    axes: list[Array]
    tip: Array


@dataclass(frozen=True)
class ChainRates:
    """First or second time derivative of a chain's pose.

    Attributes
    ----------
    angular, linear : J of (N, L, 3), of the link frames (rad/s, m/s or rad/s^2, m/s^2)
    tip : (N, L, 3), of the closing points
    """

    angular: list[Array]
    linear: list[Array]
    tip: Array


def chain_pose(machine: Machine, positions: Array) -> ChainPose:
    """Pose of all leg bodies at joint positions (N, L, J) rad or m."""
    rotations: list[Array] = []
    origins: list[Array] = []
    axes: list[Array] = []
    full = (*positions.shape[:2], 3)
    rotation, origin = np.eye(3), np.zeros(3)
    for joint, kind in enumerate(machine.joint_kinds):
        origin = origin + (rotation @ machine.joint_translations[:, joint, :, None])[..., 0]
        axis = (rotation @ machine.axes_in_parent[:, joint, :, None])[..., 0]
        position = positions[..., joint, None]
        if kind == 'revolute':
            sine, versine = np.sin(position)[..., None], (1.0 - np.cos(position))[..., None]
            turn = machine.joint_rotations[:, joint] + sine * machine.sine_factors[:, joint]
            rotation = rotation @ (turn + versine * machine.versine_factors[:, joint])
        else:
            origin = origin + axis * position
            rotation = rotation @ machine.joint_rotations[:, joint]
        rotations.append(np.broadcast_to(rotation, (*full, 3)))
        # axes and origins near the base are the same for all samples, yet have the sample axis like the
        # others
        origins.append(np.broadcast_to(origin, full))
        axes.append(np.broadcast_to(axis, full))
    return ChainPose(rotations, origins, axes, origin + (rotation @ machine.tips[..., None])[..., 0])


def tip_jacobian(machine: Machine, chain: ChainPose) -> Array:
    """Jacobian (N, L, 3, J) of the closing points: tip velocity = jacobian @ joint velocities."""
    columns = [
        cross(axis, chain.tip - origin) if kind == 'revolute' else axis
        for kind, axis, origin in zip(machine.joint_kinds, chain.axes, chain.origins, strict=True)
    ]
    return np.stack(columns, axis=-1)


def chain_velocities(machine: Machine, chain: ChainPose, velocities: Array) -> ChainRates:
    """Velocities of all leg bodies from joint velocities (N, L, J)."""
    angular: list[Array] = []
    linear: list[Array] = []
    for joint, kind in enumerate(machine.joint_kinds):
        drive = chain.axes[joint] * velocities[..., joint, None]
        if joint == 0:  # base_link is at rest
            turning, moving = np.zeros_like(drive), np.zeros_like(drive)
        else:
            turning = angular[-1]
            moving = linear[-1] + cross(turning, chain.origins[joint] - chain.origins[joint - 1])
        angular.append(turning + drive if kind == 'revolute' else turning)
        linear.append(moving if kind == 'revolute' else moving + drive)
    return ChainRates(angular, linear, linear[-1] + cross(angular[-1], chain.tip - chain.origins[-1]))


def chain_accelerations(
    machine: Machine, chain: ChainPose, rates: ChainRates, velocities: Array, accelerations: Array
) -> ChainRates:
    """Accelerations of all leg bodies from joint velocities and accelerations (N, L, J).

    With zero joint accelerations the tip's acceleration is the product of the tip Jacobian's time
    derivative with the joint velocities.
    """
    angular: list[Array] = []
    linear: list[Array] = []
    for joint, kind in enumerate(machine.joint_kinds):
        axis, rate = chain.axes[joint], velocities[..., joint, None]
        drive = axis * accelerations[..., joint, None]
        if joint == 0:
            turning, moving = np.zeros_like(drive), np.zeros_like(drive)
        else:
            before, arm = rates.angular[joint - 1], chain.origins[joint] - chain.origins[joint - 1]
            turning = angular[-1]
            moving = linear[-1] + cross(turning, arm) + cross(before, cross(before, arm))
            coupling = cross(before, axis * rate)
            drive = drive + (coupling if kind == 'revolute' else 2.0 * coupling)
        angular.append(turning + drive if kind == 'revolute' else turning)
        linear.append(moving if kind == 'revolute' else moving + drive)
    arm, spin = chain.tip - chain.origins[-1], rates.angular[-1]
    tip = linear[-1] + cross(angular[-1], arm) + cross(spin, cross(spin, arm))
    return ChainRates(angular, linear, tip)
