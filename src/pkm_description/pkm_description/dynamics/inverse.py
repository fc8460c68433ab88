"""Inverse dynamics: drive forces of a motion, by direct recursion along the legs."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.dynamics.friction_loads import motion_friction
from pkm_description.dynamics.projection import drive_forces, platform_force
from pkm_description.dynamics.wrenches import chain_torques, platform_wrench
from pkm_description.kinematics.arguments import require_machine_and_motion, require_platform, require_wrench
from pkm_description.kinematics.chain import chain_accelerations
from pkm_description.kinematics.leg_motion import ClosedLegs, close_legs, leg_rates
from pkm_description.kinematics.overall_jacobian import twist_from_leg_rates
from pkm_description.machine import Machine, PlatformMotion


def inverse_dynamics(
    machine: Machine,
    motion: PlatformMotion,
    friction: bool = True,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> Array:
    """Drive forces (N, A) [N, N m] that produce a motion; positive pushes the joint towards larger positions.

    Parameters
    ----------
    motion : N samples
    friction : add the friction of all joints, active and passive, as the machine file gives it
    sign_smoothing : velocity of a tanh in place of the sign of Coulomb friction; 0 keeps the sign
    external_wrench : (N, 6) or (6,) N and N m, what the surroundings do to the platform: force, and moment about the
        platform's origin, base axes

    Raises
    ------
    SingularPoseError
        Where the drives do not determine the platform's motion; names the sample.
    KinematicsError
        A motion that the machine does not admit, or a machine with fewer drives than degrees of freedom.
    ConvergenceError
        Friction that depends on the load does not settle with it; only where passive joints rub.
    """
    require_machine_and_motion(machine, motion)
    require_platform(machine, 'open_chain_forces')
    require_wrench(external_wrench, len(motion))
    legs = close_legs(machine, motion.position, motion.rotation_base_platform)
    generalised = generalised_force(machine, legs, motion, friction, sign_smoothing, external_wrench)
    return drive_forces(twist_from_leg_rates(machine, legs), generalised)


def generalised_force(
    machine: Machine,
    legs: ClosedLegs,
    motion: PlatformMotion,
    friction: bool,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> Array:
    """Force (N, 6) dual to the platform twist, base axes, that a motion of platform and legs needs from the drives."""
    velocities, accelerations, rates = leg_rates(machine, legs, motion)
    second = chain_accelerations(machine, legs.chain, rates, velocities, accelerations)
    torques = chain_torques(machine, legs.chain, rates, second) + machine.leg_rotor_inertia * accelerations
    if friction:
        torques = torques + motion_friction(machine, legs, motion, velocities, sign_smoothing, external_wrench)
    wrench = platform_wrench(machine, motion)
    return (wrench if external_wrench is None else wrench - external_wrench) + platform_force(legs, torques)
