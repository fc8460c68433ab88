"""Clocks of drives and IMU: the delay at which any linear map explains most; then by what is predicted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import Finding

from pkm_bringup.robot_check.report import Wiring, cannot_tell, ok, suspicious, wrong
from pkm_bringup.robot_check.signals import INTERVAL, ClockShift, Signal, smoothed
from pkm_bringup.robot_check.table import Evidence, Row

#: s, largest shift of the clocks that is looked for, and the least time that must be left
_FARTHEST, _LEAST = 5.0, 3.0
#: s of a stream that is long enough to tell a drift of the clocks
_DRIFTS = 8.0
#: part of the power that the drives must explain for the clocks to be compared
_ENOUGH = 0.6
#: s: less delay is usual for an IMU with filters in it; more is wrong in any case; s/s of clocks of computers
_USUAL, _WRONG, _DRIFT = 0.012, 0.03, 1e-3
_TO_AND_FRO = 'a motion to and fro, not periodic, for 10 s or more (motion_player profile:=fourier)'
_CLOCKS = 'put both computers on one clock (chrony or PTP), or stamp the IMU by the computer that reads it'


def clock_checks(wiring: Wiring) -> Iterator[Finding]:
    """Delay at which any linear map of the drives' motion explains what the IMU shows; sets ``shift`` and ``delay``."""
    if wiring.specific_force is None and wiring.angular_rate is None:
        return
    axes = wiring.times.joints, wiring.times.imu
    if wiring.times.aligned_by == 'start' or any(axis is None or axis.source == 'counted' for axis in axes):
        yield cannot_tell('imu_delay', 'no usable stamps to compare the two clocks by', 'good stamps on both topics')
    drives = wiring.leg_time, wiring.published('positions')
    found = [
        clock_shift(drives, (wiring.imu_time, values), order)
        for order, values in ((1, wiring.angular_rate), (2, wiring.specific_force))
        if values is not None
    ]
    shift = max((one for one in found if one is not None), key=lambda one: one.explained, default=None)
    if shift is not None and shift.explained >= _ENOUGH:
        # a free linear map follows large turns only roughly: small delays are left to the finer look
        wiring.shift = shift
        wiring.delay = shift.delay if abs(shift.delay) > _USUAL or wiring.times.aligned_by != 'stamps' else 0.0
    elif shift is not None and wiring.angular_rate is not None and _both_move(wiring):
        yield suspicious(
            'imu_motion',
            f'the drives\' motion explains only {max(0.0, shift.explained):.0%} of what the IMU shows, at any delay up'
            ' to 5 s',
            'see whether IMU and drives are of the same machine, and whether something else moves or shakes the IMU',
            explained=shift.explained,
        )
    else:
        yield cannot_tell('imu_delay', 'the platform moves too little to compare the clocks', _TO_AND_FRO)


def _both_move(wiring: Wiring) -> bool:
    """Whether drives and gyroscope show much more than noise."""
    assert wiring.angular_rate is not None
    moves = []
    for values in (wiring.published('positions'), wiring.angular_rate):
        noise = np.median(np.abs(np.diff(values, axis=0)), axis=0) + 1e-12
        moves.append(bool((values.std(axis=0) > 10.0 * noise).any()))
    return all(moves)


