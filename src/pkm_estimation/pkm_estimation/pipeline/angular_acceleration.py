"""Angular acceleration of the platform: the angular rate, differentiated with a stated lag and noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_estimation.baseline import ButterworthDifferentiator
from pkm_estimation.pipeline.imu_frame import ImuFrame
from pkm_estimation.pipeline.samples import Segment
from pkm_estimation.pipeline.stamps import Instant

Array = NDArray[np.float64]

#: lags after which the start of the differentiator (as if at rest) has died out to less than 1e-3
_SETTLING_LAGS = 6.0


class AngularAcceleration:
    """Second-order Butterworth derivative of the IMU's angular rate, driven by the IMU's own stamps.

    The gyroscope's bias is a constant: its derivative is zero, and subtracting the estimate first would only turn
    every correction of it into an acceleration. So the samples are differentiated as they come.

    Parameters
    ----------
    time_constant : s; the estimate lags by sqrt(2) times as much
    """

    def __init__(self, time_constant: float) -> None:
        self._differentiate = ButterworthDifferentiator(time_constant)
        self.reset()

    @property
    def lag(self) -> float:
        """Delay of the estimate [s]."""
        return self._differentiate.lag

    @property
    def remembering(self) -> tuple[object, ...]:
        """The objects that hold what it remembers."""
        return self, self._differentiate

    def reset(self) -> None:
        """Forget the past."""
        self._differentiate.reset()
        self._last: Instant | None = None
        self._age = 0.0
        self._noise = 0.0, 0.0
        self._value: Array = np.zeros(3)

    def advance(self, segment: Segment) -> None:
        """Take the input of a segment; one that was taken before (a prediction that is repeated) changes nothing."""
        if self._last is not None and segment.end.instant <= self._last:
            return
        if self._last is None:
            self._differentiate(segment.start.value[3:], 0.0)
        self._last = segment.end.instant
        self._value = self._differentiate(segment.end.value[3:], segment.duration)
        self._age += segment.duration
        interval = max(segment.imu_interval, segment.duration)
        if interval != self._noise[0]:  # the same for thousands of samples
            self._noise = interval, self._differentiate.noise_gain(interval)

    def estimate(self, frame: ImuFrame, imu_covariance: Array) -> tuple[Array, Array] | None:
        """Angular acceleration (3,) rad/s^2 of ``lag`` seconds ago and its covariance (3, 3), IMU axes.

        ``None`` until the differentiator has settled. The covariance is that of the samples' white noise, of
        ``imu_covariance`` (6, 6) in IMU axes; what the lag makes of a changing acceleration is not in it.
        """
        if self._age < _SETTLING_LAGS * self.lag:
            return None
        value = frame.to_imu(np.concatenate([np.zeros(3), self._value]))[3:]
        return value, self._noise[1] * imu_covariance[3:, 3:]
