"""Stamps, rates and clocks: zero, repeated, in the future; jitter, losses, bursts; delay and drift between both."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from pkm_description.errors import Finding, KinematicsError
from pkm_estimation.tuning.delay import estimate_delay
from pkm_estimation.tuning.streams import SensorStreams, TuningError

from pkm_bringup.robot_check.recorded import Observation
from pkm_bringup.robot_check.report import CANNOT_TELL, OK, SUSPICIOUS, WRONG, Case, Wiring
from pkm_bringup.robot_check.signals import INTERVAL, POINTS, Stream, lag, smoothed

#: part of the machine file's rate below which it is reported
_SLOW = 0.75
#: part of the interval by which 1 of 20 steps may be off
_JITTER = 0.4
#: part of the messages that may be lost, and s of the longest hole
_LOST, _HOLE = 0.02, 0.3
#: a step longer than so many usual ones is a loss
_LOSS = 1.5
#: s: stamps so much ahead of their reception are from another clock; so much behind it, too
_AHEAD, _BEHIND = 0.02, 0.5
#: s, difference of the two topics' age at reception that transport does not explain
_AGES = 0.1
#: ns since 1970 below which stamps count from a start, not from an epoch (about 2001)
_EPOCH = 10**18
#: part of the interval below which stamps count as regular, and part of the jitter that reception may differ by
_REGULAR, _SAME = 0.1, 0.15
#: s, farthest delay that is looked for, and parts of a stream that have a delay each
_FARTHEST, _STRETCH = 5.0, 4.0
#: s between two samples of the drives that tell a delay: more of them cost time only
_TELLING = 0.01
#: part of the power that the drives must explain for the clocks to be compared
_ENOUGH = 0.6
#: s: less delay is usual for an IMU with filters in it; more is wrong in any case; s/s of clocks of computers
_USUAL, _WRONG, _DRIFT = 0.012, 0.03, 1e-3
_TO_AND_FRO = 'a motion to and fro, not periodic, for 10 s or more (motion_player profile:=fourier)'
_CLOCK_REMEDY = (
    'put both computers on one clock (chrony or PTP: chronyc tracking), or let one computer stamp both topics; in '
    'simulation start all nodes with use_sim_time:=true'
)


def stamp_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the stamps of both topics, and of one against the other."""
    for stream in (wiring.joints, wiring.imu):
        if stream.log is not None and len(stream.log) > 1:
            sentence = f'{stream.topic}: {len(stream.log)} stamps, all newer than the one before'
            found = [*wiring.told(*_order(stream), *_age(stream, wiring.seen))]
            yield from found or wiring.told(Case(True, OK, f'{stream.which}_stamps', sentence))
    yield from wiring.first(*_two_clocks(wiring))


def _order(stream: Stream) -> Iterator[Case]:
    """Stamps that the nodes reject."""
    assert stream.log is not None
    stamps = stream.log.stamps
    steps = np.diff(stamps[stamps > 0])
    steps = steps if len(steps) else np.ones(1, dtype=np.int64)
    back = int(np.count_nonzero(steps < 0))
    away = np.abs(stamps - np.median(stamps)) > 3.0 * len(stamps) * max(float(np.median(np.abs(steps))), 1.0) + 10**9
    lonely = int(np.count_nonzero(away & (stamps > 0)))
    for count, total, code, what, remedy in (
        (int(np.count_nonzero(stamps <= 0)), len(stamps), 'zero', 'zero; such samples are rejected',
         'let the driver set header.stamp to the time of the sample (node->now() at reading, or the hardware\'s time)'),
        (int(np.count_nonzero(steps == 0)), len(steps), 'repeated',
         'the same as the one before; such samples are rejected',
         'publish each sample once (is the loop faster than the sensor? are there two publishers, or a bag that is'
         ' played twice?), and stamp it with a clock of finer resolution'),
        (back, len(steps), 'order', f'older than the one before, by up to {-steps.min() * 1e-9:.3g} s',
         'one publisher per topic, one thread that publishes, and a clock that is not set back meanwhile (chrony: slew,'
         ' no step); a bag that is played in a loop needs a reset of the nodes'),
        (lonely if lonely < 0.2 * len(stamps) and not back else 0, len(stamps), 'jump', 'far away from the others',
         'one clock for all stamps of the topic; set the computer\'s time before the driver starts'),
    ):  # fmt: skip
        sentence = f'{stream.topic}: {count} of {total} stamps are {what}'
        yield Case(count, WRONG, f'{stream.which}_stamp_{code}', sentence, remedy, {'part': count / total})


