"""Stamps, rates and clocks: zero, repeated, in the future; jitter, losses, bursts; delay and drift between both."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from pkm_description.errors import KinematicsError
from pkm_estimation.tuning.delay import estimate_delay
from pkm_estimation.tuning.streams import SensorStreams, TuningError

from pkm_bringup.robot_check.signals import Signal, Stream, lag, lonely
from pkm_bringup.robot_check.wiring import CANNOT_TELL, OK, SUSPICIOUS, WRONG, Wiring

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


def stream_checks(wiring: Wiring) -> None:
    """Look at the stamps and the rate of both topics, and at the stamps of one against the other."""
    joints, imu = wiring.joints, wiring.imu
    for stream in (joints, imu):
        if stream.log is not None:
            well = not (_order(wiring, stream) | _age(wiring, stream)) and len(stream.log) > 1
            wiring.about(stream)(well, OK, 'stamps', f'{len(stream.log)} stamps, all newer than the one before')
            _rate(wiring, stream)
    if joints.log is None or imu.log is None:
        return
    other = wiring.aligned_by != 'stamps' and joints.source == imu.source == 'stamps'
    offset = 1e-9 * float(np.median(imu.log.stamps) - np.median(joints.log.stamps))
    sentence = f'joints and IMU are stamped by different clocks: IMU stamps are {offset:+.4g} s away from those of the'
    wiring.say(other, WRONG, 'clock_domain', f'{sentence} joints', _CLOCK_REMEDY, {'offset_s': offset})
    wiring.say(not other and abs(imu.age - joints.age) > _AGES, SUSPICIOUS, 'clock_offset',
               f'when they come, samples of the joints are {joints.age:.3g} s old, those of the IMU {imu.age:.3g} s',
               _CLOCK_REMEDY, {'joint_age_s': joints.age, 'imu_age_s': imu.age})  # fmt: skip


def _order(wiring: Wiring, stream: Stream) -> bool:
    """Whether there are stamps that the nodes reject."""
    assert stream.log is not None
    stamps = stream.log.stamps
    steps = np.diff(stamps[stamps > 0])
    back, away = steps < 0, lonely(stamps) & (stamps > 0)
    found, oldest = False, 1e-9 * float(-steps.min(initial=0))
    for bad, code, what, remedy in (
        (stamps <= 0, 'zero', 'zero; such samples are rejected',
         'let the driver set header.stamp to the time of the sample (node->now() at reading, or the hardware\'s time)'),
        (steps == 0, 'repeated', 'the same as the one before; such samples are rejected',
         'publish each sample once (is the loop faster than the sensor? are there two publishers, or a bag that is'
         ' played twice?), and stamp it with a clock of finer resolution'),
        (back, 'order', f'older than the one before, by up to {oldest:.3g} s',
         'one publisher per topic, one thread that publishes, and a clock that is not set back meanwhile (chrony: slew,'
         ' no step); a bag that is played in a loop needs a reset of the nodes'),
        (away & (away.mean() < 0.2) & (not back.any()), 'jump', 'far away from the others',
         'one clock for all stamps of the topic; set the computer\'s time before the driver starts'),
    ):  # fmt: skip
        count = np.count_nonzero(bad)
        sentence, figures = f'{count} of {len(bad)} stamps are {what}', {'part': count / max(1, len(bad))}
        found |= wiring.about(stream)(count, WRONG, f'stamp_{code}', sentence, remedy, figures)
    return found


def _age(wiring: Wiring, stream: Stream) -> bool:
    """Whether stamps do not fit the time of reception; a simulation or a bag that is played sets the time by /clock."""
    assert stream.log is not None
    log, clock, say = stream.log, wiring.seen.clock, wiring.about(stream)
    good = (log.stamps > 0) & (log.recorded_at > 0)
    if np.count_nonzero(good) < 2:
        return False
    stamps, received = log.stamps[good], log.recorded_at[good]
    age = 1e-9 * float(np.median(received - stamps))
    if len(clock) > 1:
        # a publisher of /clock that has nothing to do with the stamps does not count
        shown = np.interp(received.astype(float), clock[:, 1].astype(float), clock[:, 0].astype(float))
        age = min(age, 1e-9 * float(np.median(shown - stamps)), key=abs)
    elif np.median(stamps) < _EPOCH <= np.median(received):
        return say(
            wiring.seen.live, SUSPICIOUS, 'clock_domain',
            f'stamps count from a start ({stamps[0] * 1e-9:.1f} s), and nobody publishes /clock',
            'use_sim_time:=true and a publisher of /clock in simulation; on a robot let the driver stamp with the'
            ' computer\'s time, not with its time since start', {'age_s': age},
        )  # fmt: skip
    usual = float(np.median(np.diff(stamps)))
    jitter, differs = (
        1.4826 * float(np.median(np.abs(part))) for part in (np.diff(stamps) - usual, np.diff(received - stamps))
    )
    # a bag that was written from arrays knows nothing of reception
    return say(
        age < -_AHEAD, WRONG, 'stamp_future', f'stamps are {-age:.3g} s ahead of their reception', _CLOCK_REMEDY,
        {'age_s': age},
    ) | say(
        age > _BEHIND, SUSPICIOUS, 'stamp_old',
        f'samples are {age:.3g} s old when they come: a clock that is behind, or a queue', _CLOCK_REMEDY,
        {'age_s': age},
    ) | say(
        usual > 0 and jitter > _REGULAR * usual and differs < _SAME * jitter and (stamps != received).any(),
        SUSPICIOUS, 'stamp_reception', f'stamps are as irregular as the messages come ({1e-6 * jitter:.2g} ms): they'
        ' tell when a message was handled, not when the sample was taken',
        'stamp with the time of the sample: in ros2_control the read() time, else the sensor\'s own counter',
        {'jitter_ms': 1e-6 * jitter, 'reception_minus_stamp_ms': 1e-6 * differs},
    )  # fmt: skip


def _rate(wiring: Wiring, stream: Stream) -> None:
    """Period, jitter, bursts and losses of a stream."""
    nominal, say = stream.nominal, wiring.about(stream)
    if stream.source == 'counted' or len(stream.times) < 10:
        say(True, CANNOT_TELL, 'rate', f'{len(stream.times)} messages, and no usable time', 'good stamps, see above')
        return
    stamped = stream.source == 'stamps'
    by, key = '' if stamped else ' (by reception)', {'joint': 'legs', 'imu': 'imu'}[stream.which]
    steps = np.diff(stream.time)
    usual, mean, hole = float(np.median(steps)), float(steps.mean()), float(steps.max())
    rate, long = 1.0 / usual, steps > _LOSS * usual
    lost = float(np.sum(np.rint(steps[long] / usual) - 1.0))
    total = lost + len(steps) + 1
    jitter = float(np.quantile(np.abs(steps[~long] - usual), 0.95)) / usual
    if say(
        np.mean(steps < 0.3 * mean) > 0.4, SUSPICIOUS, 'bursts', f'messages come in bursts{by}: half of the steps are'
        f' below {1e3 * usual:.3g} ms, the mean is {1e3 * mean:.3g} ms',
        'publish each sample when it is taken, with its own time; no batches, and no queue that is emptied at once',
        {'usual_ms': 1e3 * usual, 'mean_ms': 1e3 * mean},
    ):  # fmt: skip
        return
    slow = say(
        rate < _SLOW * nominal, SUSPICIOUS, 'rate', f'{rate:.4g} Hz{by}; the machine file says {nominal:g} Hz',
        f'set the driver (ros2_control: update_rate, joint_state_broadcaster) to {nominal:g} Hz, or in the machine file'
        f' sensors.{key}.rate: {rate:.4g}', {'rate_Hz': rate, 'expected_Hz': nominal},
    )  # fmt: skip
    uneven = say(
        jitter > _JITTER and stamped, SUSPICIOUS, 'jitter', f'1 of 20 steps is off by more than'
        f' {1e3 * jitter * usual:.3g} ms of {1e3 * usual:.3g} ms',
        'a real-time priority for the driver\'s loop (chrt, PREEMPT_RT), and stamps of the sample\'s own time',
        {'p95_ms': 1e3 * jitter * usual, 'interval_ms': 1e3 * usual},
    ) or say(
        stamped and (lost > _LOST * total or hole > max(_HOLE, 5.0 * usual)), SUSPICIOUS, 'lost',
        f'about {lost:.0f} of {total:.0f} messages are missing, the longest hole is {hole:.3g} s',
        'cable instead of radio, a larger depth or reliability:=reliable, less load on the computer; see ros2 topic hz',
        {'share': lost / total, 'longest_hole_s': hole},
    )  # fmt: skip
    faster = nominal and rate > nominal / _SLOW
    note = f'; the machine file says {nominal:g} Hz, which does no harm (sensors.{key}.rate)' if faster else ''
    say(not slow and not uneven, OK, 'rate', f'{rate:.4g} Hz{by}, steps within {100 * jitter:.0f} %{note}')


def rough_delay(wiring: Wiring, drives: Signal, imu: Signal) -> None:
    """Delay at which any linear map of the drives' motion explains what the IMU shows; sets ``shift`` and ``delay``."""
    most, shifts = min(_FARTHEST, 0.4 * float(np.ptp(drives.time))), []
    for part, moved, shown in (
        (wiring.specific_force, drives.acceleration, imu.value[:, :3]),
        (wiring.angular_rate, drives.rate, imu.value[:, 3:]),
    ):
        found = None if part is None else lag(moved, drives.good, shown, imu.good, most)
        shifts += [found] if found is not None and found.explained >= _ENOUGH else []
    shift = wiring.shift = max(shifts, key=lambda one: one.explained, default=None)
    if shift is not None and (abs(shift.delay) > _USUAL or wiring.aligned_by != 'stamps'):
        # a free linear map follows large turns only roughly: small delays are left to the finer look
        wiring.delay = shift.delay
    wiring.say(wiring.aligned_by == 'start' or 'counted' in (wiring.joints.source, wiring.imu.source), CANNOT_TELL,
               'imu_delay', 'no usable stamps to compare the two clocks by', 'good stamps on both topics')
    wiring.say(shift is None, CANNOT_TELL, 'imu_delay',
               'the platform moves too little for the clocks, or the IMU does not follow it', _TO_AND_FRO)


