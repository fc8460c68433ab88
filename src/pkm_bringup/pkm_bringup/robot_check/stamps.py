"""Stamps, rates and clocks: zero, repeated, in the future; jitter, losses, bursts; delay and drift between both."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import Finding
from pkm_estimation.bags import Imu, JointStates

from pkm_bringup.robot_check.recorded import Stamps
from pkm_bringup.robot_check.report import Wiring, cannot_tell, ok, suspicious, wrong
from pkm_bringup.robot_check.signals import INTERVAL, clock_shift
from pkm_bringup.robot_check.table import Evidence, Row

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
#: s of a stream that is long enough to tell a drift of the clocks
_DRIFTS = 8.0
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
    logs: list[tuple[str, str, JointStates | Imu | None]] = [
        ('joint', wiring.seen.joint_topic, wiring.seen.joints),
        ('imu', wiring.seen.imu_topic, wiring.seen.imu),
    ]
    for which, topic, log in logs:
        if log is None or len(log) < 2:
            continue
        found = [*_order(which, topic, log.stamps), *_age(wiring, which, topic, log)]
        yield from found or [ok(f'{which}_stamps', f'{topic}: {len(log)} stamps, all newer than the one before')]
    yield from _two_clocks(wiring)


def _order(which: str, topic: str, stamps: Stamps) -> Iterator[Finding]:
    steps = np.diff(stamps[stamps > 0])
    if len(steps) == 0:
        steps = np.ones(1, dtype=np.int64)
    back = int(np.count_nonzero(steps < 0))
    away = np.abs(stamps - np.median(stamps)) > 3.0 * len(stamps) * max(float(np.median(np.abs(steps))), 1.0) + 10**9
    lonely = int(np.count_nonzero(away & (stamps > 0)))
    rows: tuple[tuple[int, Stamps, str, str, str], ...] = (
        (
            int(np.count_nonzero(stamps <= 0)), stamps, 'zero', 'zero; such samples are rejected',
            'let the driver set header.stamp to the time of the sample (node->now() at reading, or the hardware\'s'
            ' time)',
        ),
        (
            int(np.count_nonzero(steps == 0)), steps, 'repeated',
            'the same as the one before; such samples are rejected',
            'publish each sample once (is the loop faster than the sensor? are there two publishers, or a bag that is '
            'played twice?), and stamp it with a clock of finer resolution',
        ),
        (
            back, steps, 'order', f'older than the one before, by up to {-steps.min() * 1e-9:.3g} s',
            'one publisher per topic, one thread that publishes, and a clock that is not set back meanwhile (chrony:'
            ' slew, no step); a bag that is played in a loop needs a reset of the nodes',
        ),
        (
            lonely if lonely < 0.2 * len(stamps) and not back else 0, stamps, 'jump', 'far away from the others',
            'one clock for all stamps of the topic; set the computer\'s time before the driver starts',
        ),
    )  # fmt: skip
    for count, of, code, what, remedy in rows:
        if count:
            sentence = f'{topic}: {count} of {len(of)} stamps are {what}'
            yield wrong(f'{which}_stamp_{code}', sentence, remedy, part=count / len(of))


def _age(wiring: Wiring, which: str, topic: str, log: JointStates | Imu) -> Iterator[Finding]:
    """Stamps against the time of reception."""
    stamps, received = log.stamps, log.recorded_at
    good = (stamps > 0) & (received > 0)
    if np.count_nonzero(good) < 2:
        return
    stamps, received = stamps[good], received[good]
    clock = wiring.seen.clock
    counted = bool(np.median(stamps) < _EPOCH)
    age = 1e-9 * float(np.median(received - stamps))
    if len(clock) > 1:
        # a simulation or a bag that is played sets the time; a publisher of /clock that has nothing to do with the
        # stamps does not count
        shown = np.interp(received.astype(float), clock[:, 1].astype(float), clock[:, 0].astype(float))
        by_clock = 1e-9 * float(np.median(shown - stamps))
        age = min(age, by_clock, key=abs)
    elif counted and np.median(received) >= _EPOCH:
        if wiring.seen.live:
            yield suspicious(
                f'{which}_clock_domain',
                f'{topic}: stamps count from a start ({stamps[0] * 1e-9:.1f} s), and nobody publishes /clock',
                'use_sim_time:=true and a publisher of /clock in simulation; on a robot let the driver stamp with the'
                ' computer\'s time, not with its time since start',
                age_s=age,
            )
        return
    if age < -_AHEAD:
        yield wrong(
            f'{which}_stamp_future',
            f'{topic}: stamps are {-age:.3g} s ahead of their reception',
            _CLOCK_REMEDY,
            age_s=age,
        )
    elif age > _BEHIND:
        yield suspicious(
            f'{which}_stamp_old',
            f'{topic}: samples are {age:.3g} s old when they come: a clock that is behind, or a queue',
            _CLOCK_REMEDY,
            age_s=age,
        )
    yield from _set_at_reception(which, topic, stamps, received)


def _set_at_reception(which: str, topic: str, stamps: Stamps, received: Stamps) -> Iterator[Finding]:
    if np.array_equal(stamps, received):
        return  # a bag that was written from arrays knows nothing of reception
    steps = np.diff(stamps)
    usual = float(np.median(steps))
    jitter = 1.4826 * float(np.median(np.abs(steps - usual)))
    differs = 1.4826 * float(np.median(np.abs(np.diff(received - stamps))))
    if usual > 0 and jitter > _REGULAR * usual and differs < _SAME * jitter:
        yield suspicious(
            f'{which}_stamp_reception',
            f'{topic}: stamps are as irregular as the messages come ({1e-6 * jitter:.2g} ms): '
            'they tell when a message was handled, not when the sample was taken',
            'stamp with the time of the sample: in ros2_control the read() time, else the sensor\'s own counter',
            jitter_ms=1e-6 * jitter,
            reception_minus_stamp_ms=1e-6 * differs,
        )


def _two_clocks(wiring: Wiring) -> Iterator[Finding]:
    joints, imu, times = wiring.seen.joints, wiring.seen.imu, wiring.times
    if joints is None or imu is None or times.joints is None or times.imu is None:
        return
    if times.aligned_by != 'stamps' and times.joints.source == times.imu.source == 'stamps':
        offset = 1e-9 * float(np.median(imu.stamps) - np.median(joints.stamps))
        yield wrong(
            'clock_domain',
            f'joints and IMU are stamped by different clocks: IMU stamps are {offset:+.4g} s away from those '
            'of the joints',
            _CLOCK_REMEDY,
            offset_s=offset,
        )
        return
    ages = [
        1e-9 * float(np.median((log.recorded_at - log.stamps)[log.stamps > 0]))
        for log in (joints, imu)
        if np.any(log.stamps > 0)
    ]
    if len(ages) == 2 and abs(ages[1] - ages[0]) > _AGES:
        yield suspicious(
            'clock_offset',
            f'when they come, samples of the joints are {ages[0]:.3g} s old, those of the IMU {ages[1]:.3g} s',
            _CLOCK_REMEDY,
            joint_age_s=ages[0],
            imu_age_s=ages[1],
        )


def rate_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the rates of both topics."""
    machine, times = wiring.machine, wiring.times
    if times.joints is not None:
        nominal = machine.leg_sensors.rate if machine.has_leg_sensors else 0.0
        yield from _rate('joint', wiring.seen.joint_topic, times.joints.seconds, times.joints.source, nominal, 'legs')
    if times.imu is not None:
        nominal = machine.imu.rate if machine.has_imu else 0.0
        yield from _rate('imu', wiring.seen.imu_topic, times.imu.seconds, times.imu.source, nominal, 'imu')