def _age(stream: Stream, seen: Observation) -> Iterator[Case]:
    """Stamps against the time of reception; a simulation or a bag that is played sets the time by /clock."""
    assert stream.log is not None
    good = (stream.log.stamps > 0) & (stream.log.recorded_at > 0)
    if np.count_nonzero(good) < 2:
        return
    stamps, received, clock = stream.log.stamps[good], stream.log.recorded_at[good], seen.clock
    age = 1e-9 * float(np.median(received - stamps))
    if len(clock) > 1:
        # a publisher of /clock that has nothing to do with the stamps does not count
        shown = np.interp(received.astype(float), clock[:, 1].astype(float), clock[:, 0].astype(float))
        age = min(age, 1e-9 * float(np.median(shown - stamps)), key=abs)
    elif np.median(stamps) < _EPOCH <= np.median(received):
        yield Case(
            seen.live, SUSPICIOUS, f'{stream.which}_clock_domain',
            f'{stream.topic}: stamps count from a start ({stamps[0] * 1e-9:.1f} s), and nobody publishes /clock',
            'use_sim_time:=true and a publisher of /clock in simulation; on a robot let the driver stamp with the'
            ' computer\'s time, not with its time since start', {'age_s': age},
        )  # fmt: skip
        return
    steps = np.diff(stamps)
    usual = float(np.median(steps))
    jitter, differs = (1.4826 * float(np.median(np.abs(part))) for part in (steps - usual, np.diff(received - stamps)))
    yield from (
        Case(age < -_AHEAD, WRONG, f'{stream.which}_stamp_future',
             f'{stream.topic}: stamps are {-age:.3g} s ahead of their reception', _CLOCK_REMEDY, {'age_s': age}),
        Case(age > _BEHIND, SUSPICIOUS, f'{stream.which}_stamp_old',
             f'{stream.topic}: samples are {age:.3g} s old when they come: a clock that is behind, or a queue',
             _CLOCK_REMEDY, {'age_s': age}),
        # a bag that was written from arrays knows nothing of reception
        Case(usual > 0 and jitter > _REGULAR * usual and differs < _SAME * jitter and (stamps != received).any(),
             SUSPICIOUS, f'{stream.which}_stamp_reception',
             f'{stream.topic}: stamps are as irregular as the messages come ({1e-6 * jitter:.2g} ms): they tell when a'
             ' message was handled, not when the sample was taken',
             'stamp with the time of the sample: in ros2_control the read() time, else the sensor\'s own counter',
             {'jitter_ms': 1e-6 * jitter, 'reception_minus_stamp_ms': 1e-6 * differs}),
    )  # fmt: skip


def _two_clocks(wiring: Wiring) -> Iterator[Case]:
    joints, imu = wiring.joints, wiring.imu
    if joints.log is None or imu.log is None:
        return
    other = wiring.aligned_by != 'stamps' and joints.source == imu.source == 'stamps'
    offset = 1e-9 * float(np.median(imu.log.stamps) - np.median(joints.log.stamps))
    ages = [
        1e-9 * float(np.median((log.recorded_at - log.stamps)[log.stamps > 0])) if (log.stamps > 0).any() else np.nan
        for log in (joints.log, imu.log)
    ]
    yield Case(
        other, WRONG, 'clock_domain', 'joints and IMU are stamped by different clocks: IMU stamps are'
        f' {offset:+.4g} s away from those of the joints', _CLOCK_REMEDY, {'offset_s': offset},
    )  # fmt: skip
    yield Case(
        abs(ages[1] - ages[0]) > _AGES, SUSPICIOUS, 'clock_offset',
        f'when they come, samples of the joints are {ages[0]:.3g} s old, those of the IMU {ages[1]:.3g} s',
        _CLOCK_REMEDY, {'joint_age_s': ages[0], 'imu_age_s': ages[1]},
    )  # fmt: skip


