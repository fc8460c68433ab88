"""Session of the identification node: record, record for validation, identify, save; without ROS."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import JointStateError
from pkm_description.joint_states import JointStateReader
from pkm_description.machine import Machine
from pkm_description.writing import replacing

from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import InfeasibleParametersError, RecordingError
from pkm_identification.pipeline import identify
from pkm_identification.recording.recording import POSE_MARGIN, PlatformPoses, Recording, recording_from_joint_states
from pkm_identification.report.files import write_result
from pkm_identification.result import INFEASIBLE, IdentificationResult

#: ns, longer than any recording
_FOREVER = 1 << 62


class IdentificationSession:
    """Recordings alternate: the first is for identification, the second for validation, the third starts again.

    Methods return one sentence on success and raise :class:`PkmError` with a reason otherwise. Messages may come
    from another thread than commands.

    Parameters
    ----------
    machine : nominal machine
    config : settings
    directory : where results are written
    longest_recording : s
    windows : seconds from the first joint state to record for ``identification`` and ``validation``, without being told
        to; empty: :meth:`start_recording` and :meth:`stop_recording` say when

    Attributes
    ----------
    state : ``idle``, ``recording ...`` or the stage of an identification
    trouble : last error, empty if there was none
    result : of the last identification
    """

    def __init__(
        self,
        machine: Machine,
        config: IdentificationConfig,
        directory: Path,
        longest_recording: float = 600.0,
        windows: Mapping[str, tuple[float, float]] = MappingProxyType({}),
    ) -> None:
        self._machine, self._config, self._directory = machine, config, directory
        self._longest = longest_recording
        self._lock = threading.Lock()
        self._has_windows = bool(windows)
        self._recorders = {
            role: StreamRecorder(
                machine, f'{role} recording from {window[0]:g} s to {window[1]:g} s', longest_recording, window
            )
            for role, window in windows.items()
        }
        self._role = ''
        self._recordings: dict[str, Recording] = {}
        self.state = 'idle'
        self.trouble = ''
        self.result: IdentificationResult | None = None

    def add_joint_states(
        self, stamp: int, names: Sequence[str], positions: Sequence[float], efforts: Sequence[float]
    ) -> None:
        """Take a message while recording; ``stamp`` in ns."""
        for recorder in list(self._recorders.values()):
            recorder.add_joint_states(stamp, names, positions, efforts)
        if rejected := self._rejected:
            reason, count = rejected.most_common(1)[0]
            self.trouble = f'{sum(rejected.values())} messages rejected, most often ({count}): {reason}'

    def add_pose(self, stamp: int, position: Sequence[float], orientation: Sequence[float]) -> None:
        """Take an estimator's pose while recording; quaternion xyzw."""
        for recorder in list(self._recorders.values()):
            recorder.add_pose(stamp, position, orientation)

    @property
    def may_lack_samples(self) -> bool:
        """Whether windows are recorded and not over: samples may be on their way."""
        return self._has_windows and not all(recorder.is_over for recorder in self._recorders.values())

    @property
    def _rejected(self) -> Counter[str]:
        """Reasons of all recorders with their numbers."""
        return sum((recorder.rejected for recorder in list(self._recorders.values())), Counter[str]())

    def start_recording(self) -> str:
        """Begin the next recording; one that is running is finished first."""
        if self._has_windows:
            raise RecordingError('the parameters excitation and validation say what is recorded; call identify')
        ended = f'{self.stop_recording()}; ' if self._recorders else ''
        with self._lock:
            if 'identification' not in self._recordings or 'validation' in self._recordings:
                self._recordings.clear()
                self._role = 'identification'
            else:
                self._role = 'validation'
            self._recorders = {self._role: StreamRecorder(self._machine, f'{self._role} recording', self._longest)}
            self.state, self.trouble = f'recording for {self._role}', ''
        return f'{ended}recording for {self._role}'

    def stop_recording(self) -> str:
        """End the recording and check it."""
        with self._lock:
            recorder = self._recorders.pop(self._role, None)
            self.state = 'idle'
            if recorder is None:
                raise RecordingError('nothing is being recorded; call start_recording first')
            try:
                recording = recorder.finish()
            except RecordingError as error:
                self.trouble = str(error)
                raise
            self._recordings[self._role] = recording
        rejected = sum(recorder.rejected.values())
        text = f'{self._role} recording: {len(recording.time)} samples, {recording.duration:.2f} s'
        return text + (f', {rejected} messages rejected' if rejected else '')

    def identify(self, progress: Callable[[str], object] | None = None) -> str:
        """Identify from the recordings, write report, numbers and overlay."""
        if self._has_windows:
            self._recordings = {role: recorder.finish() for role, recorder in self._recorders.items()}
        elif self._recorders:
            self.stop_recording()
        recording = self._recordings.get('identification')
        if recording is None:
            raise RecordingError('no identification recording; call start_recording and stop_recording around a motion')

        def say(line: str) -> None:
            self.state = f'identifying: {line}'
            if progress is not None:
                progress(line)

        try:
            result = identify(self._machine, recording, self._recordings.get('validation'), self._config, say)
            self.result = result
            say('writing report and overlay')
            return self._write(result)
        except Exception as error:
            self.trouble = str(error)
            raise
        finally:
            self.state = 'idle'

    def save(self) -> str:
        """Write the last result again, together with the raw recordings."""
        if self.result is None:
            raise RecordingError('there is no result to save; call identify first')
        text = self._write(self.result)
        for role, recording in self._recordings.items():
            with replacing(self._directory / f'{role}.npz') as beside:
                np.savez_compressed(
                    beside,
                    time=recording.time,
                    drive_positions=recording.drive_positions,
                    forces=recording.forces,
                    start_stamp=recording.start_stamp,
                )
        return f'{text}; recordings in {self._directory}'

    def figures(self) -> dict[str, object]:
        """Numbers for diagnostics."""
        values: dict[str, object] = {
            f'{role} duration [s]': part.duration for role, part in list(self._recordings.items())
        }
        if self._recorders:
            samples = sum(len(recorder) for recorder in list(self._recorders.values()))
            values |= {'samples': samples, 'rejected messages': sum(self._rejected.values())}
        if self.result is not None:
            values['result'] = self.result.summary
        return values

    def parameter_texts(self) -> dict[str, object]:
        """Base parameters of the last result for diagnostics: value, standard deviation and nominal value as text."""
        if self.result is None:
            return {}
        result = self.result
        rows = zip(result.base.names, result.estimate.parameters, result.estimate.std, result.nominal_base, strict=True)
        return {name: f'{value:.6g} +- {std:.2g}, nominal {nominal:.6g}' for name, value, std, nominal in rows}

    def _write(self, result: IdentificationResult) -> str:
        files = write_result(result, self._directory)
        if result.status == INFEASIBLE:
            reasons = '; '.join(result.physical.infeasible)
            raise InfeasibleParametersError(f'{result.summary}; {reasons}; {files}')
        self.trouble = ''
        return f'{result.summary}; {files}'