def delay_checks(wiring: Wiring) -> None:
    """Delay and drift of the IMU's stamps, by the motion that the drives show under the best row."""
    shift, best, parts = wiring.shift, wiring.best, (wiring.specific_force, wiring.angular_rate)
    if shift is None or best is None or wiring.aligned_by != 'stamps' or wiring.prediction is None:
        return  # said already: too little motion, or other clocks
    felt = [part for part in parts if part is not None]
    drives, imu = wiring.published('positions') * best.scale + best.offset, np.hstack([felt[0], felt[-1]])
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
        wiring.say(True, CANNOT_TELL, 'imu_delay', failed, _TO_AND_FRO)
        return
    # a delay that grows: a line through those of the stretches, by their standard deviations and what they scatter
    at, delays, stds = np.array(found).T
    slope = min(1, len(at) - 1)
    line, covariance = np.polyfit(at - at.mean(), delays, slope, w=1.0 / np.maximum(stds, 1e-5), cov='unscaled')
    left = (np.polyval(line, at - at.mean()) - delays) / np.maximum(stds, 1e-5)
    spread = np.sqrt(max(1.0, np.sum(left**2) / max(1, len(at) - 2)) * covariance.diagonal())
    delay, std, drift = wiring.delay + float(line[-1]), float(spread[-1]), slope * float(line[0])
    size, late = 1e3 * abs(delay), abs(delay) > _USUAL + 3.0 * std
    doubt = '' if shift.unique else ' (or a period of the motion more or less: it repeats)'
    near = f'IMU and drives are on one clock, within {max(size, 1e3 * std, 1.0):.0f} ms'
    wiring.say(not late, OK, 'imu_delay', near)
    wiring.say(late, WRONG if abs(delay) > _WRONG else SUSPICIOUS, 'imu_delay',
               f'stamps of the IMU are {size:.0f} ms {"late" if delay > 0 else "early"}{doubt}',
               f'if it is constant: imu_delay: {delay:.3f} in the estimator\'s settings (tune BAG --motion measures'
               f' it); else {_CLOCK_REMEDY}', {'delay_ms': 1e3 * delay, 'explained': shift.explained})  # fmt: skip
    wiring.say(abs(drift) > max(_DRIFT, 6.0 * float(spread[0])), SUSPICIOUS, 'clock_drift',
               f'the delay of the IMU grows by {1e3 * drift:.2g} ms per second: two clocks of different pace',
               _CLOCK_REMEDY, {'drift_ms_per_s': 1e3 * drift, 'std': 1e3 * float(spread[0])})  # fmt: skip
