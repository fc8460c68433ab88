"""A recording: what the legs measured, checked once so that everything after it may rely on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from pkm_identification.errors import RecordingError


@dataclass(frozen=True)
class PlatformPoses:
    """Platform poses from an estimator.

    ``time`` (N,) s, ``position`` (N, 3) m, ``rotation_base_platform`` (N, 3, 3).
    """

    time: Array
    position: Array
    rotation_base_platform: Array


@dataclass(frozen=True)
class Recording:
    """Leg lengths and drive forces on a uniform time grid.

    Attributes
    ----------
    time : (N,) s, from message stamps, first sample at 0
    leg_lengths : (N, L) m
    forces : (N, L) N, positive pushes the leg out
    start_stamp : ns, stamp of the first sample
    source : where it comes from, for the report
    poses : of an estimator, if they were recorded
    """

    time: Array
    leg_lengths: Array
    forces: Array
    start_stamp: int = 0
    source: str = 'recording'
    poses: PlatformPoses | None = None

    @property
    def sample_rate(self) -> float:
        """Samples per second."""
        return float((len(self.time) - 1) / (self.time[-1] - self.time[0]))

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
    machine : names of the actuated joints and leg lengths at zero position
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
    wanted = [joint.name for joint in machine.actuated_joints]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise RecordingError(
            f'{source}: joints {", ".join(missing)} of machine {machine.name!r} are not in joint_states '
            f'(it has {", ".join(names) or "none"}); is it the right machine?'
        )
    columns = [list(names).index(name) for name in wanted]
    positions = np.asarray(positions, dtype=float)
    efforts = np.asarray(efforts, dtype=float)
    if len(stamps) < 2:
        raise RecordingError(f'{source}: {len(stamps)} samples; record at least {shortest_duration:g} s of motion')
    if efforts.shape != positions.shape:
        raise RecordingError(
            f'{source}: efforts have shape {efforts.shape}, positions {positions.shape}; '
            'joint_states must carry the effort of every actuated joint'
        )
    positions, efforts = positions[:, columns], efforts[:, columns]
    order = np.argsort(stamps, kind='stable')
    stamps, positions, efforts = stamps[order], positions[order], efforts[order]
    keep = np.concatenate([[True], np.diff(stamps) > 0])  # a repeated stamp brings nothing new
    stamps, positions, efforts = stamps[keep], positions[keep], efforts[keep]
    for quantity, values, unit in (('position', positions, 'm'), ('effort', efforts, 'N')):
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            sample, leg = bad[0]
            raise RecordingError(
                f'{source}: {quantity} of {wanted[leg]} is {values[sample, leg]} {unit} at '
                f'{(stamps[sample] - stamps[0]) / 1e9:.3f} s ({len(bad)} such values); '
                'repair the driver or cut this part out'
            )
    lengths = positions + machine.lengths_at_zero
    _check_plausible(machine, lengths, wanted, source)
    recording = _on_uniform_grid(stamps, lengths, efforts, source, poses)
    if recording.duration < shortest_duration:
        raise RecordingError(
            f'{source}: {len(stamps)} samples over {recording.duration:.2f} s; '
            f'at least {shortest_duration:g} s are needed'
        )
    return recording


def _check_plausible(machine: Machine, lengths: Array, names: Sequence[str], source: str) -> None:
    """Refuse lengths far outside the stroke: wrong unit, wrong zero, wrong machine."""
    for leg, (joint, name) in enumerate(zip(machine.actuated_joints, names, strict=True)):
        lower = joint.limits.lower + machine.legs[leg].length_at_zero
        upper = joint.limits.upper + machine.legs[leg].length_at_zero
        margin = 0.2 * (upper - lower) if np.isfinite(upper - lower) else np.inf
        bad = (lengths[:, leg] < lower - margin) | (lengths[:, leg] > upper + margin) | (lengths[:, leg] <= 0.0)
        if bad.any():
            value = lengths[np.argmax(bad), leg]
            raise RecordingError(
                f'{source}: {name} means a leg length of {value:.4g} m, '
                f'the machine file allows {lower:.4g} to {upper:.4g} m; '
                'position must be in metres and count from length_at_zero'
            )


def _on_uniform_grid(
    stamps: NDArray[np.int64], lengths: Array, efforts: Array, source: str, poses: PlatformPoses | None
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
        from scipy.interpolate import CubicSpline

        lengths = CubicSpline(time, lengths)(grid)
        efforts = np.stack([np.interp(grid, time, column) for column in efforts.T], axis=1)
    return Recording(grid, lengths, efforts, int(stamps[0]), source, poses)