def rate_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the rates of both topics."""
    for stream in (wiring.joints, wiring.imu):
        if stream.log is not None:
            yield from _rate(wiring, stream)


def _rate(wiring: Wiring, stream: Stream) -> Iterator[Finding]:
    which, topic, nominal = stream.which, stream.topic, stream.nominal
    if stream.source == 'counted' or len(stream.times) < 10:
        sentence = f'{topic}: {len(stream.times)} messages, and no usable time'
        yield from wiring.told(Case(True, CANNOT_TELL, f'{which}_rate', sentence, 'good stamps, see above'))
        return
    stamped = stream.source == 'stamps'
    by, key = '' if stamped else ' (by reception)', {'joint': 'legs', 'imu': 'imu'}[which]
    steps = np.diff(stream.time)
    usual, mean, hole = float(np.median(steps)), float(steps.mean()), float(steps.max())
    rate, long = 1.0 / usual, steps > _LOSS * usual
    lost = float(np.sum(np.rint(steps[long] / usual) - 1.0))
    share, jitter = lost / (lost + len(steps) + 1), float(np.quantile(np.abs(steps[~long] - usual), 0.95)) / usual
    bursts = np.mean(steps < 0.3 * mean) > 0.4
    jitters = jitter > _JITTER and stamped
    found = [*wiring.told(
        Case(bursts, SUSPICIOUS, f'{which}_bursts',
             f'{topic}: messages come in bursts{by}: half of the steps are below {1e3 * usual:.3g} ms, the mean is'
             f' {1e3 * mean:.3g} ms',
             'publish each sample when it is taken, with its own time; no batches, and no queue that is emptied at'
             ' once', {'usual_ms': 1e3 * usual, 'mean_ms': 1e3 * mean}),
        Case(not bursts and rate < _SLOW * nominal, SUSPICIOUS, f'{which}_rate',
             f'{topic}: {rate:.4g} Hz{by}; the machine file says {nominal:g} Hz',
             f'set the driver (ros2_control: update_rate, joint_state_broadcaster) to {nominal:g} Hz, or in the machine'
             f' file sensors.{key}.rate: {rate:.4g}', {'rate_Hz': rate, 'expected_Hz': nominal}),
        Case(not bursts and jitters, SUSPICIOUS, f'{which}_jitter',
             f'{topic}: 1 of 20 steps{by} is off by more than {1e3 * jitter * usual:.3g} ms of {1e3 * usual:.3g} ms',
             'a real-time priority for the driver\'s loop (chrt, PREEMPT_RT), and stamps of the sample\'s own time',
             {'p95_ms': 1e3 * jitter * usual, 'interval_ms': 1e3 * usual}),
        Case(not bursts and not jitters and stamped and (share > _LOST or hole > max(_HOLE, 5.0 * usual)),
             SUSPICIOUS, f'{which}_lost',
             f'{topic}: about {lost:.0f} of {lost + len(steps) + 1:.0f} messages are missing{by}, the longest hole is'
             f' {hole:.3g} s',
             'cable instead of radio, a larger depth or reliability:=reliable, less load on the computer; see ros2'
             ' topic hz', {'share': share, 'longest_hole_s': hole}),
    )]  # fmt: skip
    faster = nominal and rate > nominal / _SLOW
    note = f'; the machine file says {nominal:g} Hz, which does no harm (sensors.{key}.rate)' if faster else ''
    sentence = f'{topic}: {rate:.4g} Hz{by}, steps within {100 * jitter:.0f} %{note}'
    yield from found or wiring.told(Case(True, OK, f'{which}_rate', sentence))


def clock_checks(wiring: Wiring) -> Iterator[Finding]:
    """Delay at which any linear map of the drives' motion explains what the IMU shows; sets ``shift`` and ``delay``."""
    felt = [part for part in (wiring.angular_rate, wiring.specific_force) if part is not None]
    if not felt:
        return
    times = wiring.joints.time, wiring.imu_time
    begin, end = min(times[0][0], times[1][0]), max(times[0][-1], times[1][-1])
    grid = begin + INTERVAL * np.arange(int((end - begin) / INTERVAL))
    shifts = []
    if len(grid) > POINTS and min(map(len, times)) >= 20:
        drives = smoothed(times[0], wiring.published('positions'), grid)
        for part in felt:
            moved = drives.rate if part is wiring.angular_rate else drives.acceleration
            shown = smoothed(times[1], part, grid)
            most = min(_FARTHEST, 0.4 * (end - begin))
            shifts.append(lag(moved, drives.good, shown.value, shown.good, most))
    shift = max((one for one in shifts if one is not None), key=lambda one: one.explained, default=None)
    if shift is not None and shift.explained >= _ENOUGH:
        # a free linear map follows large turns only roughly: small delays are left to the finer look
        wiring.shift = shift
        wiring.delay = shift.delay if abs(shift.delay) > _USUAL or wiring.aligned_by != 'stamps' else 0.0
    yield from wiring.told(
        Case(wiring.aligned_by == 'start' or 'counted' in (wiring.joints.source, wiring.imu.source), CANNOT_TELL,
             'imu_delay', 'no usable stamps to compare the two clocks by', 'good stamps on both topics'),
        Case(wiring.shift is None, CANNOT_TELL, 'imu_delay',
             'the platform moves too little for the clocks, or the IMU does not follow it', _TO_AND_FRO),
    )  # fmt: skip


