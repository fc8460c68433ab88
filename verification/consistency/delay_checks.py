"""IMU with a delay that is not declared: is the delay found, and how good is the estimate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from pkm_estimation.sensors import SensorConditions, simulate_sensors
from pkm_estimation.sensors.simulated import feed
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline

from verification.check import Check, at_least, at_most
from verification.consistency.scenarios import Scenario, titled

#: s
DELAYS = 0.01, 0.03, 0.05
#: limits: s, share of the innovations within two standard deviations, times the error without delay
FOUND_WITHIN, LEAST_IN_BAND, LARGEST_RATIO = 2e-3, 0.9, 2.0
#: s until errors and innovations count
SETTLING = 10.0

KNOWN = EstimatorConfig(baseline=False)
UNKNOWN = EstimatorConfig(baseline=False, estimate=('imu_delay',))


@dataclass(frozen=True)
class DelayRun:
    """Results after :data:`SETTLING`: s, 1, m (rms of the position's error)."""

    delay: float
    in_band: float
    error: float


#: both motions of the paper on SIMONA, the first one on two smaller machines: s where it begins
SCENARIOS = {'srs, MP1': 10.0, 'srs, MP2 surrogate': 5.0, 'palida, MP1': 10.0, 'uf, MP1': 10.0}


def delay_checks(title: str, seeds: int, duration: float, delays: tuple[float, ...] = DELAYS) -> Iterator[Check]:
    """Runs of ``duration`` s with each delay, and without one for comparison, each seed with the same noise."""
    begin = SCENARIOS[title]
    scenario = titled(title, begin, duration, duration + 2.0 * begin)
    undelayed = [delay_run(scenario, 0.0, seed, KNOWN).error for seed in range(seeds)]
    for delay in delays:
        runs = [delay_run(scenario, delay, seed, UNKNOWN) for seed in range(seeds)]
        of = f'of {1e3 * delay:g} ms, worst of {seeds} seeds'
        off = [1e3 * (run.delay - delay) for run in runs]
        ratio = [run.error / error for run, error in zip(runs, undelayed, strict=True)]
        in_band = [100.0 * run.in_band for run in runs]
        yield at_most('delay', f'what is found {of}: error', 1e3 * FOUND_WITHIN, off, 'ms')
        yield at_least('band', f'innovations within 2 deviations {of}', 100.0 * LEAST_IN_BAND, in_band, '%')
        yield at_most('error', f'position error rms over the undelayed one, {of}', LARGEST_RATIO, ratio)


def delay_run(scenario: Scenario, delay: float, seed: int, config: EstimatorConfig) -> DelayRun:
    """Estimate with an IMU whose samples are ``delay`` s old at their stamps."""
    machine = scenario.machine
    data = simulate_sensors(machine, scenario.evaluate, scenario.time, SensorConditions(imu_delay=delay), seed)
    truth = dict(zip(data.stamps.tolist(), scenario.motion.position, strict=True))
    settled = data.stamps[0] + round(1e9 * SETTLING)
    pipeline = EstimatorPipeline(machine, config)
    errors, within = [], []
    for output in feed(pipeline, data):
        if output.stamp < settled or output.innovation is None:
            continue
        errors.append(output.motion.position - truth[output.stamp])
        within.append(np.abs(output.innovation.residual) <= 2.0 * output.innovation.std)
    rest = pipeline.filter.layout.imu_delay
    found = pipeline.imu_delay + (0.0 if rest is None else float(pipeline.filter.state[rest][0]))
    rms = float(np.sqrt(np.mean(np.sum(np.square(errors), axis=1))))
    return DelayRun(found, float(np.mean(within)), rms)
