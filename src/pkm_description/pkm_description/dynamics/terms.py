"""Drive forces split into inertia, Coriolis, centripetal and gravity terms of platform and legs.

The six groups of Oh 2003 (Eq. 2.55 and Table 2.1), for legs of any joints: a Coriolis term is a product of the rates
of a prismatic and a revolute joint, a centripetal one a product of angular rates.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.friction_loads import motion_friction
from pkm_description.dynamics.inverse import chain_torques, platform_wrench
from pkm_description.dynamics.projection import drive_forces, platform_force
from pkm_description.kinematics.arguments import require_machine_and_motion
from pkm_description.kinematics.chain import chain_accelerations, chain_velocities
from pkm_description.kinematics.leg_motion import ClosedLegs, close_legs, closing_bias
from pkm_description.kinematics.overall_jacobian import twist_from_leg_rates
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine, PlatformMotion


@dataclass(frozen=True)
class DriveForceTerms:
    """Shares of the drive forces, (N, A) N or N m each; they add up to the inverse dynamics.

    Attributes
    ----------
    pm, sm : inertia of platform and legs ("struts"), linear in the platform's acceleration
    cor, cen : Coriolis and centripetal terms
    grp, grs : weight of platform and legs
    frict : friction of all joints
    rotor : rotors and screws (``m/b`` in the source, zero there)
    """

    pm: Array
    sm: Array
    cor: Array
    cen: Array
    grp: Array
    grs: Array
    frict: Array
    rotor: Array

    @property
    def total(self) -> Array:
        """Sum of all shares."""
        return np.sum([getattr(self, field.name) for field in fields(self)], axis=0)

    def dominance(self) -> dict[str, float]:
        """Mean size of each share in per cent of the mean size of the drive forces (Oh 2003, Eqs. 2.76-2.81)."""
        scale = 100.0 / np.linalg.norm(self.total, axis=1).mean()
        return {name: float(scale * size.mean()) for name, size in self._sizes().items()}

    def variation(self) -> dict[str, float]:
        """Peak-to-peak size of each share in per cent of the mean drive force (Eqs. 2.82-2.88): what a fit can see."""
        scale = 100.0 / np.linalg.norm(self.total, axis=1).mean()
        return {name: float(scale * np.ptp(size)) for name, size in self._sizes().items()}

    def _sizes(self) -> dict[str, Array]:
        shares = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: np.linalg.norm(share, axis=1) for name, share in (*shares.items(), ('total', self.total))}


def drive_force_terms(
    machine: Machine, motion: PlatformMotion, friction: bool = True, sign_smoothing: float = 0.0
) -> DriveForceTerms:
    """Split the drive forces of a motion.

    Parameters and errors as :func:`pkm_description.dynamics.inverse_dynamics`.
    """
    require_machine_and_motion(machine, motion)
    legs = close_legs(machine, motion.position, motion.rotation_base_platform)
    twist_per_rate = twist_from_leg_rates(machine, legs)

    def by_legs(torques: Array) -> Array:
        return drive_forces(twist_per_rate, platform_force(legs, torques))

    spin = motion.angular_velocity[:, None]
    velocities = (legs.joint_map @ motion.twist[:, None, :, None])[..., 0]
    rest = np.zeros_like(velocities)
    weight = _torques(machine, legs, rest, rest)

    def inertia(anchor_acceleration: Array) -> tuple[Array, Array]:
        accelerations = (legs.tip_jacobian_inverse @ anchor_acceleration[..., None])[..., 0]
        return _torques(machine, legs, rest, accelerations) - weight, accelerations

    tangential = motion.linear_acceleration[:, None] + cross(motion.angular_acceleration[:, None], legs.levers)
    strut_inertia, from_tangential = inertia(tangential)
    strut_swing, from_normal = inertia(cross(spin, cross(spin, legs.levers)))

    prismatic = np.array([kind == 'prismatic' for kind in machine.joint_kinds])
    every, drift = _velocity_torques(machine, legs, velocities, weight)
    turning, _ = _velocity_torques(machine, legs, np.where(prismatic, 0.0, velocities), weight)
    sliding, _ = _velocity_torques(machine, legs, np.where(prismatic, velocities, 0.0), weight)
    coriolis = every - turning - sliding

    parts = _platform_parts(machine, motion)
    rotor = machine.leg_rotor_inertia * (from_tangential + from_normal + drift)
    rub = motion_friction(machine, legs, motion, velocities, sign_smoothing) if friction else rest
    return DriveForceTerms(
        pm=drive_forces(twist_per_rate, parts[0]),
        sm=by_legs(strut_inertia),
        cor=by_legs(coriolis),
        cen=by_legs(strut_swing + turning + sliding) + drive_forces(twist_per_rate, parts[1]),
        grp=drive_forces(twist_per_rate, parts[2]),
        grs=by_legs(weight),
        frict=by_legs(rub),
        rotor=by_legs(rotor),
    )


def _torques(machine: Machine, legs: ClosedLegs, velocities: Array, accelerations: Array) -> Array:
    rates = chain_velocities(machine, legs.chain, velocities)
    second = chain_accelerations(machine, legs.chain, rates, velocities, accelerations)
    return chain_torques(machine, legs.chain, rates, second)


def _velocity_torques(
    machine: Machine, legs: ClosedLegs, velocities: Array, weight: Array
) -> tuple[Array, Array]:
    """Torques (N, L, J) of joint velocities alone while the tips do not accelerate, and the joint accelerations then.

    ``weight`` (N, L, J) are the torques at rest. The others are quadratic in the velocities, so that shares of single
    joints and of their products can be told apart.
    """
    rates = chain_velocities(machine, legs.chain, velocities)
    at_rest = np.zeros_like(legs.levers[:, 0])
    bias = closing_bias(machine, legs, velocities, rates, at_rest)
    accelerations = -(legs.tip_jacobian_inverse @ bias[..., None])[..., 0]
    return _torques(machine, legs, velocities, accelerations) - weight, accelerations


def _platform_parts(machine: Machine, motion: PlatformMotion) -> tuple[Array, Array, Array]:
    """Wrenches (N, 6) of the platform: linear in its acceleration, quadratic in its spin, weight."""
    zero = np.zeros_like(motion.linear_velocity)
    pose = motion.time, motion.position, motion.rotation_base_platform
    weight = platform_wrench(machine, PlatformMotion(*pose, zero, zero, zero, zero))
    moving = PlatformMotion(*pose, zero, zero, motion.linear_acceleration, motion.angular_acceleration)
    spinning = PlatformMotion(*pose, zero, motion.angular_velocity, zero, zero)
    inertia = platform_wrench(machine, moving) - weight
    return inertia, platform_wrench(machine, spinning) - weight, weight
