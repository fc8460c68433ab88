"""Real-time pacing of the simulation."""

from __future__ import annotations

#: ns of wall time; what a simulation is behind by more than this is given up instead of caught up
LARGEST_LAG = 500_000_000

#: ns of wall time, the same where a controller outside closes the loop: what is caught up goes by without its commands
LARGEST_LAG_OF_COMMANDS = 8_000_000


#: ns of a followed clock; steps of it that are longer are no lag but another time: a simulator that was started again,
#: a bag that began anew
_LONGEST_STEP = 10_000_000_000

#: ns, the times at which a simulation takes up a followed clock are multiples of it, so that the samples of simulations
#: side by side have the same stamps
_GRID = 100_000_000


class ClockFollower:
    """Lets a simulation follow a clock that another program sets; what it is behind is never given up."""

    def __init__(self) -> None:
        self._clock_ns = 0

    def begin(self, clock_ns: int) -> int | None:
        """Time [ns] at which the simulation is to go on, if the clock [ns] has begun or jumped; else ``None``."""
        before, self._clock_ns = self._clock_ns, clock_ns
        if clock_ns <= 0 or (before > 0 and 0 <= clock_ns - before <= _LONGEST_STEP):
            return None
        return -(-clock_ns // _GRID) * _GRID


class Pacer:
    """Relates simulation time to wall-clock time; decides nothing but when to step, never a stamp.

    Parameters
    ----------
    real_time_factor : simulation seconds per wall-clock second, 0: no limit
    largest_lag : ns of wall time; what a simulation is behind by more than this is given up
    """

    def __init__(self, real_time_factor: float, largest_lag: int = LARGEST_LAG) -> None:
        if not real_time_factor >= 0.0:
            raise ValueError(f'real_time_factor = {real_time_factor}, expected 0 (as fast as possible) or more')
        self._factor, self._largest_lag = real_time_factor, largest_lag
        self._wall_ns: int | None = None
        self._simulation_ns = 0
        self._last = (0, 0)

    def target(self, wall_ns: int, simulation_ns: int) -> int | None:
        """Simulation time to be reached by now, ns; None: as far as possible. The first call starts the pace."""
        if self._factor == 0.0:
            return None
        if self._wall_ns is None:
            self._wall_ns, self._simulation_ns = wall_ns, simulation_ns
        target = self._simulation_ns + round((wall_ns - self._wall_ns) * self._factor)
        largest = simulation_ns + round(self._largest_lag * self._factor)
        if target > largest:
            self._wall_ns, self._simulation_ns = wall_ns, largest
            return largest
        return target

    def pause(self) -> None:
        """Start the pace anew with the next target: wall-clock time up to then is not made up for."""
        self._wall_ns = None

    def achieved(self, wall_ns: int, simulation_ns: int) -> float:
        """Real-time factor since the last call (since zero at the first)."""
        wall, simulated = self._last
        self._last = wall_ns, simulation_ns
        return (simulation_ns - simulated) / max(wall_ns - wall, 1)
