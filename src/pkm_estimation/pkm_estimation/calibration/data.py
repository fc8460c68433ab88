"""Calibration measurements from CSV: one row per static pose, drives and what an instrument saw."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.kinematics.rotation import matrix_from_quaternion
from pkm_description.machine import Machine
from pkm_description.writing import replacing

from pkm_estimation.bags import RecordedData
from pkm_estimation.bags.csv_reader import numbers_of, read_cells
from pkm_estimation.calibration.constants import Constants
from pkm_estimation.calibration.instruments import Inclination, Instrument, Points, Poses
from pkm_estimation.calibration.static_poses import StaticPoses
from pkm_estimation.tuning.streams import SensorStreams

_POSE = ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')
_FORCE = ('ax', 'ay', 'az')
#: parts of the platform's radius within which targets are, where nobody says
_REACH = 3.0
#: s around the time of a row in which a recording's drives count, and standard deviations that they may move in it
_HALF, _AT_REST = 0.25, 12.0
#: standard deviations of the noise by which the median of a target's places changes where it has slipped
_SLIPPED = 12.0


class CalibrationDataError(PkmError):
    """Data from which nothing can be calibrated."""


def read_static_poses(
    path: Path, constants: Constants, noise: float, noise_rotation: float, recording: RecordedData | None = None
) -> StaticPoses:
    """Read a file of static poses.

    Columns, by the names in the first line: each drive's joint name (m or rad), or ``time`` (s, of a recording whose
    drives are taken there); ``NAME.x, NAME.y, NAME.z`` of each target (m, empty where it was not seen), or ``x, y, z,
    qx, qy, qz, qw`` of a pose; ``ax, ay, az`` of an IMU at rest (m/s^2).

    Parameters
    ----------
    noise, noise_rotation : m, rad, of each component of the instrument

    Raises
    ------
    BagError, CalibrationDataError
        Naming file, column and what to do.
    """
    machine = constants.machine
    names, rows = read_cells(path)
    table = numbers_of(path, names, rows, range(len(names)))
    column = {name: table[:, place] for place, name in enumerate(names)}
    drives = _drives(path, machine, column, recording)
    leg_noise = np.broadcast_to(np.asarray(machine.leg_sensors.position_noise, dtype=float), drives.shape[1:])
    instruments: list[Instrument] = []
    targets = [name[:-2] for name in names if name.endswith('.x')]
    if targets:
        lost = [f'{name}.{axis}' for name in targets for axis in 'yz' if f'{name}.{axis}' not in column]
        if lost:
            raise CalibrationDataError(f'{path}: column {lost[0]} is missing; a target has .x, .y and .z')
        points = np.stack([np.stack([column[f'{name}.{axis}'] for axis in 'xyz'], -1) for name in targets], 1)
        instruments.append(Points.of(points, noise, tuple(targets), _REACH * machine.platform_radius))
    if all(name in column for name in _POSE):
        position, quaternion = (np.stack([column[name] for name in part], -1) for part in (_POSE[:3], _POSE[3:]))
        rotation = np.array([matrix_from_quaternion(one / np.linalg.norm(one)) for one in quaternion])
        reach = _REACH * machine.platform_radius
        instruments.append(Poses.of(position, rotation, noise, noise_rotation, reach))
    if all(name in column for name in _FORCE):
        imu = machine.imu
        force = np.stack([column[name] for name in _FORCE], -1) @ imu.accelerometer_matrix.T
        level = float(np.mean(imu.accelerometer_noise))
        turn, bias = imu.rotation_platform_imu, imu.accelerometer_bias
        instruments.append(Inclination.of(force, level, machine.gravity, turn, bias))
    if not instruments and not machine.is_redundant:
        raise CalibrationDataError(
            f'{path}: nothing but drives; give targets (NAME.x, NAME.y, NAME.z), poses ({", ".join(_POSE)}) or the '
            f'specific force of an IMU at rest ({", ".join(_FORCE)})'
        )
    return StaticPoses(constants, drives, leg_noise, instruments)


def _drives(path: Path, machine: Machine, column: dict[str, Array], recording: RecordedData | None) -> Array:
    names = machine.actuated_joint_names
    if all(name in column for name in names):
        return np.stack([column[name] for name in names], axis=-1)
    if 'time' not in column or recording is None:
        missing = [name for name in names if name not in column]
        raise CalibrationDataError(
            f'{path}: column {missing[0]} is missing; give the position of each drive, or a time and a recording'
        )
    legs = recording.require(recording.joint_states, 'joint_states')
    streams = SensorStreams.from_recording(machine, recording)
    begin = 1e-9 * float(legs.stamps[0])
    time, found = column['time'], np.full((len(column['time']), len(names)), np.nan)
    offset = 0.0 if time.max() > 1e8 else begin  # stamps, or seconds from the begin of the recording
    noise = np.asarray(machine.leg_sensors.position_noise)
    for row, at in enumerate(time + offset - begin):
        near = streams.drive_positions[np.abs(streams.leg_time - at) < _HALF]
        if len(near) < 3:
            raise CalibrationDataError(f'{path}: row {row + 2}: the recording has no drives at {at:.2f} s')
        if (np.ptp(near, axis=0) > _AT_REST * noise).any():
            raise CalibrationDataError(f'{path}: row {row + 2}: the platform moves at {at:.2f} s; it must be at rest')
        found[row] = near.mean(axis=0)
    return found


def write_static_poses(path: Path, machine: Machine, drives: Array, points: Points) -> Path:
    """Write drives (N, A) and targets as :func:`read_static_poses` reads them."""
    header = [*machine.actuated_joint_names, *(f'{name}.{axis}' for name in points.names for axis in 'xyz')]
    rows = np.concatenate([drives, points.measured.reshape(len(drives), -1)], axis=1)
    with replacing(path) as file:
        np.savetxt(file, rows, fmt='%.9g', delimiter=',', header=','.join(header), comments='')
    return path


def require_usable(static: StaticPoses) -> None:
    """Look for what makes data useless, with the machine as its file says.

    Raises
    ------
    CalibrationDataError
        In one sentence: a machine that never moved, too few poses, units, a left-handed frame, transposed rotations, or
        legs in another order.
    """
    machine = static.constants.machine
    if (np.ptp(static.drives, axis=0) < 20.0 * static.noise).all():
        raise CalibrationDataError(
            f'the machine never moved: its drives changed by {np.ptp(static.drives, axis=0).max():.3g} m or rad at most'
        )
    rows = sum(6 * len(one.measured) if isinstance(one, Poses) else int(np.isfinite(one.measured).sum())
               for one in static.instruments)  # fmt: skip
    unknown = sum(len(one.prior) for one in static.instruments)
    if static.instruments and rows < 2 * unknown:
        raise CalibrationDataError(
            f'too few poses: {len(static)} give {rows} numbers, and frames and targets alone have {unknown} unknowns; '
            'measure at least twice as many numbers'
        )
    try:
        static.start(machine)
    except PkmError as error:
        fit = None
        reason = str(error)
    else:
        fit, reason = _misfit(static), ''
    # what a machine of this tolerance, and the noise, may miss at most
    noises = [one.noise for one in static.instruments if isinstance(one, Points | Poses)]
    allowed = 30.0 * max([float(np.max(machine.tolerances.joint_centres)), *noises])
    if fit is not None and fit < allowed:
        return
    for words, changed in _alternatives(static):
        try:
            changed.start(machine)
        except PkmError:
            continue
        if _misfit(changed) < 0.2 * (fit or np.inf) and _misfit(changed) < allowed:
            raise CalibrationDataError(words)
    if fit is None:
        raise CalibrationDataError(f'the drives do not fit the machine: {reason}')
    raise CalibrationDataError(
        f'the data do not fit the machine: after aligning all frames {1e3 * fit:.3g} mm are left, {1e3 * allowed:.3g} '
        'mm are what its tolerances and the noise explain; is it the right machine, with the drives in the right units?'
    )


def _misfit(static: StaticPoses) -> float:
    """Median distance [m] of points from where they are expected; of attitudes by the platform's radius."""
    assert static.poses is not None
    radius = static.constants.machine.platform_radius
    sizes = [0.0]
    for one in static.instruments:
        left = np.linalg.norm(one.residuals(*static.poses), axis=2)
        if isinstance(one, Points | Poses):
            sizes.append(float(np.median(left[:, : left.shape[1] - isinstance(one, Poses)])) * one.noise)
        if isinstance(one, Poses):
            sizes.append(float(np.median(left[:, -1])) * one.noise_rotation * radius)
    return max(sizes)


