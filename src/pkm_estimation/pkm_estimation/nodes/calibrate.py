"""Program ``calibrate DATA``: the geometry and the sensors of a machine, from what instruments or its IMU measured."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.loading.load import machine_of_options
from pkm_description.machine import Machine, Tolerances
from pkm_description.machine.tolerances import USUAL_TOLERANCE
from pkm_description.writing import make_folder, write_text

from pkm_estimation.bags import read_bag
from pkm_estimation.calibration.constants import Constants
from pkm_estimation.calibration.data import (
    CalibrationDataError,
    read_static_poses,
    require_fixed_targets,
    require_usable,
    write_static_poses,
)
from pkm_estimation.calibration.motion import Motion, of_motion
from pkm_estimation.calibration.overlay import imu_values, new_overlay, tolerance_values, write_calibration
from pkm_estimation.calibration.plan import (
    RANDOM_SETS,
    PoseErrors,
    built_machine,
    designed_poses,
    drives_in_reach,
    measured_targets,
    poses_in_reach,
    targets_around,
)
from pkm_estimation.calibration.problem import Measurement, held_out, solve
from pkm_estimation.calibration.report import MOST_TOLD, Findings, solution_report, verdict_of
from pkm_estimation.calibration.static_poses import StaticPoses
from pkm_estimation.config import EstimatorConfig
from pkm_estimation.nodes.node_settings import add_recording_arguments, load_config, run_program, say

#: exit codes: a result is written; an error; data that determine nothing; a result that held-out data do not confirm
EXIT_CODES = {'good': 0, 'error': 1, 'insufficient': 3, 'not confirmed': 4}


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; returns one of :data:`EXIT_CODES`."""
    return run_program(_parser(), _run, args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='calibrate', description=__doc__)
    parser.add_argument(
        'data', nargs='*', type=Path,
        help='recordings of IMU and legs in motion (bag, folder), and CSV files of static poses (see the tutorial)',
    )  # fmt: skip
    add_recording_arguments(parser, 'settings of the estimator (YAML), for recordings')
    parser.add_argument('-o', '--output', type=Path, metavar='OUT', help='folder for what is found')
    parser.add_argument(
        '--tolerance', type=float, metavar='M',
        help='standard deviation [m, rad] of joint centres and zeros, in place of the machine file\'s',
    )  # fmt: skip
    parser.add_argument('--noise', type=float, default=5e-5, help='of the instrument [m] (default: %(default)g)')
    parser.add_argument('--noise-rotation', type=float, default=1e-3, help='of its attitudes [rad] (%(default)g)')
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument('--plan', type=int, metavar='N', help='without data: what N poses would tell, and which are best')
    kind.add_argument('--simulate', type=int, metavar='N', help='write N poses of a machine with a hidden geometry')
    parser.add_argument('--targets', type=int, default=3, help='of --plan and --simulate (default: %(default)d)')
    parser.add_argument('--outliers', type=float, default=0.0, help='part of the points of --simulate that are wrong')
    parser.add_argument('--seed', type=int, default=0, help='of --plan and --simulate')
    return parser


def _run(options: argparse.Namespace) -> int:
    machine = _with_tolerance(machine_of_options(options), options.tolerance)
    if options.plan or options.simulate:
        if options.data:
            raise CalibrationDataError('--plan and --simulate need no data')
        return _plan(options, machine) if options.plan else _simulate(options, machine)
    if not options.data:
        raise CalibrationDataError('give recordings or CSV files; --plan N says what N static poses would tell')
    overlay = None if options.output is None else new_overlay(options.output, 'calibration.yaml')
    constants, measurements, config, start = _measurements(options, machine)
    data = ', '.join(map(str, options.data))
    report = Findings(machine, {'data': data, 'machine': f'{machine.name}: {machine.description}'})
    values, before, after = held_out(constants, measurements, start, say)
    lines = [f'held-out data: mean square of the residuals {before:.4g} before, {after:.4g} after']
    solution = solve(constants, measurements, values, say)
    for one in measurements:
        if isinstance(one, StaticPoses):
            require_fixed_targets(one)
    lines += solution_report(solution, measurements)
    found = constants.machine_at(solution.values)
    poses = poses_in_reach(found)
    size = len(constants.geometry.kind)
    errors = PoseErrors(replace(found, tolerances=machine.tolerances), *poses)
    moved, left = errors.size(solution.values[:size]), errors.deviation(solution.covariance[:size, :size])
    lines.append(
        f'pose error with the machine file {1e6 * moved[0]:.3g} um, {1e6 * moved[1]:.3g} urad; left now '
        f'{1e6 * left[0]:.3g} um, {1e6 * left[1]:.3g} urad (standard deviation; frames of base and platform taken out)'
    )
    verdict, code = verdict_of(solution, before, after)
    report.verdict = verdict, code == 'good'
    report.tell(['what was found', *lines, f'verdict: {verdict}'])
    if options.output is None:
        return EXIT_CODES[code]
    make_folder(options.output)
    if overlay is not None and code == 'good':
        others = tolerance_values(solution)
        if constants.imu:
            others |= imu_values(found)
            tuned = replace(config, imu_delay=round(constants.delay_at(solution.values), 6))
            report.settings = tuned.changed()
        origin = data, f'calibrate: {size} constants of the geometry, maximum a posteriori'
        print(f'wrote {write_calibration(overlay, machine.path, options.overlay, found, others, origin, poses)}')
    report.write(options.output, solution)
    return EXIT_CODES[code]


