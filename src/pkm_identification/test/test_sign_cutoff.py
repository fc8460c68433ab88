"""The band of the velocities at reversals: narrow where noise is worse than rounded kinks, wide where kinks are."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_identification.motion_source.sticking import sign_cutoff

RATE, NARROWEST = 1000.0, 16.0
TIME = np.arange(0.0, 20.0, 1.0 / RATE)


def drive(jump: float) -> Array:
    """Positions (N, 1) of a drive at 1.3 Hz, whose acceleration jumps by a part of its amplitude where it turns."""
    rate = 2.0 * np.pi * 1.3
    acceleration = -np.sin(rate * TIME) - 0.5 * jump * np.sign(np.cos(rate * TIME))
    velocity = np.cumsum(acceleration - acceleration.mean()) / RATE
    velocity -= velocity.mean()
    return np.cumsum(velocity)[:, None] / RATE


def noise(size: float) -> Array:
    return size * np.random.default_rng(0).normal(size=(len(TIME), 1))


def test_noise_alone_asks_for_a_narrow_band() -> None:
    assert sign_cutoff(drive(0.0) + noise(1e-5), RATE, NARROWEST) < 1.5 * NARROWEST


def test_kinks_ask_for_a_wide_band() -> None:
    found = [sign_cutoff(drive(1.0) + noise(size), RATE, NARROWEST) for size in (1e-8, 1e-5)]
    assert found[0] > 4.0 * NARROWEST
    assert found[0] > found[1]
    assert sign_cutoff(drive(1.0), RATE, NARROWEST) >= found[0]


def test_a_drive_that_never_turns_and_a_short_recording() -> None:
    assert sign_cutoff(TIME[:, None] + noise(1e-5), RATE, NARROWEST) == 0.2 * RATE
    assert sign_cutoff(drive(1.0)[:50], RATE, NARROWEST) == 0.2 * RATE
    assert sign_cutoff(drive(1.0), RATE, 250.0) == 250.0
