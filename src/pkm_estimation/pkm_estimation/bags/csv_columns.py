"""Which columns of a CSV recording are what."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from pkm_description.driver.csv_names import IMU_COLUMNS, JOINT_FIELDS, POSE_COLUMNS, RECORDED_AT, TIME_COLUMNS

from pkm_estimation.bags.errors import BagError

#: topic of each stream of poses
POSE_TOPICS = {
    'ground_truth': 'ground_truth/odometry', 'platform': 'platform/odometry', 'baseline': 'baseline/odometry',
}  # fmt: skip


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