def _alternatives(static: StaticPoses) -> list[tuple[str, StaticPoses]]:
    """The same data, each with another mistake undone, and the mistake in words."""

    def with_instruments(lengths: Array, is_transposed: bool = False) -> StaticPoses:
        """What instruments measured with lengths along their axes times (3,), of either sign."""
        instruments, signs = [], np.sign(lengths)
        for one in static.instruments:
            if isinstance(one, Points | Poses):
                one = replace(one, measured=one.measured * lengths)
            if isinstance(one, Poses):
                rotation = one.rotation.transpose(0, 2, 1) if is_transposed else np.outer(signs, signs) * one.rotation
                point = replace(one.point, measured=one.point.measured * lengths)
                one = replace(one, rotation=rotation, point=point)
            instruments.append(one)
        return replace(static, instruments=instruments, poses=None)

    found = [
        ('the instrument\'s lengths are in millimetres: give metres', with_instruments(np.full(3, 1e-3))),
        ('the instrument\'s frame is left-handed: change the sign of one of its axes',
         with_instruments(np.array([1.0, 1.0, -1.0]))),
        ('the rotations are transposed: they must map axes of the body to those of the instrument',
         with_instruments(np.ones(3), is_transposed=True)),
    ]  # fmt: skip
    labels, count = static.constants.machine.drive_labels, static.drives.shape[1]
    own = np.arange(count)
    orders = [own[::-1], np.roll(own, 1), np.roll(own, -1)]
    for first, second in combinations(range(count), 2):
        order = own.copy()
        order[[first, second]] = second, first
        orders.append(order)
    for order in orders:
        told = ', '.join(labels[place] for place in order)
        words = f'the drives are in another order than in the machine file: they fit as {told}'
        found.append((words, replace(static, drives=static.drives[:, order], poses=None)))
    return found


def require_fixed_targets(static: StaticPoses) -> None:
    """Raise :class:`CalibrationDataError` where a target is elsewhere from some pose on."""
    assert static.poses is not None
    for one in static.instruments:
        if not isinstance(one, Points):
            continue
        for own, name in zip(one.residuals(*static.poses).swapaxes(0, 1), one.names, strict=True):
            for split in range(4, len(own) - 4):
                shift = np.median(own[split:], axis=0) - np.median(own[:split], axis=0)
                if np.linalg.norm(shift) > _SLIPPED:
                    raise CalibrationDataError(
                        f'{name} slipped on the platform near pose {split + 1}: leave it out, or give it a new name'
                    )
