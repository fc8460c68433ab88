"""The declared delay of the IMU's stamps; a delay that the filter estimates is added to it."""

from __future__ import annotations

from collections.abc import Callable

from pkm_estimation.filters import KalmanFilter

#: the remaining delay is added to the declared one above this [s] and above so many standard deviations
_LONG, _SIGNIFICANT = 1e-3, 3.0
#: a delay beyond so many prior standard deviations is taken for the result of a disturbed filter
_IMPOSSIBLE = 5.0


class DeclaredDelay:
    """Delay of the IMU's stamps relative to those of the legs.

    The filter corrects the remaining delay by extrapolating its states to second order. A long delay is better
    declared: then the IMU samples of the right time are used.

    Parameters
    ----------
    delay, std : s, at the beginning
    row : the filter's state for the remaining delay, ``None`` if it is not estimated

    Attributes
    ----------
    nanoseconds : the declared delay
    is_estimated : whether the filter has a state for the rest; the methods that take the filter need it
    """

    def __init__(self, delay: float, std: float, row: slice | None) -> None:
        self._configured, self._std, self._row = round(1e9 * delay), std, row
        self.is_estimated = row is not None
        self.reset()

    def reset(self) -> None:
        """Go back to the configured delay."""
        self.nanoseconds = self._configured

    def is_impossible(self, ukf: KalmanFilter) -> bool:
        """Whether the whole delay, declared and remaining, is beyond five standard deviations of its prior."""
        assert self._row is not None
        found = 1e-9 * (self.nanoseconds - self._configured) + ukf.state.item(self._row.start)
        return not abs(found) <= _IMPOSSIBLE * self._std

    def absorb(self, ukf: KalmanFilter, tell: Callable[[str, str], None]) -> None:
        """Add a significant remaining delay to the declared one, and subtract it from the filter's state."""
        assert self._row is not None
        index = self._row.start
        rest, variance = ukf.state.item(index), ukf.covariance.item(index, index)
        if abs(rest) < _LONG or rest**2 < _SIGNIFICANT**2 * variance:
            return
        step = round(1e9 * rest)
        self.nanoseconds += step
        ukf.state[index] -= 1e-9 * step
        claim = f'{1e-6 * self.nanoseconds:.3f} ms +- {1e3 * variance**0.5:.2g} ms'
        tell('imu_delay_declared', f'IMU delay set to {claim}')
