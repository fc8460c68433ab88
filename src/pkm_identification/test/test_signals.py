"""Filters, derivatives, Fourier fit, choice of the band."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_identification.motion_source.filters import (
    decimation_factor,
    derivatives,
    excitation_band,
    fourier_fit,
    kept_rows,
    low_pass,
    parallel_filter,
)


def test_low_pass_keeps_the_band_without_lag() -> None:
    """A sine at half the cut-off passes with its phase and amplitude; one at twice is gone."""
    time = np.arange(0.0, 20.0, 0.01)
    inner = slice(400, -400)
    slow, fast = np.sin(2 * np.pi * 2.5 * time), np.sin(2 * np.pi * 10.0 * time)
    filtered = low_pass(slow + fast, 100.0, 5.0)
    assert np.abs(filtered - slow)[inner].max() < 1e-4


def test_derivatives_are_accurate() -> None:
    """Second derivative of a 2 Hz sine at 100 Hz to 1e-4, where central differences would be 1e-3 off."""
    time = np.arange(0.0, 5.0, 0.01)
    omega = 2 * np.pi * 2.0
    first, second = derivatives(time, np.sin(omega * time))
    inner = slice(20, -20)
    assert np.abs(first - omega * np.cos(omega * time))[inner].max() < 1e-5 * omega
    assert np.abs(second + omega**2 * np.sin(omega * time))[inner].max() < 1e-4 * omega**2


def test_fourier_fit_beats_differencing() -> None:
    """R4-31: n = 5, T = 4 s, 1 kHz, 20 um: velocity and acceleration errors below 1e-4 of the signal."""
    random = np.random.default_rng(0)
    time = np.arange(4000) / 1000.0
    omega = 2 * np.pi / 4.0 * np.arange(1, 6)
    sine, cosine = random.normal(size=(2, 5)) * 0.1
    position = (sine / omega * np.sin(omega * time[:, None]) - cosine / omega * np.cos(omega * time[:, None])).sum(
        axis=1
    )
    velocity = (sine * np.cos(omega * time[:, None]) + cosine * np.sin(omega * time[:, None])).sum(axis=1)
    acceleration = (omega * (cosine * np.cos(omega * time[:, None]) - sine * np.sin(omega * time[:, None]))).sum(axis=1)
    measured = position + 20e-6 * random.normal(size=4000)
    _, first, second = fourier_fit(time, measured[:, None], 0.25, 5)
    assert np.std(first[:, 0] - velocity) < 1e-4 * np.std(velocity)
    assert np.std(second[:, 0] - acceleration) < 1e-4 * np.std(acceleration)


@pytest.mark.parametrize('noise', [0.0, 1e-5, 1e-4])
def test_band_is_that_of_the_motion_whatever_the_noise(noise: float) -> None:
    """Noise, which acceleration lifts with the fourth power of frequency, does not widen the band."""
    time = np.arange(0.0, 25.0, 0.01)
    motion = 0.2 * np.sin(2 * np.pi * 0.3 * time) + 0.05 * np.sin(2 * np.pi * 1.1 * time)
    values = np.column_stack([motion, 0.5 * motion]) + noise * np.random.default_rng(0).normal(size=(2500, 2))
    assert excitation_band(values, 100.0) == pytest.approx(1.1, abs=0.1)


def test_parallel_filter_keeps_linear_relations() -> None:
    """Force = regressor @ parameters before is the same relation after, and white noise stays nearly white."""
    random = np.random.default_rng(1)
    regressor, parameters = random.normal(size=(3000, 6, 4)), np.array([1.0, -2.0, 3.0, 0.5])
    force = parallel_filter(regressor @ parameters, 100.0, 4.0)
    rows = parallel_filter(regressor.reshape(3000, -1), 100.0, 4.0).reshape(-1, 6, 4)
    assert np.abs(rows @ parameters - force).max() < 1e-12
    assert len(force) == 3000 // decimation_factor(100.0, 4.0)
    noise = parallel_filter(random.normal(size=(100000, 1)), 100.0, 4.0)[:, 0]
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 0.3


def test_rows_near_excluded_samples_are_dropped() -> None:
    """Only the rows within reach of an excluded sample, and only of that leg."""
    excluded = np.zeros((1000, 2), dtype=bool)
    excluded[500, 1] = True
    weights = kept_rows(excluded, 100.0, 5.0, 0.5)
    times = np.arange(0, 1000, decimation_factor(100.0, 5.0))
    assert np.all(weights[:, 0] == 1.0)
    assert set(times[weights[:, 1] == 0.0]) == {time for time in times if abs(time - 500) <= 10}
