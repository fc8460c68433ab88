"""The mounting of the IMU that the likeliest row of the table has: unit, axes and signs, as findings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import Finding
from pkm_description.kinematics.rotation import rotation_log, rpy_from_matrix

from pkm_bringup.robot_check.report import IN_DRIVER_FILE, Wiring, cannot_tell, ok, suspicious, wrong
from pkm_bringup.robot_check.table import Evidence, Row

#: rad by which axes may differ from those of the file without being other axes
_APART = np.radians(12.0)


def axes_text(matrix: Array) -> str:
    """Words for measured axes by those of the machine file, e.g. ``x = -y, y = x, z = z``, or the angle."""
    largest = np.abs(matrix).argmax(axis=1)
    signs = ['-' if row[axis] < 0.0 else '' for row, axis in zip(matrix, largest, strict=True)]
    named = ', '.join(f'{name} = {sign}{"xyz"[axis]}' for name, sign, axis in zip('xyz', signs, largest, strict=True))
    if np.abs(matrix).max(axis=1).min() > np.cos(_APART):
        return named
    mirrored = np.linalg.det(matrix) < 0.0
    return f'{"mirrored and " if mirrored else ""}turned by {_angle(-matrix if mirrored else matrix):.0f} deg'


def _angle(rotation: Array) -> float:
    return float(np.degrees(np.linalg.norm(rotation_log(rotation))))


def mounting_findings(wiring: Wiring, evidence: Evidence, best: Row, either: str) -> Iterator[Finding]:
    """Unit, axes and signs of the IMU."""
    gyroscope, accelerometer, down = best.gyroscope, best.accelerometer, best.gravity_down
    figures = {'unexplained_rate': best.rate_misfit, 'force_error_m_s2': best.force_error}
    if best.rate_unit != 'rad/s':
        yield wrong(
            'gyroscope_unit',
            f'angular rates are in {best.rate_unit}; ROS wants rad/s',
            IN_DRIVER_FILE + wiring.patch.add({'imu.angular_rate': best.rate_unit}),
        )
    if evidence.turns and not 0.8 < best.rate_gain < 1.25:
        yield suspicious(
            'motion_scale',
            f'the IMU turns {best.rate_gain:.3g} times as fast as the legs say',
            'the unit of the positions (see also velocities), the lead of the screws, or lengths in the machine file',
            gain=best.rate_gain,
        )
    if down:
        lines = 'see the driver files below'
        if not wiring.alternatives:
            lines = IN_DRIVER_FILE + wiring.patch.add({'imu.gravity': 'down'})
        doubt = '' if evidence.tells_order else ', or it is mounted upside down; a motion that turns it tells which'
        yield wrong(
            'imu_gravity_sign',
            'the accelerometer has the opposite sign: it publishes gravity in place of specific force (ROS wants +g'
            f' upwards at rest, REP 145){doubt}',
            lines,
            **figures,
        )
    same = down or np.allclose(accelerometer, gyroscope)
    mirrored = float(np.linalg.det(gyroscope)) < 0.0
    if not same:
        which, odd = next(
            (name, axes) for name, axes in (('gyroscope', gyroscope), ('accelerometer', accelerometer))
            if not np.allclose(axes, np.eye(3))
        )  # fmt: skip
        yield wrong(
            f'{which}_axes',
            f'gyroscope and accelerometer have axes of their own; of the {which} {axes_text(odd)} (measured = of the'
            ' machine file)',
            'let the IMU\'s driver publish both sensors in one right-handed frame',
            **figures,
        )
    elif mirrored:
        yield wrong(
            'imu_left_handed',
            f'the IMU\'s axes are those of a left-handed frame: {axes_text(gyroscope)} (measured = of the file);'
            f' no mounting explains them{either}',
            'negate one axis in the IMU\'s driver so that x, y, z are right-handed (and the rates about the others'
            ' accordingly), or number the legs the other way round',
            **figures,
        )
    elif _angle(gyroscope) > np.degrees(_APART):
        doubt = '' if evidence.tells_order else ', or a turn about the vertical beside it; a motion tells'
        yield wrong(
            'imu_axes',
            f'the IMU is mounted otherwise than the machine file says: {axes_text(gyroscope)} (measured = of the file)'
            f'{doubt}{either}',
            f'turn the IMU, or in {wiring.machine.path.name} (tune BAG --motion refines it)\n'
            + rpy_lines(wiring, gyroscope),
            turned_deg=_angle(gyroscope),
            **figures,
        )
    else:
        yield from _agreeing(wiring, evidence, best, down)


def rpy_lines(wiring: Wiring, axes: Array) -> str:
    """Lines of the machine file for an IMU whose measured axes are ``axes`` @ those of the file."""
    angles = rpy_from_matrix(wiring.machine.imu.rotation_platform_imu @ axes.T)
    return f'sensors: {{imu: {{rpy: [{", ".join(f"{angle + 0.0:.4f}" for angle in angles)}]}}}}'


def _agreeing(wiring: Wiring, evidence: Evidence, best: Row, down: bool) -> Iterator[Finding]:
    """The axes are those of the machine file, or nearly."""
    tilt = np.radians(_angle(best.gyroscope)) * float(np.linalg.norm(wiring.machine.gravity))
    error = max(best.force_error, tilt) if np.isfinite(best.force_error) else 0.0
    if error > evidence.force_allowed or _angle(best.gyroscope) > 0.0:
        angle = np.degrees(np.arcsin(min(1.0, error / float(np.linalg.norm(wiring.machine.gravity)))))
        yield suspicious(
            'imu_tilt',
            f'the specific force is {error:.2g} m/s^2 off what forward kinematics and the machine file say (like a tilt'
            f' of {angle:.1f} deg): zero of a leg, mounting of the IMU, or its bias',
            'reference (home) the drives; give the mounting in sensors.imu.rpy and the bias in'
            ' sensors.imu.accelerometer.bias (tune BAG --static measures it)',
            force_error_m_s2=error,
        )
    elif evidence.tells_order and not down:
        felt = f' (specific force within {best.force_error:.2g} m/s^2)' if evidence.feels else ''
        yield ok('imu_axes', f'axes of the IMU agree with the legs{felt}')
    elif evidence.feels and not down:
        yield ok('imu_gravity', f'gravity points where the legs say (within {best.force_error:.2g} m/s^2)')
        yield cannot_tell(
            'imu_axes', 'at rest nothing tells how the IMU is turned about the vertical',
            'any motion that turns the platform',
        )  # fmt: skip
