"""The declared delay of the IMU's stamps, which takes over what the filter finds of it."""

from __future__ import annotations

from collections.abc import Callable

from pkm_estimation.filters import ExtendedKalmanFilter, UnscentedKalmanFilter

#: s: the rest becomes part of the declared delay when it is known better than the first, and larger than the second
_KNOWN, _LARGE = 0.5e-3, 1e-3


class DeclaredDelay:
    """Lateness of the IMU's stamps against those of the legs.

    A filter that estimates the rest moves its states along by it, to second order. A long rest is better declared: then
    the IMU's own samples do that.

    Parameters
    ----------
    delay : s, at the beginning
    row : the filter's state for the rest, ``None`` where it has none

    Attributes
    ----------
    nanoseconds : the declared delay
    """

    def __init__(self, delay: float, row: slice | None) -> None:
        self.nanoseconds, self._row = round(1e9 * delay), row

    def absorb(
        self, ukf: UnscentedKalmanFilter | ExtendedKalmanFilter, tell: Callable[[str, str], None]
    ) -> None:
        """Take over the rest if it is worth it; the filter's state for the rest becomes smaller by as much."""
        if self._row is None:
            return
        index = self._row.start
        rest, variance = ukf.state.item(index), ukf.covariance.item(index, index)
        if abs(rest) < _LARGE or variance > _KNOWN**2:
            return
        step = round(1e9 * rest)
        self.nanoseconds += step
        ukf.state[index] -= 1e-9 * step
        # no deviation: on the way to a long delay the filter's own is too small
        tell('imu_delay_declared', f"the IMU's delay is taken as {1e-6 * self.nanoseconds:.3f} ms from now on")
