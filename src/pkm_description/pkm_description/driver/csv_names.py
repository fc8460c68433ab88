"""Names of the columns of CSV recordings: time, joints, IMU, poses."""

from __future__ import annotations

#: header stamp: nanoseconds in one unit
TIME_COLUMNS = {'time': 10**9, 'time_ms': 10**6, 'time_us': 10**3, 'stamp': 1}

#: when the sample was recorded [ns], if not at its stamp
RECORDED_AT = 'recorded_at'

#: a joint's columns are called as in ``actuator_1.position``
JOINT_FIELDS = ('position', 'velocity', 'effort')

_XYZ, _XYZW = ('x', 'y', 'z'), ('x', 'y', 'z', 'w')


def _columns(stream: str, parts: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(f'{stream}.{part}.{axis}' for part, axes in parts.items() for axis in axes)


IMU_COLUMNS = _columns('imu', {'linear_acceleration': _XYZ, 'angular_velocity': _XYZ})

_POSE = {'position': _XYZ, 'orientation': _XYZW, 'linear_velocity': _XYZ, 'angular_velocity': _XYZ}

#: poses in base_link, quaternions, velocities in platform axes; by the stream's name
POSE_COLUMNS = {stream: _columns(stream, _POSE) for stream in ('ground_truth', 'platform', 'baseline')}

#: columns that do not belong to a joint
NAMES = (*TIME_COLUMNS, RECORDED_AT, *IMU_COLUMNS, *(name for names in POSE_COLUMNS.values() for name in names))
