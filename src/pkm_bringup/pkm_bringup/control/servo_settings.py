"""Settings of the leg servo: feed-forward, gains, limits and trip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from pkm_description.machine import Machine, ServoGains
from pkm_description.settings import Settings, setting

#: what a servo may add to its PID force; each contains the one before it
FEEDFORWARD_MODES = ('none', 'gravity', 'rigid_body', 'rigid_body_friction')

#: from where the servo takes the rates of the drives
RATE_SOURCES = ('measured', 'positions')

#: part of a drive's range that its tracking error may take, and its bounds [m, rad]
_RANGE_SHARE, _LARGEST_ERROR = 0.1, {'prismatic': 0.1, 'revolute': 0.35}


@dataclass(frozen=True)
class ServoSettings(Settings):
    """How the servo computes its forces, and when it gives up.

    Prismatic drives count in m and N, revolute ones in rad and N m.
    """

    feedforward: str = setting('gravity', 'feed-forward of the servo', choices=FEEDFORWARD_MODES)
    friction_dead_band: float = setting(
        1e-3, 'desired joint speed [m/s, rad/s] below which friction fades out; 0: exact sign', 0.0, 10.0
    )
    stiffness: float = setting(0.0, "gain of the position error [N/m, N m/rad]; 0: the machine file's", 0.0, 1e12)
    damping: float = setting(0.0, "gain of the rate error [N s/m, N m s/rad]; 0: the machine file's", 0.0, 1e12)
    integral_rate: float = setting(
        0.0, 'integral gain over stiffness, 1 / integral time [1/s]; 0: no integral term', 0.0, 1e3
    )
    rate_source: str = setting('measured', 'rates of the drives', choices=RATE_SOURCES)
    rate_cutoff: float = setting(0.0, 'low-pass filter of the rate error [Hz]; 0: none', 0.0, 1e5)
    force_limits: tuple[str, ...] = setting(
        [], "largest force [N, N m], one for all drives or one for each; empty: the machine file's", commas=True
    )
    tracking_error_limit: float = setting(
        0.0, 'position error [m, rad] that stops the machine; 0: a tenth of the range; negative: no supervision',
        -1.0, 10.0,
    )  # fmt: skip
    trip_delay: float = setting(0.01, 'how long the error must exceed its limit [s]', 0.0, 10.0)
    measurement_timeout: float = setting(
        0.25, 'time without a usable joint state that stops the machine [s]', 1e-3, 1e3
    )
    braking_time: float = setting(
        0.25, 'duration of the braking after a trip [s]; longer if forces ask for it', 0.01, 10.0
    )

    def gains(self, machine: Machine) -> ServoGains:
        """Stiffness and damping, the machine file's where these settings give none."""
        if self.stiffness > 0.0 and self.damping > 0.0:
            return ServoGains(self.stiffness, self.damping)  # also of a machine file without gains
        return ServoGains(self.stiffness or machine.servo.stiffness, self.damping or machine.servo.damping)

    def force_limits_of(self, machine: Machine) -> Array:
        """Largest forces (A,) N or N m: these settings' within the machine file's.

        Raises
        ------
        ConfigurationError
            No number, none above zero, a wrong number of numbers, or one above the machine file's limit.
        """
        allowed = np.array([joint.limits.effort for joint in machine.actuated_joints])
        if not self.force_limits:
            return allowed
        text = ', '.join(self.force_limits)
        try:
            limits = np.array([float(entry) for entry in self.force_limits])
        except ValueError:
            raise ConfigurationError(f'force_limits = {text}: expected numbers, N or N m') from None
        if len(limits) not in (1, len(allowed)):
            raise ConfigurationError(
                f'force_limits = {text}: {len(limits)} numbers; give one, or one for each of {len(allowed)} drives: '
                + ', '.join(machine.actuated_joint_names)
            )
        limits = np.broadcast_to(limits, allowed.shape).copy()
        wrong = ~((limits > 0.0) & (limits <= allowed))
        if wrong.any():
            place = int(np.argmax(wrong))
            raise ConfigurationError(
                f'force_limits = {text}: {machine.actuated_joint_names[place]} needs a number above 0 and at most '
                f'{allowed[place]:g}, the limit in the machine file'
            )
        return limits

    def error_limits_of(self, machine: Machine) -> Array:
        """Position errors (A,) m or rad that stop the machine; infinite without supervision."""
        if self.tracking_error_limit:
            limit = self.tracking_error_limit if self.tracking_error_limit > 0.0 else np.inf
            return np.full(machine.actuated_count, limit)
        shares = [
            min(_RANGE_SHARE * (joint.limits.upper - joint.limits.lower), _LARGEST_ERROR[joint.kind])
            for joint in machine.actuated_joints
        ]
        return np.array(shares)


@dataclass(frozen=True)
class BeliefSettings(Settings):
    """What the servo of a node believes the machine to be."""

    controller_overlay: str = setting(
        '', "overlay of the controller's model, e.g. an identified one; machine_file: none; empty: as overlay"
    )
