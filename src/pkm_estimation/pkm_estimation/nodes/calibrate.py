"""Program ``calibrate DATA``: the geometry and the sensors of a machine, from what instruments or its IMU measured."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml
from pkm_description.errors import PkmError
from pkm_description.loading.load import add_driver_arguments, machine_of_options
from pkm_description.machine import Machine, Tolerances
from pkm_description.machine.tolerances import USUAL_TOLERANCE
from pkm_description.writing import make_folder, write_text

from pkm_estimation.bags import read_bag
from pkm_estimation.calibration.constants import Constants
from pkm_estimation.calibration.data import (
    CalibrationDataError,
    read_static_poses,
    require_usable,
    slipped_target,
    write_static_poses,
)
from pkm_estimation.calibration.motion import Motion, of_motion
from pkm_estimation.calibration.overlay import imu_values, tolerance_values, write_calibration
from pkm_estimation.calibration.plan import RANDOM_SETS, PoseErrors, designed_poses
from pkm_estimation.calibration.problem import Measurement, held_out, solve
from pkm_estimation.calibration.report import MOST_TOLD, solution_report, verdict_of, write_result
from pkm_estimation.calibration.simulate import (
    built_machine,
    drives_in_reach,
    measured_targets,
    poses_in_reach,
    targets_around,
)
from pkm_estimation.calibration.static_poses import StaticPoses
from pkm_estimation.config import EstimatorConfig
from pkm_estimation.nodes.node_settings import load_config

#: exit codes: a result is written; an error; data that determine nothing; a result that held-out data do not confirm
EXIT_CODES = {'good': 0, 'error': 1, 'insufficient': 3, 'not confirmed': 4}


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; returns one of :data:`EXIT_CODES`."""
    options = _parser().parse_args(args)
    try:
        return _run(options)
    except (PkmError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return EXIT_CODES['error']


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='calibrate', description=__doc__)
    parser.add_argument(
        'data', nargs='*', type=Path,
        help='recordings of IMU and legs in motion (bag, folder), and CSV files of static poses (see the tutorial)',
    )  # fmt: skip
    parser.add_argument('--machine', default='srs', help='name of a machine or path of a machine file (default: srs)')
    parser.add_argument('--overlay', type=Path, help='parameter overlay for the machine; what it says stays')
    parser.add_argument('--namespace', default='', help='namespace of the recorded topics')
    add_driver_arguments(parser)
    parser.add_argument('--config', type=Path, help='settings of the estimator (YAML), for recordings')
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
    overlay = None if options.output is None else options.output / 'calibration.yaml'
    if overlay is not None and overlay.exists():
        raise CalibrationDataError(f'{overlay} is there already; it is never replaced: give another folder with -o')
    constants, measurements = _measurements(options, machine)
    values, before, after = held_out(constants, measurements, _say)
    lines = [f'held-out data: mean square of the residuals {before:.4g} before, {after:.4g} after']
    solution = solve(constants, measurements, values, _say)
    for one in measurements:
        if isinstance(one, StaticPoses):
            slipped = slipped_target(one)
            if slipped:
                raise CalibrationDataError(slipped)
    lines += solution_report(solution, measurements)
    poses = poses_in_reach(constants.machine_at(solution.values))
    size = len(constants.geometry.kind)
    errors = PoseErrors(replace(constants.machine_at(solution.values), tolerances=machine.tolerances), *poses)
    moved, left = errors.size(solution.values[:size]), errors.deviation(solution.covariance[:size, :size])
    lines.append(
        f'pose error with the machine file {1e6 * moved[0]:.3g} um, {1e6 * moved[1]:.3g} urad; left now '
        f'{1e6 * left[0]:.3g} um, {1e6 * left[1]:.3g} urad (standard deviation; frames of base and platform taken out)'
    )
    verdict, code = verdict_of(solution, before, after)
    lines.append(f'verdict: {verdict}')
    print(*lines, sep='\n')
    if options.output is None:
        return EXIT_CODES[code]
    folder = make_folder(options.output)
    if overlay is not None and code == 'good':
        found = constants.machine_at(solution.values)
        others = tolerance_values(machine.tolerances, left[0] / errors.deviation(np.eye(size))[0])
        others |= imu_values(found) if constants.imu else {}
        method = f'calibrate: {size} constants of the geometry, maximum a posteriori'
        origin = ', '.join(map(str, options.data)), method
        print(f'wrote {write_calibration(overlay, machine.path, options.overlay, found, others, origin, poses)}')
        if constants.imu:
            settings = {'imu_delay': round(constants.delay_at(solution.values), 6)}
            path = folder / 'estimator.yaml'
            write_text(path, yaml.safe_dump({'/**': {'ros__parameters': settings}}))
            print(f'wrote {path}')
    sources = {'data': ', '.join(map(str, options.data)), 'machine': f'{machine.name}: {machine.description}'}
    write_result(folder, solution, lines, verdict, code == 'good', sources)
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


def _measurements(options: argparse.Namespace, machine: Machine) -> tuple[Constants, list[Measurement]]:
    """Constants of the problem, and all that was measured."""
    files = [path for path in options.data if path.suffix == '.csv' and not path.is_dir()]
    recordings = [
        read_bag(path, namespace=options.namespace, driver=machine.driver) for path in options.data if path not in files
    ]
    constants = Constants(machine)
    config = load_config(options.config) if options.config else EstimatorConfig()
    moving = [data for data in recordings if data.imu_data_raw is not None and not files]
    if moving:
        if len(moving) > 1:
            raise CalibrationDataError('one recording of a motion at a time; the delay of the IMU may differ')
        legs = moving[0].require(moving[0].joint_states, 'joint_states')
        if np.ptp(legs.positions, axis=0)[: machine.actuated_count].max() < 1e-3:
            raise CalibrationDataError('the machine never moved in the recording: record a motion in all freedoms')
        _say('estimator as it is, which finds an IMU that is far off')
        constants, config = of_motion(machine, moving[0], config)
    measurements: list[Measurement] = [Motion(constants, data, config) for data in moving]
    for path in files:
        data = recordings[0] if recordings else None
        static = read_static_poses(path, constants, options.noise, options.noise_rotation, data)
        require_usable(static)
        measurements.append(static)
    return constants, measurements






def _plan(options: argparse.Namespace, machine: Machine) -> int:
    random = np.random.default_rng(options.seed)
    drives, solution, errors = designed_poses(machine, options.plan, options.targets, options.noise, random, _say)
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
    path_of_truth = options.output / 'truth.yaml'
    if path_of_truth.exists():
        raise CalibrationDataError(f'{path_of_truth} is there already: give another folder with -o')
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


def _say(line: str) -> None:
    print(f'  {line}', file=sys.stderr, flush=True)


if __name__ == '__main__':
    sys.exit(main())
