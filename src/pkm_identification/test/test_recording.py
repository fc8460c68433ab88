"""Recordings: which data are accepted, repaired or refused, and the error messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pkm_description.errors import ConfigurationError
from pkm_description.machine import Machine
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import RecordingError
from pkm_identification.nodes.node_settings import IdentificationNodeSettings
from pkm_identification.recording.bag_recordings import read_recording
from pkm_identification.recording.recording import Recording, recording_from_joint_states
from pkm_identification.session import IdentificationSession, StreamRecorder


def states(machine: Machine) -> dict:
    """4 s of joint states around the middle of the stroke."""
    names = [joint.name for joint in machine.actuated_joints]
    stamps = np.arange(400, dtype=np.int64) * 10_000_000 + 5
    wave = 0.6 + 0.1 * np.sin(2 * np.pi * stamps[:, None] / 1e9 + np.arange(6))
    return {'stamps': stamps, 'names': names, 'positions': wave, 'efforts': 1000.0 * wave}


def test_clean_data_pass_unchanged(srs: Machine) -> None:
    """Any joint order; the numbers are those of the messages."""
    data = states(srs)
    reverse = slice(None, None, -1)
    found = recording_from_joint_states(
        srs, data['stamps'], data['names'][reverse], data['positions'][:, reverse], data['efforts'][:, reverse]
    )
    assert np.array_equal(found.forces, data['efforts'])
    assert np.array_equal(found.drive_positions, data['positions'])
    assert found.sample_rate == pytest.approx(100.0)


def test_jitter_and_lost_messages_are_interpolated(srs: Machine) -> None:
    """1 ms of jitter and a few lost messages leave a uniform grid with 10 um accuracy."""
    data = states(srs)
    jitter = np.random.default_rng(0).integers(-1_000_000, 1_000_000, 400)
    stamps = data['stamps'] + jitter
    wave = 0.6 + 0.1 * np.sin(2 * np.pi * stamps[:, None] / 1e9 + np.arange(6))
    keep = np.ones(400, dtype=bool)
    keep[[50, 51, 200]] = False
    found = recording_from_joint_states(srs, stamps[keep], data['names'], wave[keep], 1000.0 * wave[keep])
    time = (found.time * 1e9 + stamps[0]) / 1e9
    expected = 0.6 + 0.1 * np.sin(2 * np.pi * time[:, None] + np.arange(6))
    assert np.abs(found.drive_positions - expected).max() < 1e-5
    assert np.ptp(np.diff(found.time)) < 1e-12


def _nan(data: dict) -> None:
    data['efforts'][7, 3] = np.nan


def _rename(data: dict) -> None:
    data['names'][2] = 'elbow'


def _millimetres(data: dict) -> None:
    data['positions'] *= 1000.0


def _short(data: dict) -> None:
    for key in ('stamps', 'positions', 'efforts'):
        data[key] = data[key][:50]


@pytest.mark.parametrize(
    ('spoil', 'words'),
    [
        (_nan, 'effort of leg4_prismatic is not a finite number at 0.070 s'),
        (_rename, 'no position of leg3_prismatic.* actuated joint of .srs'),
        (_millimetres, 'metres'),
        (_short, 'at least 2 s'),
    ],
)
def test_bad_data_are_refused_in_words(srs: Machine, spoil: Callable[[dict], None], words: str) -> None:
    """The message names joint, value or time."""
    data = states(srs)
    spoil(data)
    with pytest.raises(RecordingError, match=words):
        recording_from_joint_states(srs, **data)


def record(machine: Machine, data: dict, spoil: Callable[[int, list, list, list], tuple]) -> Recording:
    """Send data message by message, changed by ``spoil``."""
    recorder = StreamRecorder(machine, 'stream')
    for index, stamp in enumerate(data['stamps']):
        message = (int(stamp), data['names'], data['positions'][index].tolist(), data['efforts'][index].tolist())
        recorder.add_joint_states(*spoil(index, *message))
    return recorder.finish()


def test_stream_drops_single_bad_messages(srs: Machine) -> None:
    """One NaN, one message without efforts, one repeated stamp: dropped, counted, bridged."""
    data = states(srs)

    def spoil(index: int, stamp: int, names: list, positions: list, efforts: list) -> tuple:
        if index == 30:
            efforts = [np.nan] * 6
        if index == 60:
            efforts = []
        if index == 90:
            stamp -= 10_000_000
        return stamp, names, positions, efforts

    found = record(srs, data, spoil)
    assert len(found.time) == 400
    assert found.forces == pytest.approx(data['efforts'], rel=0.01)


def test_stream_without_efforts_says_so(srs: Machine) -> None:
    """The reason of the rejections reaches the error."""
    with pytest.raises(RecordingError, match='400 times 6 joint names but 0 efforts'):
        record(srs, states(srs), lambda index, stamp, names, positions, efforts: (stamp, names, positions, []))


def test_windows_of_a_stream_are_cut_by_stamps(srs: Machine) -> None:
    """The same samples as cut out of the whole, and poses around the ends; what is beyond the end is told."""
    data = states(srs)
    for window, rows in (((0.5, 2.5), slice(50, 251)), ((1.5, 3.5), slice(150, 351))):
        recorder = StreamRecorder(srs, 'stream', window=window)
        for index, stamp in enumerate(data['stamps'].tolist()):
            recorder.add_joint_states(stamp, data['names'], data['positions'][index], data['efforts'][index])
            recorder.add_pose(stamp, [0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0])
        found = recorder.finish()
        assert np.array_equal(found.drive_positions, data['positions'][rows])
        assert np.array_equal(found.forces, data['efforts'][rows])
        assert found.poses is not None
        assert found.poses.time[[0, -1]] == pytest.approx([-0.02, 2.02])
    late = IdentificationSession(srs, IdentificationConfig(), Path(), windows={'identification': (9.0, 12.0)})
    late.add_joint_states(5, data['names'], data['positions'][0], data['efforts'][0])
    with pytest.raises(RecordingError, match='identification recording from 9 s to 12 s: 0 usable'):
        late.identify()


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'excitation': (5.0, 1.0)}, 'excitation = .5, 1.'),
        ({'excitation': (-1.0, 1.0)}, 'excitation = .-1.0, 1.0.: -1.0 must be a number from 0'),
        ({'validation': (1.0, 2.0)}, 'validation = .* needs excitation'),
    ],
)
def test_wrong_windows_are_refused(values: dict, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        IdentificationNodeSettings(**values)


def test_csv_files_are_recordings_and_without_efforts_it_is_said(srs: Machine, tmp_path: Path) -> None:
    data = states(srs)
    names = [f'{joint}.{field}' for field in ('position', 'effort') for joint in data['names']]
    rows = np.hstack([data['positions'], data['efforts']])
    numbers = zip(data['stamps'].tolist(), rows.tolist(), strict=True)
    lines = [','.join([str(stamp), *map(repr, row)]) for stamp, row in numbers]
    path = tmp_path / 'run.csv'
    path.write_text('\n'.join([','.join(['stamp', *names]), *lines]))
    recording, expected = read_recording(srs, path), recording_from_joint_states(srs, **data)
    assert recording.drive_positions.tobytes() == expected.drive_positions.tobytes()
    assert recording.forces.tobytes() == expected.forces.tobytes()
    path.write_text(path.read_text().replace('.effort', '.current'))
    with pytest.raises(RecordingError, match='effort of leg1_prismatic'):
        read_recording(srs, path)
