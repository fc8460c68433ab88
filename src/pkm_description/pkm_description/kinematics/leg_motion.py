"""Positions, velocities and accelerations of all joints, passive ones included, from the motion of the platform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.arguments import of_poses
from pkm_description.kinematics.chain import (
    ChainPose,
    ChainRates,
    chain_accelerations,
    chain_pose,
    chain_velocities,
    tip_jacobian,
)
from pkm_description.kinematics.leg_inverse import leg_inverse
from pkm_description.kinematics.leg_iterations import CLOSING_TOLERANCE
from pkm_description.kinematics.leg_lengths import leg_vectors
from pkm_description.kinematics.leg_positions import closed_form_positions, iterated_positions
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine, PlatformMotion

#: components of the twist that a planar machine does not have: z, rotation about x, rotation about y
PLANE_CONSTRAINTS = np.eye(6)[[2, 3, 4]]

#: part of a twist, relative to its size, that the constraints may forbid
_TWIST_TOLERANCE = 1e-6


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
    held : (N, L, 3, C), unit directions in which a leg holds its tip
    constraints : (N, K, 6), rows with ``constraints @ twist = 0``
    """

    positions: Array
    lengths: Array
    levers: Array
    chain: ChainPose
    tip_jacobian_inverse: Array
    held: Array
    constraints: Array

    @property
    def joint_map(self) -> Array:
        """Joint velocities from the platform twist [origin velocity, angular velocity]: (N, L, J, 6)."""
        # anchor velocity = v + omega x lever, so row r of the inverse contributes (lever x r) . omega
        rotational = cross(self.levers[..., None, :], self.tip_jacobian_inverse)
        return np.concatenate([self.tip_jacobian_inverse, rotational], axis=-1)


