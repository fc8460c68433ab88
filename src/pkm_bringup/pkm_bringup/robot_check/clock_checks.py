"""The clock of the IMU against that of the drives, and velocities against differentiated positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.driver.driver import VELOCITY
from pkm_description.errors import Finding, PkmError
from pkm_estimation.tuning.delay import estimate_delay
from pkm_estimation.tuning.streams import SensorStreams, usual_interval

from pkm_bringup.robot_check.agreement import smoothed
from pkm_bringup.robot_check.recorded import Flags
from pkm_bringup.robot_check.time_axis import ENOUGH, ClockShift, clock_shift
from pkm_bringup.robot_check.wiring import Wiring, cannot_tell, ok, suspicious, wrong

#: noise deviations above which a drive moves enough
_ABOVE_NOISE = 8.0
#: part by which velocity and slope of the position may differ
_SLACK = 0.25
#: part of the velocity's power that the slope must explain for a factor to be told
_EXPLAINED = 0.6
#: s: less is usual for an IMU with filters in it; more is wrong in any case
_USUAL, _WRONG = 0.012, 0.03
#: s, deviation of a delay by a free linear map
_ROUGH = 0.006
#: s/s, clocks of computers differ by less than a tenth of that
_DRIFT = 1e-3
_MOTION = (
    'a motion in which the platform turns to and fro, not periodically, for 10 s or more (motion_player'
    ' profile:=fourier)'
)


@dataclass(frozen=True)
class _Delay:
    value: float
    std: float


def clock_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about delay and drift; sets ``delay``, by which later checks shift the IMU."""
    if wiring.positions is None or not wiring.imu_usable or wiring.angular_rate is None:
        return
    if wiring.times.aligned_by == 'start' or 'counted' in (wiring.times.joints.source, wiring.times.imu.source):  # type: ignore[union-attr]
        yield cannot_tell('imu_delay', 'no usable stamps to compare the two clocks by', 'good stamps on both topics')
    shift = clock_shift((wiring.leg_time, wiring.positions), (wiring.imu_time, wiring.angular_rate))
    if shift is None or shift.explained < ENOUGH:
        if shift is not None and _both_move(wiring):
            yield suspicious(
                'imu_motion',
                f'the drives\' motion explains only {max(0.0, shift.explained):.0%} of the angular rate, at any '
                'delay up to 5 s',
                'see whether IMU and drives are of the same machine, and whether something else moves or '
                'shakes the IMU',
                explained=shift.explained,
            )
        else:
            yield cannot_tell(
                'imu_delay', 'the platform turns too little to compare the clocks of IMU and drives', _MOTION
            )
        return
    # a free linear map follows large turns only roughly: small delays are left to the finer look
    wiring.shift = shift
    wiring.delay = shift.delay if abs(shift.delay) > _WRONG or wiring.times.aligned_by != 'stamps' else 0.0


def delay_checks(wiring: Wiring) -> Iterator[Finding]:
    """Judge delay and drift, once order of the legs and axes of the IMU are known."""
    shift = wiring.shift
    if shift is None or wiring.times.aligned_by != 'stamps' or not wiring.poses_trusted:
        return  # said already: too little motion, other clocks, or wrong positions
    fine = _fine_delay(wiring)
    if fine is None:
        resolution = 2.0 * max(usual_interval(wiring.leg_time), usual_interval(wiring.imu_time))
        fine = _Delay(shift.delay, _ROUGH + 0.3 * resolution)
    yield _judged(wiring, shift, fine)
    if np.isfinite(shift.drift) and abs(shift.drift) > max(_DRIFT, 6.0 * shift.drift_std):
        yield suspicious(
            'clock_drift',
            f'the delay of the IMU grows by {1e3 * shift.drift:.2g} ms per second: two clocks of different pace',
            'stamp both by one clock: chrony or PTP on both computers, or stamp the IMU by the computer that reads it',
            drift_ms_per_s=1e3 * shift.drift,
            std=1e3 * shift.drift_std,
        )


def _judged(wiring: Wiring, shift: ClockShift, delay: _Delay) -> Finding:
    value = delay.value
    late = 'late' if value > 0 else 'early'
    evidence = {'delay_ms': 1e3 * value, 'explained': shift.explained}
    limit = _USUAL + 3.0 * delay.std
    if abs(value) <= limit:
        return ok('imu_delay', f'IMU and drives are on one clock, within {1e3 * max(abs(value), delay.std):.0f} ms')
    doubt = '' if shift.unique else ' (or a period of the motion more or less: it repeats)'
    remedy = (
        f'if it is constant: imu_delay: {value:.3f} in the estimator\'s settings (tune BAG --motion measures it); else'
        ' put both computers on one clock (chrony or PTP)'
    )
    say = wrong if abs(value) > _WRONG else suspicious
    return say('imu_delay', f'stamps of the IMU are {1e3 * abs(value):.0f} ms {late}{doubt}', remedy, **evidence)


def _fine_delay(wiring: Wiring) -> _Delay | None:
    """Delay by the estimator's calibration; None where it cannot be told."""
    best = wiring.best
    if best is None or wiring.positions is None or wiring.specific_force is None or wiring.angular_rate is None:
        return None
    if any(best.arrangement.flipped) or not wiring.gravity_felt:
        return None
    imu = np.hstack(
        [wiring.specific_force @ best.agreement.accelerometer, wiring.angular_rate @ best.agreement.gyroscope]
    )
    finite = np.isfinite(wiring.positions).all(axis=1)
    streams = SensorStreams(
        wiring.leg_time[finite], wiring.positions[finite][:, list(best.arrangement.order)], wiring.imu_time, imu
    )
    try:
        found = estimate_delay(wiring.machine, streams)
    except PkmError:
        return None
    return _Delay(wiring.delay + found.delay, found.std)


