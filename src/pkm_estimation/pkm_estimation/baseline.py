"""Pose by Gauss-Newton, velocity by differentiation, without IMU (Miletovic et al. 2017, sections 2 and 5.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.pose_solver import FoundPose, PoseSolver
from pkm_description.kinematics.rotation import cross, quaternion_from_matrix, rotated, skew
from pkm_description.machine import Machine, Pose

from pkm_estimation.kernels.steps import RATE, differentiate
from pkm_estimation.models.leg_model import measured_at_zero

#: of the Gauss-Newton iteration (Eq. 5): m, and steps
_TOLERANCE, _MAX_ITERATIONS = 1e-9, 10


@dataclass(frozen=True)
class BaselineEstimate:
    """Estimate of the baseline for one sample, or for N samples along a leading axis.

    Attributes
    ----------
    position : (3,) m, origin of ``platform_link`` (or another point) in ``base_link``
    rotation_base_platform : (3, 3)
    orientation : (4,) quaternion xyzw
    velocity : (3,) m/s, platform axes, differentiated position (Eq. 28)
    jacobian_velocity : (3,) m/s, platform axes, by the Jacobian from differentiated lengths (not from the paper)
    angular_velocity : (3,) rad/s, platform axes, through the Jacobian (the paper gives none)
    pose_covariance : (6, 6), the length noise mapped to position and rotation about base axes
    iterations : () Gauss-Newton steps
    """

    position: Array
    rotation_base_platform: Array
    orientation: Array
    velocity: Array
    jacobian_velocity: Array
    angular_velocity: Array
    pose_covariance: Array
    iterations: NDArray[np.intp]

    @classmethod
    def of(cls, found: FoundPose, rates: Array, length_covariance: Array) -> BaselineEstimate:
        """Put together from poses and the filtered rates (3 + L,) of position and lengths."""
        rotation, inverse = found.rotation, found.inverse_jacobian
        to_platform = np.swapaxes(rotation, -1, -2)
        twist = rotated(inverse, rates[..., 3:])
        return cls(
            found.position,
            rotation,
            quaternion_from_matrix(rotation),
            rotated(to_platform, rates[..., :3]),
            rotated(to_platform, twist[..., :3]),
            rotated(to_platform, twist[..., 3:]),
            inverse @ length_covariance @ np.swapaxes(inverse, -1, -2),
            found.iterations,
        )

    def at_point(self, point: Array) -> BaselineEstimate:
        """The same for another point (3,) of the platform, in ``platform_link``, instead of its origin."""
        arm = self.rotation_base_platform @ point
        turning = cross(self.angular_velocity, point)
        jacobian = np.array(np.broadcast_to(np.eye(6), self.pose_covariance.shape))
        jacobian[..., :3, 3:] = -skew(arm)
        return replace(
            self,
            position=self.position + arm,
            velocity=self.velocity + turning,
            jacobian_velocity=self.jacobian_velocity + turning,
            pose_covariance=jacobian @ self.pose_covariance @ np.swapaxes(jacobian, -1, -2),
        )


class KinematicEstimator:
    """Baseline, sample by sample with a warm start from the last pose, or over a recording at once.

    Parameters
    ----------
    machine : the machine
    length_covariance : (L, L) m^2
    time_constant, damping : of the differentiator

    Attributes
    ----------
    differentiate : of positions and lengths; remembers, too
    """

    def __init__(
        self,
        machine: Machine,
        length_covariance: Array,
        time_constant: float = 0.04,
        damping: float = 2.0**0.5,
    ) -> None:
        self.machine = machine
        self.length_covariance = length_covariance
        self.differentiate = ButterworthDifferentiator(time_constant, damping)
        self._solver = PoseSolver(machine, _TOLERANCE, _MAX_ITERATIONS)
        self._at_zero = measured_at_zero(machine)
        self._last: FoundPose | None = None

    def reset(self) -> None:
        """Restart from home, at rest, with the next sample."""
        self._last = None
        self.differentiate.reset()

    def pose(self, drive_positions: Array) -> tuple[Pose, int]:
        """Solve one set of drive positions (L,) from home, whatever this object remembers; also the iterations.

        Raises
        ------
        KinematicsError
            No convergence, singular pose or wrong assembly mode.
        """
        found = self._solver.search(drive_positions, None)
        return Pose(found.position[0], found.rotation_base_platform[0]), int(found.iterations[0])

    def estimate(self, drive_positions: Array, interval: float) -> BaselineEstimate:
        """Estimate from positions (L,) measured ``interval`` seconds after the last ones; raises like :meth:`pose`."""
        lengths = drive_positions + self._at_zero
        self._last = self._solver.solve(drive_positions, self._last)
        rates = self.differentiate.advance(np.concatenate([self._last.position, lengths]), interval)
        return BaselineEstimate.of(self._last, rates, self.length_covariance)

    def series(
        self, drive_positions: Array, intervals: Array, begins: NDArray[np.bool_]
    ) -> tuple[BaselineEstimate, NDArray[np.intp], dict[int, KinematicsError]]:
        """What repeated calls of :meth:`estimate` give for N samples, whatever this object remembers, in batch.

        A sample without a pose is left out, and the next one is a beginning.

        Parameters
        ----------
        drive_positions : (N, L) m or rad
        intervals : (N,) s, from the sample before
        begins : (N,), True where :meth:`reset` comes before the sample

        Returns
        -------
        Estimates of M of the samples, their places (M,), and what was wrong with the others, by place
        """
        lengths = drive_positions + self._at_zero
        found, begins, errors = self._solver.series(drive_positions, begins)
        good = np.ones(len(lengths), dtype=bool)
        good[list(errors)] = False
        found = found.at(good)
        signals = np.concatenate([found.position, lengths[good]], axis=1)
        rates = self.differentiate.series(signals, intervals[good], begins[good])
        return BaselineEstimate.of(found, rates, self.length_covariance), np.flatnonzero(good), errors


class ButterworthDifferentiator:
    """``B2(s) = s / (tau^2 s^2 + damping tau s + 1)``, discretised by the bilinear rule.

    Written as a state equation (smoothed signal and its rate), so that every sample may have its own interval; with
    a constant interval it is the bilinear transfer function, see :meth:`coefficients`.

    Parameters
    ----------
    time_constant : s; the default is the paper's tau_d, a cut-off of 25 rad/s (the "25 Hz" in print is a slip)
    damping : sqrt(2) makes it a Butterworth filter
    """

    def __init__(self, time_constant: float = 0.04, damping: float = sqrt(2.0)) -> None:
        if not (time_constant > 0.0 and damping > 0.0):
            raise ValueError(f'time_constant = {time_constant} and damping = {damping} must be positive')
        self.time_constant, self.damping = time_constant, damping
        self.stiffness, self.drag = 1.0 / time_constant**2, damping / time_constant
        #: see the kernel; replaced, never written into: a shallow copy of this object remembers it
        self.memory: Array | None = None

    @property
    def lag(self) -> float:
        """Delay [s] of slow signals (group delay at frequency zero)."""
        return self.damping * self.time_constant

    def noise_gain(self, interval: float) -> float:
        """Variance [1/s^2] of the output per variance of white noise in samples that are ``interval`` s apart.

        Sum of the squared impulse response of a second-order section (Jury 1964, Table III), which for this numerator
        comes down to two coefficients.
        """
        b0, _, a2 = self._section(2.0 / interval)
        return 2.0 * b0 * b0 / (1.0 - a2)

    def reset(self) -> None:
        """Forget the past; the next sample is taken as at rest."""
        self.memory = None

    def __call__(self, value: Array, interval: float) -> Array:
        """Filtered rate (...) of a signal; ``value`` (...) is its newest sample, ``interval`` s after the last."""
        return self.advance(np.ravel(value), interval).reshape(np.shape(value))

    def advance(self, values: Array, interval: float) -> Array:
        """The same for signals (k,)."""
        if self.memory is None:
            self.memory = np.array([np.zeros(len(values)), values, values])
        else:
            self.memory = self.memory.copy()
            differentiate(self.memory, values, 0, interval, self.stiffness, self.drag)
        return self.memory[RATE]

    def series(self, values: Array, intervals: Array, begins: NDArray[np.bool_]) -> Array:
        """What repeated calls give for N samples, whatever this object remembers: filtered rates (N, k).

        Parameters
        ----------
        values : (N, k), k signals
        intervals : (N,) s, from the sample before
        begins : (N,), True where the past is forgotten before the sample; always so before the first one
        """
        rates, memory = np.empty(values.shape), np.zeros((3, values.shape[1]))
        for row, (interval, is_begin) in enumerate(zip(intervals.tolist(), begins.tolist(), strict=True)):
            if is_begin or not row:
                memory[RATE], memory[1:] = 0.0, values[row]
            else:
                differentiate(memory, values[row], 0, interval, self.stiffness, self.drag)
            rates[row] = memory[RATE]
        return rates

    def coefficients(self, rate: float) -> tuple[Array, Array]:
        """Numerator (3,) and denominator (3,) in powers of z^-1 at a constant sample rate [Hz]."""
        b0, a1, a2 = self._section(2.0 * rate)
        return np.array([b0, 0.0, -b0]), np.array([1.0, a1, a2])

    def _section(self, k: float) -> tuple[float, float, float]:
        """Coefficients b0, a1, a2 of the second-order section with ``s = k (1 - z^-1) / (1 + z^-1)``; b2 is -b0."""
        square, middle = (self.time_constant * k) ** 2, self.damping * self.time_constant * k
        leading = square + middle + 1.0
        return k / leading, (2.0 - 2.0 * square) / leading, (square - middle + 1.0) / leading
