"""A recording: validated positions and forces of the drives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import JointStateError
from pkm_description.joint_states import JointStateReader, require_finite
from pkm_description.kinematics.rotation import matrix_from_quaternion
from pkm_description.machine import Machine
from scipy.interpolate import CubicSpline

from pkm_identification.errors import RecordingError

#: part of a signal's range up to which differences are rounding
ROUNDING = 1e-12
#: ns by which poses may lie outside of a recording: those around its ends are needed to interpolate to its samples
POSE_MARGIN = 20_000_000


@dataclass(frozen=True)
class PlatformPoses:
    """Platform poses from an estimator.

    ``time`` (N,) s, ``position`` (N, 3) m, ``rotation_base_platform`` (N, 3, 3).
    """

    time: Array
    position: Array
    rotation_base_platform: Array

    @classmethod
    def around(
        cls, stamps: NDArray[np.int64], position: Array, orientation: Array, first: int, last: int
    ) -> PlatformPoses | None:
        """Poses from :data:`POSE_MARGIN` before the first sample to as much after the last; ``None``: fewer than four.

        Parameters
        ----------
        stamps, position, orientation : (N,) ns, (N, 3) m, (N, 4) quaternions xyzw
        first, last : ns, of the samples of a recording
        """
        stamps, unique = np.unique(stamps, return_index=True)
        inside = (stamps >= first - POSE_MARGIN) & (stamps <= last + POSE_MARGIN)
        if np.count_nonzero(inside) < 4:
            return None
        chosen = unique[inside]
        return cls((stamps[inside] - first) / 1e9, position[chosen], matrix_from_quaternion(orientation[chosen]))


@dataclass(frozen=True)
class Recording:
    """Positions and forces of the driven joints on a uniform time grid.

    Parameters
    ----------
    time : (N,) s, uniform
    drive_positions : (N, A) m or rad, of the driven joints in the machine's order, as in joint states
    forces : (N, A) N or N m, in the direction of positive joint motion
    start_stamp : ns, stamp of the first sample
    source : where it comes from, for the report
    poses : of an estimator, if they were recorded
    origin : path of the file, empty for arrays; two recordings of one file must not overlap in time

    Raises
    ------
    RecordingError
        If shapes disagree, a number is not finite, or the time is not uniform.
    """

    time: Array
    drive_positions: Array
    forces: Array
    start_stamp: int = 0
    source: str = 'recording'
    poses: PlatformPoses | None = None
    origin: str = ''

    def __post_init__(self) -> None:
        for name in ('time', 'drive_positions', 'forces'):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float))
        samples = len(self.time) if self.time.ndim == 1 else 0
        if samples < 2:
            raise RecordingError(
                f'{self.source}: time has shape {self.time.shape}, expected (N,) with at least 2 samples'
            )
        drives = self.drive_positions.shape[1] if self.drive_positions.ndim == 2 else 'A'
        for name in ('drive_positions', 'forces'):
            values = getattr(self, name)
            if values.shape != (samples, drives):
                raise RecordingError(
                    f'{self.source}: {name} has shape {values.shape}, expected ({samples}, {drives}): one row per '
                    'sample of time, one column per driven joint'
                )
        for name in ('time', 'drive_positions', 'forces'):
            bad = np.argwhere(~np.isfinite(getattr(self, name)))
            if len(bad):
                raise RecordingError(f'{self.source}: {name} of sample {bad[0][0]} is not finite')
        steps = np.diff(self.time)
        if not steps.min() > 0.0 or np.ptp(steps) > 0.05 * steps.mean():
            raise RecordingError(
                f'{self.source}: time is not uniform, steps are {steps.min():.4g} to {steps.max():.4g} s; '
                'recording_from_joint_states resamples stamps'
            )

    def require_drives(self, machine: Machine) -> None:
        """Refuse a recording with another number of drives than the machine has.

        Raises
        ------
        RecordingError
            With the expected shape.
        """
        expected = (len(self.time), machine.actuated_count)
        if self.drive_positions.shape != expected:
            raise RecordingError(
                f'{self.source}: drive_positions has shape {self.drive_positions.shape}, expected {expected}: '
                f'machine {machine.name!r} has the drives {", ".join(machine.actuated_joint_names)}'
            )

    @property
    def sample_rate(self) -> float:
        """Samples per second."""
        return float((len(self.time) - 1) / (self.time[-1] - self.time[0]))

    @cached_property
    def effort_steps(self) -> Array:
        """Steps (A,) N or N m in which efforts are read: the smallest difference of readings that differ."""
        steps = np.diff(np.sort(self.forces, axis=0), axis=0)
        differ = steps > ROUNDING * np.ptp(self.forces, axis=0)
        least = np.min(np.where(differ, steps, np.inf), axis=0)
        return np.where(np.isfinite(least), least, 0.0)

    @property
    def duration(self) -> float:
        """Seconds from first to last sample."""
        return float(self.time[-1] - self.time[0])


def recording_from_joint_states(
    machine: Machine,
    stamps: NDArray[np.int64],
    names: Sequence[str],
    positions: Array,
    efforts: Array,
    source: str = 'joint_states',
    poses: PlatformPoses | None = None,
    shortest_duration: float = 2.0,
) -> Recording:
    """Turn joint states into a checked recording.

    Parameters
    ----------
    machine : names and limits of the driven joints
    stamps : (N,) ns
    names : M joint names, any order, passive joints allowed
    positions, efforts : (N, M)
    source, poses : stored
    shortest_duration : s

    Raises
    ------
    RecordingError
        Naming the joint, the sample and the value, if anything cannot be used.
    """
    stamps = np.asarray(stamps, dtype=np.int64)
    reader = JointStateReader.of_drives(machine)
    try:
        order = reader.order(names)
        order.require_all()
        positions, efforts = order.by_joint(positions), order.by_joint(efforts, 'effort')
    except JointStateError as error:
        raise RecordingError(
            f'{source}: {error}; joint_states must have position and effort of every actuated joint of {machine.name!r}'
        ) from None
    if not len(stamps) == len(positions) == len(efforts):
        raise RecordingError(f'{source}: {len(stamps)} stamps, {len(positions)} positions, {len(efforts)} efforts')
    if len(stamps) < 2:
        raise RecordingError(f'{source}: {len(stamps)} samples; record at least {shortest_duration:g} s of motion')
    in_time = np.argsort(stamps, kind='stable')
    stamps, positions, efforts = stamps[in_time], positions[in_time], efforts[in_time]
    keep = np.concatenate([[True], np.diff(stamps) > 0])  # a repeated stamp brings nothing new
    stamps, positions, efforts = stamps[keep], positions[keep], efforts[keep]
    for quantity, values in (('position', positions), ('effort', efforts)):
        try:
            require_finite(values, reader.wanted, quantity)
        except JointStateError as error:
            at = (stamps[error.sample] - stamps[0]) / 1e9
            raise RecordingError(f'{source}: {error} at {at:.3f} s; repair the driver or cut this part out') from None
    _check_plausible(machine, positions, source)
    recording = _on_uniform_grid(stamps, positions, efforts, source, poses)
    if recording.duration < shortest_duration:
        raise RecordingError(
            f'{source}: {len(stamps)} samples over {recording.duration:.2f} s; '
            f'at least {shortest_duration:g} s are needed'
        )
    return recording


def _check_plausible(machine: Machine, positions: Array, source: str) -> None:
    """Refuse positions (N, A) far outside the joints' range: wrong unit, wrong zero, wrong machine."""
    for joint, values in zip(machine.actuated_joints, positions.T, strict=True):
        lower, upper = joint.limits.lower, joint.limits.upper
        margin = 0.2 * (upper - lower) if np.isfinite(upper - lower) else np.inf
        bad = (values < lower - margin) | (values > upper + margin)
        if bad.any():
            unit, word = ('m', 'metres') if joint.kind == 'prismatic' else ('rad', 'radians')
            raise RecordingError(
                f'{source}: position of {joint.name} is {values[np.argmax(bad)]:.4g} {unit}, '
                f'the machine file allows {lower:.4g} to {upper:.4g} {unit}; '
                f"positions must be in {word} and count from the joint's zero in the machine file"
            )


