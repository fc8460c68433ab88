"""Angular acceleration of the platform: derivative of the angular rate with known lag and noise."""

from __future__ import annotations

from typing import NamedTuple

from pkm_description.arrays import Array

from pkm_estimation.baseline import ButterworthDifferentiator
from pkm_estimation.kernels.differentiator import RATE
from pkm_estimation.models.imu_frame import ImuFrame
from pkm_estimation.stream.samples import Instant, Segment

#: number of lags after which the start transient of the differentiator (from rest) is below 1e-3
_SETTLING_LAGS = 6.0


class RawRate(NamedTuple):
    """Angular acceleration as it is stored; covariance and IMU axes are computed on demand.

    Attributes
    ----------
    value : (3,) rad/s^2, platform axes
    interval : s, between samples; determines the noise
    """

    value: Array
    interval: float


class AngularAcceleration:
    """Second-order Butterworth derivative of the IMU's angular rate, driven by the IMU's own stamps.

    The derivative of the constant gyroscope bias is zero. Subtracting the estimated bias first would turn each of its
    corrections into an acceleration, so the raw samples are differentiated.

    Parameters
    ----------
    time_constant : s; the lag is sqrt(2) times this

    Attributes
    ----------
    differentiate : the differentiator
    last : end of the last segment
    age, interval : s, since the start, and between the last samples
    settling : s, after which its start is forgotten
    """

    def __init__(self, time_constant: float) -> None:
        self.differentiate = ButterworthDifferentiator(time_constant)
        self.settling = _SETTLING_LAGS * self.lag
        self.reset()

    @property
    def lag(self) -> float:
        """Delay of the estimate [s]."""
        return self.differentiate.lag

    @property
    def remembering(self) -> tuple[object, ...]:
        """Objects whose attributes are its state, for snapshots."""
        return self, self.differentiate

    def reset(self) -> None:
        """Restart the differentiator."""
        self.differentiate.reset()
        self.last: Instant | None = None
        self.age = self.interval = 0.0

    def advance(self, segment: Segment) -> None:
        """Process the input of a segment; a segment that was processed before (repeated prediction) is ignored."""
        start, end, duration, imu_interval = segment.start, segment.end, segment.duration, segment.imu_interval
        if self.last is None:
            self.differentiate.advance(start.value[3:], 0.0)
        elif end.instant <= self.last:
            return
        self.last = end.instant
        self.differentiate.advance(end.value[3:], duration)
        self.age += duration
        self.interval = max(imu_interval, duration)

    def raw(self) -> RawRate | None:
        """Input of :meth:`judged`; ``None`` until the differentiator has settled."""
        memory = self.differentiate.memory
        return None if memory is None or self.age < self.settling else RawRate(memory[RATE], self.interval)

    def judged(self, raw: RawRate, frame: ImuFrame, imu_covariance: Array) -> tuple[Array, Array]:
        """Angular acceleration (3,) rad/s^2 of ``lag`` seconds before ``raw``, and its covariance (3, 3), IMU axes.

        The covariance is that of the samples' white noise, ``imu_covariance`` (6, 6) in IMU axes. It does not contain
        the error of a changing acceleration due to the lag.
        """
        covariance = self.differentiate.noise_gain(raw.interval) * imu_covariance[3:, 3:]
        return frame.vector_to_imu(raw.value), covariance
