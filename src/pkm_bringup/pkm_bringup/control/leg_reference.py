"""A platform motion as positions, velocities and feed-forward forces of the drives, evaluated at any time."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import friction_loads, gravity_forces, inverse_dynamics
from pkm_description.friction_laws import Sign
from pkm_description.kinematics import JointMotion, joint_motion
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import twist_per_drive
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.recorded_poses import quintic
from scipy.interpolate import CubicHermiteSpline, CubicSpline, PPoly

from pkm_bringup.control.reference_check import check_knots
from pkm_bringup.control.servo_settings import FEEDFORWARD_MODES

#: m/s or rad/s: slower is the rounding of polynomials at rest, which an exact sign must not see
_STILL = 1e-10
#: checks of the drives between two knots
_BETWEEN = 8


class LegSetpoint(NamedTuple):
    """Positions (m or rad), rates and feed-forward forces (N or N m) of the driven joints at N times, (N, A) each."""

    positions: Array
    rates: Array
    forces: Array


class LegReference:
    """Leg-space form of a platform motion; holds its first and last knot outside its time span.

    The machine is evaluated at the knots only, all in one batch. Between knots, leg positions are quintic Hermite
    polynomials (position, rate and acceleration of the knots) and rigid-body forces cubic splines: both smooth, so
    that a drive that works at 1 kHz sees no steps of the knots' rate. Friction is that of the desired rates, see
    :class:`FrictionFeedforward`.

    Parameters
    ----------
    machine : the machine as the controller believes it to be
    motion : knots, at rest at both ends; ``time`` in s from the start
    start_ns : absolute time of ``motion.time == 0``
    feedforward : one of :data:`FEEDFORWARD_MODES` (Heimann & Abdellatif, "Application to the Hexapod PaLiDA")
    dead_band : m/s or rad/s of a joint, see :class:`FrictionFeedforward`
    from_rest : False for a motion that takes over from a moving machine (braking)

    Raises
    ------
    ReferenceRefusedError
        Unusable knots (not finite, not increasing, not at rest at the ends).
    """

    def __init__(
        self,
        machine: Machine,
        motion: PlatformMotion,
        start_ns: int,
        feedforward: str = 'gravity',
        dead_band: float = 1e-3,
        from_rest: bool = True,
    ) -> None:
        if feedforward not in FEEDFORWARD_MODES:
            raise ValueError(f'feedforward = {feedforward!r}, expected one of {FEEDFORWARD_MODES}')
        check_knots(motion, from_rest)
        self.motion = motion
        self.start_ns = start_ns
        self._first, self._last = float(motion.time[0]), float(motion.time[-1])
        if len(motion) == 1:  # a polynomial needs an interval: one knot stands for a rest
            motion = replace(motion[np.array([0, 0])], time=np.array([self._first, self._first + 1.0]))
        legs = joint_motion(machine, motion)
        drives = machine.drive_columns
        self._friction = None
        if feedforward == 'rigid_body_friction':
            self._friction = FrictionFeedforward(machine, motion, legs, dead_band)
        position, rate, second = legs.positions[:, drives], legs.velocities[:, drives], legs.accelerations[:, drives]
        ends = [part for rows in (slice(-1), slice(1, None)) for part in (position[rows], rate[rows], second[rows])]
        ends.append(np.diff(motion.time)[:, None])
        self._positions = PPoly(quintic(*ends), motion.time)
        self._rates = self._positions.derivative()
        self._forces = CubicSpline(motion.time, _forces(machine, motion, feedforward), axis=0)

    @property
    def end_ns(self) -> int:
        """Absolute time of the last knot, ns."""
        return self.start_ns + round(self._last * 1e9)

    def evaluate(self, times_ns: NDArray[np.int64], lead_ns: int = 0) -> LegSetpoint:
        """Set-points at absolute times (N,) ns; forces are those of ``lead_ns`` later."""
        time = self._clamped(times_ns)
        ahead = self._clamped(times_ns + lead_ns)
        forces = self._forces(ahead)
        if self._friction is not None:
            forces = forces + self._friction.forces(ahead, self._rates(ahead))
        return LegSetpoint(self._positions(time), self._rates(time), forces)

    def between_knots(self) -> tuple[Array, LegSetpoint]:
        """Times (M,) s and set-points (M, A) of the knots and of some times between them."""
        knots = self.motion.time
        inside = knots[:-1, None] + np.diff(knots)[:, None] * np.arange(_BETWEEN) / _BETWEEN
        time = np.append(inside.ravel(), knots[-1])
        return time, self.evaluate(self.start_ns + np.round(time * 1e9).astype(np.int64))

    def _clamped(self, times_ns: NDArray[np.int64]) -> Array:
        return np.clip((times_ns - self.start_ns) * 1e-9, self._first, self._last)


def _forces(machine: Machine, motion: PlatformMotion, feedforward: str) -> Array:
    """Feed-forward forces without friction at the knots, (N, A)."""
    if feedforward == 'gravity':
        return gravity_forces(machine, motion.position, motion.rotation_base_platform)
    if feedforward in ('rigid_body', 'rigid_body_friction'):
        return inverse_dynamics(machine, motion, friction=False)
    return np.zeros((len(motion), machine.actuated_count))


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
