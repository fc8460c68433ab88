"""Hall sensors: the model against its known first-order error, the fit, and what the fit refuses."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.driver import HallSensor, PeriodicError, fit_periodic_error
from pkm_description.errors import ArgumentError

PITCH = 0.03
STROKE = np.linspace(-0.1, 0.2, 2001)


def test_a_perfect_sensor_reads_the_position_and_counts_turns() -> None:
    np.testing.assert_allclose(HallSensor(PITCH).reading(STROKE), STROKE, rtol=0, atol=1e-15)
    coarse = HallSensor(PITCH, resolution=1e-3).reading(STROKE)
    assert np.abs(coarse - STROKE).max() <= 0.5e-3 + 1e-12
    np.testing.assert_allclose(coarse / 1e-3, np.round(coarse / 1e-3), atol=1e-9)


@pytest.mark.parametrize(
    ('imperfect', 'expected'),
    [
        # d(atan2(s, c)) = c ds - s dc, to first order; phase p
        ({'offsets': (1e-4, 0.0)}, lambda p: -1e-4 * np.sin(p)),
        ({'offsets': (0.0, 1e-4)}, lambda p: 1e-4 * np.cos(p)),
        ({'amplitude_ratio': 1.0 + 1e-4}, lambda p: 0.5e-4 * np.sin(2 * p)),
        ({'angle_error': 1e-4}, lambda p: 0.5e-4 * (1.0 + np.cos(2 * p))),
        ({'third_harmonic': 1e-4}, lambda p: 1e-4 * np.sin(2 * p)),
    ],
)
def test_errors_of_first_order(imperfect: dict, expected) -> None:
    phase = 2.0 * np.pi * STROKE / PITCH
    error = (HallSensor(PITCH, **imperfect).reading(STROKE) - STROKE) * 2.0 * np.pi / PITCH
    np.testing.assert_allclose(error, expected(phase), rtol=0, atol=3e-8)


def test_the_fit_finds_a_known_error_exactly_and_its_own_slope() -> None:
    cosine, sine = 1e-5 * np.array([[3.0, 1.0], [0.5, 0.0]]), 1e-5 * np.array([[-2.0, 4.0], [0.0, 0.7]])
    pitch = np.array([0.03, 0.05])
    known = PeriodicError(pitch, cosine, sine)
    true = np.column_stack([STROKE, 0.3 + STROKE[::-1]])
    readings = known.reading(true) - np.array([1e-3, -2e-3])
    shifted = fit_periodic_error(readings, true, pitch, 2)
    np.testing.assert_allclose(
        readings - shifted.error.error(readings) + shifted.offset, true, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(shifted.offset, [1e-3, -2e-3], atol=1e-12)
    assert shifted.improvement.min() > 1e6
    direct = fit_periodic_error(known.reading(true), true, pitch, 2)
    np.testing.assert_allclose(direct.error.cosine, cosine, atol=1e-13)
    np.testing.assert_allclose(direct.error.sine, sine, atol=1e-13)
    step = 1e-7
    numeric = (known.error(true + step) - known.error(true - step)) / (2.0 * step)
    np.testing.assert_allclose(known.slope(true), numeric, rtol=1e-6, atol=1e-9)
    assert np.abs(known.slope(true)).max() <= known.steepest.max() < 1.0


@pytest.mark.parametrize(
    ('reading', 'reference', 'pitch', 'words'),
    [
        (STROKE[:10, None], STROKE[:10, None], PITCH, 'drive 1: 10 samples over 0.00135 of a pitch of 0.03 do not'),
        (STROKE[:4, None], STROKE[:5, None], PITCH, 'must have the same shape'),
        (STROKE[:, None], STROKE[:, None] * np.nan, PITCH, 'be finite'),
        (STROKE[:, None], STROKE[:, None], 0.0, 'must be greater than 0'),
    ],
)
def test_what_determines_nothing_is_refused(reading, reference, pitch: float, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        fit_periodic_error(reading, reference, pitch)
