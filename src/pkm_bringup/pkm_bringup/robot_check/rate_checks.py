"""Rates by stamps: other than the machine file's, jitter, losses, bursts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import Finding

from pkm_bringup.robot_check.findings import cannot_tell, ok, suspicious
from pkm_bringup.robot_check.wiring import Wiring

#: part of the machine file's rate below which it is reported
_SLOW = 0.75
#: part of the interval by which 1 of 20 steps may be off
_JITTER = 0.4
#: part of the messages that may be lost, and s of the longest hole
_LOST, _HOLE = 0.02, 0.3
#: a step longer than so many usual ones is a loss
_LOSS = 1.5


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
