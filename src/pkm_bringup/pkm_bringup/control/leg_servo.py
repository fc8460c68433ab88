"""PD servo on the positions of the driven joints, with feed-forward forces."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import solve_closure
from pkm_description.machine import Machine, PlatformMotion, Pose, ServoGains

from pkm_bringup.control.leg_reference import LegReference, LegSetpoint, check_reference
from pkm_bringup.control.reference_plan import ReferencePlan

#: set-points are evaluated for so many control periods at once
_WINDOW = 256


class LegServo:
    """Follow platform references on leg level; hold home until one starts.

    Force = feed-forward + stiffness * position error + damping * rate error, limited to the drives' effort. The
    force is meant for one control period from now, so the feed-forward is that of the middle of the period.

    Parameters
    ----------
    machine : the machine
    period_ns : control period; times are whole multiples of it apart as a rule (others work, slower)
    feedforward : see :data:`~pkm_bringup.control.leg_reference.FEEDFORWARD_MODES`
    gains : default: the machine file's

    Attributes
    ----------
    saturation_count : (L,) control periods in which a leg's force was cut to its limit
    last_saturation_ns : time of the latest one, None if there was none

    """

    def __init__(
        self,
        machine: Machine,
        period_ns: int,
        feedforward: str = 'gravity',
        gains: ServoGains | None = None,
    ) -> None:
        self._machine = machine
        self._period_ns = period_ns
        self._feedforward = feedforward
        gains = gains or machine.servo
        self._stiffness, self._damping = gains.stiffness, gains.damping
        self._effort_limits = np.array([joint.limits.effort for joint in machine.actuated_joints])
        self._plan = ReferencePlan(machine, self._rest(machine.home))
        self._window: LegSetpoint | None = None
        self._window_start_ns = 0
        self.saturation_count = np.zeros(machine.leg_count, dtype=int)
        self.last_saturation_ns: int | None = None

    def add_reference(self, motion: PlatformMotion, start_ns: int, now_ns: int) -> LegReference:
        """Follow a motion from ``start_ns`` on (0: as soon as possible).

        Raises
        ------
        ReferenceRefusedError
            A limit is broken at a knot, see :func:`check_reference`, or see :class:`LegReference` and
            :meth:`ReferencePlan.add`. What was followed so far goes on.

        """
        check_reference(self._machine, motion)
        reference = LegReference(self._machine, motion, start_ns or now_ns, self._feedforward)
        self._plan.add(reference, now_ns)
        self._window = None
        return reference

    def hold(self, positions: Array) -> Pose:
        """Forget all references and hold the pose of these positions (A,) of the driven joints, m or rad.

        Raises
        ------
        KinematicsError
            The positions belong to no pose of the platform.

        """
        result = solve_closure(self._machine, positions[None]).require()
        pose = Pose(result.position[0], result.rotation_base_platform[0])
        self._plan.hold(self._rest(pose))
        self._window = None
        return pose

    def hold_home(self) -> None:
        """Forget all references and hold the machine's home pose."""
        self._plan.hold(self._rest(self._machine.home))
        self._window = None

    def forces(self, time_ns: int, positions: Array, velocities: Array) -> Array:
        """Leg forces (L,) N for a period from ``time_ns``, from joint positions m and velocities m/s at that time."""
        position, rate, feedforward = self._setpoint(time_ns)
        wanted = (
            feedforward + self._stiffness * (position - positions) + self._damping * (rate - velocities)
        )
        limited = np.minimum(np.maximum(wanted, -self._effort_limits), self._effort_limits)
        cut = limited != wanted
        if cut.any():
            self.saturation_count += cut
            self.last_saturation_ns = time_ns
        return limited

    def _rest(self, pose: Pose) -> LegReference:
        motion = PlatformMotion.at_rest(pose.position, pose.rotation_base_platform)
        return LegReference(self._machine, motion, 0, self._feedforward)

    def _setpoint(self, time_ns: int) -> tuple[Array, Array, Array]:
        index, offset = divmod(time_ns - self._window_start_ns, self._period_ns)
        if self._window is None or offset or not 0 <= index < _WINDOW:
            # windows lie on a fixed grid: values never depend on when a reference arrived
            self._window_start_ns = time_ns - time_ns // self._period_ns % _WINDOW * self._period_ns
            times = self._window_start_ns + self._period_ns * np.arange(_WINDOW, dtype=np.int64)
            self._window = self._plan.evaluate(times, lead_ns=self._period_ns // 2)
            index = (time_ns - self._window_start_ns) // self._period_ns
        window = self._window
        return window.positions[index], window.rates[index], window.forces[index]
