"""Pose by Gauss-Newton, velocity by differentiation, without IMU (Miletovic et al. 2017, sections 2 and 5.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.pose_solver import FoundPose, PoseSolver
from pkm_description.kinematics.rotation import cross, quaternion_from_matrix, rotated, skew
from pkm_description.machine import Machine, Pose

from pkm_estimation.baseline.differentiator import ButterworthDifferentiator
from pkm_estimation.models.geometry import measured_at_zero


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


class EstimateSeries(NamedTuple):
    """Estimates of M of N samples: their ``places`` (M,), and what was wrong with the others, by place."""

    estimates: BaselineEstimate
    places: NDArray[np.intp]
    errors: dict[int, KinematicsError]


class KinematicEstimator:
    """Baseline, sample by sample with a warm start from the last pose, or over a recording at once.

    Parameters
    ----------
    machine : the machine
    length_covariance : (L, L) m^2
    time_constant, damping : of the differentiator
    tolerance, max_iterations : of the Gauss-Newton iteration (Eq. 5), m
    """

    def __init__(
        self,
        machine: Machine,
        length_covariance: Array,
        time_constant: float = 0.04,
        damping: float = 2.0**0.5,
        tolerance: float = 1e-9,
        max_iterations: int = 10,
    ) -> None:
        self.machine = machine
        self.length_covariance = length_covariance
        self._differentiate = ButterworthDifferentiator(time_constant, damping)
        self._solver = PoseSolver(machine, tolerance, max_iterations)
        self._at_zero = measured_at_zero(machine)
        self._last: FoundPose | None = None

    @property
    def remembering(self) -> tuple[object, ...]:
        """The objects that hold what it remembers."""
        return self, self._differentiate

    def reset(self) -> None:
        """Restart from home, at rest, with the next sample."""
        self._last = None
        self._differentiate.reset()

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
        rates = self._differentiate.advance(np.concatenate([self._last.position, lengths]), interval)
        return BaselineEstimate.of(self._last, rates, self.length_covariance)

    def series(self, drive_positions: Array, intervals: Array, begins: NDArray[np.bool_]) -> EstimateSeries:
        """What repeated calls of :meth:`estimate` give for N samples, whatever this object remembers, in batch.

        A sample without a pose is left out, and the next one is a beginning.

        Parameters
        ----------
        drive_positions : (N, L) m or rad
        intervals : (N,) s, from the sample before
        begins : (N,), True where :meth:`reset` comes before the sample
        """
        lengths = drive_positions + self._at_zero
        found, begins, errors = self._solver.series(drive_positions, begins)
        good = np.ones(len(lengths), dtype=bool)
        good[list(errors)] = False
        found = found.at(good)
        signals = np.concatenate([found.position, lengths[good]], axis=1)
        rates = self._differentiate.series(signals, intervals[good], begins[good])
        return EstimateSeries(BaselineEstimate.of(found, rates, self.length_covariance), np.flatnonzero(good), errors)
