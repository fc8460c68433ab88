"""Friction of a desired motion as feed-forward forces of the drives, evaluated between the motion's knots."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import friction_loads
from pkm_description.friction_laws import Sign
from pkm_description.kinematics import JointMotion
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import twist_per_drive
from pkm_description.machine import Machine, PlatformMotion
from scipy.interpolate import CubicHermiteSpline, CubicSpline

#: m/s or rad/s: slower is the rounding of polynomials at rest, which an exact sign must not see
_STILL = 1e-10


class FrictionFeedforward:
    """Friction's share of the drive forces along a motion (Heimann & Abdellatif, Eqs. 2-4; R4-22).

    Friction jumps where a joint turns back, so its forces are not interpolated: joint rates, normal forces in the
    joints and the passive joints' shares of the drives (virtual power) are smooth and are interpolated between knots;
    the friction laws are evaluated at the wanted times with the *desired* rates. Within the dead band forces grow in
    proportion to the rate: no drive is pushed by friction that is not there at rest.

    Parameters
    ----------
    machine : the controller's belief; every joint with its own friction law, passive joints included
    motion : N >= 2 knots
    joints : the joint motion of these knots
    dead_band : m/s or rad/s of each joint; 0 keeps the sign of the laws
    """

    def __init__(self, machine: Machine, motion: PlatformMotion, joints: JointMotion, dead_band: float) -> None:
        # law by law, because each joint may have its own
        rubbing = [
            (column, joint.friction.law.with_sign(Sign('dead_band', dead_band)) if dead_band > 0.0
             else joint.friction.law)
            for column, joint in enumerate(machine.joints)
            if joint.friction.law.linear_parameters().any()
        ]  # fmt: skip
        drives = machine.drive_columns.tolist()
        self._driven = [(drives.index(column), law) for column, law in rubbing if column in drives]
        passive = [column for column, _ in rubbing if column not in drives]
        self._passive = [law for column, law in rubbing if column not in drives]
        time = motion.time
        self._passive_rates = self._shares = self._loads = self._passive_loads = None
        if passive:
            self._passive_rates = CubicHermiteSpline(
                time, joints.velocities[:, passive], joints.accelerations[:, passive]
            )
            closed = close_legs(machine, motion.position, motion.rotation_base_platform, joints.positions)
            shares = closed.joint_map @ twist_per_drive(closed)  # joint rate per drive rate
            self._shares = CubicSpline(time, shares[:, passive])
        if any(law.needs_load for _, law in rubbing):
            loads = friction_loads(machine, motion, sign_smoothing=dead_band)
            self._loads = CubicSpline(time, loads[:, drives])
            if passive:
                self._passive_loads = CubicSpline(time, loads[:, passive])

    def forces(self, time: Array, rates: Array) -> Array:
        """Drive forces (N, A) N or N m at times (N,) s of the motion, with the drives' desired rates (N, A) there."""
        forces, rates = np.zeros_like(rates), _without_rounding(rates)
        loads = None if self._loads is None else self._loads(time)
        for drive, law in self._driven:
            forces[:, drive] = law.force(rates[:, drive], None if loads is None else loads[:, drive])
        if self._passive_rates is None or self._shares is None:
            return forces
        passive_rates, shares = _without_rounding(self._passive_rates(time)), self._shares(time)
        loads = None if self._passive_loads is None else self._passive_loads(time)
        for place, law in enumerate(self._passive):
            force = law.force(passive_rates[:, place], None if loads is None else loads[:, place])
            forces += force[:, None] * shares[:, place]
        return forces


def _without_rounding(rates: Array) -> Array:
    return np.where(np.abs(rates) < _STILL, 0.0, rates)