def delay_checks(wiring: Wiring) -> Iterator[Case]:
    """Delay and drift of the IMU's stamps, by the motion that the drives show under the best row."""
    shift, best, parts = wiring.shift, wiring.best, (wiring.specific_force, wiring.angular_rate)
    if shift is None or best is None or wiring.aligned_by != 'stamps' or wiring.prediction is None:
        return  # said already: too little motion, or other clocks
    felt = [part for part in parts if part is not None]
    drives, imu = wiring.published('positions') * best.sign * best.scale + best.offset, np.hstack([felt[0], felt[-1]])
    known, shown = (np.flatnonzero(np.isfinite(values).all(axis=1)) for values in (drives, imu))
    time = wiring.joints.time
    known = known[:: max(1, int(_TELLING / np.median(np.diff(time))))]
    streams = SensorStreams(time[known], drives[known], wiring.imu_time[shown], imu[shown])
    begin, end = streams.leg_time[[0, -1]].tolist()
    found, failed = [], ''
    for first, last in pairwise(np.linspace(begin, end, 1 + max(1, int((end - begin) / _STRETCH))).tolist()):
        try:
            found.append((0.5 * (first + last), *estimate_delay(wiring.machine, streams.between(first, last))))
        except (TuningError, KinematicsError) as error:
            failed = str(error)
    if not found:
        yield Case(True, CANNOT_TELL, 'imu_delay', failed, _TO_AND_FRO)
        return
    # a delay that grows: a line through those of the stretches, by their standard deviations and what they scatter
    at, delays, stds = np.array(found).T
    weights = 1.0 / np.maximum(stds, 1e-5)
    columns = (weights * np.array([np.ones(len(at)), at - at.mean()])[: min(2, len(at))]).T
    answer = np.linalg.lstsq(columns, weights * delays, rcond=None)[0]
    scatter = np.sum((columns @ answer - weights * delays) ** 2) / max(1, len(at) - 2)
    spread = np.sqrt(max(1.0, scatter) * np.linalg.inv(columns.T @ columns).diagonal())
    delay, std = wiring.delay + float(answer[0]), float(spread[0])
    drift, drift_std = (float(answer[1]), float(spread[1])) if len(at) > 1 else (0.0, np.inf)
    size, late = 1e3 * abs(delay), abs(delay) > _USUAL + 3.0 * std
    doubt = '' if shift.unique else ' (or a period of the motion more or less: it repeats)'
    yield from (
        Case(not late, OK, 'imu_delay', f'IMU and drives are on one clock, within {max(size, 1e3 * std, 1.0):.0f}'
             ' ms'),
        Case(late, WRONG if abs(delay) > _WRONG else SUSPICIOUS, 'imu_delay',
             f'stamps of the IMU are {size:.0f} ms {"late" if delay > 0 else "early"}{doubt}',
             f'if it is constant: imu_delay: {delay:.3f} in the estimator\'s settings (tune BAG --motion measures it);'
             f' else {_CLOCK_REMEDY}', {'delay_ms': 1e3 * delay, 'explained': shift.explained}),
        Case(abs(drift) > max(_DRIFT, 6.0 * drift_std), SUSPICIOUS, 'clock_drift',
             f'the delay of the IMU grows by {1e3 * drift:.2g} ms per second: two clocks of different pace',
             _CLOCK_REMEDY, {'drift_ms_per_s': 1e3 * drift, 'std': 1e3 * drift_std}),
    )  # fmt: skip
