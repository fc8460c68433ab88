"""PID controllers of the drives' positions with a force interface, and commanded forces with a timeout."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.machine import ServoGains

#: periods after which a gap between two samples is a new start for differences and integrals
_GAP = 5.0


class AxisControllers:
    """Force = feed-forward + stiffness * error + integral + damping * rate error, limited; drive by drive.

    Integral term: ``d/dt integral = stiffness * integral_rate * error``. Anti-windup by clamping (conditional
    integration): while a drive's force is at its limit, errors that would push it further into the limit are not
    integrated; the integral itself never exceeds the force limit. So a drive leaves its limit as soon as its error
    changes sign.

    Rate error: desired minus measured rate, or the difference quotient of the position error (drivers without
    velocities), then on request a first-order low-pass filter. The filter is applied to the *error*: filtering the
    measurement alone would delay it against the desired rate.

    Parameters
    ----------
    gains : stiffness N/m and damping N s/m (N m/rad and N m s/rad of revolute drives)
    integral_rate : 1/s, 0 without integral term
    force_limits : (A,) N or N m
    period : s, nominal distance of two samples
    from_positions : take the rate error from the position error
    cutoff : Hz of the low-pass filter, 0 without

    Attributes
    ----------
    integral : (A,) N or N m
    cut : (A,) drives whose force was cut to its limit in the last step
    """

    def __init__(
        self,
        gains: ServoGains,
        force_limits: Array,
        period: float,
        integral_rate: float = 0.0,
        from_positions: bool = False,
        cutoff: float = 0.0,
    ) -> None:
        self.gains = gains
        self.force_limits = force_limits
        self._period = period
        self._integral_gain = integral_rate * gains.stiffness
        self._from_positions = from_positions
        self._cutoff = cutoff
        self.integral = np.zeros_like(force_limits)
        self.cut: NDArray[np.bool_] = np.zeros(force_limits.shape, dtype=bool)
        self.restart()

    def restart(self) -> None:
        """Forget the last error and the filter's state; the integral, which carries loads, stays."""
        self._last_ns: int | None = None
        self._last_error = np.zeros_like(self.force_limits)
        self._filtered: Array | None = None

    def forces(self, time_ns: int, feedforward: Array, error: Array, rate_error: Array) -> Array:
        """Forces (A,) from feed-forward, position error and rate error (A,) at a time; see the class."""
        step = self._step(time_ns)
        rate_error = self._rate_error(step, error, rate_error)
        wanted = feedforward + self.gains.stiffness * error + self.gains.damping * rate_error
        if self._integral_gain:
            self._integrate(step, wanted, error)
            wanted = wanted + self.integral
        limited = self.limited(wanted)
        self.cut = limited != wanted
        return limited

    def limited(self, forces: Array) -> Array:
        """Forces (A,) within the limits."""
        return np.minimum(np.maximum(forces, -self.force_limits), self.force_limits)

    def _step(self, time_ns: int) -> float:
        """Time since the last sample, s; 0 for the first one, and after a gap."""
        last, self._last_ns = self._last_ns, time_ns
        step = 0.0 if last is None else (time_ns - last) * 1e-9
        return step if 0.0 < step < _GAP * self._period else 0.0

    def _rate_error(self, step: float, error: Array, rate_error: Array) -> Array:
        if self._from_positions:
            rate_error = (error - self._last_error) / step if step else np.zeros_like(error)
            self._last_error = error
        if not self._cutoff:
            return rate_error
        if self._filtered is None or not step:
            self._filtered = rate_error
        share = 1.0 - np.exp(-2.0 * np.pi * self._cutoff * step)  # exact for errors constant during a step
        self._filtered = self._filtered + share * (rate_error - self._filtered)
        return self._filtered

    def _integrate(self, step: float, wanted: Array, error: Array) -> None:
        change = self._integral_gain * step * error
        total = wanted + self.integral
        deeper = (np.abs(total) >= self.force_limits) & (total * change > 0.0)
        self.integral = self.limited(self.integral + np.where(deeper, 0.0, change))


class CommandError(PkmError):
    """A command that cannot be used; the last good one stays in force."""


class EffortCommands:
    """Zero-order hold of commanded leg forces with a time-out.

    Parameters
    ----------
    joint_names : of the actuated joints, in the order of a command
    timeout_ns : a command older than this no longer counts
    """

    def __init__(self, joint_names: Sequence[str], timeout_ns: int) -> None:
        self._names = tuple(joint_names)
        self._timeout_ns = timeout_ns
        self._forces: Array | None = None
        self._received_ns = 0

    def receive(self, forces: Sequence[float], now_ns: int) -> None:
        """Take a command (A,) N that arrived now.

        Raises
        ------
        CommandError
            Wrong number of forces, or one that is not finite.
        """
        values = np.array(forces, dtype=float)
        if values.shape != (len(self._names),):
            raise CommandError(
                f'command has {values.size} forces, expected {len(self._names)}: {", ".join(self._names)}'
            )
        bad = ~np.isfinite(values)
        if bad.any():
            place = int(np.argmax(bad))
            raise CommandError(f'command for {self._names[place]} is {values[place]}, expected a finite force in N')
        self._forces, self._received_ns = values, now_ns

    def forces(self, now_ns: int) -> Array | None:
        """Forces (A,) N that count now, None before the first command and after a time-out."""
        if self._forces is not None and now_ns - self._received_ns > self._timeout_ns:
            self._forces = None
        return self._forces
