"""Recordings in CSV, read and written bit by bit: rows of a file, or of all files of a folder."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.driver.csv_names import IMU_COLUMNS, JOINT_FIELDS, POSE_COLUMNS, RECORDED_AT, TIME_COLUMNS
from pkm_description.writing import make_folder, replacing

from pkm_estimation.bags.recorded_data import BagError, JointStates, RecordedData, Stamps
from pkm_estimation.bags.sources import Message
from pkm_estimation.bags.writer import imu_messages, joint_state_messages, odometry_messages

#: topic of each stream of poses
POSE_TOPICS = {
    'ground_truth': 'ground_truth/odometry', 'platform': 'platform/odometry', 'baseline': 'baseline/odometry',
}  # fmt: skip


#: ns that are added where time begins at zero: a stamp of zero means that there is none
_START = 10**9


def csv_files(path: Path) -> list[Path]:
    """Return the file itself, or the CSV files of a folder; none if it is something else."""
    if path.is_dir():
        return sorted(item for item in path.iterdir() if item.suffix.lower() == '.csv')
    return [path] if path.suffix.lower() in ('.csv', '.tsv') else []


def read_csv_messages(
    files: list[Path], topics: Mapping[str, str], columns: Mapping[str, str]
) -> tuple[list[Message], dict[str, str], list[str]]:
    """Read CSV files as the messages that a bag would hold.

    Parameters
    ----------
    files : each with a column of time of its own
    topics : topic of the suite -> full name of the topic that the messages get
    columns : name in the files -> name in the suite's terms, where it is not that already

    Returns
    -------
    messages (topic, time of recording [ns], CDR bytes) in the order of recording, types by topic, warnings

    Raises
    ------
    BagError
        Naming file, line and column.
    """
    tables = [_Table(file, columns) for file in files]
    first = min((int(table.stamps.min()) for table in tables if len(table.stamps)), default=_START)
    warnings = [text for table in tables for text in table.warnings]
    shift = 0
    if first <= 0:
        shift = _START - first
        warnings.append(f'time begins at {first * 1e-9:g} s: {shift * 1e-9:g} s were added to all stamps')
    messages: list[Message] = []
    types: dict[str, str] = {}
    for table in tables:
        for topic, kind, part in table.messages(shift):
            name = topics.get(topic, f'/{topic}')
            types[name] = kind
            messages += [(name, time, data) for time, data in part]
    messages.sort(key=lambda message: message[1])
    return messages, types, warnings


class _Table:
    """Numbers of one file (N, C), NaN where a cell is empty, and what its columns are."""

    def __init__(self, path: Path, columns: Mapping[str, str]) -> None:
        self.path = path
        header, rows = read_cells(path)
        names = [columns.get(name, name) for name in header]
        self.layout: Layout = layout(names, str(path))
        self.warnings = []
        if self.layout.unknown:
            given = [header[names.index(name)] for name in self.layout.unknown]
            self.warnings.append(f'{path.name}: columns without a meaning are left out: {", ".join(given)}')
        self.stamps = self._times(rows, self.layout.time, self.layout.unit, header)
        self.recorded_at = self.stamps
        if self.layout.recorded_at is not None:
            self.recorded_at = self._times(rows, self.layout.recorded_at, 1, header)
        self.values = numbers_of(path, header, rows, self._places())

    def _times(self, rows: list[tuple[int, list[str]]], place: int, unit: int, header: list[str]) -> Any:
        times = [nanoseconds(row[place], unit) for _, row in rows]
        for (line, row), time in zip(rows, times, strict=True):
            if time is None or not -(2**62) < time < 2**62:
                raise BagError(f'{self.path}: line {line}: {header[place]} = {row[place][:60]!r} is no time')
        return np.array(times, dtype=np.int64)

    def _places(self) -> list[int]:
        joints = [place for fields in self.layout.joints.values() for place in fields.values()]
        poses = [place for columns in self.layout.poses.values() for place in columns if place >= 0]
        return [*joints, *self.layout.imu, *poses]

    def messages(self, shift: int) -> Iterator[tuple[str, str, list[tuple[int, bytes]]]]:
        """Yield topic, type and messages (time of recording, bytes) of each stream; ``shift`` [ns] on all times."""
        stamps = self.stamps + shift
        if self.layout.joints:
            parts = [self._field(field) for field in JOINT_FIELDS]
            told = np.hstack([part for part in parts if part is not None])
            messages = joint_state_messages(stamps, tuple(self.layout.joints), *parts)
            yield 'joint_states', 'sensor_msgs/msg/JointState', self._told(told, messages, shift)
        if self.layout.imu:
            values = self.values[:, list(self.layout.imu)]
            messages = imu_messages(stamps, values[:, :3], values[:, 3:], 'imu_link')
            yield 'imu/data_raw', 'sensor_msgs/msg/Imu', self._told(values, messages, shift)
        for stream, places in self.layout.poses.items():
            padded = np.hstack([self.values, np.zeros((len(self.values), 1))])  # -1: a velocity that is not told
            values = padded[:, list(places)]
            messages = odometry_messages(stamps, *np.split(values, [3, 7, 10], axis=1))
            yield POSE_TOPICS[stream], 'nav_msgs/msg/Odometry', self._told(values[:, :7], messages, shift)

    def _field(self, field: str) -> Array | None:
        """Positions, velocities or efforts (N, J), NaN where there is none; None if no joint has any."""
        joints = self.layout.joints
        if not any(field in fields for fields in joints.values()):
            return None
        padded = np.hstack([self.values, np.full((len(self.values), 1), np.nan)])
        return padded[:, [fields.get(field, -1) for fields in joints.values()]]

    def _told(self, values: Array, messages: list[bytes], shift: int) -> list[tuple[int, bytes]]:
        """Messages of the rows that have any of the values, with their times of recording."""
        there = np.flatnonzero(~np.isnan(values).all(axis=1)).tolist()
        return [(int(self.recorded_at[index]) + shift, messages[index]) for index in there]


def numbers_of(path: Path, header: list[str], rows: list[tuple[int, list[str]]], places: Sequence[int]) -> Array:
    """Numbers (N, C) of some columns of what :func:`read_cells` gives, NaN elsewhere and where a cell is empty."""
    values = np.full((len(rows), len(header)), np.nan)
    for place in places:
        for index, (line, row) in enumerate(rows):
            try:
                values[index, place] = float(row[place] or np.nan)
            except ValueError:
                told = f'{header[place]} = {row[place][:60]!r}'
                raise BagError(f'{path}: line {line}: {told} is no number') from None
    return values


def read_cells(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Header, and rows with their line numbers; comments (``#``) and empty lines are left out."""
    try:
        lines = path.read_text(encoding='utf-8-sig').splitlines()
    except OSError as error:
        raise BagError(f'{path}: cannot be read: {error.strerror or error}') from None
    except UnicodeDecodeError as error:
        raise BagError(f'{path}: is no UTF-8 text (byte {error.start}); save it as UTF-8') from None
    try:
        return _cells(path, lines)
    except csv.Error as error:
        raise BagError(f'{path}: is no CSV file: {error}; is a quotation mark missing?') from None