class StreamRecorder:
    """Takes joint states and platform poses while it records; unusable messages are counted with their reason.

    With a window, messages are taken by their stamps, whenever they come: the same as cutting a bag.

    Parameters
    ----------
    machine : its actuated joints are recorded
    source : name of the recording for reports
    longest_duration : s; older recordings than that end with an error instead of filling the memory
    window : first and last second to record, counted from the first joint state; default: all

    Attributes
    ----------
    is_over : whether a stamp beyond the window has come
    """

    def __init__(
        self, machine: Machine, source: str, longest_duration: float = 600.0,
        window: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        self._machine, self._source, self._longest = machine, source, round(longest_duration * 1e9)
        self._reader = JointStateReader.of_drives(machine)
        self._lock = threading.Lock()
        begin, end = (-_FOREVER, _FOREVER) if window is None else (round(end * 1e9) for end in window)
        self._begin, self._end = begin, end
        self._first: int | None = None
        self.is_over = False
        self._stamps: list[int] = []
        self._values: list[tuple[Array, Array]] = []  # positions and efforts
        self._pose_stamps: list[int] = []
        self._poses: list[list[float]] = []
        self.rejected: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._stamps)

    def add_joint_states(
        self, stamp: int, names: Sequence[str], positions: Sequence[float], efforts: Sequence[float]
    ) -> None:
        """Add one message; ``stamp`` in ns."""
        self._first = stamp if self._first is None else self._first
        self.is_over = stamp - self._first > self._end
        if not self._begin <= stamp - self._first <= self._end:
            return
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
            self._values.append((position, effort))

    def add_pose(self, stamp: int, position: Sequence[float], orientation: Sequence[float]) -> None:
        """Add a platform pose: position (3,) m, orientation quaternion xyzw; ``stamp`` in ns."""
        if self._first is not None and stamp - self._first > self._end + POSE_MARGIN:
            return
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
            stamps, poses = (np.array(one, dtype=np.int64) for one in (self._stamps, self._pose_stamps))
            positions, efforts = np.moveaxis(np.array(self._values), 1, 0)
            place, turn = np.split(np.array(self._poses).reshape(-1, 7), [3], axis=1)
            around = PlatformPoses.around(poses, place, turn, int(stamps[0]), int(stamps[-1]))
            try:
                return recording_from_joint_states(
                    self._machine.as_converted, stamps, self._reader.wanted, positions, efforts, self._source, around
                )
            except RecordingError as error:
                raise RecordingError(f'{error}{hint}') from None
