"""Load-dependent friction: normal forces in the joints, and the iteration of friction and reaction forces.

The drives of an inverse dynamics take the friction of their own joints over, so that it changes no other force: its
loads need no iteration (Rosyid & El-Khasawneh 2020, Eq. 18). Friction of passive joints, and any friction in forward
dynamics, changes the reactions on which it depends; there loads and friction are iterated to a fixed point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.friction import friction_needs_loads, friction_torques
from pkm_description.dynamics.leg_forces import JointReactions, reactions_of
from pkm_description.dynamics.projection import drive_forces, platform_force
from pkm_description.errors import ConvergenceError
from pkm_description.kinematics.arguments import require_machine_and_motion, require_wrench
from pkm_description.kinematics.leg_motion import ClosedLegs, close_legs, leg_rates
from pkm_description.kinematics.overall_jacobian import twist_from_leg_rates
from pkm_description.machine import Machine, PlatformMotion

#: change of the loads, relative to the largest one of the sample, at which they count as settled
LOAD_TOLERANCE = 1e-11
MAX_ITERATIONS = 100


def friction_loads(
    machine: Machine,
    motion: PlatformMotion,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> Array:
    """Normal forces (N, L, J) [N] in all joints during a motion: what load-dependent friction laws take.

    The size of the joint force across the axis: on a prismatic joint what its guide carries, on a revolute joint the
    radial force on its bearing. On planar machines the part in the plane of motion; how the joints share forces across
    the plane is not determined by the model (``additional_load`` of the law).

    Parameters
    ----------
    motion : N samples; with zero velocities and accelerations the loads at rest
    sign_smoothing, external_wrench : as in :func:`pkm_description.dynamics.inverse_dynamics`

    Raises
    ------
    SingularPoseError, KinematicsError, ConvergenceError
        As :func:`pkm_description.dynamics.inverse_dynamics`.
    """
    require_machine_and_motion(machine, motion)
    require_wrench(external_wrench, len(motion))
    legs = close_legs(machine, motion.position, motion.rotation_base_platform)
    velocities, _, _ = leg_rates(machine, legs, motion)
    if not friction_needs_loads(machine):
        torques = friction_torques(machine, velocities, sign_smoothing)
        return _loads(machine, legs, reactions_of(machine, legs, motion, torques, external_wrench))
    return _motion_loads(machine, legs, motion, velocities, sign_smoothing, external_wrench)


def friction_forces(
    machine: Machine,
    motion: PlatformMotion,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> Array:
    """Friction's share (N, A) of the drive forces [N, N m] of a motion; parameters as of :func:`friction_loads`."""
    require_machine_and_motion(machine, motion)
    require_wrench(external_wrench, len(motion))
    legs = close_legs(machine, motion.position, motion.rotation_base_platform)
    velocities, _, _ = leg_rates(machine, legs, motion)
    torques = motion_friction(machine, legs, motion, velocities, sign_smoothing, external_wrench)
    return drive_forces(twist_from_leg_rates(machine, legs), platform_force(legs, torques))


def motion_friction(
    machine: Machine,
    legs: ClosedLegs,
    motion: PlatformMotion,
    velocities: Array,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> Array:
    """Friction torques (N, L, J) of legs that are already closed, in equilibrium with the reactions of the motion."""
    loads = None
    if friction_needs_loads(machine):
        loads = _motion_loads(machine, legs, motion, velocities, sign_smoothing, external_wrench)
    return friction_torques(machine, velocities, sign_smoothing, loads)


def free_motion_friction(
    machine: Machine,
    legs: ClosedLegs,
    accelerate: Callable[[Array], PlatformMotion],
    velocities: Array,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> Array:
    """Friction torques (N, L, J) under given drive forces.

    Parameters
    ----------
    accelerate : motion that follows from friction torques (N, L, J) under the drive forces
    """

    def loads_of(loads: Array) -> Array:
        torques = friction_torques(machine, velocities, sign_smoothing, loads)
        reactions = reactions_of(machine, legs, accelerate(torques), torques, external_wrench)
        return _loads(machine, legs, reactions)

    return friction_torques(machine, velocities, sign_smoothing, settled_loads(loads_of, np.zeros_like(velocities)))


def _motion_loads(
    machine: Machine,
    legs: ClosedLegs,
    motion: PlatformMotion,
    velocities: Array,
    sign_smoothing: float,
    external_wrench: Array | None,
) -> Array:
    def loads_of(loads: Array) -> Array:
        torques = friction_torques(machine, velocities, sign_smoothing, loads)
        return _loads(machine, legs, reactions_of(machine, legs, motion, torques, external_wrench))

    first = loads_of(np.zeros_like(velocities))
    return settled_loads(loads_of, first) if _passive_joints_rub(machine) else first


def _loads(machine: Machine, legs: ClosedLegs, reactions: JointReactions) -> Array:
    """Joint forces (N, L, J) across the axes; of planar machines in the plane."""
    if machine.planar:
        reactions = replace(reactions, joint_forces=reactions.joint_forces * np.array([1.0, 1.0, 0.0]))
    return reactions.loads_across(np.stack(legs.chain.axes, axis=2))


def _passive_joints_rub(machine: Machine) -> bool:
    return any(
        bool(joint.friction.law.linear_parameters().any())
        for leg in machine.legs
        for joint in leg.joints
        if not joint.actuated
    )


def settled_loads(loads_of: Callable[[Array], Array], loads: Array) -> Array:
    """Loads (N, L, J) with ``loads_of(loads) = loads``, by iteration from given ones.

    Raises
    ------
    ConvergenceError
        Naming a sample where they still change after :data:`MAX_ITERATIONS`.
    """
    change = np.zeros(len(loads))
    for _ in range(MAX_ITERATIONS):
        following = loads_of(loads)
        change = np.abs(following - loads).max(axis=(1, 2), initial=0.0)
        size = following.max(axis=(1, 2), initial=0.0)
        loads = following
        if (change <= LOAD_TOLERANCE * size).all():
            return loads
    sample = int(np.argmax(np.where(np.isnan(change), np.inf, change)))
    raise ConvergenceError(
        f'sample {sample}: friction and the forces in the joints do not settle, after {MAX_ITERATIONS} iterations the '
        f'loads still change by {change[sample]:.3g} N; a joint locks itself, its friction coefficient is too large '
        'for this pose'
    )
