"""Angular acceleration of the platform: derivative of the angular rate with known lag and noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.baseline import ButterworthDifferentiator
from pkm_estimation.models.imu_frame import ImuFrame
from pkm_estimation.stream.samples import Instant, Segment

#: number of lags after which the start transient of the differentiator (from rest) is below 1e-3
_SETTLING_LAGS = 6.0


class RawRate(NamedTuple):
    """Angular acceleration as it is stored; covariance and IMU axes are computed on demand.

    Attributes
    ----------
    value : three numbers, rad/s^2, platform axes
    interval : s, between samples; determines the noise
    """

    value: list[float]
    interval: float


class AngularAcceleration:
    """Second-order Butterworth derivative of the IMU's angular rate, driven by the IMU's own stamps.

    The derivative of the constant gyroscope bias is zero. Subtracting the estimated bias first would turn each of its
    corrections into an acceleration, so the raw samples are differentiated.

    Parameters
    ----------
    time_constant : s; the lag is sqrt(2) times this
    """

    def __init__(self, time_constant: float) -> None:
        self._differentiate = ButterworthDifferentiator(time_constant)
        self._settling = _SETTLING_LAGS * self.lag
        self.reset()

    @property
    def lag(self) -> float:
        """Delay of the estimate [s]."""
        return self._differentiate.lag

    @property
    def remembering(self) -> tuple[object, ...]:
        """Objects whose attributes are its state, for snapshots."""
        return self, self._differentiate

    def reset(self) -> None:
        """Restart the differentiator."""
        self._differentiate.reset()
        self._last: Instant | None = None
        self._age = self._interval = 0.0
        self._value = [0.0, 0.0, 0.0]

    def advance(self, segment: Segment) -> None:
        """Process the input of a segment; a segment that was processed before (repeated prediction) is ignored."""
        start, end, duration, imu_interval = segment
        if self._last is None:
            self._differentiate.advance(start.value.tolist()[3:], 0.0)
        elif end.instant <= self._last:
            return
        self._last = end.instant
        self._value = self._differentiate.advance(end.value.tolist()[3:], duration)
        self._age += duration
        self._interval = max(imu_interval, duration)

    def raw(self) -> RawRate | None:
        """Input of :meth:`judged` and :func:`in_imu_axes`; ``None`` until the differentiator has settled."""
        return None if self._age < self._settling else RawRate(self._value, self._interval)

    def judged(self, raw: RawRate, frame: ImuFrame, imu_covariance: Array) -> tuple[Array, Array]:
        """Angular acceleration (3,) rad/s^2 of ``lag`` seconds before ``raw``, and its covariance (3, 3), IMU axes.

        The covariance is that of the samples' white noise, ``imu_covariance`` (6, 6) in IMU axes. It does not contain
        the error of a changing acceleration due to the lag.
        """
        return in_imu_axes([raw], frame)[0], self._differentiate.noise_gain(raw.interval) * imu_covariance[3:, 3:]


def in_imu_axes(raws: Sequence[RawRate | None], frame: ImuFrame) -> Array:
    """Angular accelerations (N, 3) rad/s^2, IMU axes; NaN where not available."""
    unsettled = [np.nan, np.nan, np.nan]
    values = np.array([unsettled if raw is None else raw.value for raw in raws]).reshape(-1, 3)
    return frame.vector_to_imu(values)
