"""Streams of a well-wired robot: any machine, at rest or in motion, at rates and with noise of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from pkm_bringup.robot_check import Endpoint, Observation
from pkm_bringup.robot_check.expected import strokes
from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.kinematics import drive_jacobian, drive_positions, forward_kinematics
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.profiles import drives_profile, profile
from pkm_description.motion.recorded_poses import QuinticInterpolator
from pkm_estimation.bags import Imu, JointStates
from pkm_estimation.sensors.conditions import imu_truth

#: at rest in another pose than home; slow sines of 4 % of the stroke; sines of all drives; the excitation
MOTIONS = ('rest', 'small', 'drives', 'fourier')
#: ns, when a recording starts
_START = 1_780_000_000_000_000_000


@dataclass
class Streams:
    """What a driver publishes, to be spoiled by faults.

    Attributes
    ----------
    names : of the joints
    positions, velocities, efforts : (N, M) by name; None where there is no such field
    joint_stamps, joint_received, imu_stamps, imu_received : ns
    force, rate : (K, 3)
    frames : of the IMU's messages
    covariances : of the IMU
    topics : where joints and IMU come
    publishers : of each topic
    reliability : of the subscriber
    """

    names: list[str]
    positions: Array
    velocities: Array | None
    efforts: Array | None
    joint_stamps: NDArray[np.int64]
    joint_received: NDArray[np.int64]
    imu_stamps: NDArray[np.int64]
    imu_received: NDArray[np.int64]
    force: Array
    rate: Array
    frames: list[str]
    covariances: dict[str, Array]
    topics: tuple[str, str] = ('/joint_states', '/imu/data_raw')
    publishers: dict[str, list[Endpoint]] = field(default_factory=dict)
    reliability: str = 'best_effort'

    def observation(self, source: str = 'seeded') -> Observation:
        """What check_robot sees of it."""
        wide = np.full(self.positions.shape, np.nan)
        joints = JointStates(
            self.joint_stamps,
            self.joint_received,
            tuple(self.names),
            self.positions,
            wide if self.velocities is None else self.velocities,
            wide if self.efforts is None else self.efforts,
        )
        none = np.full((len(self.force), 4), np.nan)
        imu = Imu(self.imu_stamps, self.imu_received, self.frames[0], self.force, self.rate, none)
        publishers = {topic: tuple(ends) for topic, ends in self.publishers.items()}
        there = [topic in publishers for topic in self.topics]
        return Observation(
            source,
            '/joint_states',
            '/imu/data_raw',
            joints if there[0] and self.topics[0] == '/joint_states' else None,
            imu if there[1] and self.topics[1] == '/imu/data_raw' else None,
            publishers,
            frames=Counter(self.frames),
            covariances=self.covariances,
            reliability=self.reliability,
        )


@dataclass(frozen=True)
class Scenario:
    """A machine in a motion, with a driver of given rates and noise.

    Attributes
    ----------
    machine : the machine
    motion : of :data:`MOTIONS`
    seed : of all that is random
    duration : s
    joint_rate, imu_rate : Hz; 0: those of the machine file
    noise : factor on the machine file's noise
    """

    machine: Machine
    motion: str = 'drives'
    seed: int = 0
    duration: float = 12.0
    joint_rate: float = 0.0
    imu_rate: float = 0.0
    noise: float = 1.0

    def streams(self) -> Streams:
        """Streams without a fault."""
        machine, random = self.machine, np.random.default_rng([self.seed, len(self.motion)])
        rates = self.joint_rate or machine.leg_sensors.rate, self.imu_rate or machine.imu.rate
        evaluate = motion_of(machine, self.motion, self.seed, self.duration)
        times = [
            np.arange(offset, self.duration, 1.0 / rate)
            for rate, offset in zip(rates, random.uniform(0.0, 0.01, size=2), strict=True)
        ]
        legs, body = (evaluate(time) for time in times)
        sensors, imu = machine.leg_sensors, machine.imu
        positions, velocities, efforts = _drive_signals(machine, legs, self.motion == 'rest', random)
        positions, velocities, efforts = (
            values + self.noise * noise * random.normal(size=values.shape)
            for values, noise in (
                (positions, sensors.position_noise),
                (velocities, sensors.velocity_noise),
                (efforts, sensors.effort_noise),
            )
        )
        force, rate = imu_truth(body, machine.gravity, imu.position, imu.rotation_platform_imu)
        force = force + imu.accelerometer_bias + self.noise * imu.accelerometer_noise * random.normal(size=force.shape)
        rate = rate + imu.gyroscope_bias + self.noise * imu.gyroscope_noise * random.normal(size=rate.shape)
        stamps = [_START + np.rint(1e9 * time).astype(np.int64) for time in times]
        received = [
            stamp + np.rint(1e9 * random.uniform(3e-4, 2e-3, size=len(stamp))).astype(np.int64) for stamp in stamps
        ]
        return Streams(
            names=list(machine.actuated_joint_names),
            positions=positions,
            velocities=velocities,
            efforts=efforts,
            joint_stamps=stamps[0],
            joint_received=received[0],
            imu_stamps=stamps[1],
            imu_received=received[1],
            force=force,
            rate=rate,
            frames=[imu.frame] * len(rate),
            covariances={
                'orientation': np.array([-1.0] + [0.0] * 8),
                'angular_velocity': np.zeros(9),
                'linear_acceleration': np.zeros(9),
            },
            publishers={
                '/joint_states': [Endpoint('/driver', 'sensor_msgs/msg/JointState')],
                '/imu/data_raw': [Endpoint('/imu', 'sensor_msgs/msg/Imu')],
            },
        )


Evaluate = Callable[[Array], PlatformMotion]


@lru_cache(maxsize=64)
def motion_of(machine: Machine, name: str, seed: int, duration: float) -> Evaluate:
    """Motion of a scenario at any times (N,) s."""
    if name == 'rest':
        return _resting(machine, seed)
    if name == 'fourier':
        return QuinticInterpolator(profile('fourier', machine, duration, 200.0, seed)).evaluate
    full = drives_profile(machine, duration, seed, 2.0, 2.0)
    return (full if name == 'drives' else replace(full, scale=0.12 * full.scale)).evaluate


def _resting(machine: Machine, seed: int) -> Evaluate:
    """At rest where the drives are up to a tenth of their stroke from home."""
    random = np.random.default_rng([seed, 99])
    home = np.ravel(drive_positions(machine, machine.home.position, machine.home.rotation_base_platform))
    lower, upper = strokes(machine)
    for part in (0.1, 0.05, 0.02, 0.0):
        drives = home + part * (upper - lower) * random.uniform(-1.0, 1.0, size=len(home))
        found = forward_kinematics(machine, drives)
        if found.trusted[0]:
            break
    pose = found.position[0], found.rotation_base_platform[0]

    def evaluate(times: Array) -> PlatformMotion:
        count, still = len(times), np.zeros((len(times), 3))
        return PlatformMotion(
            times, np.tile(pose[0], (count, 1)), np.tile(pose[1], (count, 1, 1)), still, still, still, still
        )

    return evaluate


def _drive_signals(
    machine: Machine, motion: PlatformMotion, rests: bool, random: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Positions, velocities and efforts (N, A) along a motion; at rest friction takes a part of the weight."""
    pose = motion.position, motion.rotation_base_platform
    positions = drive_positions(machine, *pose)
    if rests:
        coulomb = machine.coulomb[machine.drive_columns]
        efforts = gravity_forces(machine, *pose) + coulomb * random.uniform(-0.7, 0.7, size=len(coulomb))
        return positions, np.zeros_like(positions), efforts
    twist = np.hstack([motion.linear_velocity, motion.angular_velocity])
    velocities = (drive_jacobian(machine, *pose) @ twist[..., None])[..., 0]
    return positions, velocities, inverse_dynamics(machine, motion, sign_smoothing=1e-5)
