"""All degrees of freedom at once, slow to fast, at the usual rates: claims at every time, and the position's error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_estimation.exchange.output import OutputBlock
from pkm_estimation.models import STATE_SIZE
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.sensors import SensorConditions, simulate_sensors
from pkm_estimation.stream import EstimatorConfig, EstimatorOutput, EstimatorPipeline
from pkm_estimation.stream.verdict import WELL

from verification.check import Check, at_most, equal, holds
from verification.consistency.monte_carlo import Normalised, at_all_times_check, normalised_check
from verification.consistency.scenarios import sines
from verification.consistency.state_error import normalised_error_squared, true_state

#: machine; Hz, of the fastest coordinate, and of both sensors
MACHINE, FREQUENCIES, RATES = 'srs', (0.1, 0.2, 0.5, 1.0, 2.0), (100.0, 250.0, 1000.0)
CONFIG = EstimatorConfig(baseline=False, claim='repeatability')  # the IMU is as the file says
#: s, by which stamps are wrong in runs with jitter, and Hz, up to which there are some
JITTER, LARGEST_RATE_WITH_JITTER = 2e-4, 250.0
#: of means of squares with jitter, which is counted to first order
LARGEST_RATIO = 1.3
#: s after the start: what is judged by itself, and the times between the errors that are used there and later
FIRST_SECOND, EARLY_INTERVAL, INTERVAL = 1.0, 0.05, 0.25
#: (Hz, Hz): largest rms error of the position, m
POSITION_LIMITS = {(2.0, 100.0): 6e-6}
#: standard deviations of the biases, accelerometer and gyroscope: a fifth of those that the filter starts with
BIAS_STD = np.repeat([0.2, 0.02], 3)
#: counters of a run in which nothing had to be decided
_ORDINARY = {*WELL, 'no_imu_before', 'legs_rejected'}


@dataclass(frozen=True)
class SweepRun:
    """One run.

    Attributes
    ----------
    time : (N,) s, of the estimates
    nis : (N,), NaN at the start
    position_error, position_std : (N, 3) m, of the platform's origin
    judged : (T,) rows where the state's error was compared with its covariance
    nees : (T,) of 15 states
    unusual : counters that no run may have
    """

    time: Array
    nis: Array
    position_error: Array
    position_std: Array
    judged: NDArray[np.intp]
    nees: Array
    unusual: dict[str, int]


def sweep_checks(
    machine_name: str, frequency: float, rate: float, seeds: int, duration: float, jitter: float = 0.0
) -> Iterator[Check]:
    """Run the whole estimator with ``seeds`` seeds; ``jitter`` s of the stamps of both topics."""
    machine = load_machine(machine_name)
    runs = [sweep_run(machine, frequency, rate, seed, duration, jitter) for seed in range(seeds)]
    unusual = sorted({name for run in runs for name in run.unusual})
    what = f'{seeds} seeds of {duration:g} s: what the diagnostics count besides samples'
    yield equal('sweep', what, 'none', ', '.join(unusual) or 'none')
    rows, time = runs[0].judged, np.arange(len(runs[0].time)) / rate
    nis, nees = (np.array([getattr(run, name) for run in runs]).T for name in ('nis', 'nees'))
    legs = machine.actuated_count
    for what, freedom, times, values in (
        ('state errors', STATE_SIZE, time[rows], nees),
        ('innovations', legs, time, nis),
    ):
        for chosen, is_early in (((times > 0.0) & (times < FIRST_SECOND), True), (times >= FIRST_SECOND, False)):
            normalised = Normalised(values[chosen], np.full(int(chosen.sum()), freedom))
            if jitter and not is_early:
                ratio = normalised.mean / freedom
                yield at_most('sweep', f'mean of the normalised {what} by what is expected', LARGEST_RATIO, ratio)
                continue
            if not is_early:
                yield normalised_check('sweep', what, normalised)
            yield at_all_times_check('sweep', what, normalised, may_be_less=is_early)
    late = time >= FIRST_SECOND
    rms = np.sqrt(np.mean([run.position_error[late] ** 2 for run in runs], axis=(0, 1)))
    claimed = np.sqrt(np.mean([run.position_std[late] ** 2 for run in runs], axis=(0, 1)))
    limit = POSITION_LIMITS.get((frequency, rate)) if not jitter else None
    what = f'position, rms, worst axis, at most {(rms / claimed).max():.3g} times as claimed'
    if limit is None:
        text = f'{1e6 * rms.max():.3g} um'
        yield holds('sweep', what, f'<= {LARGEST_RATIO:g} times', text, bool((rms <= LARGEST_RATIO * claimed).all()))
    else:
        yield at_most('sweep', what, 1e6 * limit, 1e6 * rms, 'um')


def sweep_run(
    machine: Machine, frequency: float, rate: float, seed: int, duration: float, jitter: float = 0.0
) -> SweepRun:
    """Run the whole estimator once; seeds have other phases of the motion, biases and noise."""
    # each case has its own noise, so that all of them together say more than one
    random = np.random.default_rng([seed, round(1e3 * frequency), round(rate)])
    phase, bias = random.uniform(0.0, 2.0 * np.pi), BIAS_STD * random.normal(size=6)
    real = replace(machine, imu=replace(machine.imu, accelerometer_bias=bias[:3], gyroscope_bias=bias[3:]))
    evaluate = partial(sines, machine, frequency, phase=phase)
    times, noise = np.arange(round(duration * rate)) / rate, int(random.integers(2**31))
    data = simulate_sensors(real, evaluate, times, SensorConditions(), noise)
    stamps = data.stamps + np.rint(1e9 * jitter * random.normal(size=(2, len(data.stamps)))).astype(np.int64)
    pipeline = EstimatorPipeline(machine, CONFIG)
    outputs: list[EstimatorOutput] = []
    for k in np.argsort(stamps, axis=None, kind='stable').tolist():
        is_leg, sample = divmod(k, len(data.stamps))
        stamp = stamps.item(k)
        if is_leg:
            outputs += pipeline.add_joint_positions(stamp, machine.actuated_joint_names, data.drive_positions[sample])
        else:
            outputs += pipeline.add_imu(stamp, data.specific_force[sample], data.angular_rate[sample])
    # with stamps that jitter, the last ones may have no IMU sample behind them
    block = OutputBlock.of(outputs[: len(data.stamps) - 2])
    time = 1e-9 * (block.stamps - data.stamps[0])
    motion, bias = evaluate(time), ImuFrame(machine.imu).to_platform(bias)
    judged = _judged(time, rate)
    known, everything, nees = block.known, np.eye(STATE_SIZE), []
    for k in judged:
        error = known.state[k] - true_state(motion, machine.imu.position, k, bias, known.chart[k])
        nees.append(normalised_error_squared(error, known.covariance[k], everything))
    found = outputs[0].model.motion(block.known)
    error = found.position - motion.position
    std = np.sqrt(found.pose_covariance.diagonal(axis1=1, axis2=2)[:, :3])
    unusual = {name: count for name, count in pipeline.health.counters.items() if name not in _ORDINARY}
    return SweepRun(time, block.nis, error, std, judged, np.array(nees), unusual)


def _judged(time: Array, rate: float) -> NDArray[np.intp]:
    """Rows whose state is compared with the truth; the same ones for every seed."""
    first = round(FIRST_SECOND * rate)
    early = range(round(EARLY_INTERVAL * rate), first, round(EARLY_INTERVAL * rate))
    return np.array([*early, *range(first, len(time), round(INTERVAL * rate))])
