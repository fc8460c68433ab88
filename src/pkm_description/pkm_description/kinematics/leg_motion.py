"""Positions, velocities and accelerations of all leg joints, passive ones too, from the platform's motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import KinematicsError, SingularPoseError
from pkm_description.kinematics.chain import (
    ChainPose,
    ChainRates,
    chain_accelerations,
    chain_pose,
    chain_velocities,
    tip_jacobian,
)
from pkm_description.kinematics.leg_lengths import leg_vectors
from pkm_description.kinematics.rotation import cross
from pkm_description.mechanism import Mechanism
from pkm_description.motion.platform_motion import PlatformMotion

Array = NDArray[np.float64]

#: sine of the angle between strut and first universal axis below which the joint angles are refused
UNIVERSAL_SINGULARITY = 1e-3


@dataclass(frozen=True)
class LegMotion:
    """Motion of the leg joints, N samples, L legs, J joints per leg (order as in the machine file).

    Attributes
    ----------
    time : (N,) s
    positions, velocities, accelerations : (N, L, J), rad or m and their time derivatives
    lengths : (N, L) m, base joint to platform joint
    position, rotation_base_platform : (N, 3) m, (N, 3, 3), the platform poses that the legs are closed onto
    """

    time: Array
    positions: Array
    velocities: Array
    accelerations: Array
    lengths: Array
    position: Array
    rotation_base_platform: Array


@dataclass(frozen=True)
class ClosedLegs:
    """Legs closed onto a pose of the platform: what velocities, accelerations and forces are built on.

    Attributes
    ----------
    positions : (N, L, J)
    lengths : (N, L) m
    levers : (N, L, 3) m, platform origin to platform joint, base axes
    chain : poses of the leg bodies
    tip_jacobian_inverse : (N, L, J, 3), joint velocities from the velocity of the closing point
    """

    positions: Array
    lengths: Array
    levers: Array
    chain: ChainPose
    tip_jacobian_inverse: Array

    @property
    def joint_map(self) -> Array:
        """Joint velocities from the platform twist [origin velocity, angular velocity]: (N, L, J, 6)."""
        # anchor velocity = v + omega x lever, so row r of the inverse contributes (lever x r) . omega
        rotational = cross(self.levers[..., None, :], self.tip_jacobian_inverse)
        return np.concatenate([self.tip_jacobian_inverse, rotational], axis=-1)


def joint_positions(mechanism: Mechanism, position: Array, rotation_base_platform: Array) -> Array:
    """Positions (N, L, 3) of universal_1, universal_2 [rad] and prismatic [m] of U-P legs, in closed form.

    Parameters
    ----------
    position : (N, 3) m
    rotation_base_platform : (N, 3, 3)

    Raises
    ------
    SingularPoseError
        Where a strut lies along its first universal axis, so that the first angle is undefined.
    KinematicsError
        If the legs are not of the U-P kind, or a pose contains NaN.
    """
    return _joint_positions(mechanism, leg_vectors(mechanism, position, rotation_base_platform)[0])[0]


def _joint_positions(mechanism: Mechanism, vectors: Array) -> tuple[Array, Array]:
    """Joint positions (N, L, 3) and lengths (N, L) of leg vectors (N, L, 3)."""
    legs = mechanism.universal_prismatic
    lengths = np.sqrt(np.sum(vectors * vectors, axis=-1))
    along = (vectors[..., None, :] @ legs.basis)[..., 0, :]
    across = np.hypot(along[..., 1], along[..., 2])
    _check_regular(mechanism, across / lengths)
    first = np.arctan2(-legs.side * along[..., 1], legs.side * along[..., 2])
    second = np.arctan2(along[..., 0], legs.side * across) - legs.angle_at_zero
    second = (second + np.pi) % (2.0 * np.pi) - np.pi
    return np.stack([first, second, lengths - mechanism.lengths_at_zero], axis=-1), lengths


def _check_regular(mechanism: Mechanism, sine: Array) -> None:
    """Refuse struts on their first universal axis; ``sine`` (N, L) of the angle between both."""
    if sine.min(initial=1.0) >= UNIVERSAL_SINGULARITY:
        return
    # argmin finds NaN before any number
    sample, leg = (int(index) for index in np.unravel_index(np.argmin(sine), sine.shape))
    if np.isnan(sine[sample, leg]):
        raise KinematicsError(
            f'sample {sample}: the platform pose contains NaN or infinity, no leg can be closed'
        )
    raise SingularPoseError(
        f'sample {sample}: {mechanism.machine.legs[leg].name} lies along its first universal axis '
        f'(sine of the angle {sine[sample, leg]:.3g}, at least {UNIVERSAL_SINGULARITY:g} needed)'
    )


def close_legs(mechanism: Mechanism, position: Array, rotation_base_platform: Array) -> ClosedLegs:
    """Close all legs onto platform poses (N, 3) m, (N, 3, 3); raises as :func:`joint_positions`."""
    vectors, levers = leg_vectors(mechanism, position, rotation_base_platform)
    positions, lengths = _joint_positions(mechanism, vectors)
    chain = chain_pose(mechanism, positions)
    return ClosedLegs(positions, lengths, levers, chain, _inverse_3x3(tip_jacobian(mechanism, chain)))


def _inverse_3x3(matrix: Array) -> Array:
    """Inverse of (..., 3, 3) by cross products of the columns; an order faster than ``numpy.linalg.inv``."""
    first, second, third = matrix[..., 0], matrix[..., 1], matrix[..., 2]
    rows = np.stack([cross(second, third), cross(third, first), cross(first, second)], axis=-2)
    determinant = np.sum(first * rows[..., 0, :], axis=-1)
    return rows / determinant[..., None, None]


def leg_rates(
    mechanism: Mechanism, legs: ClosedLegs, motion: PlatformMotion
) -> tuple[Array, Array, ChainRates]:
    """Joint velocities and accelerations (N, L, J), and the velocities of the leg bodies."""
    spin = motion.angular_velocity[:, None]
    anchor_velocity = motion.linear_velocity[:, None] + cross(spin, legs.levers)
    velocities = (legs.tip_jacobian_inverse @ anchor_velocity[..., None])[..., 0]
    rates = chain_velocities(mechanism, legs.chain, velocities)
    anchor_acceleration = (
        motion.linear_acceleration[:, None]
        + cross(motion.angular_acceleration[:, None], legs.levers)
        + cross(spin, cross(spin, legs.levers))
    )
    bias = chain_accelerations(mechanism, legs.chain, rates, velocities, np.zeros_like(velocities)).tip
    accelerations = (legs.tip_jacobian_inverse @ (anchor_acceleration - bias)[..., None])[..., 0]
    return velocities, accelerations, rates


def leg_motion(mechanism: Mechanism, motion: PlatformMotion) -> LegMotion:
    """Motion of all leg joints that closes the legs onto the moving platform.

    Positions in closed form, velocities through the inverse of each leg's tip Jacobian, accelerations with
    its analytic time derivative.

    Raises
    ------
    SingularPoseError
        Where a strut lies along its first universal axis; names sample, leg and number.
    """
    legs = close_legs(mechanism, motion.position, motion.rotation_base_platform)
    velocities, accelerations, _ = leg_rates(mechanism, legs, motion)
    return LegMotion(
        motion.time,
        legs.positions,
        velocities,
        accelerations,
        legs.lengths,
        motion.position,
        motion.rotation_base_platform,
    )
