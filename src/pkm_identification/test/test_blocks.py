"""Blocks: rows are those of the whole, and memory does not grow with what is large per sample."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_identification.blocks import joined, kept
from pkm_identification.columns.observation import observation_model
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.motion_source.filters import (
    RowFilter,
    answer_samples,
    decimation_factor,
    parallel_filter,
    settling_samples,
)
from pkm_identification.preparation import prepare
from synthetic import clean_signals, recording


@pytest.mark.parametrize(
    ('rate', 'cutoff', 'count'), [(1000.0, 4.0, 60001), (1000.0, 23.0, 20013), (400.0, 100.0, 9000), (200.0, 90.0, 500)]
)
def test_rows_equal_those_of_the_low_pass(rate: float, cutoff: float, count: int) -> None:
    """Sums over blocks give what the low-pass gives for the whole, at the ends, too.

    Beyond its ends the recording is mirrored, and goes on constant for so long that the low-pass has forgotten its own.
    """
    values = 1e3 + np.cumsum(np.random.default_rng(0).normal(size=(count, 3)), axis=0)
    mirrored = settling_samples(rate, cutoff)
    longer = np.pad(values, ((mirrored, mirrored), (0, 0)), 'reflect', reflect_type='odd')
    rest = decimation_factor(rate, cutoff) * answer_samples(rate, cutoff)
    longer = np.pad(longer, ((rest - mirrored, rest), (0, 0)), 'edge')
    expected = parallel_filter(longer, rate, cutoff)[answer_samples(rate, cutoff) :]
    expected = expected[: -(-count // decimation_factor(rate, cutoff))]
    found = RowFilter(rate, cutoff, np.ones(len(expected), dtype=bool))(values)
    assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()


def test_blocks_give_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values, and sums of products, of 5 blocks."""
    monkeypatch.setattr('pkm_identification.blocks.BLOCK', 7)
    values = np.random.default_rng(0).normal(size=(31, 2, 3))
    assert np.array_equal(joined(lambda part: values[part], 31), values)
    calls = []

    def counted(part: slice) -> Array:
        calls.append(part)
        return values[part]

    for _ in range(2):
        assert np.array_equal(kept(counted, 31)(slice(3, 9)), values[3:9])
        monkeypatch.setattr('pkm_identification.blocks.KEPT_BYTES', 0)
    # a look and five blocks; then a look and what was asked for
    assert len(calls) == 6 + 2


def test_rows_of_own_legs_need_little_memory(srs: Machine) -> None:
    """Their columns are 9 kB per sample; rows, and what makes them, are less than 3 kB.

    When blocks were kept whole by views of their rows, they took 14 kB.
    """
    rate, peaks = 200.0, []
    config = IdentificationConfig.from_mapping({'rows.cutoff_frequency': 4.0})
    for seconds in (20.0, 60.0):
        run = recording(srs, clean_signals(srs, 'fourier', seconds, rate, 0), 1)
        model = observation_model(srs, config, run.drive_positions, run.sample_rate)
        own = model.with_own_legs()
        assert own is not None
        data = prepare(model, run, config)
        tracemalloc.start()
        rows = data.rows_of(lambda part, own=own, data=data: own.structure(data.motion[part]))
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e3)
        tracemalloc.stop()
        assert rows.shape[2] == own.structure_count
    growth = (peaks[1] - peaks[0]) / (40.0 * rate)
    print(f'{growth:.2f} kB per sample')
    assert growth < 3.0