def _rate(which: str, topic: str, time: Array, source: str, nominal: float, key: str) -> Iterator[Finding]:
    if source == 'counted' or len(time) < 10:
        yield cannot_tell(
            f'{which}_rate', f'{topic}: {len(time)} messages, and no usable time', 'good stamps, see above'
        )
        return
    steps = np.diff(time)
    usual, mean = float(np.median(steps)), float(steps.mean())
    by = '' if source == 'stamps' else ' (by reception)'
    if np.mean(steps < 0.3 * mean) > 0.4:
        yield suspicious(
            f'{which}_bursts',
            f'{topic}: messages come in bursts{by}: half of the steps are below {1e3 * usual:.3g} ms, the '
            f'mean is {1e3 * mean:.3g} ms',
            'publish each sample when it is taken, with its own time; no batches, and no queue that is emptied at once',
            usual_ms=1e3 * usual,
            mean_ms=1e3 * mean,
        )
        return
    found = False
    rate = 1.0 / usual
    if nominal and rate < _SLOW * nominal:
        found = True
        yield suspicious(
            f'{which}_rate',
            f'{topic}: {rate:.4g} Hz{by}; the machine file says {nominal:g} Hz',
            f'set the driver (ros2_control: update_rate, joint_state_broadcaster) to {nominal:g} Hz, or in the machine'
            f' file sensors.{key}.rate: {rate:.4g}',
            rate_Hz=rate,
            expected_Hz=nominal,
        )
    long = steps > _LOSS * usual
    lost = float(np.sum(np.rint(steps[long] / usual) - 1.0))
    share, hole = lost / (lost + len(time)), float(steps.max())
    ordinary = steps[~long]
    jitter = float(np.quantile(np.abs(ordinary - usual), 0.95)) / usual
    if jitter > _JITTER and source == 'stamps':
        found = True
        yield suspicious(
            f'{which}_jitter',
            f'{topic}: 1 of 20 steps{by} is off by more than {1e3 * jitter * usual:.3g} ms of {1e3 * usual:.3g} ms',
            'a real-time priority for the driver\'s loop (chrt, PREEMPT_RT), and stamps of the sample\'s own time',
            p95_ms=1e3 * jitter * usual,
            interval_ms=1e3 * usual,
        )
    elif (share > _LOST or hole > max(_HOLE, 5.0 * usual)) and source == 'stamps':
        found = True
        yield suspicious(
            f'{which}_lost',
            f'{topic}: about {lost:.0f} of {lost + len(time):.0f} messages are missing{by}, the longest '
            f'hole is {hole:.3g} s',
            'cable instead of radio, a larger depth or reliability:=reliable, less load on the '
            'computer; see ros2 topic hz',
            share=share,
            longest_hole_s=hole,
        )
    if not found:
        faster = nominal and rate > nominal / _SLOW
        note = f'; the machine file says {nominal:g} Hz, which does no harm (sensors.{key}.rate)' if faster else ''
        yield ok(f'{which}_rate', f'{topic}: {rate:.4g} Hz{by}, steps within {100 * jitter:.0f} %{note}')


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
    else:
        yield cannot_tell(
            'imu_delay', 'the platform moves too little for the clocks, or the IMU does not follow it', _TO_AND_FRO
        )


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
            f' else {_CLOCK_REMEDY}',
            delay_ms=1e3 * delay,
            explained=shift.explained,
        )
    drift = float(answer[2] / answer[0]) if drifts else 0.0
    if drifts and abs(drift) > max(_DRIFT, 6.0 * float(stds[2])):
        yield suspicious(
            'clock_drift',
            f'the delay of the IMU grows by {1e3 * drift:.2g} ms per second: two clocks of different pace',
            _CLOCK_REMEDY,
            drift_ms_per_s=1e3 * drift,
            std=1e3 * float(stds[2]),
        )
