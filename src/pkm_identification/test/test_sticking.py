"""When a drive sticks: rests are told from smooth reversals, whatever the noise, the unit and the rate."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_identification.motion_source.filters import low_pass
from pkm_identification.motion_source.sticking import just_started, reversing, slow_samples


def noisy_velocity(positions: np.ndarray, noise: float, rate: float) -> np.ndarray:
    """Velocities (N, 1) of noisy positions (N,), as a motion source gives the livelier ones."""
    noisy = positions + noise * np.random.default_rng(0).normal(size=len(positions))
    return np.gradient(low_pass(noisy[:, None], rate, 0.2 * rate), 1.0 / rate, axis=0)


@pytest.mark.parametrize('scale', [1.0, 1e-3])
@pytest.mark.parametrize(('rate', 'noise'), [(1000.0, 1e-5), (1000.0, 1e-7), (250.0, 1e-5)])
def test_smooth_reversals_are_no_rests(scale: float, rate: float, noise: float) -> None:
    time = np.arange(0.0, 12.0, 1.0 / rate)
    positions = scale * 0.2 * np.sin(2.0 * np.pi * 0.6 * time)
    velocities = noisy_velocity(positions, scale * noise, rate)
    assert reversing(velocities).sum() >= 2 * 14
    rests = slow_samples(velocities, np.array([scale * noise]), rate).rests
    assert not rests[100:-100].any()
    started = just_started(positions[:, None], velocities, rests, np.array([scale * noise]))
    assert not started[200:-200].any()


@pytest.mark.parametrize('pause', [0.03, 0.2])
def test_a_drive_that_stops_at_its_reversals_sticks(pause: float) -> None:
    """It moves by half waves with pauses between: the pauses are found, and the first micrometres after them."""
    rate, noise = 1000.0, 3e-7
    half = 0.02 * np.cos(np.pi * np.arange(0.0, 1.0, 1.0 / rate))
    still = np.full(round(pause * rate), 0.02)
    positions = np.concatenate([np.concatenate([half, -still, -half, still]) for _ in range(4)])
    truth = np.concatenate([np.concatenate([np.zeros(len(half)), np.ones(len(still))]) for _ in range(8)]) > 0.0
    velocities = noisy_velocity(positions, noise, rate)
    rests = slow_samples(velocities, np.array([noise]), rate).rests[:, 0]
    inner = slice(100, -300)
    assert rests[inner][truth[inner]].mean() > 0.9
    assert rests[inner][~truth[inner]].mean() < 0.02
    started = just_started(positions[:, None], velocities, rests[:, None], np.array([noise]))[:, 0]
    # 20 um after a cosine's turn are passed in sqrt(2 x / a) = 14 ms
    after = np.flatnonzero(np.diff(truth.astype(int)) < 0)[:-1] + 8
    assert started[after].all()
    assert not started[after + 60].any()


def test_a_configured_dead_band_is_the_limit() -> None:
    time = np.arange(0.0, 10.0, 1e-3)
    velocities = 0.1 * np.sin(2.0 * np.pi * 0.5 * time)[:, None]
    assert slow_samples(velocities, np.array([1e-6]), 1000.0, dead_band=1.0).rests.all()
    assert not slow_samples(velocities, np.array([1e-6]), 1000.0, dead_band=1e-3).rests[100:-100].any()


def test_a_sign_that_noise_hides_for_long() -> None:
    """A slow reversal is no rest, but which way a drive moves is open for a while."""
    rate, noise = 1000.0, 1e-5
    positions = 0.01 * np.sin(2.0 * np.pi * 0.2 * np.arange(0.0, 20.0, 1.0 / rate))
    velocities, noises = noisy_velocity(positions, noise, rate), np.array([noise])
    assert not slow_samples(velocities, noises, rate).rests[500:-500].any()
    assert slow_samples(velocities, noises, rate, -1.0, 0.02).sign_unknown[500:-500].any()
    assert not slow_samples(velocities, noises, rate, -1.0, 10.0).sign_unknown[500:-500].any()


def test_a_drive_that_never_moves_is_at_rest() -> None:
    assert slow_samples(np.zeros((500, 2)), np.array([1e-6, 1e-6]), 100.0).rests.all()


def test_what_passes_where_it_rested_slides() -> None:
    """Only the start from rest sticks, not each later passage of the same place."""
    rate, noise = 1000.0, np.array([1e-6])
    time = np.arange(0.0, 8.0, 1.0 / rate)
    moved = np.maximum(time - 1.0, 0.0)
    positions = 0.05 * (np.sin(2.0 * np.pi * 0.5 * moved) * np.minimum(moved, 1.0))[:, None]
    rests = time[:, None] < 1.0
    started = just_started(positions, np.gradient(positions, time, axis=0), rests, noise)[:, 0]
    assert started[1001:1010].all()
    assert not started[1200:].any()
