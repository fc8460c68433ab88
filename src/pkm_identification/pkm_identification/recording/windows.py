"""Recordings of windows of a stream, told by its stamps; without ROS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pkm_description.machine import Machine

from pkm_identification.recording.recording import Recording
from pkm_identification.recording.stream_recorder import StreamRecorder

#: ns by which poses may lie outside of a window: those around its ends are needed to interpolate to its samples
_POSE_MARGIN = 20_000_000


class WindowRecorder:
    """Takes the messages whose stamps lie in windows, whenever they come: the same as cutting a bag.

    Parameters
    ----------
    machine : its actuated joints are recorded
    windows : names with first and last second, counted from the first joint state
    longest_duration : s, see :class:`StreamRecorder`
    """

    def __init__(
        self, machine: Machine, windows: dict[str, tuple[float, float]], longest_duration: float = 600.0
    ) -> None:
        self._first: int | None = None
        self._latest = 0
        self._windows: dict[str, tuple[int, int, StreamRecorder]] = {
            role: (
                round(start * 1e9),
                round(end * 1e9),
                StreamRecorder(machine, f'{role} recording from {start:g} s to {end:g} s', longest_duration),
            )
            for role, (start, end) in windows.items()
        }

    @property
    def is_over(self) -> bool:
        """Whether a stamp beyond the last window has come."""
        last = max(end for _, end, _ in self._windows.values())
        return self._first is not None and self._latest - self._first > last

    def __len__(self) -> int:
        return sum(len(recorder) for _, _, recorder in self._windows.values())

    @property
    def rejected(self) -> Counter[str]:
        """Reasons of all windows with their numbers."""
        return sum((recorder.rejected for _, _, recorder in self._windows.values()), Counter[str]())

    def add_joint_states(
        self, stamp: int, names: Sequence[str], positions: Sequence[float], efforts: Sequence[float]
    ) -> None:
        """Add one message to the windows in which its ``stamp`` [ns] lies."""
        if self._first is None:
            self._first = stamp
        self._latest = stamp
        for start, end, recorder in self._windows.values():
            if start <= stamp - self._first <= end:
                recorder.add_joint_states(stamp, names, positions, efforts)

    def add_pose(self, stamp: int, position: Sequence[float], orientation: Sequence[float]) -> None:
        """Add a platform pose, see :meth:`StreamRecorder.add_pose`."""
        if self._first is None:
            return
        for start, end, recorder in self._windows.values():
            if start - _POSE_MARGIN <= stamp - self._first <= end + _POSE_MARGIN:
                recorder.add_pose(stamp, position, orientation)

    def finish(self) -> dict[str, Recording]:
        """Checked recording of every window, of what came so far.

        Raises
        ------
        RecordingError
            Of a window: with the counts of rejected messages, so that the cause is visible.
        """
        return {role: recorder.finish() for role, (_, _, recorder) in self._windows.items()}
