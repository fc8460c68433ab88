"""Motions in closed form and what sensors measure along them: made here, without the suite's motions and sensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
from pkm_description.kinematics import drive_positions
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.verdict import WELL
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from verification.consistency.state_error import free_directions

#: standard deviations of the biases, a fifth of those of the filter's start; seeds are 0, 1, 2 ...
BIAS_STD = np.repeat([0.2, 0.02], 3)
#: s after the start, and between the errors that are used
SETTLING, BETWEEN = 1.0, 0.25
#: counters of a run in which nothing had to be decided
ORDINARY = {*WELL, 'no_imu_before', 'legs_rejected'}
#: frequencies of the six coordinates, in parts of the greatest, and their phases
PARTS = np.array([1.0, 0.93, 0.87, 0.97, 0.9, 0.83])
PHASES = np.array([0.3, 2.1, 4.4, 5.2, 1.2, 3.3])


@dataclass
class Motion:
    """Sines of all coordinates (0.06 m, 0.06 rad) of ``frequency`` Hz, or ``accelerations`` (6,) that are constant.

    ``freedom`` (6,) has zeros where the machine cannot move. Derivatives are central differences of sixth order.
    """

    machine: object
    frequency: float = 2.0
    freedom: object = field(default_factory=lambda: np.ones(6))
    accelerations: object = None

    def pose(self, time):
        if self.accelerations is None:
            angles = 2.0 * np.pi * self.frequency * np.multiply.outer(time, PARTS) + PHASES
            coordinates = 0.06 * self.freedom * np.sin(angles)
        else:
            coordinates = 0.5 * np.multiply.outer((time - 2.0) ** 2, self.accelerations)
        home = self.machine.home
        turned = Rotation.from_euler('xyz', coordinates[:, 3:]).as_matrix() @ home.rotation_base_platform
        return home.position + coordinates[:, :3], turned

    def imu_point(self, time):
        position, rotation = self.pose(time)
        return position + rotation @ self.machine.imu.position

    def state(self, time):
        """Position, velocity (platform axes), rotation; specific force and angular rate (platform axes)."""
        rotation, point = self.pose(time)[1], self.imu_point(time)
        back = np.swapaxes(rotation, 1, 2)
        turning = back @ slope(lambda t: self.pose(t)[1], time)
        rate = np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]], axis=1)
        velocity = np.einsum('nij,nj->ni', back, slope(self.imu_point, time))
        force = np.einsum('nij,nj->ni', back, bend(self.imu_point, time) - self.machine.gravity)
        return point, velocity, rotation, np.hstack([force, rate])


def slope(function, time, step=1e-3):
    parts = ((45, 1), (-9, 2), (1, 3))
    return sum(f * (function(time + k * step) - function(time - k * step)) for f, k in parts) / (60.0 * step)


def bend(function, time, step=2e-3):
    parts = ((270, 1), (-27, 2), (2, 3))
    total = sum(f * (function(time + k * step) + function(time - k * step)) for f, k in parts)
    return (total - 490 * function(time)) / (180.0 * step**2)


def measured(machine, position, rotation):
    if not machine.has_closed_form:
        return drive_positions(machine, position, rotation)
    joints = position[:, None] + np.einsum('nij,lj->nli', rotation, machine.platform_points)
    return np.linalg.norm(joints - machine.base_points, axis=2) - machine.lengths_at_zero


@dataclass
class Sensors:
    """Rates in Hz; ``loss``: part of the IMU's samples; ``gap``: s, one of the IMU; ``delay``: s, declared."""

    imu_rate: float = 100.0
    leg_rate: float = 100.0
    loss: float = 0.0
    gap: float = 0.0
    delay: float = 0.0


