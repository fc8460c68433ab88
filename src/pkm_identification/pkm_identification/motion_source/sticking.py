"""Samples near reversals: how far they are, when a drive sticks, and the band of the sign of velocity.

A friction law gives a force for a velocity. A drive at rest takes any force up to the Coulomb friction, and a contact
that has just turned is deflected like a spring before it slides (pre-sliding), over some micrometres. Samples of both
are zero in forces and columns alike, *before* these are filtered: a filter would spread their unknown forces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from pkm_identification.blocks import runs_of
from pkm_identification.motion_source.filters import low_pass, settling_samples

#: widest band, as a part of the sample rate, and how many are tried
WIDEST, TRIED = 0.2, 8
#: fewest reversals of a drive whose mean says anything
FEWEST = 5
#: around a reversal, in periods of the narrowest band, rounding is looked for: a drive may stick before it turns
NEAR = 0.5
#: variances of a mean by which the largest of all these means may differ by chance
CHANCE = 5.0
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
        for part, is_rest in _stretches(velocities[:, drive], noise, sample_rate, dead_band):
            rests[part, drive] = is_rest
            unknown[part, drive] = is_rest or part.stop - part.start > longest * sample_rate
    return SlowSamples(rests, unknown)


def _stretches(velocity: Array, noise: float, sample_rate: float, dead_band: float) -> Iterator[tuple[slice, bool]]:
    """Samples in which a drive is slow, and whether it rests there."""
    acceleration = float(np.sqrt(np.mean(np.gradient(velocity, 1.0 / sample_rate) ** 2)))
    if acceleration == 0.0:
        yield slice(0, len(velocity)), True
        return
    longest = max(int(LONGEST * len(velocity)), SHORTEST)
    window = int(np.clip(np.sqrt(WINDOW * noise / acceleration) * sample_rate, SHORTEST, longest))
    limit = dead_band if dead_band >= 0.0 else 3.0 * np.sqrt(2.0) * noise * sample_rate / window
    speed = np.abs(uniform_filter1d(velocity, window))
    for begin, end in runs_of(speed < limit):
        is_rest = end - begin >= max(window, DWELL * _passage(speed, begin, end, limit, 2 * window))
        # the average leaves the band before the drive does
        yield slice(max(begin - window // 2, 0), end + window // 2), is_rest


def _passage(speed: Array, begin: int, end: int, limit: float, aside: int) -> float:
    """Samples that a drive would stay below a limit, if it went on as it was before and is after; 0 at the ends."""
    if begin < aside or end + aside >= len(speed):
        return 0.0
    slopes = 0.5 * (speed[begin - aside] + speed[end + aside]) - limit
    return float(2.0 * limit * aside / max(slopes, 1e-300))


def near_reversals(velocities: Array, samples: int) -> NDArray[np.bool_]:
    """Which samples (N, A) are at most so many samples from a reversal of velocities (N, A)."""
    return np.asarray(maximum_filter1d(reversing(velocities), 2 * samples + 1, axis=0))


class Reversals(NamedTuple):
    """The reversal that is nearest to each row.

    Attributes
    ----------
    distance : (n, A) s; infinite for a drive that never turns
    direction : (n, A) sign of the drive's velocity after that reversal
    """

    distance: Array
    direction: Array

    def nearest_of_all(self) -> Reversals:
        """The same with the reversals of all drives: what is uncertain in one is shared by redundant drives."""
        distance = np.repeat(self.distance.min(axis=1, keepdims=True), self.distance.shape[1], axis=1)
        return Reversals(distance, self.direction)


def nearest_reversals(velocities: Array, sample_rate: float, places: NDArray[np.intp]) -> Reversals:
    """Distance of some samples to the nearest reversals of each drive.

    Parameters
    ----------
    velocities : (N, A) m/s or rad/s
    sample_rate : Hz
    places : (n,) samples
    """
    distance = np.full((len(places), velocities.shape[1]), np.inf)
    direction = np.zeros_like(distance)
    for drive, turns in enumerate(reversing(velocities).T):
        found = np.flatnonzero(turns)
        if not len(found):
            continue
        after = np.clip(np.searchsorted(found, places), 0, len(found) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(np.abs(found[after] - places) <= np.abs(found[before] - places), after, before)
        distance[:, drive] = np.abs(found[nearest] - places) / sample_rate
        last = np.minimum(found[nearest] + 2, len(velocities) - 1)  # two samples turn: this is beyond both
        direction[:, drive] = np.sign(velocities[last, drive])
    return Reversals(distance, direction)


# The band of the velocities that give friction its sign: as wide as kinks ask for, no wider.
#
# Friction turns with the drive, so the acceleration jumps there and the velocity has a kink. A low-pass rounds it,
# always to the same side, by as much as the band is narrow. A wide band lets noise through: it turns the drive at the
# wrong instant, and lengthens the way that a contact seems to slide. The recording itself tells both errors: over many
# reversals the largest mean difference to the widest band is the rounding, and the noise of positions is what the
# widest band leaves of them.
def sign_cutoff(positions: Array, sample_rate: float, narrowest: float) -> float:
    """Cut-off frequency [Hz] with the least error of the velocities at reversals.

    Parameters
    ----------
    positions : (N, A) m or rad of the drives
    sample_rate : Hz
    narrowest : Hz, least one
    """
    widest = max(WIDEST * sample_rate, narrowest)
    if widest <= narrowest or len(positions) <= settling_samples(sample_rate, narrowest):
        return widest
    tried = np.geomspace(widest, narrowest, TRIED)
    smooth = _velocities(positions, sample_rate, narrowest)
    near = round(NEAR * sample_rate / narrowest)
    around = np.arange(-near, near + 1)
    crossings = smooth[near : len(smooth) - near - 1] * smooth[near + 1 : len(smooth) - near] < 0.0
    turns = [np.flatnonzero(own) + near for own in crossings.T]
    noise = _position_noise(positions, sample_rate, widest)
    reference = _velocities(positions, sample_rate, widest)
    errors = np.zeros((TRIED, positions.shape[1]))
    for place, cutoff in enumerate(tried):
        change = (_velocities(positions, sample_rate, float(cutoff)) - reference).T
        # the velocity of white noise of the positions
        gain = np.linalg.norm(np.gradient(_impulse(sample_rate, float(cutoff))[1], 1.0 / sample_rate))
        errors[place] = (noise * float(gain)) ** 2
        for drive, (own, at) in enumerate(zip(change, turns, strict=True)):
            if len(at) >= FEWEST:
                side = np.sign(smooth[at + 1, drive])[:, None]
                rounding = side * own[at[:, None] + around]
                chance = rounding.var(axis=0) / (len(at) - 1)
                errors[place, drive] += float(np.max(rounding.mean(axis=0) ** 2 - CHANCE * chance).clip(0.0))
    told = np.array([len(at) >= FEWEST for at in turns]) & (errors.min(axis=0) > 0.0)
    if not told.any():
        return widest
    best = np.argmin((errors[:, told] / errors[0, told]).mean(axis=1))
    return float(tried[best])


def _velocities(positions: Array, sample_rate: float, cutoff: float) -> Array:
    return np.asarray(np.gradient(low_pass(positions, sample_rate, cutoff), 1.0 / sample_rate, axis=0))


def _impulse(sample_rate: float, cutoff: float) -> Array:
    """Return an impulse (n,) and what the low-pass leaves of it (n,)."""
    impulse = np.zeros(4 * settling_samples(sample_rate, cutoff) + 1)
    impulse[len(impulse) // 2] = 1.0
    return np.stack([impulse, low_pass(impulse, sample_rate, cutoff)])


def _position_noise(positions: Array, sample_rate: float, cutoff: float) -> Array:
    """Standard deviations (A,) of white noise, by what lies above a cut-off frequency."""
    above = positions - low_pass(positions, sample_rate, cutoff)
    edge = min(settling_samples(sample_rate, cutoff), len(positions) // 4)
    impulse, left = _impulse(sample_rate, cutoff)
    return np.asarray(above[edge : len(above) - edge].std(axis=0) / np.linalg.norm(impulse - left))
