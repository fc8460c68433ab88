"""Collects messages of a stream into a recording; without ROS, thread-safe."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import JointStateError
from pkm_description.joint_states import JointStateReader
from pkm_description.kinematics.rotation import matrix_from_quaternion
from pkm_description.machine import Machine

from pkm_identification.errors import RecordingError
from pkm_identification.recording.recording import PlatformPoses, Recording, recording_from_joint_states


class StreamRecorder:
    """Takes joint states and platform poses while it records; unusable messages are counted with their reason.

    Parameters
    ----------
    machine : its actuated joints are recorded
    source : name of the recording for reports
    longest_duration : s; older recordings than that end with an error instead of filling the memory
    """

    def __init__(self, machine: Machine, source: str, longest_duration: float = 600.0) -> None:
        self._machine = machine
        self._source = source
        self._longest = round(longest_duration * 1e9)
        self._reader = JointStateReader.of_drives(machine)
        self._lock = threading.Lock()
        self._stamps: list[int] = []
        self._positions: list[Array] = []
        self._efforts: list[Array] = []
        self._pose_stamps: list[int] = []
        self._poses: list[list[float]] = []
        self.rejected: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._stamps)

    @property
    def duration(self) -> float:
        """Recorded time by the stamps, s."""
        return (self._stamps[-1] - self._stamps[0]) / 1e9 if self._stamps else 0.0

    def add_joint_states(
        self, stamp: int, names: Sequence[str], positions: Sequence[float], efforts: Sequence[float]
    ) -> None:
        """Add one message; ``stamp`` in ns."""
        try:
            order = self._reader.order(names)
            position, effort = order.complete(positions), order.complete(efforts, 'effort')
            reason = self._late(stamp)
        except JointStateError as error:
            reason = str(error)
        with self._lock:
            if reason:
                self.rejected[reason] += 1
                return
            self._stamps.append(stamp)
            self._positions.append(position)
            self._efforts.append(effort)

    def add_pose(self, stamp: int, position: Sequence[float], orientation: Sequence[float]) -> None:
        """Add a platform pose: position (3,) m, orientation quaternion xyzw; ``stamp`` in ns."""
        values = [*position, *orientation]
        late = bool(self._pose_stamps) and stamp <= self._pose_stamps[-1]
        with self._lock:
            if late or not np.all(np.isfinite(values)) or not any(orientation):
                self.rejected['platform pose late or not finite'] += 1
                return
            self._pose_stamps.append(stamp)
            self._poses.append(values)

    def _late(self, stamp: int) -> str:
        """Reason why a stamp [ns] is of no use, empty if it is."""
        if self._stamps and stamp <= self._stamps[-1]:
            return 'stamp repeated or going back'
        if self._stamps and stamp - self._stamps[0] > self._longest:
            return f'recording longer than {self._longest / 1e9:g} s'
        return ''

    def finish(self) -> Recording:
        """Checked recording of what came so far.

        Raises
        ------
        RecordingError
            With the counts of rejected messages, so that the cause is visible.
        """
        with self._lock:
            rejected = ', '.join(f'{count} times {reason}' for reason, count in self.rejected.most_common(3))
            hint = f'; rejected messages: {rejected}' if rejected else ''
            if len(self._stamps) < 2:
                raise RecordingError(
                    f'{self._source}: {len(self._stamps)} usable {self._machine.driver.joint_topic} '
                    f'were recorded{hint or "; is the topic published?"}'
                )
            try:
                return recording_from_joint_states(
                    self._machine.as_converted,
                    np.array(self._stamps, dtype=np.int64),
                    self._reader.wanted,
                    np.array(self._positions),
                    np.array(self._efforts),
                    self._source,
                    self._platform_poses(),
                )
            except RecordingError as error:
                raise RecordingError(f'{error}{hint}') from None

    def _platform_poses(self) -> PlatformPoses | None:
        if len(self._pose_stamps) < 4:
            return None
        stamps, values = np.array(self._pose_stamps, dtype=np.int64), np.array(self._poses)
        time = (stamps - self._stamps[0]) / 1e9
        return PlatformPoses(time, values[:, :3], matrix_from_quaternion(values[:, 3:]))
