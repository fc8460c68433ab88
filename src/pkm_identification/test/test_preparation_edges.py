"""What prepared data say of each drive and of time alone: reversals, rests, lengths, other models, slopes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_identification.columns.observation import ObservationModel, legs_agree
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import RecordingError
from pkm_identification.fitting.physical_machine import _static_above_coulomb
from pkm_identification.motion_source.bands import choose_bands
from pkm_identification.motion_source.filters import edge_samples
from pkm_identification.preparation import prepare
from pkm_identification.recording.recording import Recording

SRS = known_machine('srs')
MODEL = ObservationModel(SRS, legs_agree(SRS))
CONFIG = IdentificationConfig()
RATE, RESTING = 100.0, 2


def drives_of_which_one_rests() -> Recording:
    """Eight seconds of sines, each drive its own; the third one rests from 3 s to 5 s and moves before and after."""
    time = np.arange(800) / RATE
    home = np.array([joint.limits.lower + joint.limits.upper for joint in SRS.actuated_joints]) / 2.0
    moves = 0.03 * np.sin(2.0 * np.pi * (0.55 + 0.03 * np.arange(6)) * time[:, None] + np.arange(6))
    before, after = 2.0 * np.pi * 0.5 * np.minimum(time - 3.0, 0.0), 2.0 * np.pi * 0.5 * np.maximum(time - 5.0, 0.0)
    moves[:, RESTING] = 0.03 * (np.sin(before) ** 3 + np.sin(after) ** 3)
    return Recording(time, home + moves, 100.0 * moves + 50.0)


@pytest.fixture(scope='module')
def recorded() -> Recording:
    """Return a recording in which one drive rests."""
    return drives_of_which_one_rests()


def test_a_drive_that_rests_leaves_the_others_sliding(recorded: Recording) -> None:
    data = prepare(MODEL, recorded, CONFIG)
    rest = (recorded.time > 3.2) & (recorded.time < 4.8)
    assert not data.slides[rest, RESTING].any()
    others = np.delete(data.slides, RESTING, axis=1)[rest]
    assert others.mean() > 0.9
    # longer than the drive rests by the ringing of the low-pass of the motion
    edge = 1.4 / data.bands.motion_cutoff
    around = (recorded.time > 3.0 - edge) & (recorded.time < 5.0 + edge)
    assert not data.slides[around, RESTING].any()


def test_rows_are_those_between_the_ends_that_the_filters_spoil(recorded: Recording) -> None:
    """The first and the last of these times, too; all samples where the forces are not decimated."""
    bands = replace(choose_bands(SRS, recorded, CONFIG), force_cutoff=30.0)
    data = prepare(MODEL, recorded, CONFIG, bands)
    edge = edge_samples(RATE, bands.motion_cutoff, bands.force_cutoff)
    assert np.array_equal(data.row_time, recorded.time[edge:-edge])


def test_both_sides_of_a_rest_are_left_out_for_one_and_a_half_periods_of_the_cut_off(recorded: Recording) -> None:
    """Of the motion, whose low-pass rings there: by how much longer that is with a lower cut-off."""
    bands, lengths = choose_bands(SRS, recorded, CONFIG), []
    for cutoff in (10.0, 30.0):
        slides = prepare(MODEL, recorded, CONFIG, replace(bands, motion_cutoff=cutoff)).slides[:, RESTING]
        lengths.append((np.argmax(slides[400:]) + np.argmax(slides[400::-1]) - 1) / RATE)
    assert lengths[0] - lengths[1] == pytest.approx(2.0 * 1.5 * (1.0 / 10.0 - 1.0 / 30.0), abs=0.04)


def test_a_drive_turns_within_half_a_period_of_the_cut_off_of_its_reversals(recorded: Recording) -> None:
    bands = choose_bands(SRS, recorded, CONFIG)
    data = prepare(MODEL, recorded, CONFIG, bands)
    for drive in (0, 1, 3, 4, 5):
        rates = np.gradient(recorded.drive_positions[:, drive], 1.0 / RATE)
        turns = recorded.time[np.flatnonzero(np.diff(np.sign(rates)))] + 0.005
        away = np.abs(recorded.time[:, None] - turns).min(axis=1)[data.inner]
        assert data.turning[data.inner, drive][away < 0.5 / bands.motion_cutoff - 0.015].all()
        assert not data.turning[data.inner, drive][away > 0.5 / bands.motion_cutoff + 0.025].any()


def test_a_sign_is_unknown_where_a_drive_is_slow_for_a_tenth_of_a_period(recorded: Recording) -> None:
    """Of the cut-off of the forces: it is slower than its dead band for 80 ms around each reversal."""
    bands = replace(choose_bands(SRS, recorded, CONFIG), dead_band=0.015)
    data = prepare(MODEL, recorded, CONFIG, bands)
    rates = np.gradient(recorded.drive_positions[:, 0], 1.0 / RATE)
    turns = np.flatnonzero(np.diff(np.sign(rates)))
    slow = 2.0 * bands.dead_band / np.abs(np.gradient(rates, 1.0 / RATE))[turns].mean()
    assert 0.1 / bands.force_cutoff < slow < 0.1
    assert data.turns_slowly[turns, 0].all()
    assert not data.turns_slowly[np.abs(rates) > 2.0 * bands.dead_band, 0].any()
    # as long as an eighth of a period is slow, too
    longer = prepare(MODEL, recorded, CONFIG, replace(bands, force_cutoff=0.125 / slow))
    assert longer.turns_slowly[turns, 0].all()


def test_a_drive_that_nearly_stops_and_goes_on_keeps_its_whole_sign(recorded: Recording) -> None:
    """It moves on through the intervals of all samples: by the curve of its velocity, which touches zero nowhere."""
    rate, speed = np.pi, 0.03
    least = 0.25 * (rate / RATE) ** 2 * speed
    positions = recorded.drive_positions.copy()
    positions[:, 0] = (speed + least) * recorded.time - speed * np.sin(rate * recorded.time) / rate
    positions[:, 0] += recorded.drive_positions[:, 0].mean() - positions[:, 0].mean()
    data = prepare(MODEL, replace(recorded, drive_positions=positions), CONFIG)
    inner = data.inner
    assert data.samples.velocities[inner, 0].min() == pytest.approx(least, rel=0.1)
    assert (data.samples.signs[inner, 0] == 1.0).all()


@pytest.mark.parametrize(('more', 'long_enough'), [(10, False), (11, True)])
def test_ten_samples_must_be_left_between_the_filters_ends(recorded: Recording, more: int, long_enough: bool) -> None:
    bands = choose_bands(SRS, recorded, CONFIG)
    count = 2 * edge_samples(RATE, bands.motion_cutoff, bands.force_cutoff) + more
    part = replace(
        recorded, time=recorded.time[:count], drive_positions=recorded.drive_positions[:count],
        forces=recorded.forces[:count],
    )  # fmt: skip
    if long_enough:
        assert len(prepare(MODEL, part, CONFIG, bands).time) == 11
    else:
        with pytest.raises(RecordingError, match='are too short, the filters'):
            prepare(MODEL, part, CONFIG, bands)


def test_columns_are_shared_with_a_model_of_the_same_structure_only(recorded: Recording) -> None:
    data = prepare(MODEL, recorded, CONFIG)
    rows = data.structure_rows
    alike, by_leg = ObservationModel(SRS, legs_agree(SRS)), ObservationModel(SRS, not legs_agree(SRS))
    assert data.with_model(alike).structure_rows is rows
    other = data.with_model(by_leg).structure_rows
    expected = prepare(by_leg, recorded, CONFIG).structure_rows
    assert other.shape != rows.shape and other == pytest.approx(expected)


# -- parts of the judgement --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(('gap', 'is_chance'), [(2.9, True), (3.1, False)])
def test_friction_at_rest_is_below_that_of_motion_by_chance_or_not(gap: float, is_chance: bool) -> None:
    """Up to three standard deviations of their difference; both are equal then."""
    model = SimpleNamespace(names=('leg1.coulomb', 'leg1.static', 'leg2.coulomb', 'leg2.static'))
    std = np.array([0.3, 0.4, 0.3, 0.4])
    values, texts = _static_above_coulomb(model, np.array([5.0, 5.0 - 0.5 * gap, 5.0, 6.0]), std)
    assert values.tolist() == [5.0, 5.0, 5.0, 6.0]
    assert len(texts) == (0 if is_chance else 1)
    assert all(text.startswith(f'leg1: friction at rest 3.45 is {gap} standard deviations below') for text in texts)
