"""Starts far from the truth: from how many of them the filter converges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.machine import Machine
from pkm_estimation.filtering.assembly_side import AssemblySide
from pkm_estimation.filters import CovarianceError
from pkm_estimation.stream import EstimatorConfig, PlatformFilter

from verification.consistency.monte_carlo import forward_pose, make_filter, noisy
from verification.consistency.scenarios import Scenario, mp1_scenario

#: m, error of the position at the end that counts as converged
CONVERGED = 1e-4


def start_scenario(machine: Machine, duration: float) -> Scenario:
    """MP1 with the IMU in the platform's origin, as in the paper's simulations."""
    return mp1_scenario(replace(machine, imu=replace(machine.imu, position=np.zeros(3))), duration)


def from_broad_prior(scenario: Scenario, seed: int, config: EstimatorConfig) -> bool:
    """Whether the filter converges from a state drawn from the paper's prior N(x0, P0), without forward kinematics."""
    machine = scenario.machine
    inputs, positions, _ = noisy(scenario, seed, config)
    filter_ = make_filter(machine, config)
    filter_.start_as_printed()
    random = np.random.default_rng([seed, 1])
    filter_.ukf.state = filter_.ukf.state + np.sqrt(filter_.covariance.diagonal()) * random.normal(size=15)
    try:
        if filter_.first_update(positions[0], AssemblySide(machine).is_home_mode) is None:
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


def _follows(filter_: PlatformFilter, scenario: Scenario, inputs: Array, positions: Array) -> bool:
    for k in range(1, len(positions)):
        filter_.predict(inputs[k - 1], inputs[k], scenario.interval)
        filter_.update(positions[k])
    motion = scenario.motion
    arm = motion.rotation_base_platform[-1] @ filter_.geometry.imu_position
    return bool(np.abs(filter_.imu_point - motion.position[-1] - arm).max() < CONVERGED)