def _cells(path: Path, lines: list[str]) -> tuple[list[str], list[tuple[int, list[str]]]]:
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip() and line[0] != '#']
    if len(numbered) < 2:
        raise BagError(f'{path}: needs a line with the names of the columns, and rows of numbers below it')
    first = numbered[0][1]
    separator = max(',;\t', key=first.count)
    header = [name.strip() for name in next(csv.reader([first], delimiter=separator))]
    rows = []
    for (number, _), row in zip(
        numbered[1:], csv.reader((line for _, line in numbered[1:]), delimiter=separator), strict=True
    ):
        cells = [cell.strip() for cell in row]
        if separator != ',':  # numbers as they are written in half of Europe
            cells = [cell.replace(',', '.') for cell in cells]
        if len(cells) != len(header):
            raise BagError(f'{path}: line {number} has {len(cells)} cells, the first line has {len(header)}')
        rows.append((number, cells))
    return header, rows


@dataclass(frozen=True)
class Layout:
    """Which columns of a file are what: places in a row.

    Attributes
    ----------
    time : place of the time, ``unit`` nanoseconds in its unit
    recorded_at : place of the time of recording, if there is one
    joints : joint -> its columns by field
    imu : the six columns of :data:`IMU_COLUMNS`, empty if the file has none
    poses : stream -> the columns of :data:`POSE_COLUMNS`, -1 for velocities that are not there
    unknown : columns without a meaning
    """

    time: int
    unit: int
    recorded_at: int | None
    joints: dict[str, dict[str, int]]
    imu: tuple[int, ...]
    poses: dict[str, tuple[int, ...]]
    unknown: tuple[str, ...]


def layout(header: list[str], where: str) -> Layout:
    """Find out what the columns of a header are.

    Parameters
    ----------
    header : names in the suite's terms
    where : file, for messages

    Raises
    ------
    BagError
        No column of time, or two; half an IMU or pose; a name twice.
    """
    doubled = sorted({name for name in header if header.count(name) > 1})
    if doubled:
        raise BagError(f'{where}: two columns are called {doubled[0]!r}')
    place = {name: index for index, name in enumerate(header)}
    times = [name for name in TIME_COLUMNS if name in place]
    if len(times) != 1:
        found = f'both {times[0]} and {times[1]}' if times else 'no time'
        raise BagError(
            f'{where}: {found} among its columns {", ".join(header)}; call one of them time (s), time_ms, time_us or '
            'stamp (ns), in the file or by csv: {columns: {NAME: time}} in the driver\'s settings file'
        )  # fmt: skip
    used = {times[0], RECORDED_AT}
    joints: dict[str, dict[str, int]] = {}
    poses: dict[str, tuple[int, ...]] = {}
    imu = _group(place, IMU_COLUMNS, IMU_COLUMNS, where)
    used |= set(IMU_COLUMNS)
    for stream, names in POSE_COLUMNS.items():
        columns = _group(place, names, names[:7], where)
        used |= set(names)
        if columns:
            poses[stream] = columns
    for name in header:
        joint, _, field = name.rpartition('.')
        if name not in used and field in JOINT_FIELDS and joint:
            joints.setdefault(joint, {})[field] = place[name]
            used.add(name)
    unknown = tuple(name for name in header if name not in used)
    return Layout(place[times[0]], TIME_COLUMNS[times[0]], place.get(RECORDED_AT), joints, imu, poses, unknown)


def _group(place: dict[str, int], names: tuple[str, ...], needed: tuple[str, ...], where: str) -> tuple[int, ...]:
    """Places of columns that belong together, -1 for those that are not there; empty without any."""
    if not any(name in place for name in names):
        return ()
    missing = [name for name in needed if name not in place]
    if missing:
        raise BagError(f'{where}: lacks the columns {", ".join(missing)}')
    return tuple(place.get(name, -1) for name in names)


def nanoseconds(text: str, unit: int) -> int | None:
    """Nanoseconds of a number of ``unit`` ns each, without rounding through a float; None if it is no number."""
    try:
        return round(Decimal(text) * unit)
    except (InvalidOperation, ValueError, OverflowError):
        return None


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
            columns = stream.position, stream.orientation, stream.linear_velocity, stream.angular_velocity
            files.append(_write(folder / f'{name}.csv', stream, POSE_COLUMNS[name], np.hstack(columns)))
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
