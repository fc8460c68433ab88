"""The filter of single lines: keeps what it should, without phase, and tells what it cannot do."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_identification.errors import RecordingError
from pkm_identification.motion_source.periods import line_filter

RATE, BASE = 200.0, 0.5
TIME = np.arange(1200) / RATE  # three periods


def wave(number: float, phase: float = 0.3) -> np.ndarray:
    return np.sin(2.0 * np.pi * BASE * number * TIME + phase)


def test_lines_are_kept_with_their_phase_and_others_vanish() -> None:
    wanted = 2.0 + wave(1) + 0.5 * wave(3)
    dirty = wanted + wave(2) + 0.1 * wave(7.0 / 3.0) + wave(40)
    np.testing.assert_allclose(line_filter(dirty, RATE, BASE, [0, 1, 3]), wanted, atol=1e-12)
    np.testing.assert_allclose(line_filter(dirty, RATE, BASE, range(101)) - dirty, -0.1 * wave(7.0 / 3.0), atol=1e-12)
    assert np.abs(line_filter(dirty, RATE, BASE, [])).max() == 0.0


def test_columns_are_filtered_one_by_one() -> None:
    both = np.stack([wave(1), wave(2)], axis=1)[:, None, :]
    found = line_filter(both, RATE, BASE, [2])
    np.testing.assert_allclose(found[:, 0], np.stack([np.zeros(1200), wave(2)], axis=1), atol=1e-12)


def test_what_it_cannot_do() -> None:
    with pytest.raises(RecordingError, match='1190 samples at 200 Hz are 2.975 periods'):
        line_filter(np.zeros(1190), RATE, BASE, [1])
    with pytest.raises(RecordingError, match='lines 0 to 200 only'):
        line_filter(np.zeros(1200), RATE, BASE, [201])
