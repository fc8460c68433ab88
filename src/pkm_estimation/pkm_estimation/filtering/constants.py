"""Consistent covariance of constants that are estimated together with the motion.

A constant appears in products with other unknown states: mounting times bias, delay times speed. No sigma point
varies both factors, so the linearised filter soon becomes overconfident in a wrong value.
Four corrections, each of which only adds uncertainty:

- The variance of the products is added as noise. Their error persists, so it counts as noise that lasts a second.
- At first only speed and biases are estimated; the constants are considered, not corrected (Schmidt 1966).
- Early confidence is deliberately reduced: whenever a constant is known much better than before, its value is kept and
  its covariance is raised. Data that were linearised at the old value count for a hundredth; the constant is then
  estimated again from the better value. No measurement is counted twice.
- A rotation about one axis does not show where the IMU lies along that axis, but noise of the attitude looks like a
  little information about it: :mod:`~pkm_estimation.filtering.constants`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from scipy.linalg import eigh

from pkm_estimation.filters import CovarianceError, KalmanFilter
from pkm_estimation.models import ACCELEROMETER_BIAS, ATTITUDE, BIASES, GYROSCOPE_BIAS, POSITION, VELOCITY
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.inertial_process import rotation_of

#: s, over which turning is counted
_WINDOW = 2.0
#: turning counts above so many times the noise of the attitude, by their squares
_ABOVE_NOISE = 100.0
#: s: the error of a product lasts that long
_LASTING = 1.0

#: s: time to estimate speed and biases, after the start and after the covariance was raised
_SETTLING = 1.0

#: when the std in one direction has fallen by the first factor, all standard deviations are multiplied by the second
_BETTER, _DOUBT = 100.0, 10.0

#: m, s, rad, m: below this std the models are linear enough, and the covariance is kept
_LINEAR = {'leg_offsets': 3e-3, 'imu_delay': 1e-3, 'imu_rotation': 3e-3, 'imu_position': 1e-2}

#: s, how often the filter checks whether the covariance has to be raised
_INTERVAL = 0.1


class ConstantMemory(NamedTuple):
    """All values that change.

    Attributes
    ----------
    settled : s since the start, or since the covariance was raised
    reference : (m, m) covariance of the constants then
    until_look : s
    since_update : s since the last measurement
    acceleration : m/s^2 or rad/s^2 of any drive, about the largest
    place : what has been seen of the IMU's place, ``None`` if it is not estimated
    """

    settled: float
    reference: Array
    until_look: float = _INTERVAL
    since_update: float = 0.0
    acceleration: float = 0.0
    place: PlaceMemory | None = None


class ConstantStates:
    """Keeps the covariance of the constants consistent.

    Parameters
    ----------
    layout : where the constants lie
    std : (n,) standard deviations at the start
    gains : largest speed of a drive by the platform's velocity, and by its angular velocity: of struts 1 and the
        largest distance of a platform joint from the platform's origin

    Attributes
    ----------
    memory : all that changes; replaced, never written into
    """

    def __init__(self, layout: StateLayout, std: Array, gains: tuple[float, float]) -> None:
        groups = layout.groups
        self._layout, self._gains = layout, gains
        self._rows = np.concatenate([np.arange(rows.start, rows.stop) for rows in groups.values()])
        self._block = np.ix_(self._rows, self._rows)
        self._linear = np.concatenate([np.full(r.stop - r.start, _LINEAR[name]) for name, r in groups.items()])
        self._prior = np.diag(std[self._rows] ** 2)
        self._bias_variance = std[BIASES] ** 2
        self._place_at_start = None
        if layout.imu_position is not None:
            self._place_at_start = PlaceMemory.of(layout.imu_position, np.zeros(len(std)), np.diag(std**2))
        self.start()

    def start(self) -> None:
        """Begin with the prior."""
        self.memory = ConstantMemory(0.0, self._prior, place=self._place_at_start)

    @property
    def are_considered(self) -> bool:
        """Whether measurements do not correct the constants yet."""
        return self.memory.settled < _SETTLING

    def grow(
        self, ukf: KalmanFilter, gravity: Array, rotation: Array, imu_start: Array, imu_end: Array, duration: float
    ) -> None:
        """After a prediction over ``duration`` s, input (6,) at both ends.

        ``rotation`` (3, 3) maps platform axes to those of ``gravity`` (3,), base axes.
        """
        memory = self.memory
        settled, look = memory.settled + duration, memory.until_look - duration
        acceleration, place = memory.acceleration, memory.place
        if self._layout.imu_rotation is not None:
            ukf.covariance.reshape(-1)[:: len(ukf.state) + 1] += duration * self._growth(ukf, imu_end)
        if self._layout.imu_delay is not None:
            linear = imu_end[:3] - ukf.state[ACCELEROMETER_BIAS] + rotation.T @ gravity
            turning = (imu_end[3:] - imu_start[3:]) / duration
            by_velocity, by_rate = self._gains
            acceleration = float(by_velocity * np.linalg.norm(linear) + by_rate * np.linalg.norm(turning))
        if place is not None:
            place = place.after(ukf, rotation, duration)
        self.memory = ConstantMemory(
            settled, memory.reference, look, memory.since_update + duration, acceleration, place
        )

    def look(self, ukf: KalmanFilter) -> None:
        """After :meth:`grow`: raise the covariance, if that is due.

        Raises
        ------
        CovarianceError
            The covariance is not positive definite, or not finite.
        """
        settled, reference, look, _, _, place = self.memory
        if look <= 0.0:
            look = _INTERVAL
            if not np.isfinite(ukf.covariance).all():
                raise CovarianceError('state covariance is not finite')
            if place is not None:
                place.take_back(ukf)
            doubted = self._is_due(ukf.covariance[self._block], reference)
            if doubted:
                self._doubt(ukf)
                settled, reference = 0.0, ukf.covariance[self._block]
            if place is not None and (doubted or place.is_due):
                place = PlaceMemory.of(place.rows, ukf.state, ukf.covariance)
        self.memory = self.memory._replace(settled=settled, reference=reference, until_look=look, place=place)

    def after_update(self, ukf: KalmanFilter, state: Array, covariance: Array, carried: Array) -> None:
        """After an update; ``state`` (n,), ``covariance`` (n, n), ``carried`` (n, c) are those before it.

        While speed and biases are being estimated, the constants are not corrected, but their correlation with the
        other states is, so the covariance stays consistent (Schmidt 1966).
        """
        self.memory = self.memory._replace(since_update=0.0)
        if self.are_considered:
            ukf.state[self._rows] = state[self._rows]
            ukf.covariance[self._block] = covariance[self._block]
            ukf.carried[self._rows] = carried[self._rows]

    def drive_variance(self, ukf: KalmanFilter) -> float:
        """Second-order effect of an unknown delay, as variance [m^2, rad^2] of independent noise of the drives.

        Products of the delay with unknown speeds, and its own square.
        """
        rows = self._layout.imu_delay
        if rows is None:
            return 0.0
        variances = ukf.covariance.diagonal()
        variance = variances.item(rows.start)
        by_velocity, by_rate = self._gains
        speed = by_velocity**2 * variances[VELOCITY].max() + by_rate**2 * variances[GYROSCOPE_BIAS].max()
        bend = 0.5 * self.memory.acceleration * variance
        interval = self.memory.since_update
        updates = _LASTING / interval if 0.0 < interval < _LASTING else 1.0
        return float(updates * (variance * speed + bend**2))

    def _growth(self, ukf: KalmanFilter, imu: Array) -> Array:
        """Second-order effect of an unknown mounting, as growth of the variances (n,) per second.

        Products of the mounting with the biases and with itself: a vector v that is turned by a rotation vector of
        variance s^2 per axis has an error of second order of s^2 |v|.
        """
        growth, variances = np.zeros(len(ukf.state)), ukf.covariance.diagonal()
        turn = float(variances[self._layout.imu_rotation].max())
        force, rate = float(imu[:3] @ imu[:3]), float(imu[3:] @ imu[3:])
        growth[VELOCITY] = _LASTING * turn * (turn * force + variances[ACCELEROMETER_BIAS].max())
        growth[ATTITUDE] = 0.25 * _LASTING * turn * (turn * rate + variances[GYROSCOPE_BIAS].max())
        return growth

    def _is_due(self, covariance: Array, reference: Array) -> bool:
        try:
            ratios, directions = eigh(covariance, reference)
        except np.linalg.LinAlgError as error:
            raise CovarianceError('covariance of the constants is not positive definite') from error
        better = reference @ directions[:, ratios < _BETTER**-2]  # by how much these directions were unknown
        return bool((np.abs(better) > self._linear[:, None]).any())

    def _doubt(self, ukf: KalmanFilter) -> None:
        """Multiply all standard deviations, those of constants to no more than the prior.

        This is the posterior if the data so far have a small weight and the prior its full weight. The prior variance
        of the biases is added: errors of second order look like biases.
        """
        rows = self._rows
        covariance = _DOUBT**2 * ukf.covariance
        gain = np.linalg.solve(covariance[self._block] + self._prior, covariance[rows]).T
        kept = np.eye(len(covariance))
        kept[:, rows] -= gain
        covariance = kept @ covariance @ kept.T + gain @ self._prior @ gain.T
        covariance[BIASES, BIASES] += np.diag(self._bias_variance)
        ukf.state[:] = ukf.state - gain @ ukf.state[rows]
        ukf.covariance[:] = 0.5 * (covariance + covariance.T)


# Takes back what noise of the attitude seems to say of the IMU's place on the platform.
#
# The legs see the platform, the state describes the IMU's point, and the place is what lies between them. A direction d
# of it (platform axes) shows only where the platform turns, so that ``R d`` changes; else it is a constant error of the
# point's position, which nothing else tells. But each correction is linearised at another estimate of R, and so the
# noise of the attitude looks like turning. It brings a little information each time, all of it wrong.
#
# So it is counted how far each direction has turned within a few seconds. Where that is not well above the noise of the
# attitude, it is known no better than before them.
class PlaceMemory(NamedTuple):
    """What has been seen since a moment.

    Attributes
    ----------
    rows : of the place in the state
    time : s since then
    place, covariance : (3,) m, (3, 3) of the place then
    turns : (3, 3) s, integral of the rotation, platform axes to base axes
    noise : rad^2 s, integral of the variance of the attitude about the axis where it is largest
    """

    rows: slice
    time: float
    place: Array
    covariance: Array
    turns: Array
    noise: float

    @classmethod
    def of(cls, rows: slice, state: Array, covariance: Array) -> PlaceMemory:
        """From now on, of a state (n,) and its covariance (n, n)."""
        return cls(rows, 0.0, state[rows].copy(), covariance[rows, rows].copy(), np.zeros((3, 3)), 0.0)

    def after(self, ukf: KalmanFilter, rotation: Array, duration: float) -> PlaceMemory:
        """After ``duration`` s at a rotation (3, 3) from platform axes to base axes."""
        variance = 4.0 * float(ukf.covariance.diagonal()[ATTITUDE].max())
        return self._replace(
            time=self.time + duration, turns=self.turns + duration * rotation, noise=self.noise + duration * variance
        )

    @property
    def is_due(self) -> bool:
        """Whether the time is over."""
        return self.time >= _WINDOW

    def take_back(self, ukf: KalmanFilter) -> None:
        """Know directions of the place that have not turned as before; the platform's pose stays as well known."""
        rows, mean = self.rows, self.turns / self.time
        squares, directions = np.linalg.eigh(np.eye(3) - mean.T @ mean)
        unseen = directions[:, squares < _ABOVE_NOISE * self.noise / self.time]
        lost, mixed = np.linalg.eigh(unseen.T @ (self.covariance - ukf.covariance[rows, rows]) @ unseen)
        for variance, direction in zip(lost, (unseen @ mixed).T, strict=True):
            if variance <= 0.0:
                continue
            shift = np.zeros(len(ukf.state))
            shift[rows] = direction
            # the state's position is the IMU's: it moves along
            shift[POSITION] = rotation_of(ukf.state[ATTITUDE]) @ direction
            ukf.state[:] = ukf.state + (direction @ (self.place - ukf.state[rows])) * shift
            ukf.covariance[:] = ukf.covariance + variance * np.outer(shift, shift)