def _on_uniform_grid(
    stamps: NDArray[np.int64], positions: Array, efforts: Array, source: str, poses: PlatformPoses | None
) -> Recording:
    """Resample to the median period; jitter is interpolated, a real gap is an error.

    Stamps that lie on the grid within 1 % of a period are left alone, so clean data pass through unchanged.
    """
    time = (stamps - stamps[0]) / 1e9
    period = float(np.median(np.diff(time)))
    gaps = np.diff(time)
    if gaps.max() > 5.5 * period:
        place = int(np.argmax(gaps))
        raise RecordingError(
            f'{source}: gap of {gaps[place] * 1e3:.0f} ms at {time[place]:.3f} s (period {period * 1e3:.3g} ms); '
            'record again or use the part before or after it'
        )
    if period <= 0.0:
        raise RecordingError(f'{source}: stamps do not advance')
    count = round(float(time[-1] / period)) + 1
    grid = np.arange(count) * (time[-1] / max(count - 1, 1))
    if count == len(time) and np.max(np.abs(time - grid)) < 0.01 * period:
        grid = time
    else:
        positions = CubicSpline(time, positions)(grid)
        efforts = np.stack([np.interp(grid, time, column) for column in efforts.T], axis=1)
    return Recording(grid, positions, efforts, int(stamps[0]), source, poses)
