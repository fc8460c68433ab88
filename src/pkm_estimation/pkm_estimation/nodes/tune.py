"""Program ``tune BAG``: calibrate the sensors from a recording, and find settings of the estimator."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from pkm_description.loading.load import machine_of_options
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.profiles import profile
from pkm_description.report.words import time_of_data
from pkm_description.writing import make_folder, replacing

from pkm_estimation.bags import RecordedData, read_bag
from pkm_estimation.calibration.motion import between
from pkm_estimation.calibration.overlay import imu_values, new_overlay, write_calibration
from pkm_estimation.calibration.plan import poses_in_reach
from pkm_estimation.calibration.report import Findings
from pkm_estimation.calibration.sensors import foretold, observability_report, sensors_of_motion, sensors_report
from pkm_estimation.exchange.samples import IMU_UNITS
from pkm_estimation.nodes.node_settings import add_recording_arguments, load_config, run_program, say
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.tuning.allan import (
    LEAST_SAMPLES,
    allan_coefficients,
    allan_figure,
    allan_report,
    overlapping_allan_deviation,
    walk_settings,
    write_allan_table,
)
from pkm_estimation.tuning.static_calibration import (
    IMU_CHANNELS,
    LEG_OFFSET_STD,
    calibrate_static,
    require_standstill,
    static_report,
    write_sensor_overlay,
)
from pkm_estimation.tuning.streams import SensorStreams, TuningError, longest_stretch, usual_interval


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; returns 0, or 1 after an error."""
    return run_program(_parser(), _run, args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='tune', description=__doc__)
    parser.add_argument('bag', nargs='?', help='folder or file of a recording with joint_states and imu/data_raw')
    parser.add_argument(
        '--profile', metavar='NAME',
        help='without a recording: what a motion profile (mp1, mp2, fourier, ...) would tell about the constants',
    )  # fmt: skip
    parser.add_argument('--duration', type=float, default=60.0, help='of the profile [s] (default: %(default)g)')
    add_recording_arguments(parser, 'settings of the estimator that Q and R start from (YAML)')
    parser.add_argument(
        '-o', '--output', type=Path, metavar='OUT',
        help='folder for what is found: sensors.yaml (overlay), allan.png, .csv, estimator.yaml, report.html, .txt',
    )  # fmt: skip
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument('--static', action='store_true', help='the platform is at rest: noise, biases, Allan deviation')
    kind.add_argument('--motion', action='store_true', help='it moves: delay, models of errors, Q and R, observability')
    parser.add_argument('--keep-r', action='store_true', help='suggest Q alone')
    parser.add_argument('--begin', type=float, default=float('-inf'), help='leave out what is before [s]')
    parser.add_argument('--end', type=float, default=float('inf'), help='leave out what is after [s]')
    parser.add_argument(
        '--leg-offset-std', type=float, default=LEG_OFFSET_STD, metavar='M',
        help='standard deviation of the leg lengths\' constant errors [m] (default: %(default)g)',
    )  # fmt: skip
    return parser


def _run(options: argparse.Namespace) -> int:
    if (options.bag is None) == (options.profile is None):
        raise TuningError('give either a recording or --profile NAME')
    machine = machine_of_options(options)
    config = load_config(options.config)
    if options.profile is not None:
        solution = foretold(machine, _profile(machine, options), config, options.leg_offset_std)
        print(*observability_report(solution), sep='\n')
        return 0
    overlay = None if options.output is None else new_overlay(options.output, 'sensors.yaml')
    data = read_bag(options.bag, namespace=options.namespace, as_recorded=True, driver=machine.driver)
    streams = SensorStreams.from_recording(machine, data)
    if streams.dropped:
        print(
            f'warning: {streams.dropped} samples left out: not finite, without a stamp, or not newer than the one '
            'before (if the clock was set back, the part before that is used)', file=sys.stderr,
        )  # fmt: skip
    streams = streams.between(options.begin, options.end)
    if options.output is not None:
        make_folder(options.output)
    legs, imu = data.require(data.joint_states, 'joint_states').stamps, data.require(data.imu_data_raw, 'imu').stamps
    used = f'{streams.leg_time[0]:.2f} to {streams.leg_time[-1]:.2f} s'
    found = Findings(machine, {
        'recording': str(options.bag),
        'time of the recording': f'{time_of_data(int(legs[0]))}; used: {used}',
        'machine': f'{machine.name}: {machine.description}',
        'settings to begin with': 'defaults' if options.config is None else str(options.config),
    }, config.changed())  # fmt: skip
    if options.static or not (options.motion or _moves(machine, streams)):
        _static(options, streams, found, overlay)
    else:
        low, high = (round(1e9 * min(max(side, -1e9), 1e9)) for side in (options.begin, options.end))
        begin = int(min(legs[0], imu[0]))
        _motion(options, between(data, begin + low, begin + high), config, found, overlay)
    if options.output is not None:
        found.write(options.output)
    return 0


