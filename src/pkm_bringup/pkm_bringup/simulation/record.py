"""A whole simulated run as arrays: the simulator node without middleware, as fast as possible."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.export.mjcf import TIME_STEP
from pkm_description.joint_states import DriverStreams
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.loading.load import add_driver_arguments, machine_of_options
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.profiles import PROFILE_NAMES, profile
from pkm_estimation.bags import BagWriter

from pkm_bringup.control import FEEDFORWARD_MODES, ServoSettings, check_reference
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
    belief: Machine | None = None,
    pause: float = 1.0,
    time_step: float = TIME_STEP,
) -> SimulationRecord:
    """Let the servo follow motions from rest at home and record what the sensors say.

    Parameters
    ----------
    machine : bodies, friction, sensors, servo gains
    motions : played one after the other, each from its own ``time[0]``; they begin and end where the platform rests
    seed : of the sensor noise
    noise : False gives noise-free, bias-free sensors
    settings : of the servo: feed-forward, gains, limits, trip
    belief : what the servo believes the machine to be; default: the simulated machine itself
    pause : s of rest before each motion and after the last
    time_step : s, of the physics

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
    controlled = ControlledSimulation(
        machine, seed, noise=noise, settings=settings, belief=belief, time_step=time_step
    )
    starts, end_ns = [], 0
    for motion in [motions] if isinstance(motions, PlatformMotion) else motions:
        start_ns = end_ns + round((pause - motion.time[0]) * 1e9)
        end_ns = controlled.add_reference(motion, start_ns).end_ns
        starts.append(start_ns + round(motion.time[0] * 1e9))
    steps = round((end_ns * 1e-9 + pause) / time_step)

    samples: list[Sample] = []
    for _ in range(steps + 1):  # physics is sequential: one state after the other
        sample = controlled.step()
        if sample is not None:
            samples.append(sample)
    if controlled.servo.trip_reason:
        raise SimulationError(f'{machine.name}: the servo stopped the machine: {controlled.servo.trip_reason}')
    return _record(samples, tuple(starts), controlled.servo.saturation_count)


def _record(samples: list[Sample], starts: tuple[int, ...], saturations: NDArray[np.int_]) -> SimulationRecord:
    stamps = np.array([sample.stamp_ns for sample in samples], dtype=np.int64)
    truth = {
        name: np.array([getattr(sample.truth, name) for sample in samples])
        for name in PlatformMotion.__dataclass_fields__
        if name != 'time'
    }
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
        truth_stamps=stamps,
        truth=PlatformMotion(time=stamps.astype(float) * 1e-9, **truth),
        closure_error=np.array([sample.truth.closure_error for sample in samples]),
        motion_starts=starts,
        saturation_count=saturations,
    )


def write_record(record: SimulationRecord, machine: Machine, path: Path, storage: str) -> None:
    """Write a run as the topics that the simulator node publishes: as the machine's driver has them."""
    truth = record.truth
    to_platform = np.swapaxes(truth.rotation_base_platform, 1, 2)
    linear, angular = ((to_platform @ v[..., None])[..., 0] for v in (truth.linear_velocity, truth.angular_velocity))
    streams, driver = DriverStreams(machine), machine.driver
    joints = streams.joint_states(record.joint_positions, record.joint_velocities, record.joint_efforts)
    imu = streams.imu(record.specific_force, record.angular_rate)
    with BagWriter(path, storage) as bag:
        bag.write_joint_states(record.joint_stamps, *joints, topic=driver.joint_topic)
        bag.write_imu(record.imu_stamps, *imu, frame=machine.imu.frame, topic=driver.imu_topic)
        bag.write_odometry(
            record.truth_stamps,
            truth.position,
            quaternion_from_matrix(truth.rotation_base_platform),
            linear,
            angular,
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='simulate', description=__doc__)
    parser.add_argument('machine', help='name of a machine, or path of a machine file')
    parser.add_argument('-o', '--output', required=True, type=Path, help='bag to write; must not exist')
    parser.add_argument('--overlay', type=Path, help='parameter overlay')
    add_driver_arguments(parser)
    parser.add_argument(
        '--profile',
        action='append',
        choices=PROFILE_NAMES,
        help='motion; repeat for several in turn (default: mp1)',
    )
    parser.add_argument('--duration', type=float, default=60.0, help='s, of each motion (default: 60)')
    parser.add_argument('--seed', type=int, default=0, help='of noise and Fourier motions (default: 0)')
    parser.add_argument('--feedforward', choices=FEEDFORWARD_MODES, default='gravity')
    parser.add_argument('--no-noise', action='store_true', help='noise-free, bias-free sensors')
    parser.add_argument('--storage', choices=('mcap', 'sqlite3'), default='mcap')
    return parser


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    options = _parser().parse_args(args)
    try:
        machine = machine_of_options(options)
        motions = []
        for name in options.profile or ['mp1']:
            motions.append(profile(name, machine, options.duration, 100.0, options.seed))
            check_reference(machine, motions[-1])
        settings = ServoSettings(feedforward=options.feedforward)
        record = simulate(machine, motions, options.seed, noise=not options.no_noise, settings=settings)
        write_record(record, machine, options.output, options.storage)
    except (PkmError, ValueError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    print(
        f'{options.output}: {record.truth.time[-1]:.2f} s of {machine.name}, '
        f'closure error at most {record.closure_error.max():.1e} m, '
        f'{int(record.saturation_count.sum())} saturated control periods'
    )
    return 0


if __name__ == '__main__':
    sys.exit(main())
