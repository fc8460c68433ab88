"""Recordings to CSV files that :func:`read_bag` reads again, bit by bit."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.driver.csv_names import IMU_COLUMNS, JOINT_FIELDS, POSE_COLUMNS, RECORDED_AT
from pkm_description.writing import make_folder, replacing

from pkm_estimation.bags.recorded_data import JointStates, Odometry, RecordedData, Stamps


def write_csv(data: RecordedData, folder: str | Path) -> list[Path]:
    """Write each stream of a recording as a file with a line of names.

    Times are nanoseconds (``stamp`` of the message, ``recorded_at`` by the recorder); numbers have as many digits as
    they need to be read again exactly; cells without a number are empty.

    Parameters
    ----------
    data : what :func:`read_bag` gives; messages that are unlike the others are left out
    folder : is made; files in it are not replaced

    Returns
    -------
    files written: ``joint_states.csv``, ``imu.csv``, ``ground_truth.csv``, ``platform.csv``, ``baseline.csv``

    Raises
    ------
    FileExistsError
        One of the files is there.
    """
    folder = Path(folder)
    make_folder(folder)
    files = []
    if data.joint_states is not None:
        files.append(_write(folder / 'joint_states.csv', data.joint_states, *_joints(data.joint_states)))
    if data.imu_data_raw is not None:
        imu = data.imu_data_raw
        files.append(_write(folder / 'imu.csv', imu, IMU_COLUMNS, np.hstack([imu.specific_force, imu.angular_rate])))
    odometry = {
        'ground_truth': data.ground_truth, 'platform': data.platform_odometry, 'baseline': data.baseline_odometry,
    }  # fmt: skip
    for name, stream in odometry.items():
        if stream is not None:
            files.append(_write(folder / f'{name}.csv', stream, POSE_COLUMNS[name], _poses(stream)))
    return files


def _joints(states: JointStates) -> tuple[list[str], Array]:
    names: list[str] = []
    columns = []
    for index, joint in enumerate(states.names):
        for field, values in zip(JOINT_FIELDS, (states.positions, states.velocities, states.efforts), strict=True):
            if np.isfinite(values).any():  # a field that no message has gets no columns
                names.append(f'{joint}.{field}')
                columns.append(values[:, index])
    return names, np.column_stack(columns)


def _poses(stream: Odometry) -> Array:
    return np.hstack([stream.position, stream.orientation, stream.linear_velocity, stream.angular_velocity])


def _write(path: Path, stream: object, names: Sequence[str], values: Array) -> Path:
    stamps: Stamps = stream.stamps  # type: ignore[attr-defined]
    recorded_at: Stamps = stream.recorded_at  # type: ignore[attr-defined]
    unlike = getattr(stream, 'unlike', {})
    with replacing(path, exclusive=True) as beside, beside.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(['stamp', RECORDED_AT, *names])
        rows = zip(stamps.tolist(), recorded_at.tolist(), values.tolist(), strict=True)
        for index, (stamp, at, numbers) in enumerate(rows):
            if index not in unlike:
                # repr: the shortest text that is read as the same double
                writer.writerow([stamp, at, *('' if value != value else repr(value) for value in numbers)])
    return path
