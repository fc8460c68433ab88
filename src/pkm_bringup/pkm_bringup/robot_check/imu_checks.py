"""The IMU: its own numbers, units, frame and covariances; and its axes against the legs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import Finding
from pkm_description.kinematics.rotation_formats import rpy_from_rotation

from pkm_bringup.robot_check.hypotheses import AXES, Judged, is_rotation
from pkm_bringup.robot_check.recorded import ImuLog
from pkm_bringup.robot_check.wiring import Wiring, cannot_tell, ok, suspicious, wrong

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
_REP = 'ROS wants specific force, +g upwards at rest (REP 145)'


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
            'ROS wants rad/s; if the driver gives degrees:\n' + wiring.patch.add({'imu.angular_rate': 'deg/s'}),
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
                'in the driver file\n' + wiring.patch.add({'imu.acceleration': unit}),
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


def axes_text(matrix: Array) -> str:
    """Words for measured axes by those of the machine file, e.g. ``x = -y, y = x, z = z``."""
    largest = np.abs(matrix).argmax(axis=1)
    signs = ['-' if row[axis] < 0.0 else '' for row, axis in zip(matrix, largest, strict=True)]
    return ', '.join(f'{name} = {sign}{"xyz"[axis]}' for name, sign, axis in zip('xyz', signs, largest, strict=True))


def axes_findings(wiring: Wiring, best: Judged, turns: bool, rivals: list[Judged]) -> list[Finding]:
    """Mounting and signs of the IMU on the best arrangement of the legs; ``rivals`` explain it as well."""
    gyroscope, accelerometer = best.gyroscope, best.accelerometer
    plain = [np.array_equal(one, AXES[0]) for one in (gyroscope, accelerometer)]
    if all(plain):
        return list(_agreeing(wiring, best, turns))
    either = ' (or else the legs are numbered otherwise, see leg_order)' if rivals else ''
    figures = {'unexplained_rate': best.rate_misfit, 'force_error_m_s2': best.force_error}
    if not turns:
        return [_at_rest(wiring, best, figures)]
    if np.isnan(best.force_error) or np.array_equal(accelerometer, gyroscope):
        return [_mounting_or_mirrored(wiring, gyroscope, figures, either)]
    if np.array_equal(accelerometer, -gyroscope):
        # an axis that points the other way changes the sign of its acceleration, and of the rates about the others
        return [
            wrong(
                'imu_gravity_sign',
                f'the accelerometer has the opposite sign: it publishes gravity in place of specific force; {_REP}',
                _gravity_lines(wiring),
                **figures,
            )
            if plain[0]
            else _mounting_or_mirrored(wiring, accelerometer, figures, either)
        ]
    if any(plain):
        which, odd = ('accelerometer', accelerometer) if plain[0] else ('gyroscope', gyroscope)
        code, axes = f'{which}_axes', f'{axes_text(odd)} (measured = of the machine file)'
        sentence = f'the {which} has other axes than the other sensor: {axes}'
    else:
        code, axes = 'imu_axes', f'{axes_text(gyroscope)}, and {axes_text(accelerometer)}'
        sentence = f'gyroscope and accelerometer have axes of their own: {axes}'
    remedy = 'let the IMU\'s driver publish both sensors in one right-handed frame'
    return [wrong(code, sentence, remedy, **figures)]


def _agreeing(wiring: Wiring, best: Judged, turns: bool) -> Iterator[Finding]:
    """The axes are those of the machine file."""
    felt = not np.isnan(best.force_error)
    if felt and best.force_misfit > 1.0:
        angle = np.degrees(np.arcsin(min(1.0, best.force_error / float(np.linalg.norm(wiring.machine.gravity)))))
        yield suspicious(
            'imu_tilt',
            f'the specific force is {best.force_error:.2g} m/s^2 off what forward kinematics and the machine file say '
            f'(like a tilt of {angle:.1f} deg): zero of a leg, mounting of the IMU, or its bias',
            'reference (home) the drives; give the mounting in sensors.imu.rpy and the bias in '
            'sensors.imu.accelerometer.bias (tune BAG --static measures it)'
            + ('' if turns else '; a motion tells more'),
            force_error_m_s2=best.force_error,
        )
    elif felt and turns:
        yield ok(
            'imu_axes',
            f'axes and gravity of the IMU agree with the legs (specific force within {best.force_error:.2g} m/s^2)',
        )
    elif felt:
        yield ok('imu_gravity', f'gravity points where the legs say (within {best.force_error:.2g} m/s^2)')
        yield cannot_tell(
            'imu_axes',
            'at rest nothing tells how the IMU is turned about the vertical',
            'any motion that turns the platform',
        )
    elif turns:
        yield ok('imu_axes', 'axes of the gyroscope agree with the legs')


def _at_rest(wiring: Wiring, best: Judged, figures: dict[str, float]) -> Finding:
    """Gravity alone: upside down, or its sign."""
    expected = best.prediction.specific_force.mean(axis=0)
    pointing = best.accelerometer @ expected
    if float(pointing @ expected / max(expected @ expected, 1e-12)) < -0.8:
        return wrong(
            'imu_gravity_sign',
            'gravity points the other way than the legs say: the IMU publishes gravity in place of specific '
            f'force ({_REP}), or it is mounted upside down; a motion that turns the platform tells which',
            f'if it is the sign, {_gravity_lines(wiring)}\nif it is upside down, in {wiring.machine.path.name}\n'
            + rpy_lines(wiring, np.diag([1.0, -1.0, -1.0])),
            **figures,
        )
    if wiring.names_guessed:
        sentence = 'which joint belongs to which leg is a guess, and with it the tilt of the platform'
        return cannot_tell('imu_axes', sentence, 'any motion')
    # of the rotations that explain the direction of gravity alike, the one nearest to the file
    proper = min(filter(is_rotation, AXES), key=lambda one: float(np.linalg.norm(one @ expected - pointing)))
    return wrong(
        'imu_axes',
        'gravity lies on another axis of the IMU than the legs and the machine file say: '
        f'{axes_text(best.accelerometer)} would fit, as others would that differ by a turn about the vertical',
        f'set the mounting in {wiring.machine.path.name} (a motion that turns the platform tells which one it is)\n'
        + rpy_lines(wiring, proper),
        **figures,
    )


def _gravity_lines(wiring: Wiring) -> str:
    return 'in the driver file\n' + wiring.patch.add({'imu.gravity': 'down'})


def _mounting_or_mirrored(wiring: Wiring, axes: Array, figures: dict[str, float], either: str) -> Finding:
    if not is_rotation(axes):
        return wrong(
            'imu_left_handed',
            f'the IMU\'s axes are those of a left-handed frame: {axes_text(axes)} (measured = of the machine '
            f'file); no mounting explains them{either}. The same is seen if the legs are numbered the other way round',
            'negate one axis in the IMU\'s driver so that x, y, z are right-handed (and the rates about the others'
            ' accordingly), or number the legs the other way round',
            **figures,
        )
    upside = ', upside down' if axes[2, 2] < 0.0 else ''
    return wrong(
        'imu_axes',
        f'the IMU is mounted otherwise than the machine file says{upside}: {axes_text(axes)} (measured = of the '
        f'machine file){either}',
        f'turn the IMU, or in {wiring.machine.path.name}\n' + rpy_lines(wiring, axes),
        **figures,
    )


def rpy_lines(wiring: Wiring, axes: Array) -> str:
    """Lines of the machine file for an IMU whose measured axes are ``axes`` @ those of the file."""
    angles = rpy_from_rotation(wiring.machine.imu.rotation_platform_imu @ axes.T)
    return f'sensors: {{imu: {{rpy: [{", ".join(f"{angle + 0.0:.4f}" for angle in angles)}]}}}}'
