"""Forward dynamics: how the platform accelerates under given drive forces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.energy import mass_matrix_of
from pkm_description.dynamics.friction import friction_needs_loads
from pkm_description.dynamics.friction_loads import free_motion_friction
from pkm_description.dynamics.inverse import generalised_force
from pkm_description.dynamics.projection import platform_force
from pkm_description.errors import SingularPoseError
from pkm_description.kinematics.arguments import of_samples, poses, require_machine, require_platform, require_wrench
from pkm_description.kinematics.leg_motion import ClosedLegs, close_legs, constraint_bias, leg_rates
from pkm_description.kinematics.overall_jacobian import actuated_jacobian
from pkm_description.machine import Machine, PlatformMotion


def forward_dynamics(
    machine: Machine,
    position: Array,
    rotation_base_platform: Array,
    twist: Array,
    forces: Array,
    friction: bool = True,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> Array:
    """Platform acceleration (N, 6) [linear, angular], base axes: solves ``M a + h = J^T f + K^T lambda``, ``K a = k``.

    The constraint rows K are those of legs and plane that hold the platform, see ``ClosedLegs.constraints``; a
    hexapod has none. Defined in singular poses of the drives too, unlike the inverse dynamics, and for machines with
    fewer drives than degrees of freedom; friction that depends on the load is not, because it needs the reactions.
    Friction at exactly zero velocity is zero: sticking is not modelled.

    Parameters
    ----------
    position, rotation_base_platform : (N, 3) m, (N, 3, 3); or one sample without the first axis, like all others
    twist : (N, 6), base axes
    forces : (N, A) N or N m, of the drives
    friction, sign_smoothing, external_wrench : as in :func:`pkm_description.dynamics.inverse_dynamics`

    Raises
    ------
    KinematicsError
        A pose or velocity that the machine does not admit.
    SingularPoseError
        Where the constraints depend on each other; names the sample.
    ConvergenceError
        Friction that depends on the load does not settle with the reactions (a joint that locks itself).
    """
    require_machine(machine)
    require_platform(machine, 'open_chain_accelerations')
    position, rotation_base_platform, single = poses(position, rotation_base_platform)
    count = len(position)
    require_wrench(external_wrench, count)
    twist, forces = of_samples('twist', twist, count, 6), of_samples('forces', forces, count, machine.actuated_count)
    acceleration = _accelerated(
        machine, position, rotation_base_platform, twist, forces, friction, sign_smoothing, external_wrench
    )
    return np.asarray(acceleration[0]) if single else acceleration


def _accelerated(
    machine: Machine,
    position: Array,
    rotation_base_platform: Array,
    twist: Array,
    forces: Array,
    friction: bool,
    sign_smoothing: float,
    external_wrench: Array | None,
) -> Array:
    """As :func:`forward_dynamics`, of N samples."""
    still = np.zeros((len(position), 3))
    motion = PlatformMotion(
        np.zeros(len(position)), position, rotation_base_platform, twist[:, :3], twist[:, 3:], still, still
    )
    legs = close_legs(machine, position, rotation_base_platform)
    drive = (forces[:, None] @ actuated_jacobian(machine, legs))[:, 0]
    loaded = friction and friction_needs_loads(machine)
    # without friction that depends on the load, which needs the acceleration first
    bias = generalised_force(machine, legs, motion, friction and not loaded, sign_smoothing, external_wrench)
    mass = mass_matrix_of(machine, legs, rotation_base_platform)
    velocities, _, rates = leg_rates(machine, legs, motion)
    held = constraint_bias(machine, legs, velocities, rates, motion.angular_velocity)
    if not loaded:
        return _accelerations(legs, mass, drive - bias, held)

    def accelerate(torques: Array) -> PlatformMotion:
        free = _accelerations(legs, mass, drive - bias - platform_force(legs, torques), held)
        return replace(motion, linear_acceleration=free[:, :3], angular_acceleration=free[:, 3:])

    torques = free_motion_friction(machine, legs, accelerate, velocities, sign_smoothing, external_wrench)
    return _accelerations(legs, mass, drive - bias - platform_force(legs, torques), held)


def _accelerations(legs: ClosedLegs, mass: Array, force: Array, held: Array) -> Array:
    """Platform accelerations (N, 6) under generalised forces (N, 6), ``constraints @ acceleration = held`` (N, K)."""
    count = legs.constraints.shape[1]
    if not count:
        return np.asarray(np.linalg.solve(mass, force[..., None]), dtype=float)[..., 0]
    matrix = np.zeros((len(mass), 6 + count, 6 + count))
    # multipliers in units of the mass: otherwise heavy machines would be badly conditioned
    scale = np.abs(mass).max(axis=(1, 2))[:, None, None]
    matrix[:, :6, :6] = mass / scale
    matrix[:, :6, 6:], matrix[:, 6:, :6] = np.swapaxes(legs.constraints, 1, 2), legs.constraints
    right = np.concatenate([force / scale[..., 0], held], axis=1)
    try:
        solution = np.asarray(np.linalg.solve(matrix, right[..., None]), dtype=float)
    except np.linalg.LinAlgError:
        rank = np.linalg.matrix_rank(legs.constraints)
        sample = int(np.argmax(rank < count))
        raise SingularPoseError(
            f'sample {sample}: only {rank[sample]} of {count} constraints are independent here, the platform can move '
            'otherwise than its legs admit'
        ) from None
    return solution[:, :6, 0]
