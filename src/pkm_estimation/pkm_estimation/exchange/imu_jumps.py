"""Times in which the IMU's input is uncertain because a sample jumped, or repeats the one before."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array, packed
from pkm_description.driver import ImuConversion
from pkm_description.kernels.model import Integers
from pkm_description.machine import ImuSensor

from pkm_estimation.exchange.samples import NANOSECOND, Instant
from pkm_estimation.kernels.imu_jumps import COUNTS, ROWS, find_jumps

#: standard deviations of the sensor's noise within which nothing is a jump
_NOISE = 10.0
#: jumps that are kept at most: more than samples that can wait hold
_MOST = 1000
#: ns, and two samples, for which a sensor that fails may go unnoticed
_DOUBTED = 20_000_000


class Jump(NamedTuple):
    """A sample that is not where those before lead to.

    Attributes
    ----------
    begin, end : instants of the sample before and of this one
    settled : by when the legs have told whether the sensor is right
    force, rate : m/s^2, rad/s, how far it is off
    """

    begin: Instant
    end: Instant
    settled: Instant
    force: float
    rate: float


class ImuJumps:
    """Finds the jumps in a stream of samples.

    Parameters
    ----------
    imu : its noise
    conversion : units of the samples
    kept : ns for which a jump is remembered
    """

    def __init__(self, imu: ImuSensor, conversion: ImuConversion, kept: int) -> None:
        self._scale, self._kept = conversion.scale, kept
        self._least = _NOISE * np.array([imu.accelerometer_noise.max(), imu.gyroscope_noise.max()])
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._epoch = 0
        self._counts, self._memory = np.zeros(COUNTS, dtype=np.int64), np.zeros((ROWS, 6))
        self._jumps: list[Jump] = []

    def take(self, epoch: int, stamps: Integers, values: Array) -> None:
        """Look at samples (M,) ns, (M, 6) as the driver has them, that continue this stream."""
        if epoch != self._epoch:
            self._epoch = epoch
            self._counts[:] = 0
        before, found = int(self._counts[0]), np.empty((len(stamps), 2))
        whole, numbers = np.ascontiguousarray(stamps, dtype=np.int64), packed(values * self._scale)
        find_jumps(self._counts, self._memory, whole, numbers, self._least, found)
        for place in np.flatnonzero(found.any(axis=1)).tolist():
            stamp = stamps.item(place)
            begin = stamps.item(place - 1) if place else before
            settled = stamp + 2 * (stamp - begin) + _DOUBTED
            force, rate = found[place].tolist()
            self._jumps.append(
                Jump(Instant(epoch, begin), Instant(epoch, stamp), Instant(epoch, settled), force, rate)
            )
        del self._jumps[:-_MOST]

    def between(self, now: Instant, due: Instant) -> tuple[float, float] | None:
        """Standard deviations [m/s, rad] of what jumps add from ``now`` to ``due``; ``None`` without a jump."""
        if not self._jumps:
            return None
        horizon = Instant(now.epoch, now.stamp - self._kept)
        self._jumps = [jump for jump in self._jumps if jump.settled > horizon]
        velocity = angle = 0.0
        for jump in self._jumps:
            if jump.begin.epoch == now.epoch and jump.begin < due and now < jump.end:
                common = NANOSECOND * (min(due.stamp, jump.end.stamp) - max(now.stamp, jump.begin.stamp))
                velocity, angle = velocity + common * jump.force, angle + common * jump.rate
        return (velocity, angle) if velocity or angle else None

    def at(self, instant: Instant) -> tuple[float, float] | None:
        """Standard deviations [m/s^2, rad/s] of the input at an instant soon after a jump; else ``None``."""
        for jump in reversed(self._jumps):
            if jump.begin < instant <= jump.settled and jump.begin.epoch == instant.epoch:
                return jump.force, jump.rate
        return None

    def are_quiet(self, now: Instant, due: Instant) -> bool:
        """Whether there is no jump from ``now`` to ``due``, nor soon before."""
        return not any(jump.begin < due and now < jump.settled for jump in self._jumps)

    def next_begin(self, now: Instant) -> float:
        """Stamp [ns] after which estimates from ``now`` on are not :meth:`are_quiet`."""
        return min(
            (jump.begin.stamp for jump in self._jumps if now < jump.settled and jump.begin.epoch == now.epoch),
            default=inf,
        )
