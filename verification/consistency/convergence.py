"""Starts far from the truth: from how many of them the filter converges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.assembly_modes import assembly_modes
from pkm_description.machine import Machine, Pose
from pkm_estimation.filtering.singular_reach import AssemblySide
from pkm_estimation.filters import CovarianceError
from pkm_estimation.stream import EstimatorConfig, PlatformFilter

from verification.consistency.monte_carlo import followed, forward_pose, make_filter, noisy
from verification.consistency.scenarios import Scenario, scenario_of

#: m, error of the position at the end that counts as converged
CONVERGED = 1e-4
#: s, after which assembly modes are judged by their innovations
JUDGED_AFTER = 1.0


def start_scenario(machine: Machine, duration: float) -> Scenario:
    """MP1 with the IMU in the platform's origin, as in the paper's simulations."""
    centred = replace(machine, imu=replace(machine.imu, position=np.zeros(3)))
    return scenario_of(centred, 'MP1', 10.0, duration, 20.0 + duration)


def from_broad_prior(scenario: Scenario, seed: int, config: EstimatorConfig, knows_mode: bool = True) -> bool:
    """Whether the filter converges from a state drawn from the paper's prior N(x0, P0), without forward kinematics.

    The search of the default filter knows the home assembly mode; without that, any mode is as good to it.
    """
    machine = scenario.machine
    inputs, positions, _ = noisy(scenario, seed, config)
    filter_ = make_filter(machine, config)
    filter_.start_as_printed()
    random = np.random.default_rng([seed, 1])
    filter_.ukf.state = filter_.ukf.state + np.sqrt(filter_.covariance.diagonal()) * random.normal(size=15)
    try:
        accepts = AssemblySide(machine).is_home_mode if knows_mode else _any_mode
        if filter_.first_update(positions[0], accepts) is None:
            return False
        return _follows(filter_, scenario, inputs, positions)
    except (CovarianceError, np.linalg.LinAlgError):
        return False


def from_forward_kinematics(scenario: Scenario, seed: int, config: EstimatorConfig) -> bool:
    """Whether the filter converges from the pose that the first positions give; biases are drawn from the prior."""
    inputs, positions, _ = noisy(scenario, seed, config)
    filter_ = make_filter(scenario.machine, config)
    try:
        filter_.start_at(forward_pose(scenario.machine, positions[0]))
        return _follows(filter_, scenario, inputs, positions)
    except (CovarianceError, KinematicsError):
        return False


def from_all_modes(scenario: Scenario, seed: int, config: EstimatorConfig) -> tuple[bool, int]:
    """Whether the filter converges where nothing is known of the pose, and how many assembly modes there were.

    A filter is started from every pose that has the first positions; the one with the least innovations after
    :data:`JUDGED_AFTER` s is believed.
    """
    inputs, positions, _ = noisy(scenario, seed, config)
    modes = assembly_modes(scenario.machine, positions[0])
    count = round(JUDGED_AFTER / scenario.interval)
    costs, filters = [], []
    for position, rotation in zip(modes.position, modes.rotation_base_platform, strict=True):
        filter_, cost = make_filter(scenario.machine, config), 0.0
        try:
            filter_.start_at(Pose(position, rotation))
            cost += sum(innovation.nis for _, innovation in followed(filter_, inputs, positions[:count]))
        except (CovarianceError, np.linalg.LinAlgError):
            cost = np.inf
        costs.append(cost if np.isfinite(cost) else np.inf)
        filters.append(filter_)
    best = int(np.argmin(costs))
    if not np.isfinite(costs[best]):
        return False, len(modes)
    try:
        return _follows(filters[best], scenario, inputs, positions, count), len(modes)
    except (CovarianceError, np.linalg.LinAlgError):
        return False, len(modes)


def _any_mode(position: Array, rotation: Array) -> bool:
    """Accept every assembly mode."""
    del position, rotation
    return True


def _follows(filter_: PlatformFilter, scenario: Scenario, inputs: Array, positions: Array, first: int = 1) -> bool:
    for _ in followed(filter_, inputs, positions, first):
        pass
    motion = scenario.motion
    arm = motion.rotation_base_platform[-1] @ filter_.geometry.imu_position
    return bool(np.abs(filter_.imu_point - motion.position[-1] - arm).max() < CONVERGED)
