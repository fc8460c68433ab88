"""Normalised errors and innovations of the filter over many seeds (Bar-Shalom's consistency test)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kinematics import forward_kinematics
from pkm_description.machine import Machine, Pose
from pkm_estimation.filters import Innovation
from pkm_estimation.models import EstimatorGeometry
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.stream import EstimatorConfig, PlatformFilter
from scipy.stats import chi2

from verification.check import Check, holds, within
from verification.consistency.scenarios import RATE, Scenario
from verification.consistency.state_error import free_directions, normalised_error_squared, state_error

#: s after the start until claims are compared with the truth
SETTLING = 1.0
#: s, between the errors that are used; neighbouring errors are strongly correlated
ERROR_INTERVAL = 0.25


@dataclass(frozen=True)
class Normalised:
    """A normalised square over times and seeds.

    Attributes
    ----------
    values : (T, S)
    degrees_of_freedom : (T,) degrees of freedom of the chi-square distribution that the values must have
    """

    values: Array
    degrees_of_freedom: NDArray[np.intp]

    @property
    def mean(self) -> float:
        """Over all times and seeds."""
        return float(self.values.mean())

    def bounds(self, part: float = 0.95) -> tuple[float, float]:
        """Interval in which the mean over the seeds of one time lies with this probability."""
        lower, upper = self._bounds(part)
        return float(lower.mean()), float(upper.mean())

    def part_inside(self, part: float = 0.95) -> float:
        """Part of the times whose mean over the seeds lies in its interval."""
        lower, upper = self._bounds(part)
        means = self.values.mean(axis=1)
        return float(np.mean((means >= lower) & (means <= upper)))

    def _bounds(self, part: float) -> tuple[Array, Array]:
        seeds = self.values.shape[1]
        tail = 0.5 * (1.0 - part)
        dof = self.degrees_of_freedom * seeds
        return chi2.ppf(tail, dof) / seeds, chi2.ppf(1.0 - tail, dof) / seeds


@dataclass(frozen=True)
class Consistency:
    """Normalised errors and innovations of a filter over many seeds."""

    nees: Normalised
    nis: Normalised


def make_filter(machine: Machine, config: EstimatorConfig) -> PlatformFilter:
    """Filter for the machine's sensors as its file describes them."""
    return PlatformFilter(
        EstimatorGeometry.from_machine(machine),
        ImuFrame(machine.imu).noise_covariance,
        np.diag(machine.leg_sensors.position_noise**2),
        config,
        machine,
    )


def noisy(scenario: Scenario, seed: int, config: EstimatorConfig) -> tuple[Array, Array, Array]:
    """Inputs (N, 6), positions (N, L) and biases (6,) of one seed, platform axes; biases are drawn from the prior."""
    machine = scenario.machine
    random = np.random.default_rng([seed, crc32(scenario.title.encode())])
    biases = random.normal(size=6) * np.repeat(
        [config.start_accelerometer_bias_std, config.start_gyroscope_bias_std], 3
    )
    noise = np.concatenate([machine.imu.accelerometer_noise, machine.imu.gyroscope_noise])
    turn = np.kron(np.eye(2), machine.imu.rotation_platform_imu)
    inputs, positions = scenario.ideal
    inputs = inputs + biases + (noise * random.normal(size=inputs.shape)) @ turn.T
    positions = positions + machine.leg_sensors.position_noise * random.normal(size=positions.shape)
    return inputs, positions, biases


def followed(
    filter_: PlatformFilter, inputs: Array, positions: Array, first: int = 1, interval: float = 1.0 / RATE
) -> Iterator[tuple[int, Innovation]]:
    """Predict over each interval [s] of inputs (N, 6), correct by positions (N, L): rows and their innovations."""
    for k in range(first, len(positions)):
        filter_.predict(inputs[k - 1], inputs[k], interval)
        yield k, filter_.update(positions[k])


def forward_pose(machine: Machine, positions: Array) -> Pose:
    """Pose by forward kinematics from home; raises KinematicsError."""
    found = forward_kinematics(machine, positions).require()
    return Pose(found.position[0], found.rotation_base_platform[0])


def consistency(scenario: Scenario, seeds: int, config: EstimatorConfig, settling: float) -> Consistency:
    """Run the filter with ``seeds`` seeds and compare from ``settling`` s on."""
    step = round(ERROR_INTERVAL / scenario.interval)
    first = round(settling / scenario.interval)
    samples = range(first, len(scenario.motion), step)
    nees, nis = np.empty((len(samples), seeds)), np.empty((len(scenario.motion) - first, seeds))
    degrees_of_freedom = np.zeros(len(samples), dtype=np.intp)
    for seed in range(seeds):
        inputs, positions, biases = noisy(scenario, seed, config)
        filter_ = make_filter(scenario.machine, config)
        filter_.start_at(forward_pose(scenario.machine, positions[0]))
        for k, innovation in followed(filter_, inputs, positions):
            if k < first:
                continue
            nis[k - first, seed] = innovation.nis
            row, rest = divmod(k - first, step)
            if rest == 0:
                directions = free_directions(scenario.machine, scenario.motion, k, filter_.chart)
                error = state_error(filter_, scenario.motion, k, biases)
                nees[row, seed] = normalised_error_squared(error, filter_.covariance, directions)
                degrees_of_freedom[row] = directions.shape[1]
    drives = np.full(len(nis), scenario.machine.actuated_count)
    return Consistency(Normalised(nees, degrees_of_freedom), Normalised(nis, drives))


def consistency_checks(scenario: Scenario, seeds: int, config: EstimatorConfig | None = None) -> list[Check]:
    """Normalised errors and innovations of the default filter, or of another one."""
    result = consistency(scenario, seeds, config or EstimatorConfig(), SETTLING)
    return [
        normalised_check('NEES', 'state errors', result.nees),
        normalised_check('NIS', 'innovations', result.nis),
    ]


def normalised_check(id: str, what: str, normalised: Normalised) -> Check:
    """Mean over seeds and times within the 95 % bounds of the mean over the seeds at one time.

    The share of the times whose own mean is inside is printed, too, but not judged: state errors are correlated over
    seconds, so that few times of a run are independent.
    """
    dof = normalised.degrees_of_freedom
    lower, upper = normalised.bounds()
    wanted = f'{dof.mean():g}' if dof.min() == dof.max() else f'{dof.min()}-{dof.max()}'
    note = f'{100.0 * normalised.part_inside():.0f} % of the times inside'
    return within(id, f'mean of the normalised {what}, {wanted} expected', lower, upper, normalised.mean, note=note)


def at_all_times_check(
    id: str, what: str, normalised: Normalised, may_be_less: bool = False, part: float = 0.999
) -> Check:
    """Mean over the seeds at every time within bounds that all of them keep with a probability of 99.9 %.

    The probability is shared out among the times (Bonferroni), so that the bounds hold however these are correlated;
    it is so high because a suite has dozens of such lines. With ``may_be_less``, in the first second, there is no lower
    bound: the broad prior of a start claims less than is known.
    """
    means = normalised.values.mean(axis=1)
    lower, upper = normalised.bounds(1.0 - (1.0 - part) / len(means))
    lower = 0.0 if may_be_less else lower
    return holds(
        id,
        f'{"first second: " if may_be_less else ""}normalised {what} at each of {len(means)} times, mean of '
        f'{normalised.values.shape[1]} seeds',
        f'{lower:.4g} .. {upper:.4g}',
        f'{means.min():.4g} .. {means.max():.4g}, {100.0 * normalised.part_inside():.0f} % of the times in the '
        '95 % region of one',
        bool(lower <= means.min() and means.max() <= upper),
    )
