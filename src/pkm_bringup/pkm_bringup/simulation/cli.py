"""Command ``simulate``: a simulated run straight into a bag, without middleware and as fast as possible."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pkm_description.errors import ConfigurationError
from pkm_description.joint_states import DriverStreams
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.loading.load import add_driver_arguments, machine_of_options
from pkm_description.machine import Machine
from pkm_description.motion.profiles import PROFILE_NAMES, profile
from pkm_description.program import program
from pkm_estimation.bags import BagWriter

from pkm_bringup.control import FEEDFORWARD_MODES, ServoSettings, check_reference
from pkm_bringup.simulation.record import SimulationRecord, simulate


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


@program
def main(args: Sequence[str] | None = None) -> None:
    """Run the command."""
    options = _parser().parse_args(args)
    machine = machine_of_options(options)
    settings = ServoSettings(feedforward=options.feedforward)
    try:
        motions = [profile(name, machine, options.duration, 100.0, options.seed) for name in options.profile or ['mp1']]
        for motion in motions:
            check_reference(machine, motion)
        record = simulate(machine, motions, options.seed, noise=not options.no_noise, settings=settings)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    write_record(record, machine, options.output, options.storage)
    print(
        f'{options.output}: {record.truth.time[-1]:.2f} s of {machine.name}, '
        f'closure error at most {record.closure_error.max():.1e} m, '
        f'{int(record.saturation_count.sum())} saturated control periods'
    )


if __name__ == '__main__':
    sys.exit(main())
