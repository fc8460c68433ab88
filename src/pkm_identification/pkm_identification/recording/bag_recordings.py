"""Recordings out of bags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pkm_description.machine import Machine
from pkm_estimation.bags import read_bag

from pkm_identification.errors import RecordingError
from pkm_identification.recording.recording import PlatformPoses, Recording, recording_from_joint_states


def parse_split(text: str) -> list[tuple[float, float]]:
    """Intervals in seconds from ``'start:end,start:end'``.

    Raises
    ------
    RecordingError
        If the text is not of that form, or an end lies before its start.
    """
    intervals = []
    for part in text.split(','):
        try:
            start, end = (float(number) for number in part.split(':'))
        except ValueError:
            raise RecordingError(
                f'split {text!r}: expected start:end,start:end in seconds, e.g. 70:96,98:120'
            ) from None
        if not end > start:
            raise RecordingError(f'split {text!r}: the end {end:g} s is not after the start {start:g} s')
        intervals.append((start, end))
    return intervals


def read_recording(
    machine: Machine, path: str | Path, interval: tuple[float, float] | None = None, namespace: str = ''
) -> Recording:
    """Recording of a bag with joint states (MCAP or sqlite3); reading a bag needs the library ``rosbags``.

    Parameters
    ----------
    machine : names and limits of the driven joints
    path : folder or file of the bag
    interval : first and last second, counted from the first joint state; default: all
    namespace : of the recorded topics

    Raises
    ------
    RecordingError
        If the joint states cannot be used; see :func:`recording_from_joint_states`.
    PkmError
        If the bag cannot be read.
    """
    return read_recordings(machine, path, [] if interval is None else [interval], namespace)[0]


def read_recordings(
    machine: Machine, path: str | Path, intervals: Sequence[tuple[float, float]] = (), namespace: str = ''
) -> list[Recording]:
    """Recordings of a bag, one per interval, see :func:`read_recording`; the whole bag without intervals."""
    streams = ('joint_states', 'platform_odometry')
    data = read_bag(path, namespace, require=('joint_states',), driver=machine.driver, streams=streams)
    states, odometry = data.require(data.joint_states, 'joint_states'), data.platform_odometry
    seconds = (states.stamps - states.stamps[0]) / 1e9
    result = []
    for start, end in intervals or [(0.0, float(seconds[-1]))]:
        chosen = (seconds >= start) & (seconds <= end)
        if not chosen.any():
            raise RecordingError(
                f'{path}: no joint_states between {start:g} and {end:g} s; the bag has {seconds[-1]:.1f} s'
            )
        stamps = states.stamps[chosen]
        name = f'{Path(path).name} {start:g}-{end:g} s' if intervals else Path(path).name
        poses = None if odometry is None else PlatformPoses.around(
            odometry.stamps, odometry.position, odometry.orientation, int(stamps[0]), int(stamps[-1])
        )
        found = recording_from_joint_states(
            machine, stamps, states.names, states.positions[chosen], states.efforts[chosen], name, poses
        )
        result.append(replace(found, origin=str(Path(path).expanduser().resolve())))
    return result
