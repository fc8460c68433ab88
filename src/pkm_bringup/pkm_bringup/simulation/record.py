"""A whole simulated run as arrays: the simulator node without middleware, as fast as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.export.mjcf import TIME_STEP
from pkm_description.machine import Machine, PlatformMotion

from pkm_bringup.control import ServoSettings
from pkm_bringup.simulation.controlled_simulation import ControlledSimulation
from pkm_bringup.simulation.mujoco_simulation import SimulationError
from pkm_bringup.simulation.sensors import Sample

Stamps = NDArray[np.int64]


@dataclass(frozen=True)
class SimulationRecord:
    """Sensor streams and ground truth of one run; every stream has its own stamps in ns.

    Attributes
    ----------
    joint_stamps : (N,) ns
    joint_positions, joint_velocities, joint_efforts : (N, A) measured, m or rad, m/s or rad/s, N or N m
    imu_stamps : (M,) ns
    specific_force, angular_rate : (M, 3) measured, m/s^2 and rad/s, IMU axes
    truth_stamps : (K,) ns, all stamps of joints and IMU
    truth : the platform's motion at ``truth_stamps``
    closure_error : (K,) m, largest gap of a closed loop
    motion_starts : ns, start of each motion
    saturation_count : (A,) control periods with a force at its limit
    """

    joint_stamps: Stamps
    joint_positions: Array
    joint_velocities: Array
    joint_efforts: Array
    imu_stamps: Stamps
    specific_force: Array
    angular_rate: Array
    truth_stamps: Stamps
    truth: PlatformMotion
    closure_error: Array
    motion_starts: tuple[int, ...]
    saturation_count: NDArray[np.int_]


def simulate(
    machine: Machine,
    motions: PlatformMotion | Sequence[PlatformMotion],
    seed: int = 0,
    *,
    noise: bool = True,
    settings: ServoSettings | None = None,
    pause: float = 1.0,
) -> SimulationRecord:
    """Let the servo follow motions from rest at home and record what the sensors say.

    Parameters
    ----------
    machine : bodies, friction, sensors, servo gains
    motions : played one after the other, each from its own ``time[0]``; they begin and end where the platform rests
    seed : of the sensor noise
    noise : False gives noise-free, bias-free sensors
    settings : of the servo: feed-forward, gains, limits, trip
    pause : s of rest before each motion and after the last

    Returns
    -------
    SimulationRecord
        The same arguments give the same bits.

    Raises
    ------
    ReferenceRefusedError
        A motion cannot be followed, or does not start where the platform is.
    SimulationError
        The physics cannot go on, or the servo stopped the machine (see :class:`~pkm_bringup.control.LegServo`).
    """
    controlled = ControlledSimulation(machine, seed, noise=noise, settings=settings)
    starts, end_ns = [], 0
    for motion in [motions] if isinstance(motions, PlatformMotion) else motions:
        start_ns = end_ns + round((pause - motion.time[0]) * 1e9)
        end_ns = controlled.add_reference(motion, start_ns).end_ns
        starts.append(start_ns + round(motion.time[0] * 1e9))
    steps = round((end_ns * 1e-9 + pause) / TIME_STEP)

    samples: list[Sample] = []
    for _ in range(steps + 1):  # physics is sequential: one state after the other
        sample = controlled.step()
        if sample is not None:
            samples.append(sample)
    if controlled.servo.trip_reason:
        raise SimulationError(f'{machine.name}: the servo stopped the machine: {controlled.servo.trip_reason}')
    return _record(samples, tuple(starts), controlled.servo.saturation_count)


def _record(samples: list[Sample], starts: tuple[int, ...], saturations: NDArray[np.int_]) -> SimulationRecord:
    names = PlatformMotion.__dataclass_fields__
    truth = (np.concatenate([getattr(sample.truth, name) for sample in samples]) for name in names)
    joints = [(sample.stamp_ns, sample.joints) for sample in samples if sample.joints is not None]
    imu = [(sample.stamp_ns, sample.imu) for sample in samples if sample.imu is not None]
    return SimulationRecord(
        joint_stamps=np.array([stamp for stamp, _ in joints], dtype=np.int64),
        joint_positions=np.array([joint.positions for _, joint in joints]),
        joint_velocities=np.array([joint.velocities for _, joint in joints]),
        joint_efforts=np.array([joint.efforts for _, joint in joints]),
        imu_stamps=np.array([stamp for stamp, _ in imu], dtype=np.int64),
        specific_force=np.array([one.specific_force for _, one in imu]),
        angular_rate=np.array([one.angular_rate for _, one in imu]),
        truth_stamps=np.array([sample.stamp_ns for sample in samples], dtype=np.int64),
        truth=PlatformMotion(*truth),
        closure_error=np.array([sample.closure_error for sample in samples]),
        motion_starts=starts,
        saturation_count=saturations,
    )
