"""Program ``bag_to_csv BAG``: recording and estimates as CSV files, as recorded or in the suite's convention."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pkm_description.joint_states import JointStateReader
from pkm_description.loading.load import machine_of_options
from pkm_description.machine import Machine

from pkm_estimation.bags import RecordedData, read_bag
from pkm_estimation.bags.csv_reader import write_csv
from pkm_estimation.nodes.node_settings import add_recording_arguments, run_program


def main(args: Sequence[str] | None = None) -> int:
    """Run the program; returns 0, or 1 after an error."""
    return run_program(_parser(), _run, args)


def _run(options: argparse.Namespace) -> int:
    machine = machine_of_options(options)
    data = read_bag(options.bag, namespace=options.namespace, as_recorded=True, driver=machine.driver)
    for path in write_csv(in_suites_convention(machine, data) if options.converted else data, options.output):
        print(f'wrote {path}')
    return 0


def in_suites_convention(machine: Machine, data: RecordedData) -> RecordedData:
    """Recording whose joint states and raw IMU are converted from what the machine's driver published.

    Raises
    ------
    JointStateError
        A joint is named twice.
    """
    joints, imu = data.joint_states, data.imu_data_raw
    if joints is not None:
        joints = joints.by_joint(JointStateReader.of_drives(machine).order(joints.names))
    if imu is not None:
        conversion = machine.driver.imu
        imu = replace(
            imu,
            specific_force=conversion.specific_force(imu.specific_force),
            angular_rate=conversion.angular_rate(imu.angular_rate),
        )
    return replace(data, joint_states=joints, imu_data_raw=imu)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='bag_to_csv', description=__doc__)
    parser.add_argument('bag', help='recording: bag of ROS 2 or ROS 1')
    parser.add_argument('-o', '--output', type=Path, required=True, help='folder for the files; none is replaced')
    add_recording_arguments(parser)
    parser.add_argument(
        '--converted', action='store_true', help="joints and IMU in the suite's names and SI units, not as recorded"
    )
    return parser


if __name__ == '__main__':
    raise SystemExit(main())
