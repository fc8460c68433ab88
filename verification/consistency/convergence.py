"""Starts far from the truth: from how many of them the filter converges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.assembly_modes import assembly_modes
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, Pose
from pkm_estimation.filtering.singular_reach import AssemblySide
from pkm_estimation.filters import CovarianceError
from pkm_estimation.stream import EstimatorConfig, PlatformFilter

from verification.check import Check, at_least, equal, holds
from verification.consistency.monte_carlo import followed, forward_pose, make_filter, noisy
from verification.consistency.scenarios import Scenario, scenario_of

#: the filter as printed, to compare with
PAPER = EstimatorConfig(filter='paper', noise_inflation=1.1, integrator='heun')
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


def convergence_checks(starts: int, duration: float) -> list[Check]:
    """Starts from the paper's prior and from forward kinematics."""
    scenario, default = start_scenario(load_machine('srs'), duration), EstimatorConfig()
    found = sum(from_broad_prior(scenario, seed, default) for seed in range(starts))
    printed = sum(from_broad_prior(scenario, seed, PAPER) for seed in range(starts))
    kinematic = sum(from_forward_kinematics(scenario, seed, default) for seed in range(starts))
    without = sum(from_broad_prior(scenario, seed, default, knows_mode=False) for seed in range(starts))
    few = max(2, starts // 10)
    modes = [from_all_modes(scenario, seed, default) for seed in range(few)]
    good = sum(converges for converges, _ in modes)
    least, most = (function(count for _, count in modes) for function in (min, max))
    what = f'starts at all assembly modes ({least} to {most}), the right one by innovations of {JUDGED_AFTER:g} s'
    return [
        at_least('start', f'part of {starts} starts from the broad prior that converge; it knows the home mode',
                 0.98, found / starts),
        at_least('start', f'part of the same {starts} that converge; it does not know it', 0.98, without / starts),
        holds('start', 'of the same starts, with the filter as printed (16 of 40 with an independent prototype)',
              f'< {found}', f'{printed} of {starts}', printed < found),
        equal('start', f'starts from forward kinematics that converge, of {starts}; it begins at home', starts,
              kinematic),
        equal('start', f'{what}, of {few}', few, good),
    ]  # fmt: skip
