"""Settings of the leg servo: feed-forward, gains, limits; and supervision of its tracking errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import mass_matrix
from pkm_description.errors import ConfigurationError
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import reduced_jacobian
from pkm_description.machine import Machine, ServoGains
from pkm_description.settings import Settings, setting
from scipy.linalg import eigvalsh

#: rad, phase that the delay may take at the crossover of the rate loop
_DELAY_PHASE = 0.5
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


def gains_for_delay(machine: Machine, gains: ServoGains, delay: float) -> ServoGains:
    """Lower the gains until a loop with this delay has a sound phase margin in every direction.

    The rate loop's crossover is damping / (smallest mass that the drives feel at home, an eigenvalue of the mass matrix
    in the drives' coordinates). Where delay * crossover exceeds 0.5 rad, damping is lowered by a factor and stiffness
    by its square, which keeps the damping ratio.

    Parameters
    ----------
    gains : as in the machine file, for a loop without delay
    delay : s, from measurement to force, half a hold period included
    """
    if not delay >= 0.0:
        raise ValueError(f'delay = {delay} s, expected zero or more')
    crossover = gains.damping / float(_felt_masses(machine).min())
    factor = min(1.0, _DELAY_PHASE / max(crossover * delay, 1e-12))
    return ServoGains(gains.stiffness * factor**2, gains.damping * factor)


def largest_integral_rate(machine: Machine, gains: ServoGains) -> float:
    """Half the integral rate [1/s] at which a PID loop on the machine at home becomes unstable in some direction.

    Mass m with m s^3 + damping s^2 + stiffness s + stiffness * rate: stable below rate = damping / m (Routh). The
    heaviest direction decides.
    """
    return 0.5 * gains.damping / float(_felt_masses(machine).max())


def _felt_masses(machine: Machine) -> Array:
    """Masses (D,) kg or kg m^2 that the drives feel at home in the principal directions of their motion."""
    home = machine.home
    position, rotation = home.position[None], home.rotation_base_platform[None]
    legs = close_legs(machine, position, rotation)
    drives, admitted = reduced_jacobian(legs)[0], legs.admitted[0]
    mass = admitted.T @ mass_matrix(machine, position, rotation)[0] @ admitted
    # of the admitted motions x: kinetic energy x' M x / 2 over the squares of the drives' rates x' J' J x / 2
    return np.asarray(eigvalsh(mass, drives.T @ drives))


class TrackingSupervision:
    """Says when the position error of a drive has exceeded its limit for too long.

    Parameters
    ----------
    names : of the drives
    limits : (A,) m or rad; infinite: not supervised
    delay_ns : how long an error must exceed its limit; 0 trips at once
    """

    def __init__(self, names: Sequence[str], limits: Array, delay_ns: int) -> None:
        self._names = tuple(names)
        self._limits = limits
        self._delay_ns = delay_ns
        self._since_ns: int | None = None

    def restart(self) -> None:
        """Forget errors so far."""
        self._since_ns = None

    def judge(self, time_ns: int, error: Array) -> str:
        """Reason to stop, from the position errors (A,) at a time; empty while there is none."""
        excess = np.abs(error) / self._limits
        if not (excess > 1.0).any():
            self._since_ns = None
            return ''
        if self._since_ns is None or time_ns < self._since_ns:
            self._since_ns = time_ns
        if time_ns - self._since_ns < self._delay_ns:
            return ''
        worst = int(np.argmax(excess))
        return (
            f'{self._names[worst]}: tracking error {error[worst]:.4g} exceeds {self._limits[worst]:.4g} '
            f'at t = {time_ns * 1e-9:.3f} s'
        )
