"""Recordings at the edges of their rules: intervals, gaps, ranges, lengths, and poses beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_estimation.bags import BagWriter
from pkm_identification.errors import RecordingError
from pkm_identification.recording.bag_recordings import parse_split, read_recording, read_recordings
from pkm_identification.recording.recording import Recording, recording_from_joint_states
from pkm_identification.session import StreamRecorder

MS, SECOND = 10**6, 10**9
UPRIGHT = [0.0, 0.0, 0.0, 1.0]


def arrays(machine: Machine, stamps: np.ndarray, place: float = 0.6) -> tuple:
    """Stamps, names, and positions and efforts that go up and down a little."""
    wave = place + 0.01 * np.sin(stamps[:, None] / 1e9 + np.arange(6))
    return stamps, list(machine.actuated_joint_names), wave, 1000.0 * wave


def test_an_interval_has_a_length() -> None:
    assert parse_split('1:2,4.5:5') == [(1.0, 2.0), (4.5, 5.0)]
    for text in ('5:5', '5:4'):
        with pytest.raises(RecordingError, match='the end . s is not after the start 5 s'):
            parse_split(text)


@pytest.mark.parametrize(('periods', 'fits'), [(5, True), (6, False), (8, False)])
def test_up_to_four_lost_messages_in_a_row_are_interpolated(srs: Machine, periods: int, fits: bool) -> None:
    stamps = 7 + 10 * MS * np.arange(300)
    stamps = np.delete(stamps, np.arange(100, 99 + periods))
    if fits:
        found = recording_from_joint_states(srs, *arrays(srs, stamps))
        assert len(found.time) == 300 and found.start_stamp == 7
    else:
        with pytest.raises(RecordingError, match=f'gap of {10 * periods} ms at 0.990 s'):
            recording_from_joint_states(srs, *arrays(srs, stamps))


@pytest.mark.parametrize(('beyond', 'fits'), [(-0.1, True), (0.19, True), (0.21, False)])
@pytest.mark.parametrize('end', ['lower', 'upper'])
def test_positions_may_be_a_fifth_of_the_range_beyond_it(beyond: float, fits: bool, end: str) -> None:
    """Of its length, wherever it begins."""
    machine = load_machine('khalifa_3prr')
    limits, middle = machine.actuated_joints[2].limits, [
        0.5 * (joint.limits.lower + joint.limits.upper) for joint in machine.actuated_joints
    ]  # fmt: skip
    assert limits.lower != 0.0
    out = beyond * (limits.upper - limits.lower)
    stamps, names = 10 * MS * np.arange(300), machine.actuated_joint_names
    positions, efforts = np.tile(middle, (300, 1)), np.zeros((300, 3))
    positions[150, 2] = limits.lower - out if end == 'lower' else limits.upper + out
    if fits:
        found = recording_from_joint_states(machine, stamps, names, positions, efforts)
        assert found.drive_positions[150, 2] == positions[150, 2]
    else:
        with pytest.raises(RecordingError, match='position of leg3_prismatic'):
            recording_from_joint_states(machine, stamps, names, positions, efforts)


def test_a_stream_is_recorded_up_to_its_longest_duration(srs: Machine) -> None:
    recorder = StreamRecorder(srs, 'stream', longest_duration=2.0)
    _, names, positions, efforts = arrays(srs, np.zeros(1))

    def add(stamp: int) -> None:
        recorder.add_joint_states(stamp, names, positions[0].tolist(), efforts[0].tolist())

    for stamp in (5, 5 + SECOND // 2, 5 + 2 * SECOND, 6 + 2 * SECOND, 5 + 3 * SECOND):
        add(stamp)
    assert len(recorder) == 3 and recorder.rejected == {'recording longer than 2 s': 2}


def test_poses_that_are_of_no_use_are_counted(srs: Machine) -> None:
    recorder = StreamRecorder(srs, 'stream')
    for stamp, height, orientation in (
        (1, 1.0, UPRIGHT), (1, 1.0, UPRIGHT), (2, np.nan, UPRIGHT), (3, 1.0, [0.0] * 4), (4, 1.0, UPRIGHT),
    ):  # fmt: skip
        recorder.add_pose(stamp, [0.0, 0.0, height], orientation)
    assert recorder.rejected == {'platform pose late or not finite': 3}


def test_poses_of_a_bag_go_20_ms_beyond_the_interval(srs: Machine, tmp_path: Path) -> None:
    stamps, names, positions, efforts = arrays(srs, SECOND + 10 * MS * np.arange(500))
    with BagWriter(tmp_path / 'bag', 'mcap') as writer:
        writer.write_joint_states(stamps, names, positions, np.zeros_like(positions), efforts)
        still, upright = np.zeros((500, 3)), np.tile(UPRIGHT, (500, 1))
        writer.write_odometry(stamps, still, upright, still, still, topic='platform/odometry')
    found = read_recording(srs, tmp_path / 'bag', (1.0, 4.0))
    assert found.start_stamp == 2 * SECOND and found.duration == pytest.approx(3.0)
    assert found.poses is not None
    assert found.poses.time[[0, -1]] == pytest.approx([-0.02, 3.02], abs=1e-12)
    assert len(found.poses.time) == 305
    assert found.source == 'bag 1-4 s'
    (whole,) = read_recordings(srs, tmp_path / 'bag')
    assert whole.source == 'bag' and len(whole.time) == 500


@pytest.mark.parametrize(('late', 'fits'), [(0.02, True), (0.03, False)])
def test_steps_of_a_recording_differ_by_a_twentieth_at_most(late: float, fits: bool) -> None:
    """A late sample makes one step longer and the next one shorter."""
    time = 0.01 * np.arange(100)
    time[50] += 0.01 * late
    if fits:
        assert len(Recording(time, np.zeros((100, 6)), np.zeros((100, 6))).time) == 100
    else:
        with pytest.raises(RecordingError, match='time is not uniform'):
            Recording(time, np.zeros((100, 6)), np.zeros((100, 6)))


def test_a_stream_of_a_single_message_is_no_recording(srs: Machine) -> None:
    recorder = StreamRecorder(srs, 'stream')
    _, names, positions, efforts = arrays(srs, np.zeros(1))
    recorder.add_joint_states(5, names, positions[0].tolist(), efforts[0].tolist())
    with pytest.raises(RecordingError, match='stream: 1 usable .* is the topic published'):
        recorder.finish()


def test_the_three_most_frequent_reasons_are_told(srs: Machine) -> None:
    recorder = StreamRecorder(srs, 'stream')
    recorder.rejected.update({'first': 9, 'second': 8, 'third': 7, 'fourth': 6})
    with pytest.raises(RecordingError, match='0 usable .*: 9 times first, 8 times second, 7 times third$'):
        recorder.finish()


def test_a_window_is_over_after_its_end(srs: Machine) -> None:
    recorder = StreamRecorder(srs, 'stream', window=(1.0, 2.0))
    _, names, positions, efforts = arrays(srs, np.zeros(1))
    assert not recorder.is_over
    for stamp, is_over in ((5, False), (5 + SECOND, False), (5 + 2 * SECOND, False), (6 + 2 * SECOND, True)):
        recorder.add_joint_states(stamp, names, positions[0].tolist(), efforts[0].tolist())
        assert recorder.is_over == is_over
