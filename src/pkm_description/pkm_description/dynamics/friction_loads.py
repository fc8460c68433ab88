"""Load-dependent friction: normal forces in the joints, and friction in equilibrium with them."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.machine import Machine, PlatformMotion


def friction_loads(
    machine: Machine,
    motion: PlatformMotion,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> Array:
    """Normal forces (N, J) [N] in all joints during a motion: what load-dependent friction laws take.

    The size of the joint force across the axis: on a prismatic joint what its guide carries, on a revolute joint the
    radial force on its bearing. On planar machines the part in the plane of motion; how the joints share forces across
    the plane is not determined by the model (``additional_load`` of the law). Where passive joints rub, friction and
    the forces that it depends on are iterated to a fixed point.

    Parameters
    ----------
    motion : N samples; with zero velocities and accelerations the loads at rest
    sign_smoothing, external_wrench : as in :func:`pkm_description.dynamics.inverse_dynamics`

    Raises
    ------
    SingularPoseError, KinematicsError, ConvergenceError
        As :func:`pkm_description.dynamics.inverse_dynamics`.
    """
    return joint_reactions(machine, motion, True, sign_smoothing, external_wrench).loads


def friction_forces(
    machine: Machine,
    motion: PlatformMotion,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> Array:
    """Friction's share (N, A) of the drive forces [N, N m] of a motion; parameters as of :func:`friction_loads`."""
    return joint_reactions(machine, motion, True, sign_smoothing, external_wrench).friction_forces
