"""Errors and claims of the smoother over many seeds, beside those of the filter that it runs on."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_estimation.filtering.step_record import StepRecord
from pkm_estimation.models import ACCELEROMETER_BIAS, ATTITUDE, GYROSCOPE_BIAS, POSITION, STATE_SIZE, VELOCITY
from pkm_estimation.offline.smoothing import Smoother
from pkm_estimation.stream import EstimatorConfig

from verification.check import Check, at_most
from verification.consistency.monte_carlo import (
    ERROR_INTERVAL,
    Normalised,
    followed,
    forward_pose,
    make_filter,
    noisy,
    normalised_check,
)
from verification.consistency.scenarios import Scenario
from verification.consistency.state_error import free_directions, normalised_error_squared, true_state

#: s, left out at the begin: the filter has yet to find velocity and biases, and with it what it linearises at
SETTLING = 2.0
#: largest error of the velocity, of the filter's
VELOCITY_RATIO = 0.6

_GROUPS = {
    'position': POSITION,
    'velocity': VELOCITY,
    'attitude': ATTITUDE,
    'accelerometer bias': ACCELEROMETER_BIAS,
    'gyroscope bias': GYROSCOPE_BIAS,
}


def smoothing_checks(scenario: Scenario, seeds: int) -> list[Check]:
    """Smoothed states of the default filter: errors as claimed, and smaller than the filter's."""
    motion, machine = scenario.motion, scenario.machine
    first, step = round(SETTLING / scenario.interval), round(ERROR_INTERVAL / scenario.interval)
    places = range(first, len(motion), step)
    squares, freedoms = np.empty((len(places), seeds)), np.zeros(len(places), dtype=np.intp)
    sums = np.zeros((2, STATE_SIZE))
    for seed in range(seeds):
        estimates = _run(scenario, seed)
        for k in range(first, len(motion)):
            error, smooth_error, covariance, chart = estimates[k]
            sums += np.square([error, smooth_error])
            row, rest = divmod(k - first, step)
            if rest == 0:
                directions = free_directions(machine, motion, k, chart)
                squares[row, seed] = normalised_error_squared(smooth_error, covariance, directions)
                freedoms[row] = directions.shape[1]
    checks = [normalised_check('smoother', 'smoothed state errors', Normalised(squares, freedoms))]
    for name, rows in _GROUPS.items():
        ratio = float(np.sqrt(sums[1, rows].sum() / sums[0, rows].sum()))
        limit = VELOCITY_RATIO if name == 'velocity' else 1.0
        checks.append(at_most('smoother', f"error of the {name} by the filter's", limit, ratio))
    return checks


def _run(scenario: Scenario, seed: int) -> list[tuple[Array, Array, Array, Array]]:
    """Errors (15,) of filter and smoother, the smoother's covariance, and the chart, at all times."""
    config = EstimatorConfig()
    inputs, positions, biases = noisy(scenario, seed, config)
    filter_ = make_filter(scenario.machine, config)
    record = StepRecord()
    filter_.record = record
    filter_.start_at(forward_pose(scenario.machine, positions[0]))
    filter_.known(inputs[0])
    for k, _ in followed(filter_, inputs, positions):
        filter_.known(inputs[k])
    result = []
    for k, (entry, smooth) in enumerate(Smoother(STATE_SIZE).smooth(record.take(), lambda number: True)):
        assert entry is not None
        assert smooth is not None
        chart = entry.known[2]
        truth = true_state(scenario.motion, scenario.machine.imu.position, k, biases, chart)
        covariance = smooth.covariance[:STATE_SIZE, :STATE_SIZE]
        result.append((entry.known[0] - truth, smooth.mean[:STATE_SIZE] - truth, covariance, chart))
    return result