def delay_checks(wiring: Wiring, evidence: Evidence, best: Row) -> Iterator[Finding]:
    """Delay and drift of the IMU's stamps, by what forward kinematics predicts."""
    shift, prediction, imu = wiring.shift, wiring.prediction, evidence.imu
    if shift is None or wiring.times.aligned_by != 'stamps' or prediction is None or imu is None:
        return  # said already: too little motion, or other clocks
    own, axes, expected = (
        (slice(3, 6), best.gyroscope, prediction.angular_rate)
        if evidence.turns
        else (slice(0, 3), best.accelerometer, prediction.specific_force)
    )
    found = prediction.found & imu.good
    full = np.full((len(found), 3), np.nan)
    full[prediction.found] = expected @ axes.T
    slope = np.gradient(full, INTERVAL, axis=0)
    measured, full, slope = (part[found][1:-1] for part in (imu.value[:, own], full, slope))
    usable = np.isfinite(slope).all(axis=1)
    measured, full, slope = (part[usable] - part[usable].mean(axis=0) for part in (measured, full, slope))
    # measured(t) = gain * expected(t - delay), to first order
    time = imu.time[found][1:-1][usable, None]
    drifts = len(time) > _DRIFTS / INTERVAL
    parts = [full, -slope, -slope * (time - time.mean())] if drifts else [full, -slope]
    columns = np.column_stack([part.ravel() for part in parts])
    answer, *_ = np.linalg.lstsq(columns, measured.ravel(), rcond=None)
    left = measured.ravel() - columns @ answer
    # errors of poses that change slowly are alike over about a second
    spread = left @ left / len(left) / INTERVAL * np.linalg.inv(columns.T @ columns).diagonal()
    stds = np.sqrt(spread) / abs(answer[0])
    delay, std = wiring.delay + float(answer[1] / answer[0]), float(stds[1])
    size = 1e3 * abs(delay)
    if abs(delay) <= _USUAL + 3.0 * std:
        yield ok('imu_delay', f'IMU and drives are on one clock, within {max(size, 1e3 * std, 1.0):.0f} ms')
    else:
        doubt = '' if shift.unique else ' (or a period of the motion more or less: it repeats)'
        yield (wrong if abs(delay) > _WRONG else suspicious)(
            'imu_delay',
            f'stamps of the IMU are {size:.0f} ms {"late" if delay > 0 else "early"}{doubt}',
            f'if it is constant: imu_delay: {delay:.3f} in the estimator\'s settings (tune BAG --motion measures it);'
            f' else {_CLOCKS}',
            delay_ms=1e3 * delay,
            explained=shift.explained,
        )
    drift = float(answer[2] / answer[0]) if drifts else 0.0
    if drifts and abs(drift) > max(_DRIFT, 6.0 * float(stds[2])):
        yield suspicious(
            'clock_drift',
            f'the delay of the IMU grows by {1e3 * drift:.2g} ms per second: two clocks of different pace',
            _CLOCKS,
            drift_ms_per_s=1e3 * drift,
            std=1e3 * float(stds[2]),
        )


def clock_shift(drives: tuple[Array, Array], gyroscope: tuple[Array, Array], derivative: int = 1) -> ClockShift | None:
    """Find the delay at which any linear map of the drives' rates explains most of the angular rate.

    The map is free: wrong orders, signs, units and axes do not matter.

    Parameters
    ----------
    drives : times (K,) s, positions (K, A)
    gyroscope : times (M,) s, angular rates (M, 3); or specific forces
    derivative : of the drives: 1, or 2 with specific forces

    Returns
    -------
    None if the streams have less than three seconds in common
    """
    begin, end = (pick(drives[0][at], gyroscope[0][at]) for pick, at in ((min, 0), (max, -1)))
    grid = begin + INTERVAL * np.arange(int((end - begin) / INTERVAL))
    if len(grid) * INTERVAL < _LEAST or min(len(drives[0]), len(gyroscope[0])) < 20:
        return None
    legs, body = (smoothed(times, values, grid) for times, values in (drives, gyroscope))
    most = int(min(_FARTHEST, 0.4 * (end - begin)) / INTERVAL)
    shifts = np.arange(-most, most + 1)
    explained = np.array([_explained(legs, body, derivative, shift) for shift in shifts.tolist()])
    if not np.isfinite(explained).any():
        return None
    # the nearest of all that are as good as the best
    best = int(np.nanargmax(np.where(explained >= np.nanmax(explained) - 0.01, -np.abs(shifts), -np.inf)))
    while 0 < best < len(shifts) - 1 and max(explained[best - 1], explained[best + 1]) > explained[best]:
        best += 1 if explained[best + 1] > explained[best - 1] else -1
    far = np.abs(shifts - shifts[best]) > 0.5 / INTERVAL
    unique = not bool(np.any(explained[far] > explained[best] - 0.05))
    delay = INTERVAL * (shifts[best] + _peak(explained, best))
    return ClockShift(delay, float(explained[best]), unique)


def _explained(legs: Signal, body: Signal, derivative: int, shift: int) -> float:
    """Part of the IMU's power that a linear map of the drives ``shift`` instants earlier explains."""
    rows = np.flatnonzero(body.good)
    rows = rows[(rows - shift >= 0) & (rows - shift < len(legs.good))]
    rows = rows[legs.good[rows - shift]]
    if len(rows) < _LEAST / INTERVAL:
        return float('nan')
    moved, felt = (legs.rate, legs.acceleration)[derivative - 1][rows - shift], body.value[rows]
    moved, felt = moved - moved.mean(axis=0), felt - felt.mean(axis=0)
    left = felt - moved @ np.linalg.lstsq(moved, felt, rcond=1e-6)[0]
    power = float(np.sum(felt**2))
    return 1.0 - float(np.sum(left**2)) / power if power > 0.0 else 0.0


def _peak(values: Array, best: int) -> float:
    """Fraction of an instant by which the peak lies beside its highest value (parabola)."""
    if not 0 < best < len(values) - 1:
        return 0.0
    before, peak, after = values[best - 1 : best + 2]
    bend = before - 2.0 * peak + after
    return float(np.clip(0.5 * (before - after) / bend, -1.0, 1.0)) if bend < 0.0 else 0.0
