"""When a drive sticks, so that no friction law knows its force: at rest, and at first after it turned.

A friction law gives a force for a velocity. A drive at rest takes any force up to the Coulomb friction, and a contact
that has just turned is deflected like a spring before it slides (pre-sliding), over some micrometres. Samples of both
are zero in forces and columns alike, *before* these are filtered: a filter would spread their unknown forces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.ndimage import uniform_filter1d

#: way after a reversal, as part of the drive's travel, and least in standard deviations of its position
SLIDING, SLIDING_NOISE = 1e-3, 20.0
#: rests by smooth reversals, from which a drive may stick at each of them
OFTEN = 0.1
#: square of the window in which the velocity at rest is averaged, in units of position noise by acceleration: a smooth
#: passage through zero then stays for half a window within three standard deviations of that average
WINDOW = 17.0
#: time that a drive at rest stays slow, in units of that of a smooth reversal
DWELL = 2.0
#: samples of the shortest window, and part of the recording that is the longest
SHORTEST, LONGEST = 3, 0.1


def reversing(velocities: Array) -> NDArray[np.bool_]:
    """Samples (N, A) on either side of a drive's reversal."""
    crossing = velocities[:-1] * velocities[1:] <= 0.0
    found = np.zeros_like(velocities, dtype=bool)
    found[:-1] |= crossing
    found[1:] |= crossing
    return found


def just_started(
    positions: Array, velocities: Array, rests: NDArray[np.bool_], position_noise: Array
) -> NDArray[np.bool_]:
    """Samples (N, A) after a rest, or after any reversal of a drive that rests at some, up to where it slides.

    Drives that turn smoothly pass the few micrometres within a millisecond or two: nothing is gained by leaving them
    out.

    Parameters
    ----------
    positions, velocities : (N, A) m or rad and their rates
    rests : (N, A)
    position_noise : (A,) standard deviations
    """
    way = np.maximum(SLIDING * np.ptp(positions, axis=0), SLIDING_NOISE * position_noise)
    turns = reversing(velocities)
    smooth = (turns & ~rests).sum(axis=0) / 2.0  # two samples each
    begins = (rests[1:] & ~rests[:-1]).sum(axis=0) - rests[-1]  # but for those before and after the motion
    often = begins > OFTEN * smooth
    last = _latest(rests | (turns & often))
    left_at = np.take_along_axis(positions, np.maximum(last, 0), axis=0)
    slid = _latest(np.abs(positions - left_at) >= way)
    return np.asarray((last >= 0) & (slid <= last))  # what passes there again later slides


def _latest(events: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Sample (N, A) of the latest event; -1 before the first."""
    return np.maximum.accumulate(np.where(events, np.arange(len(events))[:, None], -1), axis=0)


class SlowSamples(NamedTuple):
    """Samples (N, A) of slow drives: that rest, and whose sign of velocity noise hides for long."""

    rests: NDArray[np.bool_]
    sign_unknown: NDArray[np.bool_]


def slow_samples(
    velocities: Array, position_noise: Array, sample_rate: float, dead_band: float = -1.0, longest: float = np.inf
) -> SlowSamples:
    """Samples of drives that stay slow for longer than a smooth reversal takes, or than ``longest``.

    Parameters
    ----------
    velocities : (N, A) m/s or rad/s
    position_noise : (A,) standard deviations, m or rad
    sample_rate : Hz
    dead_band : speed below which a drive is slow; negative: chosen for each drive from its noise
    longest : s, from which a sign that noise hides counts as unknown
    """
    rests = np.zeros(velocities.shape, dtype=bool)
    unknown = np.zeros(velocities.shape, dtype=bool)
    for drive, noise in enumerate(np.broadcast_to(position_noise, velocities.shape[1]).tolist()):
        for one in _stretches(velocities[:, drive], noise, sample_rate, dead_band):
            rests[one.begin : one.end, drive] = one.is_rest
            unknown[one.begin : one.end, drive] = one.is_rest or one.end - one.begin > longest * sample_rate
    return SlowSamples(rests, unknown)


class _Stretch(NamedTuple):
    """Samples from ``begin`` up to ``end`` in which a drive is slow."""

    begin: int
    end: int
    is_rest: bool


def _stretches(velocity: Array, noise: float, sample_rate: float, dead_band: float) -> list[_Stretch]:
    acceleration = float(np.sqrt(np.mean(np.gradient(velocity, 1.0 / sample_rate) ** 2)))
    if acceleration == 0.0:
        return [_Stretch(0, len(velocity), True)]
    longest = max(int(LONGEST * len(velocity)), SHORTEST)
    window = int(np.clip(np.sqrt(WINDOW * noise / acceleration) * sample_rate, SHORTEST, longest))
    limit = dead_band if dead_band >= 0.0 else 3.0 * np.sqrt(2.0) * noise * sample_rate / window
    speed = np.abs(uniform_filter1d(velocity, window))
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (speed < limit).astype(int), [0]])))
    found = []
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        is_rest = end - begin >= max(window, DWELL * _passage(speed, begin, end, limit, 2 * window))
        # the average leaves the band before the drive does
        found.append(_Stretch(max(begin - window // 2, 0), end + window // 2, is_rest))
    return found


def _passage(speed: Array, begin: int, end: int, limit: float, aside: int) -> float:
    """Samples that a drive would stay below a limit, if it went on as it was before and is after; 0 at the ends."""
    if begin < aside or end + aside >= len(speed):
        return 0.0
    slopes = 0.5 * (speed[begin - aside] + speed[end + aside]) - limit
    return float(2.0 * limit * aside / max(slopes, 1e-300))
