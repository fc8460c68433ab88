"""The IMU by itself: frozen, units, gravity removed, frame and covariances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import Finding

from pkm_bringup.robot_check.findings import cannot_tell, ok, suspicious, wrong
from pkm_bringup.robot_check.recorded import ImuLog
from pkm_bringup.robot_check.wiring import Wiring

#: part of local gravity by which the median of the specific force may be off
_GRAVITY = 0.3
#: unit of a driver file -> m/s^2
_UNITS = {'g': 9.80665, 'mg': 9.80665e-3, 'mm/s2': 1e-3}
#: part by which the median may be off in another unit
_UNIT_SLACK = 0.12
#: part of gravity below which it is not in the signal
_REMOVED = 0.35
#: rad/s that no platform does
_ABSURD = 60.0


def imu_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the IMU's own numbers; sets ``specific_force`` and ``angular_rate`` in SI units."""
    log, axis = wiring.imu, wiring.times.imu
    if log is None or axis is None or not wiring.machine.has_imu:
        return
    yield from _header(wiring, log)
    force, rate = log.specific_force[axis.rows], log.angular_rate[axis.rows]
    finite = np.isfinite(force).all(axis=1) & np.isfinite(rate).all(axis=1)
    if not finite.all():
        yield wrong(
            'imu_not_finite',
            f'{(~finite).mean():.0%} of the IMU messages have values that are not finite',
            'publish nothing before the sensor has a sample',
            part=float((~finite).mean()),
        )
        if np.count_nonzero(finite) < 10:
            return
    wiring.specific_force, wiring.angular_rate = force, rate
    force, rate = force[finite], rate[finite]
    if len(force) < 10:
        yield cannot_tell('imu', f'{len(force)} IMU messages are too few', 'a longer --duration')
        return
    constant = [len(np.unique(values, axis=0)) == 1 for values in (force, rate)]
    if any(constant):
        what = ' and '.join(
            name for name, yes in zip(('acceleration', 'angular velocity'), constant, strict=True) if yes
        )
        zero = not np.any(np.hstack([values for values, yes in zip((force, rate), constant, strict=True) if yes]))
        yield wrong(
            'imu_frozen',
            f'{what} of the IMU always {"is zero" if zero else "reads the same numbers"}',
            'see the IMU\'s cable and driver: no new samples are read (restart the sensor), or this part is not'
            ' filled in',
        )
        wiring.gravity_felt = not constant[0]
        wiring.imu_usable = not constant[1]
        if constant[0]:
            return
    else:
        wiring.imu_usable = True
        yield from _dead_axes(wiring, force, rate)
    yield from _acceleration_unit(wiring, force)
    if np.abs(rate).max() > _ABSURD:
        yield wrong(
            'gyroscope_unit',
            f'angular velocity reaches {np.abs(rate).max():.3g} rad/s: it is not in rad/s',
            'ROS wants rad/s; if the driver gives degrees:\n' + wiring.patch.add('imu.angular_rate', 'deg/s'),
            largest=float(np.abs(rate).max()),
        )
        wiring.angular_rate = wiring.angular_rate * np.pi / 180.0


def _dead_axes(wiring: Wiring, force: Array, rate: Array) -> Iterator[Finding]:
    """Single axes that read the same number all the time, while the others of their sensor do not."""
    for name, values in (('acceleration', force), ('angular velocity', rate)):
        still = np.ptp(values, axis=0) == 0.0
        if wiring.machine.planar or not still.any():
            continue  # a simulated planar machine feels nothing across its plane
        axes = ', '.join(axis for axis, yes in zip('xyz', still, strict=True) if yes)
        yield suspicious(
            'imu_frozen',
            f'{axes} of the {name} always reads the same number, the other axes do not',
            'see the driver\'s entry for this axis: it is not filled in, or not read anew (or nothing moves about it in'
            ' a simulation without noise)',
        )


def _acceleration_unit(wiring: Wiring, force: Array) -> Iterator[Finding]:
    gravity = float(np.linalg.norm(wiring.machine.gravity))
    size = np.linalg.norm(force, axis=1)
    usual, mean = float(np.median(size)), float(np.linalg.norm(force.mean(axis=0)))
    if gravity == 0.0 or abs(usual / gravity - 1.0) < _GRAVITY:
        yield ok('accelerometer_unit', f'specific force {usual:.4g} m/s^2 (gravity {gravity:.4g})')
        return
    for unit, scale in _UNITS.items():
        steady = mean > 0.9 * usual
        if abs(usual * scale / gravity - 1.0) < _UNIT_SLACK and steady:
            assert wiring.specific_force is not None
            wiring.specific_force = wiring.specific_force * scale
            yield wrong(
                'accelerometer_unit',
                f'specific force is {usual:.4g}, as if it were in {unit}; ROS wants m/s^2 ({gravity:.4g} at rest)',
                'in the driver file\n' + wiring.patch.add('imu.acceleration', unit),
                median=usual,
                gravity=gravity,
            )
            return
    wiring.gravity_felt = False
    if mean < _REMOVED * gravity:
        yield wrong(
            'gravity_removed',
            f'the mean acceleration is {mean:.3g} m/s^2: gravity is taken off already',
            'publish the specific force as the accelerometer feels it, +g upwards at rest (REP 145), on '
            f'{wiring.seen.imu_topic}: the driver\'s raw output, not "linear" or "free" acceleration',
            mean=mean,
        )
        return
    yield wrong(
        'accelerometer_unit',
        f'specific force is {usual:.4g}, neither m/s^2 (gravity {gravity:.4g}) nor g, mg or mm/s^2',
        'find the unit of the driver\'s acceleration; ROS wants m/s^2',
        median=usual,
        gravity=gravity,
    )


def _header(wiring: Wiring, log: ImuLog) -> Iterator[Finding]:
    frame, machine = wiring.machine.imu.frame, wiring.machine
    if len(log.frames) > 1:
        yield wrong(
            'imu_frames',
            f'{wiring.seen.imu_topic} has messages of several frames: {", ".join(map(repr, log.frames))}; '
            'two sensors publish on it?',
            'give each IMU a topic of its own (-r imu/data_raw:=imu2/data_raw)',
        )
    elif log.frames:
        (own,) = log.frames
        if own.split('/')[-1] == frame.split('/')[-1]:
            yield ok('imu_frame', f'IMU frame {own!r}')
        else:
            yield suspicious(
                'imu_frame',
                f'the IMU\'s frame is {own or "empty"!r}, in the machine file it is {frame!r}',
                f'set the driver\'s parameter frame_id: {frame}, or sensors.imu.link: {own or frame} in'
                f' {machine.path.name}; a frame of another place needs its own sensors.imu.xyz and rpy',
            )
    for name, covariance in log.covariances.items():
        diagonal = covariance.reshape(3, 3).diagonal()
        if (
            not np.isfinite(covariance).all()
            or (diagonal < 0.0)[1:].any()
            or (diagonal[0] < 0.0 and diagonal[0] != -1.0)
        ):
            yield suspicious(
                'imu_covariance',
                f'{name}_covariance has a diagonal of {diagonal.tolist()}',
                'variances are not negative; all zero means unknown, -1 in the first entry that there is no such value',
            )
        elif diagonal[0] == -1.0 and name != 'orientation':
            yield suspicious(
                'imu_covariance',
                f'{name}_covariance says (-1) that there is no {name.replace("_", " ")}',
                'set it to zeros if unknown; -1 belongs to orientation_covariance of an IMU without orientation',
            )
