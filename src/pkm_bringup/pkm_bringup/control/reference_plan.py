"""References of a servo and their schedule: motions, rests, and stops by braking all drives together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kinematics import forward_kinematics, measured_tolerance
from pkm_description.kinematics.drive_map import motion_from_drives
from pkm_description.machine import Machine, PlatformMotion, Pose
from pkm_description.motion.coordinates import SMOOTH_STEP

from pkm_bringup.control.leg_reference import LegReference, LegSetpoint
from pkm_bringup.control.reference_check import ReferenceRefusedError
from pkm_bringup.control.servo_settings import ServoSettings

#: control periods that are evaluated in one batch
_LENGTH = 256
#: knots of a braking motion
_KNOTS = 16

#: s, in which a drive at the end of its range may stop
_SHORTEST = 0.02

#: factors on the braking time, tried in turn until the forces suffice
_STRETCHES = (1.0, 1.5, 2.0, 3.0, 4.0)
#: m and m/s (rad and rad/s), largest step of a leg's set-point where one reference takes over from another
_POSITION_JUMP, _RATE_JUMP = 1e-3, 1e-2


class ReferencePlan:
    """References by start time. The latest started one is active; its last knot is held until the next begins.

    Parameters
    ----------
    machine : for names and units in messages
    hold : what is held before the first reference starts
    period_ns : control period of :meth:`at`
    """

    def __init__(self, machine: Machine, hold: LegReference, period_ns: int = 1_000_000) -> None:
        self._names = machine.actuated_joint_names
        self._turning = [joint.kind == 'revolute' for joint in machine.actuated_joints]
        self._hold = hold
        self._references: list[LegReference] = []
        self._period_ns, self._window_ns = period_ns, 0
        self._window: LegSetpoint | None = None

    def add(self, reference: LegReference, now_ns: int) -> None:
        """Put a reference into the plan; one with the same start is replaced.

        Raises
        ------
        ReferenceRefusedError
            It starts in the past, or a set-point would jump at a take-over. The plan stays as it was.
        """
        if reference.start_ns < now_ns:
            raise ReferenceRefusedError(
                f'the reference starts at {reference.start_ns * 1e-9:.3f} s, but it is {now_ns * 1e-9:.3f} s already; '
                'stamp it later, or with zero to start at once'
            )
        # what has been overtaken is forgotten, so a plan does not grow for ever
        started = [known for known in self._references if known.start_ns <= now_ns][-1:]
        coming = [
            known for known in self._references if known.start_ns > now_ns and known.start_ns != reference.start_ns
        ]
        planned = sorted([*started, *coming, reference], key=lambda item: item.start_ns)
        for before, after in zip([self._hold, *planned], planned, strict=False):
            if reference in (before, after):
                self._check_take_over(before, after)
        self._references, self._window = planned, None

    def hold(self, hold: LegReference) -> None:
        """Forget all references and hold this one."""
        self._hold, self._references, self._window = hold, [], None

    @property
    def holds_from_ns(self) -> int:
        """End of what is held before the first reference, which may be a motion to rest."""
        return self._hold.end_ns

    def evaluate(self, times_ns: NDArray[np.int64], lead_ns: int = 0) -> LegSetpoint:
        """Set-points at increasing times (N,) ns, see :meth:`LegReference.evaluate`."""
        starts = np.array([reference.start_ns for reference in self._references], dtype=np.int64)
        active = np.searchsorted(starts, times_ns, side='right') - 1
        candidates = [self._hold, *self._references]
        parts = [candidates[i + 1].evaluate(times_ns[active == i], lead_ns) for i in np.unique(active)]
        if len(parts) == 1:
            return parts[0]
        return LegSetpoint(*map(np.concatenate, zip(*parts, strict=True)))

    def at(self, time_ns: int) -> LegSetpoint:
        """Positions, rates and feed-forward forces (A,) of a time, forces of the middle of the period that begins."""
        index, offset = divmod(time_ns - self._window_ns, self._period_ns)
        if self._window is None or offset or not 0 <= index < _LENGTH:
            # windows lie on a fixed grid: values never depend on when a reference arrived
            self._window_ns = time_ns - time_ns // self._period_ns % _LENGTH * self._period_ns
            times = self._window_ns + self._period_ns * np.arange(_LENGTH, dtype=np.int64)
            self._window = self.evaluate(times, lead_ns=self._period_ns // 2)
            index = (time_ns - self._window_ns) // self._period_ns
        return LegSetpoint(*(part[index] for part in self._window))

    def _check_take_over(self, before: LegReference, after: LegReference) -> None:
        at = np.array([after.start_ns], dtype=np.int64)
        old, new = before.evaluate(at), after.evaluate(at)
        for name, per, bound in (('positions', '', _POSITION_JUMP), ('rates', '/s', _RATE_JUMP)):
            jump = (getattr(new, name) - getattr(old, name))[0]
            worst = int(np.argmax(np.abs(jump)))
            if abs(jump[worst]) > bound:
                unit = ('rad' if self._turning[worst] else 'm') + per
                raise ReferenceRefusedError(
                    f'{self._names[worst]}: the set-point would jump by {jump[worst]:.4f} {unit} at '
                    f't = {after.start_ns * 1e-9:.3f} s; begin the reference where the one before it is then'
                )


class ReferenceMaker:
    """Makes the references of a servo.

    Parameters
    ----------
    machine : the machine as the controller believes it to be
    settings : feed-forward, limits, braking time
    """

    def __init__(self, machine: Machine, settings: ServoSettings) -> None:
        self._machine = machine
        self._settings = settings
        self._force_limits = settings.force_limits_of(machine)
        # a stop carries the weight also if the motion's feed-forward does not
        self._stopping = 'gravity' if settings.feedforward == 'none' else settings.feedforward

    def motion(
        self, motion: PlatformMotion, start_ns: int, feedforward: str = '', from_rest: bool = True
    ) -> LegReference:
        """Reference of a motion; raises as :class:`LegReference`."""
        settings = self._settings
        return LegReference(
            self._machine, motion, start_ns, feedforward or settings.feedforward, settings.friction_dead_band, from_rest
        )

    def rest(self, pose: Pose, stopped: bool = False) -> LegReference:
        """Hold a pose, on request after a stop."""
        motion = PlatformMotion.at_rest(pose.position, pose.rotation_base_platform)
        return self.motion(motion, 0, self._stopping if stopped else '')

    def braking(self, start_ns: int, positions: Array, rates: Array) -> LegReference:
        """Reference that takes the drives from positions and rates (A,) to rest.

        All rates fade out in the same time with the C3 step, so that the platform goes on along its path at first and
        needs half the braking time times its speed. The time is stretched (up to four times) until the feed-forward
        forces keep the limits; if they never do, the shortest one stands and the forces are cut. Drives that would
        leave their range stop at its end.

        Raises
        ------
        KinematicsError
            The positions belong to no regular pose of the platform.
        """
        references = []
        for stretch in _STRETCHES:
            motion = _braking_motion(self._machine, positions, rates, stretch * self._settings.braking_time)
            references.append(self.motion(motion, start_ns, self._stopping, from_rest=False))
            if (np.abs(references[-1].between_knots()[1].forces) <= self._force_limits).all():
                return references[-1]
        return references[0]

    def pose(self, positions: Array) -> Pose:
        """Pose of the platform at drive positions (A,).

        Raises
        ------
        KinematicsError
            They belong to none.
        """
        result = forward_kinematics(
            self._machine, positions[None], tolerance=measured_tolerance(self._machine)
        ).require()
        return Pose(result.position[0], result.rotation_base_platform[0])


def _braking_motion(machine: Machine, positions: Array, rates: Array, duration: float) -> PlatformMotion:
    lower, upper = np.array([(joint.limits.lower, joint.limits.upper) for joint in machine.actuated_joints]).T
    room = np.maximum(np.where(rates > 0.0, upper - positions, positions - lower), 0.0)
    # a drive that fades out in T covers half of rate * T
    with np.errstate(divide='ignore', invalid='ignore'):
        durations = np.where(rates == 0.0, duration, np.minimum(duration, 2.0 * room / np.abs(rates)))
    durations = np.maximum(durations, _SHORTEST)
    time = np.linspace(0.0, duration, _KNOTS)
    phase = np.clip(time[:, None] / durations, 0.0, 1.0)
    way, fall, slope = SMOOTH_STEP.integ()(phase), SMOOTH_STEP(phase), SMOOTH_STEP.deriv()(phase)
    return motion_from_drives(
        machine,
        time,
        positions + rates * durations * (phase - way),
        rates * (1.0 - fall),
        -rates * slope / durations,
    )
