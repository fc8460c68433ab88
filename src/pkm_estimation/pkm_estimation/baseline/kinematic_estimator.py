"""Pose by Gauss-Newton, velocity by differentiation: the way without an IMU (Miletovic 2017, section 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import forward_kinematics, solve_closure
from pkm_description.kinematics.leg_motion import close_legs
from pkm_description.kinematics.overall_jacobian import twist_from_leg_rates
from pkm_description.kinematics.rotation import quaternion_from_matrix, skew
from pkm_description.machine.model import Pose
from pkm_description.mechanism import Mechanism

from pkm_estimation.baseline.differentiator import ButterworthDifferentiator
from pkm_estimation.baseline.warm_start import WarmPose, WarmStart

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BaselineEstimate:
    """One sample of the baseline.

    Attributes
    ----------
    position : (3,) m, origin of ``platform_link`` (or another point) in ``base_link``
    rotation_base_platform : (3, 3)
    orientation : (4,) quaternion xyzw
    velocity : (3,) m/s, platform axes, differentiated position (Eq. 28)
    jacobian_velocity : (3,) m/s, platform axes, by the Jacobian from differentiated lengths (not from the paper)
    angular_velocity : (3,) rad/s, platform axes, through the Jacobian (the paper gives none)
    pose_covariance : (6, 6), the length noise mapped to position and rotation about base axes
    iterations : Gauss-Newton steps
    """

    position: Array
    rotation_base_platform: Array
    orientation: Array
    velocity: Array
    jacobian_velocity: Array
    angular_velocity: Array
    pose_covariance: Array
    iterations: int

    def at_point(self, point: Array) -> BaselineEstimate:
        """The same for another point (3,) of the platform, in ``platform_link``, instead of its origin."""
        arm = self.rotation_base_platform @ point
        turning = np.cross(self.angular_velocity, point)
        jacobian = np.eye(6)
        jacobian[:3, 3:] = -skew(arm)
        return replace(
            self,
            position=self.position + arm,
            velocity=self.velocity + turning,
            jacobian_velocity=self.jacobian_velocity + turning,
            pose_covariance=jacobian @ self.pose_covariance @ jacobian.T,
        )


class KinematicEstimator:
    """Sample-by-sample baseline; warm start from the last pose.

    Parameters
    ----------
    mechanism : the machine
    length_covariance : (L, L) m^2
    time_constant, damping : of the differentiator
    tolerance, max_iterations : of the Gauss-Newton iteration (Eq. 5), m
    """

    def __init__(
        self,
        mechanism: Mechanism,
        length_covariance: Array,
        time_constant: float = 0.04,
        damping: float = 2.0**0.5,
        tolerance: float = 1e-9,
        max_iterations: int = 10,
    ) -> None:
        self.mechanism = mechanism
        self.length_covariance = length_covariance
        self.tolerance, self.max_iterations = tolerance, max_iterations
        self._position_rate = ButterworthDifferentiator(time_constant, damping)
        self._length_rate = ButterworthDifferentiator(time_constant, damping)
        self._last: Pose | None = None
        self._near: WarmPose | None = None
        self._warm = WarmStart(mechanism, tolerance) if mechanism.has_closed_form else None

    @property
    def remembering(self) -> tuple[object, ...]:
        """The objects that hold what it remembers."""
        return self, self._position_rate, self._length_rate

    def reset(self) -> None:
        """Start anew from home with the next sample, at rest."""
        self._last = self._near = None
        self._position_rate.reset()
        self._length_rate.reset()

    def pose(self, lengths: Array) -> tuple[Pose, int]:
        """Solve one set of lengths (L,), from the last pose, or from home if that fails; also the iterations.

        Raises
        ------
        KinematicsError
            No convergence, singular pose or wrong assembly mode.
        """
        if self._last is not None:
            try:
                return self._solve(lengths, self._last)
            except KinematicsError:
                pass  # a jump: the iteration from home decides
        return self._solve(lengths, self.mechanism.machine.home)

    def estimate(self, lengths: Array, interval: float) -> BaselineEstimate:
        """Estimate from lengths (L,) measured ``interval`` seconds after the last ones; raises like :meth:`pose`."""
        self._near = self._solve_with_jacobian(lengths)
        pose, inverse, iterations = self._near
        self._last = pose
        rotation = pose.rotation_base_platform
        twist = inverse @ self._length_rate(lengths, interval)
        return BaselineEstimate(
            pose.position,
            rotation,
            quaternion_from_matrix(rotation),
            rotation.T @ self._position_rate(pose.position, interval),
            rotation.T @ twist[:3],
            rotation.T @ twist[3:],
            inverse @ self.length_covariance @ inverse.T,
            iterations,
        )

    def _solve_with_jacobian(self, lengths: Array) -> WarmPose:
        """Pose, twist per rate of the drives, and iterations."""
        if self._warm is not None and self._near is not None:
            near = self._warm.solve(lengths, self._near)
            if near is not None:
                return near
        pose, iterations = self.pose(lengths)
        legs = close_legs(self.mechanism, pose.position[None], pose.rotation_base_platform[None])
        return WarmPose(pose, twist_from_leg_rates(self.mechanism, legs)[0], iterations)

    def _solve(self, lengths: Array, start: Pose) -> tuple[Pose, int]:
        if not self.mechanism.has_closed_form:
            # from home, followed in small steps if need be; the last configuration could be used, but is not needed
            closed = solve_closure(self.mechanism, lengths[None]).require()
            return Pose(closed.position[0], closed.rotation_base_platform[0]), int(closed.iterations[0])
        result = forward_kinematics(self.mechanism, lengths[None], start, self.tolerance, self.max_iterations).require()
        return Pose(result.position[0], result.rotation_base_platform[0]), int(result.iterations[0])
