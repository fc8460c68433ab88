"""A platform motion as positions, velocities and feed-forward forces of the drives, evaluated at any time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.errors import PkmError
from pkm_description.kinematics import JointMotion, joint_motion
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.limits import check_motion, worst_violation
from scipy.interpolate import CubicSpline, PPoly

#: what a servo may add to its PD force
FEEDFORWARD_MODES = ('none', 'gravity', 'inverse_dynamics')

#: m/s, below this reference rate the Coulomb feed-forward fades out instead of jumping
_COULOMB_FADE = 1e-3


class ReferenceRefusedError(PkmError):
    """A reference motion that the machine cannot or must not follow."""


@dataclass(frozen=True)
class LegSetpoint:
    """Positions (m or rad), rates and feed-forward forces (N or N m) of the driven joints at N times, (N, A) each."""

    positions: Array
    rates: Array
    forces: Array


class LegReference:
    """Leg-space form of a platform motion; holds its first and last knot outside its time span.

    The machine is evaluated at the knots only, all in one batch. Between knots, leg positions are quintic Hermite
    polynomials (position, rate and acceleration of the knots) and rigid-body forces cubic splines: both smooth, so
    that a drive that works at 1 kHz sees no steps of the knots' rate.

    Parameters
    ----------
    machine : the machine
    motion : knots, at rest at both ends; ``time`` in s from the start
    start_ns : absolute time of ``motion.time == 0``
    feedforward : one of :data:`FEEDFORWARD_MODES`; ``inverse_dynamics`` includes friction of the desired motion

    Raises
    ------
    ReferenceRefusedError
        Unusable knots (not finite, not increasing, not at rest at the ends).

    """

    def __init__(
        self, machine: Machine, motion: PlatformMotion, start_ns: int, feedforward: str = 'gravity'
    ) -> None:
        if feedforward not in FEEDFORWARD_MODES:
            raise ValueError(f'feedforward = {feedforward!r}, expected one of {FEEDFORWARD_MODES}')
        _check_knots(motion)
        self.motion = motion
        self.start_ns = start_ns
        self._first, self._last = float(motion.time[0]), float(motion.time[-1])
        if len(motion) == 1:  # a polynomial needs an interval: one knot stands for a rest
            motion = PlatformMotion(
                np.array([self._first, self._first + 1.0]),
                *(np.repeat(getattr(motion, name), 2, axis=0) for name in list(motion.__dataclass_fields__)[1:]),
            )
        legs = joint_motion(machine, motion)
        drive = machine.actuated_index
        self._viscous, self._coulomb = machine.viscous[:, drive], machine.coulomb[:, drive]
        self._friction = feedforward == 'inverse_dynamics'
        self._positions = _quintic(
            motion.time,
            legs.positions[:, :, drive],
            legs.velocities[:, :, drive],
            legs.accelerations[:, :, drive],
        )
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
        if self._friction:
            rates = self._rates(ahead)
            forces = forces + self._viscous * rates + self._coulomb * np.tanh(rates / _COULOMB_FADE)
        return LegSetpoint(self._positions(time), self._rates(time), forces)

    def _clamped(self, times_ns: NDArray[np.int64]) -> Array:
        return np.clip((times_ns - self.start_ns) * 1e-9, self._first, self._last)


def check_reference(machine: Machine, motion: PlatformMotion) -> JointMotion:
    """Check a motion against all limits: strokes, passive joints, ball joints, speeds and drive forces.

    Parameters
    ----------
    machine : the machine
    motion : as dense as the limits matter

    Returns
    -------
    JointMotion
        The joint motion that was checked.

    Raises
    ------
    ReferenceRefusedError
        Names the joint, the limit and the time of the worst excess.

    """
    _check_knots(motion)
    violations = check_motion(machine, motion)
    if violations:
        worst = worst_violation(violations)
        raise ReferenceRefusedError(f'{worst} at t = {worst.time:.3f} s; reduce amplitude or frequency')
    return joint_motion(machine, motion)


def _check_knots(motion: PlatformMotion) -> None:
    if len(motion) == 0:
        raise ReferenceRefusedError('the reference has no points')
    for name in motion.__dataclass_fields__:
        values = getattr(motion, name)
        bad = ~np.isfinite(values.reshape(len(motion), -1)).all(axis=1)
        if bad.any():
            raise ReferenceRefusedError(f'point {int(np.argmax(bad))} of the reference: {name} is not finite')
    steps = np.diff(motion.time)
    if (steps <= 0.0).any():
        raise ReferenceRefusedError(
            f'point {int(np.argmax(steps <= 0.0)) + 1} of the reference is not later than the one before it'
        )
    for place, where in ((0, 'first'), (-1, 'last')):
        speed = float(np.abs(motion.twist[place]).max())
        if speed > 1e-3:
            raise ReferenceRefusedError(
                f'the {where} point of the reference moves ({speed:.4f} m/s or rad/s); references begin and end at rest'
            )


def _forces(machine: Machine, motion: PlatformMotion, feedforward: str) -> Array:
    """Feed-forward forces without friction at the knots, (N, L)."""
    if feedforward == 'gravity':
        return gravity_forces(machine, motion.position, motion.rotation_base_platform)
    if feedforward == 'inverse_dynamics':
        return inverse_dynamics(machine, motion, friction=False)
    return np.zeros((len(motion), machine.leg_count))


def _quintic(time: Array, value: Array, rate: Array, acceleration: Array) -> PPoly:
    """Piecewise quintic (time (N,), values (N, L)) with given first and second derivatives at the knots."""
    h = np.diff(time)[:, None]
    v0, v1 = rate[:-1] * h, rate[1:] * h
    a0, a1 = acceleration[:-1] * h**2, acceleration[1:] * h**2
    step = value[1:] - value[:-1]
    coefficients = np.stack(
        [
            6.0 * step - 3.0 * (v0 + v1) + 0.5 * (a1 - a0),
            -15.0 * step + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1,
            10.0 * step - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1,
            0.5 * a0,
            v0,
            value[:-1],
        ]
    )
    return PPoly(coefficients / h ** np.arange(5, -1, -1)[:, None, None], time)