@of_poses
def joint_positions(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Positions (N, L, J) of all leg joints [rad, m] that close the legs onto the platform.

    U-P legs in closed form, all others by Newton iterations from their home positions, on the branch of home.

    Parameters
    ----------
    position : (N, 3) or (3,) m
    rotation_base_platform : (N, 3, 3) or (3, 3)

    Raises
    ------
    SingularPoseError
        Where a strut lies along its first universal axis, so that the first angle is undefined.
    AssemblyModeError
        Where a leg without closed form gets there only on another branch than at home (elbow turned over).
    KinematicsError
        If a leg cannot reach, the legs do not admit the pose, or a pose contains NaN.
    """
    return _closed(machine, position, rotation_base_platform)[0]


def _closed(
    machine: Machine, position: Array, rotation_base_platform: Array
) -> tuple[Array, Array, Array]:
    """Joint positions (N, L, J), lengths (N, L) and levers (N, L, 3)."""
    if not machine.has_platform:
        raise KinematicsError(
            f'{machine.name} is an open chain, it has no platform: use the functions of dynamics.open_chain, '
            'which take the motion of the joints'
        )
    vectors, levers = leg_vectors(machine, position, rotation_base_platform)
    lengths = np.sqrt(np.sum(vectors * vectors, axis=-1))
    if machine.has_closed_form:
        return closed_form_positions(machine, vectors, lengths), lengths, levers
    if machine.planar:
        _require_planar(machine, position, rotation_base_platform)
    return iterated_positions(machine, vectors + machine.base_points), lengths, levers


def _require_planar(machine: Machine, position: Array, rotation_base_platform: Array) -> None:
    """Refuse poses out of the plane in which a planar machine moves."""
    home = machine.home
    off = np.abs(position[:, 2] - home.position[2])
    # both keep the base's z axis at the same direction in platform axes
    tilt = np.abs(rotation_base_platform[:, 2] - home.rotation_base_platform[2]).max(axis=-1)
    excess = np.maximum(off, tilt)
    if not excess.max(initial=0.0) <= CLOSING_TOLERANCE:
        sample = int(np.argmax(np.where(np.isnan(excess), np.inf, excess)))
        raise KinematicsError(
            f'sample {sample}: {machine.name} moves in a plane; this pose leaves it by {off[sample]:.3g} m '
            f'and tilts by {tilt[sample]:.3g} rad'
        )


def close_legs(
    machine: Machine,
    position: Array,
    rotation_base_platform: Array,
    positions: Array | None = None,
) -> ClosedLegs:
    """Close all legs onto platform poses (N, 3) m, (N, 3, 3); raises as :func:`joint_positions`.

    ``positions`` (N, L, J) are joint positions that are known to close the legs there; they are not solved again.
    """
    if positions is None:
        positions, lengths, levers = _closed(machine, position, rotation_base_platform)
    else:
        vectors, levers = leg_vectors(machine, position, rotation_base_platform)
        lengths = np.sqrt(np.sum(vectors * vectors, axis=-1))
    chain = chain_pose(machine, positions)
    inverse, held = leg_inverse(machine, tip_jacobian(machine, chain))
    return ClosedLegs(
        positions, lengths, levers, chain, inverse, held, twist_constraints(machine, held, levers)
    )


def twist_constraints(machine: Machine, held: Array, levers: Array) -> Array:
    """Rows (N, K, 6) with ``rows @ twist = 0``: what the legs hold, then the plane's z, rotation about x and y."""
    samples = len(levers)
    rows = [np.zeros((samples, 0, 6))]
    if held.shape[-1]:
        directions = np.swapaxes(held, -1, -2)
        moments = cross(levers[..., None, :], directions)
        rows.append(np.concatenate([directions, moments], axis=-1).reshape(samples, -1, 6))
    if machine.planar:
        rows.append(np.broadcast_to(PLANE_CONSTRAINTS, (samples, 3, 6)))
    return np.concatenate(rows, axis=1)


def leg_rates(
    machine: Machine, legs: ClosedLegs, motion: PlatformMotion
) -> tuple[Array, Array, ChainRates]:
    """Joint velocities and accelerations (N, L, J), and the velocities of the leg bodies.

    Raises
    ------
    KinematicsError
        A velocity that the machine does not admit; names sample and constraint.
    """
    _require_admissible(machine, legs, motion)
    spin = motion.angular_velocity[:, None]
    anchor_velocity = motion.linear_velocity[:, None] + cross(spin, legs.levers)
    velocities = (legs.tip_jacobian_inverse @ anchor_velocity[..., None])[..., 0]
    rates = chain_velocities(machine, legs.chain, velocities)
    anchor_acceleration = motion.linear_acceleration[:, None] + cross(
        motion.angular_acceleration[:, None], legs.levers
    )
    excess = anchor_acceleration - closing_bias(machine, legs, velocities, rates, motion.angular_velocity)
    accelerations = (legs.tip_jacobian_inverse @ excess[..., None])[..., 0]
    return velocities, accelerations, rates


def closing_bias(
    machine: Machine, legs: ClosedLegs, velocities: Array, rates: ChainRates, angular_velocity: Array
) -> Array:
    """Acceleration (N, L, 3) of tip minus platform joint where joints and platform do not accelerate."""
    spin = angular_velocity[:, None]
    tip = chain_accelerations(machine, legs.chain, rates, velocities, np.zeros_like(velocities)).tip
    return tip - cross(spin, cross(spin, legs.levers))


def constraint_bias(
    machine: Machine, legs: ClosedLegs, velocities: Array, rates: ChainRates, angular_velocity: Array
) -> Array:
    """Right-hand side (N, K) of ``constraints @ acceleration = bias`` for the platform's acceleration."""
    result = np.zeros(legs.constraints.shape[:2])
    if legs.held.shape[-1]:
        bias = closing_bias(machine, legs, velocities, rates, angular_velocity)
        along = (np.swapaxes(legs.held, -1, -2) @ bias[..., None])[..., 0]
        count = along.shape[1] * along.shape[2]
        result[:, :count] = along.reshape(len(result), count)
    return result


def _require_admissible(machine: Machine, legs: ClosedLegs, motion: PlatformMotion) -> None:
    """Refuse twists that legs or plane forbid: dynamics would silently drop that part."""
    if not machine.constraint_count:
        return
    twist = motion.twist
    forbidden = np.abs((legs.constraints @ twist[..., None])[..., 0])
    # an angular velocity moves the platform joints; below this speed only rounding is left
    speed = np.abs(twist[:, :3]).max(axis=1) + np.abs(twist[:, 3:]).max(axis=1) * machine.platform_radius
    bad = ~(forbidden <= _TWIST_TOLERANCE * speed[:, None] + 1e-9)
    if bad.any():
        sample, row = (int(index) for index in np.argwhere(bad)[0])
        raise KinematicsError(
            f'sample {sample}: {machine.name} does not admit this velocity (constraint {row + 1} is '
            f'violated by {forbidden[sample, row]:.3g}); make the motion from the drives (motion_from_drives)'
        )
