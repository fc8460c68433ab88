"""The band of the velocities that give friction its sign: as wide as kinks ask for, no wider.

Friction turns with the drive, so the acceleration jumps there and the velocity has a kink. A low-pass rounds it, always
to the same side, by as much as the band is narrow. A wide band lets noise through: it turns the drive at the wrong
instant, and lengthens the way that a contact seems to slide. The recording itself tells both errors: over many
reversals the largest mean difference to the widest band is the rounding, and the noise of positions is what the widest
band leaves of them.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.motion_source.filters import low_pass, settling_samples

#: widest band, as a part of the sample rate, and how many are tried
WIDEST, TRIED = 0.2, 8
#: fewest reversals of a drive whose mean says anything
FEWEST = 5
#: around a reversal, in periods of the narrowest band, rounding is looked for: a drive may stick before it turns
NEAR = 0.5
#: variances of a mean by which the largest of all these means may differ by chance
CHANCE = 5.0


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
        errors[place] = (noise * _velocity_gain(sample_rate, float(cutoff))) ** 2
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


def _velocity_gain(sample_rate: float, cutoff: float) -> float:
    """Standard deviation of the velocity per standard deviation of a position, for white noise, 1/s."""
    return float(np.linalg.norm(np.gradient(_impulse(sample_rate, cutoff)[1], 1.0 / sample_rate)))


def _position_noise(positions: Array, sample_rate: float, cutoff: float) -> Array:
    """Standard deviations (A,) of white noise, by what lies above a cut-off frequency."""
    above = positions - low_pass(positions, sample_rate, cutoff)
    edge = min(settling_samples(sample_rate, cutoff), len(positions) // 4)
    impulse, left = _impulse(sample_rate, cutoff)
    return np.asarray(above[edge : len(above) - edge].std(axis=0) / np.linalg.norm(impulse - left))