def _moves(machine: Machine, streams: SensorStreams) -> bool:
    try:
        require_standstill(machine, streams)
    except TuningError:
        return True
    return False


def _static(options: argparse.Namespace, streams: SensorStreams, found: Findings, overlay: Path | None) -> None:
    machine = found.machine
    calibration = calibrate_static(machine, streams, options.leg_offset_std)
    found.tell(static_report(machine, calibration, options.leg_offset_std))
    found.verdict = f'at rest: noise of the sensors and biases of the IMU from {options.bag}', True
    if overlay is not None:
        today = date.today().isoformat()
        print(f'wrote {write_sensor_overlay(overlay, machine, calibration, today, str(options.bag))}')
        if options.overlay is not None:
            print(f'(without what {options.overlay} says: programs take one overlay, so put both into one file)')
    stretch = longest_stretch(streams.imu_time)
    count = stretch.stop - stretch.start
    if count < LEAST_SAMPLES:
        found.tell([f'no Allan deviation: it needs {LEAST_SAMPLES} IMU samples without a gap; there are {count}'])
        return
    allan = overlapping_allan_deviation(streams.imu[stretch], usual_interval(streams.imu_time))
    coefficients = allan_coefficients(allan)
    lines = allan_report(allan, coefficients, IMU_CHANNELS, IMU_UNITS)
    if count < len(streams.imu_time):
        times = streams.imu_time[[stretch.start, stretch.stop - 1]]
        lines.append(f'of the IMU\'s longest stretch without gaps, {times[0]:.2f} to {times[1]:.2f} s')
    found.tell(lines)
    found.settings |= walk_settings(coefficients)
    figure = allan_figure(allan, coefficients, str(options.bag))
    found.pictures.append(('Allan deviation', figure))
    if options.output is None:
        return
    with replacing(options.output / 'allan.png') as beside:
        figure.savefig(beside, dpi=110, metadata={'Software': None})
    print(f'wrote {options.output / "allan.png"}')
    print(f'wrote {write_allan_table(options.output / "allan.csv", allan, IMU_CHANNELS)}')


def _motion(
    options: argparse.Namespace, data: RecordedData, config: EstimatorConfig, found: Findings, overlay: Path | None
) -> None:
    machine = found.machine
    result = sensors_of_motion(machine, data, config, options.leg_offset_std, options.keep_r, say)
    found.tell(sensors_report(result))
    found.tell(['constants of the sensors', *observability_report(result.solution)])
    found.verdict = result.verdict, result.is_better
    found.settings = result.config.changed() if result.is_better else {}
    if overlay is not None and result.is_better and result.machine is not machine:
        origin = str(options.bag), 'tune: constants of the sensors by a motion, maximum a posteriori'
        known, poses = result.machine, poses_in_reach(result.machine)
        path = write_calibration(overlay, machine.path, options.overlay, known, imu_values(known), origin, poses)
        print(f'wrote {path}')


def _profile(machine: Machine, options: argparse.Namespace) -> PlatformMotion:
    if not options.duration >= 2.0:
        raise TuningError(f'--duration {options.duration:g}: at least 2 s')
    try:
        return profile(options.profile, machine, options.duration)
    except ValueError as error:
        raise TuningError(str(error)) from None


if __name__ == '__main__':
    sys.exit(main())