def _with_tolerance(machine: Machine, tolerance: float | None) -> Machine:
    """Machine with the prior of its geometry; a file that says exact has usual machining as its prior."""
    if tolerance is not None:
        if not 0.0 < tolerance < 0.1:
            raise CalibrationDataError(f'--tolerance {tolerance:g}: more than zero, less than 0.1 m')
        return replace(machine, tolerances=Tolerances(tolerance, tolerance))
    if machine.tolerances.has_geometry:
        return machine
    return replace(machine, tolerances=Tolerances(USUAL_TOLERANCE, USUAL_TOLERANCE))


def _measurements(
    options: argparse.Namespace, machine: Machine
) -> tuple[Constants, list[Measurement], EstimatorConfig, Array | None]:
    """Constants, all that was measured, the user's settings with walks that are seen, and values to begin with."""
    files = [path for path in options.data if path.suffix == '.csv' and not path.is_dir()]
    recordings = [
        read_bag(path, namespace=options.namespace, driver=machine.driver) for path in options.data if path not in files
    ]
    config = load_config(options.config)
    if files:
        constants = Constants(machine)
        measurements: list[Measurement] = []
        for path in files:
            data = recordings[0] if recordings else None
            static = read_static_poses(path, constants, options.noise, options.noise_rotation, data)
            require_usable(static)
            measurements.append(static)
        return constants, measurements, config, None
    if len(recordings) > 1:
        raise CalibrationDataError('one recording of a motion at a time; the delay of the IMU may differ')
    data = recordings[0]
    legs = data.require(data.joint_states, 'joint_states')
    if np.ptp(legs.positions, axis=0)[: machine.actuated_count].max() < 1e-3:
        raise CalibrationDataError('the machine never moved in the recording: record a motion in all freedoms')
    say('estimator as it is, which finds an IMU that is far off')
    constants, scoring = of_motion(machine, data, config)
    motion = Motion(constants, data, scoring)
    start = solve(constants, [motion.part()], progress=say).values
    walking = motion.part().with_walks(start)
    if walking is not motion.part():
        motion = replace(motion, config=walking.config)
    accelerometer, gyroscope = motion.config.accelerometer_bias_walk, motion.config.gyroscope_bias_walk
    config = replace(config, accelerometer_bias_walk=accelerometer, gyroscope_bias_walk=gyroscope)
    return constants, [motion], config, start


def _plan(options: argparse.Namespace, machine: Machine) -> int:
    random = np.random.default_rng(options.seed)
    drives, solution, errors = designed_poses(machine, options.plan, options.targets, options.noise, random, say)
    print(f'{options.plan} poses, {options.targets} targets with {1e6 * options.noise:.3g} um of noise')
    print(solution_report(solution, [])[0])
    told = f'of random poses {1e6 * errors[1]:.3g} um (median of {RANDOM_SETS})'
    print(f'pose error left {1e6 * errors[0]:.3g} um; {told}')
    print('not determined', *(f'  {told}' for told in solution.not_determined()[:MOST_TOLD]), sep='\n')
    if options.output is not None:
        path = make_folder(options.output) / 'poses.csv'
        write_text(path, '\n'.join([','.join(machine.actuated_joint_names), *(
            ','.join(f'{value:.6g}' for value in row) for row in drives), '']))  # fmt: skip
        print(f'wrote {path}')
    return EXIT_CODES['good']


def _simulate(options: argparse.Namespace, machine: Machine) -> int:
    if options.output is None:
        raise CalibrationDataError('--simulate writes files: give a folder with -o')
    path_of_truth = new_overlay(options.output, 'truth.yaml')
    random = np.random.default_rng(options.seed)
    built = built_machine(machine, random)
    drives = drives_in_reach(built, options.simulate, random)
    targets = targets_around(machine, options.targets)
    drives, points = measured_targets(built, drives, targets, options.noise, random, options.outliers)
    path = write_static_poses(make_folder(options.output) / 'points.csv', machine, drives, points)
    origin = 'simulated', f'hidden geometry, seed {options.seed}'
    truth = write_calibration(path_of_truth, machine.path, options.overlay, built, {}, origin, poses_in_reach(built))
    print(f'wrote {path}\nwrote {truth}, the machine that was measured: calibrate does not read it')
    return EXIT_CODES['good']


if __name__ == '__main__':
    sys.exit(main())