def _both_move(wiring: Wiring) -> bool:
    """Whether drives and gyroscope show much more than noise."""
    assert wiring.positions is not None
    assert wiring.angular_rate is not None
    moves = []
    for values in (wiring.positions, wiring.angular_rate):
        noise = np.median(np.abs(np.diff(values, axis=0)), axis=0) + 1e-12
        moves.append(bool((values.std(axis=0) > 10.0 * noise).any()))
    return all(moves)


def velocity_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the velocities."""
    log, motion = wiring.joints, wiring.motion
    if log is None or motion is None or wiring.columns is None or wiring.position_scale is None:
        return
    order, sign = _arrangement(wiring)
    columns = [wiring.columns[entry] for entry in order]
    published = log.velocities[wiring.leg_rows][:, columns]
    absent: Flags = np.asarray(~np.isfinite(published).any(axis=0))
    if absent.any():
        yield suspicious(
            'velocity_missing',
            f'no velocity of {"any drive" if absent.all() else wiring.named(absent)}',
            'joint_state_broadcaster: interfaces: [position, velocity, effort]; estimator and identification do'
            ' without, the leg controller takes it',
        )
        return
    slope = motion.rate[:, order] * sign
    measured = smoothed(wiring.leg_time, published, motion.time)
    good = motion.good & measured.good
    moving = np.sqrt(np.mean(slope[good] ** 2, axis=0)) > _ABOVE_NOISE * _slope_noise(wiring, order)
    if not moving.any():
        yield cannot_tell('velocity', 'the drives do not move', 'any motion')
        return
    value, slope = measured.value[good], slope[good]
    zero = moving & (np.abs(published).max(axis=0) == 0.0)
    if zero.any():
        yield wrong(
            'velocity_zero',
            f'velocities of {wiring.named(zero)} are zero while the positions change',
            'let the driver fill in velocity, or leave the field empty; zeros pass for a drive at rest',
        )
        return
    gain = np.sum(value * slope, axis=0) / np.sum(slope**2, axis=0)
    explained = gain**2 * np.sum(slope**2, axis=0) / np.maximum(np.sum(value**2, axis=0), 1e-300)
    told = moving & (explained > _EXPLAINED)
    if not told.any():
        yield suspicious(
            'velocity_noise',
            f'velocities do not follow the slopes of the positions (at most {explained[moving].max():.0%} explained)',
            'see what the driver publishes as velocity (a set-point? noise?)',
            explained=float(explained[moving].max()),
        )
        return
    # more than noise, so that a velocity that is only noisy does not count
    loud = np.sqrt(np.mean(value**2, axis=0)) > _ABOVE_NOISE * measured.noise
    apart: Flags = np.asarray(moving & ~told & loud)
    if apart.any():
        yield suspicious(
            'velocity_noise',
            f'velocities of {wiring.named(apart)} do not follow the slopes of the positions'
            f' ({explained[apart].min():.0%} explained), those of other drives do',
            'see whether position or velocity of this drive is read anew in every cycle (a value that stays where it'
            ' was for a while?)',
            explained=float(explained[apart].min()),
        )
    usual = sign / wiring.position_scale[order]  # the unit of the positions, and their direction
    off = told & (np.abs(gain / usual - 1.0) > _SLACK)
    if not off.any():
        yield ok(
            'velocity', f'velocities are the slopes of the positions (factor {np.abs((gain / usual)[told]).mean():.3f})'
        )
        return
    yield _factor(wiring, gain, usual, told, off)


def _factor(wiring: Wiring, gain: Array, usual: Array, told: Flags, off: Flags) -> Finding:
    """Velocities that are the slopes times a factor."""
    kind = wiring.machine.actuated_joints[0].kind
    ratio = gain / usual
    signs_only = bool((np.abs(np.abs(ratio[told]) - 1.0) < _SLACK).all())
    gain = np.where(told, gain, usual)
    keys: dict[str, object] = {}
    if (np.sign(gain) != np.sign(usual)).any():
        keys['velocity.sign'] = wiring.patch.by_leg(np.sign(gain))
    words = 'the opposite sign'
    if not signs_only:
        size = float(np.median(np.abs(gain[told])))
        units = {unit: abs(size * scale - 1.0) for unit, scale in VELOCITY[kind].items()}
        unit = min(units, key=lambda name: units[name])
        if units[unit] < _SLACK and (np.abs(np.abs(gain[told]) / size - 1.0) < _SLACK).all():
            keys['velocity.unit'] = unit
            words = f'the unit {unit}'
        else:
            keys['velocity.scale'] = wiring.patch.by_leg(1.0 / np.abs(gain))
            words = 'another scale'
    return wrong(
        'velocity_sign' if signs_only else 'velocity_unit',
        f'velocities of {wiring.named(off)} are {_numbers(ratio[off])} times the slopes of the positions: {words}',
        wiring.driver_lines(keys),
        factor=float(np.median(ratio[off])),
    )


def _arrangement(wiring: Wiring) -> tuple[list[int], Array]:
    """Entry of each drive among the columns, and the sign of its positions."""
    count = wiring.machine.actuated_count
    if wiring.best is None:
        return list(range(count)), np.ones(count)
    return list(wiring.best.arrangement.order), np.where(wiring.best.arrangement.flipped, -1.0, 1.0)


def _slope_noise(wiring: Wiring, order: list[int]) -> Array:
    assert wiring.motion is not None
    assert wiring.positions is not None
    return smoothed(wiring.leg_time, wiring.positions, wiring.motion.time).rate_noise[order] + 1e-9


def _numbers(values: Array) -> str:
    return ', '.join(f'{value:.4g}' for value in values)
