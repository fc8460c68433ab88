"""Servo on the positions of the driven joints: PID, feed-forward, supervision and safe stop."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError, KinematicsError
from pkm_description.machine import Machine, PlatformMotion, Pose, ServoGains

from pkm_bringup.control.axis_controllers import AxisControllers
from pkm_bringup.control.leg_reference import LegReference
from pkm_bringup.control.reference_check import ReferenceRefusedError, check_drives, check_reference
from pkm_bringup.control.reference_plan import ReferenceMaker, ReferencePlan
from pkm_bringup.control.servo_settings import ServoSettings, TrackingSupervision, largest_integral_rate

#: part of a drive's speed limit up to which it counts as standing
_STANDING = 0.05

#: m/s or rad/s, speed limit of drives without one, for the line above
_NO_SPEED_LIMIT = 1.0


class ServoState(Enum):
    """All but the first follow a trip and end with :meth:`LegServo.reset`."""

    FOLLOWING = 'following'
    BRAKING = 'braking'
    HOLDING = 'holding'
    #: the position loop failed while braking or holding: weight and damping only
    DAMPED = 'damped'
    #: damping made the machine faster (a wrong sign, a broken sensor): no force
    RELEASED = 'released'


class TrippedError(ReferenceRefusedError):
    """The servo has stopped the machine and takes no motion until it is reset."""


class LegServo:
    """Follow platform references on leg level; hold home until one starts.

    Force = feed-forward + PID of the drive positions (:class:`AxisControllers`), limited. The force is meant for one
    control period from now, so the feed-forward is that of the middle of the period.

    A tracking error above its limit, forces that are no numbers, or joint states that no longer come stop the machine
    (R4-08): from its measured motion it brakes to rest and holds there, with the same loop and the same force limits.
    If that fails, too, it is damped, and if damping drives it, released (:class:`ServoState`). Without joint states it
    brakes by feed-forward alone. References are refused until :meth:`reset`.

    Parameters
    ----------
    machine : what the controller believes the machine to be: a machine file, or one with an identified overlay
    period_ns : control period; times are whole multiples of it apart as a rule (others work, slower)
    settings : feed-forward, gains, limits, trip
    gains : in place of the settings', e.g. of :func:`gains_for_delay`

    Attributes
    ----------
    state : what it does
    trip_reason : why it stopped; empty if it did not
    tracking_error : (A,) desired minus measured positions at the last sample
    saturation_count : (A,) control periods in which a drive's force was cut to its limit

    Raises
    ------
    ConfigurationError
        Settings that do not fit the machine.
    """

    def __init__(
        self,
        machine: Machine,
        period_ns: int,
        settings: ServoSettings | None = None,
        gains: ServoGains | None = None,
    ) -> None:
        self._machine = machine
        self.settings = settings = settings or ServoSettings()
        gains = gains or settings.gains(machine)
        if settings.integral_rate:
            largest = largest_integral_rate(machine, gains)
            if settings.integral_rate > largest:
                raise ConfigurationError(
                    f'integral_rate = {settings.integral_rate:g} 1/s: the loop would be unstable; '
                    f'at most {largest:.3g} 1/s with these gains'
                )
        self._axes = AxisControllers(
            gains,
            settings.force_limits_of(machine),
            period_ns * 1e-9,
            settings.integral_rate,
            settings.rate_source == 'positions',
            settings.rate_cutoff,
        )
        self._supervision = TrackingSupervision(
            machine.actuated_joint_names, settings.error_limits_of(machine), round(settings.trip_delay * 1e9)
        )
        speeds = np.array([joint.limits.velocity for joint in machine.actuated_joints])
        self._standing = _STANDING * np.where(np.isfinite(speeds), speeds, _NO_SPEED_LIMIT)
        self._make = ReferenceMaker(machine, settings)
        self._plan = ReferencePlan(machine, self._make.rest(machine.home), period_ns)
        self._brakes_until_ns = 0
        self._fastest = self._standing
        self._last: tuple[int, Array, Array] | None = None
        self._blind = False
        self.state = ServoState.FOLLOWING
        self.trip_reason = ''
        self.tracking_error = np.zeros(machine.actuated_count)
        self.saturation_count = np.zeros(machine.actuated_count, dtype=int)

    # -- what is followed ----------------------------------------------------------------------------------------------

    def add_reference(self, motion: PlatformMotion, start_ns: int, now_ns: int) -> LegReference:
        """Follow a motion from ``start_ns`` on (0: as soon as possible).

        Raises
        ------
        ReferenceRefusedError
            A limit is broken, at a knot (:func:`check_reference`) or between knots, or see :class:`LegReference` and
            :meth:`ReferencePlan.add`. What was followed so far goes on.
        TrippedError
            The servo has stopped the machine.
        """
        if self.trip_reason:
            raise TrippedError(f'stopped: {self.trip_reason}; remove the cause, then reset')
        check_reference(self._machine, motion)
        reference = self._make.motion(motion, start_ns or now_ns)
        time, setpoint = reference.between_knots()
        check_drives(self._machine, time, setpoint.positions, setpoint.rates)
        self._plan.add(reference, now_ns)
        return reference

    def hold(self, positions: Array) -> Pose:
        """Forget all references and hold the pose of these positions (A,) of the driven joints, m or rad.

        Raises
        ------
        KinematicsError
            The positions belong to no pose of the platform.
        """
        pose = self._make.pose(positions)
        self._follow(self._make.rest(pose))
        return pose

    def hold_home(self) -> None:
        """Forget all references and hold the machine's home pose."""
        self._follow(self._make.rest(self._machine.home))

    # -- forces --------------------------------------------------------------------------------------------------------

    def forces(self, time_ns: int, positions: Array, velocities: Array | None) -> Array:
        """Drive forces (A,) N or N m for a period from ``time_ns``.

        Parameters
        ----------
        time_ns : now
        positions, velocities : (A,) measured now, m and m/s (rad and rad/s); None for ``rate_source: positions``.
            Numbers that are not finite count as no measurement, see :meth:`forces_without_measurement`.
        """
        rates = np.zeros_like(positions) if velocities is None else velocities
        if not (np.isfinite(positions).all() and np.isfinite(rates).all()):
            return self.forces_without_measurement(time_ns)
        if velocities is None and self._last is not None and time_ns > self._last[0]:
            rates = (positions - self._last[1]) / ((time_ns - self._last[0]) * 1e-9)
        self._last = time_ns, positions, rates
        if self._blind:  # the machine is seen again: stop it from where it is
            self._blind = False
            self._brake(time_ns, positions, rates)
        position, rate, feedforward = self._plan.at(time_ns)
        self.tracking_error = error = position - positions
        self._judge(time_ns, error, positions, rates)
        if self.state in (ServoState.DAMPED, ServoState.RELEASED):
            return self._emergency_forces(feedforward, rates)
        if self.state is ServoState.BRAKING:
            position, rate, feedforward = self._plan.at(time_ns)
            error = position - positions
            if time_ns >= self._brakes_until_ns:
                self.state = ServoState.HOLDING
        forces = self._axes.forces(time_ns, feedforward, error, rate - rates)
        if not np.isfinite(forces).all():
            self.trip_reason = self.trip_reason or f'the computed forces {forces} are not finite'
            self._damp(time_ns, positions, rates)
            return self._emergency_forces(feedforward, rates)
        self.saturation_count += self._axes.cut
        return forces

    def forces_without_measurement(self, time_ns: int) -> Array:
        """Drive forces (A,) while no usable joint states come: feed-forward and the integral so far.

        After ``measurement_timeout`` the machine is braked this way; it is braked anew from where it is when joint
        states come again.
        """
        since_ns = time_ns if self._last is None else self._last[0]
        if not self._blind and time_ns - since_ns > self.settings.measurement_timeout * 1e9:
            self._blind = True
            position, rate, _ = self._plan.at(time_ns)
            reason = f'no usable joint states for {(time_ns - since_ns) * 1e-9:.2f} s'
            self._trip(time_ns, reason, position, rate)
        if self.state in (ServoState.DAMPED, ServoState.RELEASED):
            return np.zeros(self._machine.actuated_count)
        if self.state is ServoState.BRAKING and time_ns >= self._brakes_until_ns:
            self.state = ServoState.HOLDING
        return self._axes.limited(np.nan_to_num(self._plan.at(time_ns)[2]) + self._axes.integral)

    # -- trip ----------------------------------------------------------------------------------------------------------

    def trip(self, reason: str, time_ns: int) -> None:
        """Stop the machine from outside, e.g. for an operator's stop: brake to rest and hold.

        A stop that is under way, or has failed and gone over to damping or no force, goes on as it is.

        Parameters
        ----------
        reason : for messages
        time_ns : now
        """
        if self.trip_reason:
            return
        if self._last is None:
            position, rate, _ = self._plan.at(time_ns)
        else:
            _, position, rate = self._last
        self._trip(time_ns, reason, position, rate)

    def reset(self) -> None:
        """End a stop and hold the present pose; references are taken again.

        Raises
        ------
        TrippedError
            The machine still moves, or nothing was measured since.
        KinematicsError
            The drive positions belong to no pose of the platform.
        """
        if self._blind or self._last is None:
            raise TrippedError(f'stopped: {self.trip_reason}; there are no joint states yet')
        _, positions, rates = self._last
        moving = np.abs(rates) > self._standing
        if moving.any():
            place = int(np.argmax(moving))
            raise TrippedError(
                f'{self._machine.actuated_joint_names[place]} still moves at {rates[place]:.3g}; wait for its rest'
            )
        self.hold(positions)
        self.state, self.trip_reason = ServoState.FOLLOWING, ''
        self._axes.integral = np.zeros_like(self._axes.integral)

    def _judge(self, time_ns: int, error: Array, positions: Array, rates: Array) -> None:
        """Trip, or go one step further if the stop itself fails."""
        if self.state is ServoState.DAMPED:
            if (np.abs(rates) > self._fastest).any():
                self.state = ServoState.RELEASED
            return
        reason = self._supervision.judge(time_ns, error)
        if not reason or self.state is ServoState.RELEASED:
            return
        if self.state is ServoState.FOLLOWING:
            self._trip(time_ns, reason, positions, rates)
        else:
            self._damp(time_ns, positions, rates)

    def _trip(self, time_ns: int, reason: str, positions: Array, rates: Array) -> None:
        self.trip_reason = self.trip_reason or reason
        self._brake(time_ns, positions, rates)

    def _brake(self, time_ns: int, positions: Array, rates: Array) -> None:
        if self.state in (ServoState.DAMPED, ServoState.RELEASED):
            return  # the position loop has failed: only a reset may close it again
        if not self._stop_with(partial(self._make.braking, time_ns), time_ns, positions, rates):
            self._damp(time_ns, positions, rates)
            return
        self.state = ServoState.BRAKING
        self._brakes_until_ns = self._plan.holds_from_ns

    def _damp(self, time_ns: int, positions: Array, rates: Array) -> None:
        self._fastest = np.maximum(2.0 * np.abs(rates), 2.0 * self._standing)
        known = self._stop_with(
            lambda drives, _: self._make.rest(self._make.pose(drives), stopped=True), time_ns, positions, rates
        )
        self.state = ServoState.DAMPED if known else ServoState.RELEASED

    def _stop_with(
        self, reference: Callable[[Array, Array], LegReference], time_ns: int, positions: Array, rates: Array
    ) -> bool:
        """Follow a reference from the measured motion; from the desired one if that belongs to no pose."""
        position, rate, _ = self._plan.at(time_ns)
        for start in ((positions, rates), (position, rate)):
            try:
                self._follow(reference(*start))
            except KinematicsError:
                continue
            return True
        return False

    def _emergency_forces(self, feedforward: Array, rates: Array) -> Array:
        if self.state is ServoState.RELEASED:
            return np.zeros_like(rates)
        return self._axes.limited(np.nan_to_num(feedforward) - self._axes.gains.damping * rates)

    # -- set-points ----------------------------------------------------------------------------------------------------

    def _follow(self, reference: LegReference) -> None:
        """Follow this reference from now on, and forget all others."""
        self._plan.hold(reference)
        self._axes.restart()
        self._supervision.restart()
