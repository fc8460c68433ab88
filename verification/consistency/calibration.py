"""Are the standard deviations of constants right that are estimated together with the motion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_estimation.filtering.start import start_std
from pkm_estimation.models import STATE_SIZE
from pkm_estimation.sensors import SensorConditions, simulate_sensors
from pkm_estimation.sensors.simulated import feed
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline

from verification.check import Check, within
from verification.consistency.monte_carlo import Normalised
from verification.consistency.scenarios import Scenario, titled

#: what is estimated at once
GROUPS: tuple[tuple[str, ...], ...] = (
    ('leg_offsets',),
    ('imu_delay',),
    ('imu_rotation',),
    ('imu_position',),
    ('imu_delay', 'imu_rotation'),
    ('imu_delay', 'imu_rotation', 'imu_position'),
)

#: s, of every run
DURATION = 20.0

#: with this probability the mean of a run of seeds lies between the limits if all claims are true
PROBABILITY = 0.999

#: m; all other deviations are the settings' own: 1 mm, 30 ms, 0.05 rad
PLACE_STD = 0.02

SCENARIOS = (
    'srs, rich motion', 'srs, MP1', 'hexaglide_6pus, sines', 'valencia_3rps, sines', 'khalifa_3prr, sines',
    'delta, sines',
)  # fmt: skip
#: s, of each of their motions, where it begins and what it is longer than a run; MP1, after its lead-in, turns about
#: one axis only, so that the place of the IMU along it is not observable
_BEGINS = {'rich motion': (0.0, 1.0), 'MP1': (12.0, 30.0), 'sines': (0.0, 1.0)}


def calibration_scenario(title: str, duration: float) -> Scenario:
    """A machine on one of the motions, for ``duration`` s."""
    begin, longer = _BEGINS[title.partition(', ')[2]]
    return titled(title, begin, duration, duration + longer)


def calibration_checks(title: str, seeds: int, duration: float = DURATION) -> Iterator[Check]:
    """Normalised errors of the constants after ``duration`` s on one of the scenarios, each with ``seeds`` seeds."""
    scenario = calibration_scenario(title, duration)
    for names in GROUPS:
        yield calibration_check(scenario, names, seeds, duration)


def calibration_check(scenario: Scenario, names: tuple[str, ...], seeds: int, duration: float) -> Check:
    """Mean over the seeds of the normalised error squared of all constants ``names``, estimated at once."""
    runs = [calibration_run(scenario, names, seed, duration) for seed in range(seeds)]
    squares = np.array([error @ np.linalg.solve(covariance, error) for error, covariance in runs])
    normalised = Normalised(squares[None], np.array([len(runs[0][0])]))
    lower, upper = normalised.bounds(PROBABILITY)
    what = f'normalised error squared of {", ".join(names)}, {len(runs[0][0])} expected, mean of {seeds} seeds'
    what = f'{scenario.title}: {what}'
    return within('constants', what, lower, upper, normalised.mean, note=f'greatest {squares.max():.3g}')


def calibration_run(
    scenario: Scenario, names: tuple[str, ...], seed: int, duration: float
) -> tuple[Array, Array]:
    """Estimate constants drawn from the prior that the estimator is given; returns error (m,), covariance (m, m)."""
    config = EstimatorConfig(baseline=False, estimate=names, imu_position_std=PLACE_STD)
    machine = scenario.machine
    pipeline = EstimatorPipeline(machine, config)
    layout = pipeline.filter.layout
    truth = np.random.default_rng([seed, len(names)]).normal(size=layout.size)
    truth *= start_std(config, layout, 0.0, 0.0)
    constants = {name: truth[rows] for name, rows in layout.groups.items()}
    true_machine, conditions = _with_constants(machine, constants)
    time = replace(scenario, duration=duration).time
    feed(pipeline, simulate_sensors(true_machine, scenario.evaluate, time, conditions, seed))
    error = pipeline.filter.ukf.state - truth
    if layout.imu_delay is not None:
        error[layout.imu_delay] += pipeline.imu_delay
    constants_only = slice(STATE_SIZE, None)
    return error[constants_only], pipeline.filter.covariance[constants_only, constants_only]


def _with_constants(machine: Machine, constants: dict[str, Array]) -> tuple[Machine, SensorConditions]:
    """The real machine and sensors, with constants that the machine file does not contain."""
    imu, conditions = machine.imu, SensorConditions()
    if 'imu_position' in constants:
        machine = replace(machine, imu=replace(imu, position=imu.position + constants['imu_position']))
    if 'imu_rotation' in constants:
        x, y, z = imu.rotation_platform_imu.T @ constants['imu_rotation']
        conditions = replace(conditions, imu_misalignment=(x, y, z))
    if 'imu_delay' in constants:
        conditions = replace(conditions, imu_delay=constants['imu_delay'].item())
    if 'leg_offsets' in constants:
        conditions = replace(conditions, leg_offsets=tuple(constants['leg_offsets']))
    return machine, conditions
