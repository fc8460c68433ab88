"""References of a servo: motions, rests and stops, with its feed-forward."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kinematics import forward_kinematics, measured_tolerance
from pkm_description.machine import Machine, PlatformMotion, Pose

from pkm_bringup.control.braking import braking_reference
from pkm_bringup.control.leg_reference import LegReference
from pkm_bringup.control.servo_settings import ServoSettings


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

    def motion(self, motion: PlatformMotion, start_ns: int, feedforward: str = '') -> LegReference:
        """Reference of a motion; raises as :class:`LegReference`."""
        settings = self._settings
        return LegReference(
            self._machine, motion, start_ns, feedforward or settings.feedforward, settings.friction_dead_band
        )

    def rest(self, pose: Pose) -> LegReference:
        """Hold a pose."""
        return self.motion(PlatformMotion.at_rest(pose.position, pose.rotation_base_platform), 0)

    def stopped(self, pose: Pose) -> LegReference:
        """Hold a pose after a stop."""
        return self.motion(PlatformMotion.at_rest(pose.position, pose.rotation_base_platform), 0, self._stopping)

    def braking(self, start_ns: int, positions: Array, rates: Array) -> LegReference:
        """Brake all drives from positions and rates (A,) to rest; raises as :func:`braking_reference`."""
        settings = self._settings
        return braking_reference(
            self._machine, start_ns, positions, rates, self._force_limits, settings.braking_time, self._stopping,
            settings.friction_dead_band,
        )  # fmt: skip

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
