"""The declared delay of the IMU's stamps, which takes over what the filter finds of it."""

from __future__ import annotations

from collections.abc import Callable

from pkm_estimation.filters import KalmanFilter

#: the rest becomes part of the declared delay when it is longer than this [s], and than so many standard deviations
_LONG, _SIGNIFICANT = 1e-3, 3.0
#: standard deviations of the delay at the beginning beyond which it cannot be: a disturbed filter makes up anything
_IMPOSSIBLE = 5.0


class DeclaredDelay:
    """Lateness of the IMU's stamps against those of the legs.

    A filter that estimates the rest moves its states along by it, to second order. A long rest is better declared: then
    the IMU's own samples do that.

    Parameters
    ----------
    delay, std : s, at the beginning
    row : the filter's state for the rest, ``None`` where it has none

    Attributes
    ----------
    nanoseconds : the declared delay
    """

    def __init__(self, delay: float, std: float, row: slice | None) -> None:
        self._configured, self._std, self._row = round(1e9 * delay), std, row
        self.reset()

    def reset(self) -> None:
        """Take the delay of the beginning."""
        self.nanoseconds = self._configured

    def is_impossible(self, ukf: KalmanFilter) -> bool:
        """Whether the delay, with the rest, is far from what it can be."""
        if self._row is None:
            return False
        found = 1e-9 * (self.nanoseconds - self._configured) + ukf.state.item(self._row.start)
        return not abs(found) <= _IMPOSSIBLE * self._std

    def absorb(self, ukf: KalmanFilter, tell: Callable[[str, str], None]) -> None:
        """Take over the rest if it is worth it; the filter's state for the rest becomes smaller by as much."""
        if self._row is None:
            return
        index = self._row.start
        rest, variance = ukf.state.item(index), ukf.covariance.item(index, index)
        if abs(rest) < _LONG or rest**2 < _SIGNIFICANT**2 * variance:
            return
        step = round(1e9 * rest)
        self.nanoseconds += step
        ukf.state[index] -= 1e-9 * step
        claim = f'{1e-6 * self.nanoseconds:.3f} ms +- {1e3 * variance**0.5:.2g} ms'
        tell('imu_delay_declared', f"the IMU's delay is taken as {claim} from now on")
