"""Filter of the platform's motion by the legs alone, for as long as the IMU cannot be believed.

It is the same filter with the same states, legs and constraints, and an input of zero. What are the biases of the IMU
otherwise are then minus the specific force and minus the angular rate of the platform: the equations (Miletovic et al.
2017, Eqs 16-19) subtract them from the input. Both walk at random: the force with white noise of its derivative (jerk),
the rate with white noise of the angular acceleration (Bar-Shalom, Li, Kirubarajan 2001, section 6.2). How lively they
are, and how noisy the legs, the positions of each leg say by themselves: :class:`LegNoise`.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from math import ceil, exp
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import Machine, Pose
from scipy.special import chdtri

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.start import slopes_by_pose
from pkm_estimation.filters import CovarianceError, Innovation
from pkm_estimation.kernels.input_noise import NO_STAMP
from pkm_estimation.models import (
    ACCELEROMETER_BIAS,
    ATTITUDE,
    BIASES,
    GYROSCOPE_BIAS,
    POSITION,
    VELOCITY,
    EstimatorGeometry,
)
from pkm_estimation.models.inertial_process import INPUT_SIZE
from pkm_estimation.models.leg_motion import LegNoise, RecentPositions

#: m/s^3 and rad/s^2 that last for so many seconds: 60 mm and 60 mrad at 2 Hz, where nothing is known yet
_JERK, _TURNING, _LASTING = 120.0, 10.0, 0.08
#: probability of a NIS that surprises, and the factor on the prediction's covariance that explains no motion any more
_SURPRISING, _MOST_SURPRISING = 1e-3, 1e6
#: 1/s, how often a platform whose legs were calm moves as lively as any
MANOEUVRES = 1.0
#: m/s^2, rad/s and rad/s^2, standard deviations where nothing is known yet
_ANY_FORCE, _ANY_RATE, _ANY_TURNING = 30.0, 5.0, 100.0
#: m/s^2, rad/s, m/s, m and quaternion: what an IMU that fails makes of input and motion before that shows
_WRONG = 10.0, 1.0, 0.1, 5e-4, 5e-4
#: standard deviation of the start pose in those of the legs
_VAGUE = 4.0
#: standard deviation of the pose, in platform radii, beyond which no Gaussian describes it
_LOST = 0.2
#: (m/s^2)^2 and (rad/s)^2: there is no IMU whose noise counts
_NO_NOISE = 1e-18
#: s, standard deviation of a delay that does not matter
_KNOWN_DELAY = 1e-9
_NO_INPUT = np.zeros(INPUT_SIZE)


class SurpriseError(Exception):
    """No motion from the present estimate explains a measurement, or any does.

    Parameters
    ----------
    detail, kind : one sentence, and the name of the event
    """

    def __init__(self, detail: str, kind: str = 'legs_jumped') -> None:
        super().__init__(detail)
        self.kind = kind


class LegsAlone:
    """Estimates without the IMU, and hands the motion over to the filter that uses it, and back.

    Parameters
    ----------
    geometry, length_covariance, config, machine : as those of the filter that uses the IMU

    Attributes
    ----------
    is_moving : whether velocity and angular rate are known
    filter : its biases are minus specific force and angular rate, platform axes
    legs : how lively and how noisy the legs are
    """

    def __init__(
        self, geometry: EstimatorGeometry, length_covariance: Array, config: EstimatorConfig, machine: Machine
    ) -> None:
        # predictions are vague: every update is linearised again around its own result
        iterating = replace(config, iteration_nis=0.0)
        self.filter = PlatformFilter(geometry, _NO_NOISE * np.eye(INPUT_SIZE), length_covariance, iterating, machine)
        self.filter.take_constants_as_known()
        self._longest, self._config, self._freedoms = config.maximum_step, config, machine.degrees_of_freedom
        noise = float(length_covariance.diagonal().max()) ** 0.5
        self._pose_std = (
            _VAGUE * noise,
            _VAGUE * noise / max(geometry.radius, 1e-3),
        )
        self.filter.walk[BIASES] = 0.0
        self._walk = np.zeros(self.filter.layout.size)
        self._walk[ACCELEROMETER_BIAS], self._walk[GYROSCOPE_BIAS] = _JERK**2 * _LASTING, _TURNING**2 * _LASTING
        # smoothed over T ~ liveliness^(-1/6) it turns as much as it moves: T^3 density of the one, T^5 of the other
        self._order = np.ones(self.filter.layout.size)
        self._order[GYROSCOPE_BIAS] = 2.0 / 3.0
        self.filter.start_at(machine.home)
        _, slopes = slopes_by_pose(self.filter.ukf.state, self.filter.legs.observe)
        self._density = _JERK**2 * _LASTING * float(np.square(slopes[: machine.actuated_count, :3]).sum(axis=1).mean())
        self._legs = float(length_covariance.diagonal().mean()) ** 0.5, self._density, machine.actuated_count
        self.legs = LegNoise(*self._legs)
        self.is_moving, self._untold = False, 0.0
        self._learned: tuple[Integers, frozenset[int], LegNoise] | None = None

    def start_at(self, pose: Pose, before: Pose | None = None, duration: float = 0.0) -> None:
        """Start from a pose of the platform's origin, and its motion from the pose ``duration`` s ``before``, if known.

        The force is unknown, and so are velocity and rate without a pose before.
        """
        filter_, state = self.filter, self.filter.ukf.state
        filter_.start_at(pose, *self._pose_std)
        filter_.forget_rates()
        self._without_delay()
        covariance, rotation = filter_.covariance, pose.rotation_base_platform
        covariance[BIASES, :], covariance[:, BIASES] = 0.0, 0.0
        state[ACCELEROMETER_BIAS], state[GYROSCOPE_BIAS] = rotation.T @ filter_.geometry.gravity, 0.0
        position_std, turn_std = self._pose_std
        velocity_std, rate_std = self._config.start_velocity_std, _ANY_RATE
        if before is not None:
            arm = filter_.geometry.imu_position
            moved = pose.position + rotation @ arm - before.position - before.rotation_base_platform @ arm
            turned = before.rotation_base_platform.T @ rotation
            state[VELOCITY] = rotation.T @ moved / duration
            state[GYROSCOPE_BIAS] = -2.0 * quaternion_from_matrix(turned)[:3] / duration
            velocity_std = position_std / duration + 0.5 * duration * _ANY_FORCE
            rate_std = 2.0 * turn_std / duration + 0.5 * duration * _ANY_TURNING
        covariance[VELOCITY, VELOCITY] = velocity_std**2 * np.eye(3)
        covariance[ACCELEROMETER_BIAS, ACCELEROMETER_BIAS] = _ANY_FORCE**2 * np.eye(3)
        covariance[GYROSCOPE_BIAS, GYROSCOPE_BIAS] = rate_std**2 * np.eye(3)
        self.legs = LegNoise(*self._legs)
        self.is_moving, self._untold = before is not None, 0.0

    def go_on_from(
        self, other: PlatformFilter, imu: Array, recent: RecentPositions, outliers: frozenset[int]
    ) -> None:
        """Take over a filter that was right so far, with the IMU's sample (6,) at its state.

        ``recent`` positions of the legs, but for ``outliers``, say how lively the motion is.
        """
        self.filter.restore(other.snapshot())
        _forget_samples(self.filter)
        self._without_delay()
        self.filter.ukf.state[BIASES] -= imu
        self.filter.covariance[BIASES, BIASES] += other.imu_covariance
        self.legs = self.learned(recent, outliers)
        self.is_moving, self._untold = True, 0.0

    def learned(self, recent: RecentPositions, outliers: frozenset[int]) -> LegNoise:
        """How lively and how noisy the legs are by ``recent`` positions, but for those of ``outliers``."""
        if self._learned is None or self._learned[0] is not recent.stamps or self._learned[1] != outliers:
            legs, is_used = LegNoise(*self._legs), np.isfinite(recent.positions)
            is_used[:, [*outliers]] = False
            legs.add_all(1e-9 * np.diff(recent.stamps), recent.positions[1:], is_used[1:])
            self._learned = recent.stamps, outliers, legs
        return copy(self._learned[-1])

    def _without_delay(self) -> None:
        """Take a delay of the IMU's stamps as it is: without an IMU it does not matter, but its doubt would."""
        rows, covariance = self.filter.layout.imu_delay, self.filter.covariance
        if rows is not None:
            covariance[rows, :], covariance[:, rows] = 0.0, 0.0
            covariance[rows, rows] = _KNOWN_DELAY**2

    def know_stamps_of(self, other: PlatformFilter) -> None:
        """Take over what another filter knows about the jitter of stamps."""
        self.filter.process.restore(other.process.snapshot())

    def doubt_motion(self, part: float) -> None:
        """Know the motion only roughly from now on: the IMU may have been wrong already, by a part of ``_WRONG``."""
        std = np.zeros(self.filter.layout.size)
        std[ACCELEROMETER_BIAS], std[GYROSCOPE_BIAS], std[VELOCITY], std[POSITION], std[ATTITUDE] = _WRONG
        self.filter.covariance.ravel()[:: len(std) + 1] += (part * std) ** 2

    def hand_over(self, other: PlatformFilter) -> None:
        """Give the motion to a filter that uses the IMU; the biases are unknown to it."""
        config = self._config
        other.restore(self.filter.snapshot())
        _forget_samples(other)
        state, covariance = other.ukf.state, other.covariance
        state[BIASES], covariance[BIASES, :], covariance[:, BIASES] = 0.0, 0.0, 0.0
        stds = np.repeat([config.start_accelerometer_bias_std, config.start_gyroscope_bias_std], 3)
        covariance[BIASES, BIASES] = np.diag(stds**2)
        rows = other.layout.imu_delay
        if rows is not None:
            covariance[rows, rows] = config.imu_delay_std**2

    def tells(self, count: int) -> bool:
        """Whether so many legs tell the whole pose. What they do not see may become livelier than what they see."""
        return count >= self._freedoms

    def predict(self, duration: float, is_told: bool = True) -> None:
        """Predict over ``duration`` s; ``is_told``: whether legs tell the whole pose meanwhile."""
        filter_, count = self.filter, ceil(duration / self._longest - 1e-9)
        self._untold = 0.0 if is_told else self._untold + duration
        calm = exp(-MANOEUVRES * self._untold)
        liveliness = calm * self.legs.liveliness + (1.0 - calm) * max(1.0, self.legs.liveliness)
        for _ in range(count):
            # half of it before the step: it moves the pose already within the step
            half = 0.5 * duration / count * self._walk * liveliness**self._order
            filter_.covariance.ravel()[:: len(half) + 1] += half
            filter_.predict(_NO_INPUT, _NO_INPUT, duration / count)
            filter_.covariance.ravel()[:: len(half) + 1] += half

    def update(self, drive_positions: Array, used: NDArray[np.intp], noise: float = 1.0) -> Innovation:
        """Correct with the positions (A,) of the drives ``used``, whose noise variances are ``noise`` times the usual.

        Where the prediction is far off, its covariance is multiplied until it admits the measurement (strong tracking,
        Zhou and Frank 1996). A correction that believes a wrong prediction would be wrong and call itself certain.

        Returns
        -------
        Innovation of the prediction as it was

        Raises
        ------
        SurpriseError
            No motion explains the measurement.
        CovarianceError
            A covariance is not positive definite.
        """
        count, limit = len(used), float(chdtri(len(used), _SURPRISING))
        first = latest = self.filter.update(drive_positions, used, limit, noise * self.legs.scale)
        factor = 1.0
        while latest.nis > limit:
            growth = latest.nis / count
            factor *= growth
            if factor > _MOST_SURPRISING:
                raise SurpriseError(f'no motion explains where the legs are now (NIS {first.nis:.3g} of {count})')
            self.filter.covariance[:] *= growth
            try:
                latest = self.filter.update(drive_positions, used, limit, noise * self.legs.scale)
            except CovarianceError:
                raise SurpriseError(f'the legs are far from where they were (NIS {first.nis:.3g} of {count})') from None
        return first

    @property
    def felt(self) -> Array:
        """Specific force and angular rate (6,), platform axes: what an IMU without biases would read."""
        felt: Array = -self.filter.ukf.state[BIASES]
        return felt

    @property
    def felt_covariance(self) -> Array:
        """Covariance (6, 6) of :attr:`felt`."""
        return self.filter.covariance[BIASES, BIASES]

    def known(self) -> tuple[Array, ...]:
        """Current values as :meth:`PlatformFilter.known`, as if an IMU without biases had given :attr:`felt`."""
        state, *others = self.filter.known(self.felt)
        state[BIASES] = 0.0
        return state, *others

    def snapshot(self) -> tuple[Any, ...]:
        """State for :meth:`restore`."""
        return self.filter.snapshot(), copy(self.legs), self.is_moving, self._untold

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Restore a snapshot exactly, bit by bit."""
        filter_, legs, self.is_moving, self._untold = snapshot
        self.legs = copy(legs)
        self.filter.restore(filter_)


def _forget_samples(filter_: PlatformFilter) -> None:
    """Let the input begin anew: no sample before acts in the next steps."""
    filter_.ukf.noise_carried[:], filter_.ukf.carried_count = 0.0, 0
    filter_.process.data.newest[0] = NO_STAMP
    filter_.process.forget()


def is_lost(covariance: Array, radius: float) -> bool:
    """Whether a pose is known so badly that what the legs say of it is far from linear, see ``_LOST``."""
    radius, variances = radius or 1.0, covariance.diagonal()
    spread = variances[POSITION].sum() + (2.0 * radius) ** 2 * variances[ATTITUDE].sum()
    return bool(spread > (_LOST * radius) ** 2)
