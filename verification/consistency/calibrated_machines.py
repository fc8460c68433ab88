"""Machines that are calibrated: what is left of the error of the pose, and whether it is what is claimed.

What is claimed is the bound of Cramer and Rao at what was found: the covariance of all constants by the data and their
priors. That it is no smaller than the truth allows is checked by how often constants lie within it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import ArrayLike
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import forward_kinematics
from pkm_description.kinematics.rotation import matrix_from_rpy, rotation_exp
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, Tolerances
from pkm_description.motion.profiles import drives_profile
from pkm_estimation.calibration.constants import Constants
from pkm_estimation.calibration.instruments import Inclination, Instrument, Poses
from pkm_estimation.calibration.motion import Motion, of_motion
from pkm_estimation.calibration.overlay import imu_values, tolerance_values, write_calibration
from pkm_estimation.calibration.plan import (
    PoseErrors,
    drives_in_reach,
    measured_targets,
    poses_in_reach,
    targets_around,
    without_frames,
)
from pkm_estimation.calibration.problem import Solution, solve
from pkm_estimation.calibration.static_poses import StaticPoses
from pkm_estimation.offline.estimate import estimate, recorded
from pkm_estimation.sensors import SensorConditions, SensorData, simulate_sensors
from pkm_estimation.stream import EstimatorConfig

from verification.check import Check, at_most, equal, within
from verification.consistency.monte_carlo import Normalised
from verification.consistency.state_error import normalised_squares, pose_errors

#: that is calibrated unless others are asked for
MACHINE = 'srs'
#: m or rad, of joint centres and zeros, where poses are measured, and in motion
_STATIC, _MOVING = 3e-4, 2e-4
#: rms of what is left by what is claimed; part of the constants within 1.96 standard deviations
_RATIO, _COVERED = 1.2, (0.93, 0.98)
#: with this probability means of squares lie between their limits if all claims are true
_PROBABILITY = 0.999
#: position error of the calibrated machine by that of the true one
_BY_TRUE = 1.5
#: Hz; s, of the estimate with what was found, and from which on it counts
_RATE, _CHECKED, _SETTLED = 100.0, 20.0, 3.0
#: what is wrong with an IMU in motion: s late, rad turned, m away, parts of scales and axes, walks of its biases
_LATE, _TURNED, _AWAY, _SCALED = 0.012, np.deg2rad(2.0), 5e-3, 3e-3
_WALKS = np.repeat([1e-3, 1e-5], 3)

Measured = Callable[[Machine, Array, np.random.Generator], list[Instrument]]


def _targets(noise: float) -> Measured:
    """Three targets that a tracker, or an arm, measures."""
    return lambda built, drives, random: [measured_targets(built, drives, targets_around(built, 3), noise, random)[1]]


def _camera(built: Machine, drives: Array, random: np.random.Generator) -> list[Instrument]:
    """Poses of a tag, some of which are wrong."""
    found = forward_kinematics(built, drives)
    place, turn, mounting = random.normal(size=3), *rotation_exp(random.normal(size=(2, 3)))
    tag = found.position + found.rotation_base_platform @ (0.3 * built.platform_radius * np.ones(3))
    size = np.where(random.random(len(drives)) < 0.05, 100.0, 1.0)[:, None]
    seen = place + tag @ turn.T + 3e-4 * size * random.normal(size=tag.shape)
    turned = rotation_exp(1e-3 * size * random.normal(size=tag.shape)) @ turn @ found.rotation_base_platform @ mounting
    return [Poses.of(seen, turned, 3e-4, 1e-3, 3.0 * built.platform_radius)]


def _at_rest(built: Machine, drives: Array, random: np.random.Generator) -> list[Instrument]:
    """Means of an IMU at rest."""
    turned = forward_kinematics(built, drives).rotation_base_platform @ matrix_from_rpy(0.01 * random.normal(size=3))
    force = 2e-3 * random.normal(size=(len(drives), 3)) + 0.1 * random.normal(size=3)
    force -= np.einsum('nji,j->ni', turned, built.gravity)
    return [Inclination.of(force, 2e-3, built.gravity, np.eye(3), np.zeros(3))]


#: instrument of machines that have more drives than freedoms
OWN = 'its own drives, 60 poses'
#: instruments: how many poses, the largest ratio, and what they measure
INSTRUMENTS: dict[str, tuple[int, float, Measured]] = {
    'a tracker of 15 um, 30 poses': (30, 1.15, _targets(15e-6)),
    'an arm of 50 um, 40 poses': (40, 1.15, _targets(50e-6)),
    'a camera of 0.3 mm, 200 poses, 5 % wrong': (200, 1.3, _camera),
    'an IMU at rest, 60 poses': (60, _RATIO, _at_rest),
    OWN: (60, _RATIO, lambda built, drives, random: []),
}


def static_checks(name: str, instrument: str, seeds: int) -> Iterator[Check]:
    """What an instrument at static poses leaves of the geometry."""
    poses, limit, measure = INSTRUMENTS[instrument]
    machine = _with(load_machine(name), _STATIC)
    ratios, covered, done = [], [], 0
    for seed in range(seeds):
        random = np.random.default_rng([seed, 5])
        constants = Constants(machine)
        true = random.normal(size=len(constants))
        built = constants.machine_at(true)
        drives = drives_in_reach(built, poses, random, 0.6)
        noise = np.broadcast_to(machine.leg_sensors.position_noise, drives.shape[1:])
        instruments = measure(built, drives, random)
        told = drives + noise * random.normal(size=drives.shape)
        try:  # a pose that the machine of the file does not get to is an error
            solution = solve(constants, [StaticPoses(constants, told, noise, instruments)])
        except KinematicsError:
            continue
        done += solution.has_converged
        ratios.append(_ratio(solution, true, built))
        covered.append(np.mean(np.abs(solution.values - true) < 1.96 * np.sqrt(solution.covariance.diagonal())))
    title = f'{name}, {instrument}, {seeds} seeds'
    yield equal('calibrated', f'{title}: converged', seeds, done)
    yield at_most('calibrated', f'{title}: rms error of the pose by its bound', limit, _rms(ratios))
    yield within('calibrated', f'{title}: constants within 95 %', *_COVERED, float(np.mean(covered)))


def motion_checks(name: str, seeds: int, duration: float) -> Iterator[Check]:
    """What an IMU in motion leaves of geometry and IMU, and an estimate with the overlay that is written."""
    machine = _with(load_machine(name), _MOVING)
    ratios, squares, positions = [], [], []
    for seed in range(seeds):
        random = np.random.default_rng([seed, 77])
        constants = Constants(machine)
        true = random.normal(size=len(constants))
        built = _with_imu(constants.machine_at(true), random)
        data = recorded(machine, _moving(built, duration, seed, random))
        shown, config = of_motion(machine, data, EstimatorConfig())
        part = Motion(shown, data, config).part()
        start = solve(shown, [part]).values
        config = part.with_walks(start).config
        solution = solve(shown, [Motion(shown, data, config)], start)
        ratios.append(_ratio(solution, true, built))
        with TemporaryDirectory() as folder:
            found = _written(Path(folder) / 'calibration.yaml', solution)
        settings = replace(EstimatorConfig(baseline=False), **{
            key: getattr(config, key) for key in ('accelerometer_bias_walk', 'gyroscope_bias_walk')
        })  # fmt: skip
        again = _moving(built, _CHECKED, seed + seeds, random)
        delay = shown.delay_at(solution.values)
        error, square = _estimated(found, built, again, replace(settings, imu_delay=delay), seed + seeds)
        exact = replace(built, tolerances=Tolerances(0.0, 0.0))
        best, _ = _estimated(exact, built, again, replace(settings, imu_delay=_LATE), seed + seeds)
        squares.append(square)
        positions.append((error, best))
    title = f'{name}, an IMU in motion, {duration:g} s, {seeds} seeds'
    yield at_most('calibrated', f'{title}: rms error of the pose by its bound', _RATIO, _rms(ratios))
    what = f'{title}: then {_CHECKED:g} s are estimated: squared error of the pose by its claim, 6 expected'
    normalised = Normalised(np.array([squares]), np.array([6]))
    yield within('calibrated', what, *normalised.bounds(_PROBABILITY), normalised.mean)
    left, best = (1e6 * _rms(column) for column in zip(*positions, strict=True))
    what, note = 'position without frames by that of true constants', f'{left:.3g} um; {best:.3g} um'
    yield at_most('calibrated', f'{title}: {what}', _BY_TRUE, left / best, note=note)


def _with(machine: Machine, tolerance: float) -> Machine:
    return replace(machine, tolerances=Tolerances(tolerance, tolerance))


def _rms(values: ArrayLike) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _ratio(solution: Solution, true: Array, built: Machine) -> float:
    """Error of the pose that is left, without frames, by what is claimed."""
    count = len(true)
    errors = PoseErrors(replace(built, tolerances=solution.constants.machine.tolerances), *poses_in_reach(built))
    left = errors.size(solution.values[:count] - true)[0]
    return left / errors.deviation(solution.covariance[:count, :count])[0]


def _with_imu(machine: Machine, random: np.random.Generator) -> Machine:
    """With an IMU that is turned, moved and scaled."""
    imu, (turn, away) = machine.imu, random.normal(size=(2, 3))
    force, rate = np.eye(3) + _SCALED * random.normal(size=(2, 3, 3))
    turned = rotation_exp(_TURNED * turn / np.linalg.norm(turn)) @ imu.rotation_platform_imu
    place = imu.position + _AWAY * away / np.linalg.norm(away)
    return replace(machine, imu=replace(
        imu, position=place, rotation_platform_imu=turned, accelerometer_matrix=force, gyroscope_matrix=rate
    ))  # fmt: skip


def _moving(built: Machine, duration: float, seed: int, random: np.random.Generator) -> SensorData:
    """What the machine's sensors have of a motion, the IMU late and with biases that walk."""
    time, motion = np.arange(round(duration * _RATE)) / _RATE, drives_profile(built, duration + 3.0, seed)
    conditions = SensorConditions(imu_delay=_LATE)
    data = simulate_sensors(built, lambda at: motion.evaluate(np.asarray(at) + 1.0), time, conditions, seed)
    walk = np.cumsum(random.normal(size=(len(time), 6)) * _WALKS / _RATE**0.5, axis=0)
    return replace(data, specific_force=data.specific_force + walk[:, :3], angular_rate=data.angular_rate + walk[:, 3:])


def _written(path: Path, solution: Solution) -> Machine:
    """The machine that was found, as it loads from its overlay."""
    machine, found = solution.constants.machine, solution.constants.machine_at(solution.values)
    others = tolerance_values(solution) | imu_values(found)
    write_calibration(path, machine.path, None, found, others, ('simulated', 'verification'), poses_in_reach(found))
    return load_machine(machine.path, path)


def _estimated(
    machine: Machine, built: Machine, data: SensorData, config: EstimatorConfig, seed: int
) -> tuple[float, float]:
    """Position error [m] without frames, and squared error of the pose by its claim."""
    result = estimate(machine, data, config).motion
    since = 1e-9 * (result.stamps - data.stamps[0])
    truth = drives_profile(built, _CHECKED + 3.0, seed).evaluate(since + 1.0)
    error, late = pose_errors(result, truth), since > _SETTLED
    square = normalised_squares(error, result.pose_covariance)
    poses = truth.position[late], truth.rotation_base_platform[late]
    rest = without_frames(error[late][..., None], *poses, machine.platform_radius)
    return float(np.sqrt(np.square(rest[:, :3]).sum(axis=(1, 2)).mean())), float(square[late].mean())