def run(motion, sensors, seed, duration, config=None):
    """Squares of the errors (T,), their degrees of freedom, NIS (N,) and errors of position (N, 3) after settling."""
    machine, (imu_rate, leg_rate) = motion.machine, (sensors.imu_rate, sensors.leg_rate)
    imu_time, leg_time = (np.arange(round(duration * rate)) / rate for rate in (imu_rate, leg_rate))
    inputs = motion.state(imu_time)[3]
    point, velocity, rotation, _ = motion.state(leg_time)
    random = np.random.default_rng([seed, crc32(machine.name.encode())])
    bias = BIAS_STD * random.normal(size=6)
    noise = np.concatenate([machine.imu.accelerometer_noise, machine.imu.gyroscope_noise])
    to_imu = np.kron(np.eye(2), machine.imu.rotation_platform_imu)
    imu = (inputs + bias) @ to_imu + noise * random.normal(size=inputs.shape)
    position = motion.pose(leg_time)[0]
    legs = measured(machine, position, rotation)
    legs += machine.leg_sensors.position_noise * random.normal(size=legs.shape)
    arrives = random.random(len(imu_time)) >= sensors.loss
    middle = 0.5 * (SETTLING + duration)
    arrives &= (imu_time < middle) | (imu_time >= middle + sensors.gap)
    # the IMU is as the file says: errors are those of the noise
    config = config or EstimatorConfig(baseline=False, imu_delay=sensors.delay, claim='repeatability')
    pipeline, outputs = EstimatorPipeline(machine, config), []
    stamps = [(round(1e9 * (5.0 + t + sensors.delay)), 0, k) for k, t in enumerate(imu_time.tolist()) if arrives[k]]
    stamps += [(round(1e9 * (5.0 + t)), 1, k) for k, t in enumerate(leg_time.tolist())]
    for stamp, is_leg, k in sorted(stamps):
        if is_leg:
            outputs += pipeline.add_joint_positions(stamp, machine.actuated_joint_names, legs[k])
        else:
            outputs += pipeline.add_imu(stamp, imu[k, :3], imu[k, 3:])
    unexpected = {name: count for name, count in pipeline.health.counters.items() if name not in ORDINARY}
    assert not unexpected
    assert pipeline.health.counters['started'] == 1
    squares, nis, errors, freedom = [], [], [], None

    class Truth:
        pass

    Truth.position, Truth.rotation_base_platform = position, rotation
    for output in outputs:
        k = round((1e-9 * output.stamp - 5.0) * leg_rate)
        if leg_time[k] < SETTLING:
            continue
        state, covariance, chart = output.filter_state[:3]
        quaternion = Rotation.from_matrix(chart.T @ rotation[k]).as_quat()
        error = np.concatenate([
            state[:3] - chart.T @ point[k], state[3:6] - velocity[k],
            state[6:9] - quaternion[:3] * np.sign(quaternion[3]), state[9:] - bias,
        ])  # fmt: skip
        nis.append(output.innovation.nis)
        errors.append(error[:3])
        if k % round(BETWEEN * leg_rate) == 0:
            directions = free_directions(machine, Truth, k, chart)
            seen = directions.T @ error
            squares.append(seen @ np.linalg.solve(directions.T @ covariance @ directions, seen))
            freedom = directions.shape[1]
    return np.array(squares), freedom, np.array(nis), np.array(errors)


def assert_consistent(motion, sensors, seeds, duration, config=None):
    """Means of NEES and NIS within the 95 % bounds of a mean over the seeds; returns rms errors (3,) of position."""
    runs = [run(motion, sensors, seed, duration, config) for seed in range(seeds)]
    for name, place, freedom in (('NEES', 0, runs[0][1]), ('NIS', 2, motion.machine.actuated_count)):
        lower, upper = chi2.ppf([0.025, 0.975], freedom * seeds) / seeds
        mean = float(np.mean(np.concatenate([values[place] for values in runs])))
        assert lower <= mean <= upper, (name, mean, lower, upper)
    return np.sqrt(np.mean(np.concatenate([values[3] for values in runs]) ** 2, axis=0))
