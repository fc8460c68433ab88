"""Program ``estimate BAG``: the estimator over a recording, with the node's own code."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from pkm_description.errors import PkmError
from pkm_description.loading.load import machine_of_options

from pkm_estimation.bags import RecordedData, read_bag
from pkm_estimation.nodes.node_settings import add_recording_arguments, load_config, run_program
from pkm_estimation.offline.comparison import compare_innovations, compare_with_live
from pkm_estimation.offline.estimate import estimate_recording
from pkm_estimation.offline.metrics import error_table, poses_of_truth
from pkm_estimation.offline.report import report_text, write_result
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.stream.verdict import NORMAL, innovation_names, innovation_rows, summarise, units


def main(args: Sequence[str] | None = None) -> int:
    """Run the program; returns 0, 1 after an error, 2 if ``--compare-live`` finds a difference."""
    return run_program(_parser(), _run, args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='estimate',
        description='Estimate the motion of the platform from a recording of joint_states and imu/data_raw.',
    )
    parser.add_argument('bag', help='folder or file of the recording')
    parser.add_argument(
        '-o', '--output', type=Path,
        help='folder for report.html, estimate.npz, estimate.csv, innovations.csv and summary.txt',
    )  # fmt: skip
    add_recording_arguments(parser, "settings: a YAML file as for the node's parameters")
    parser.add_argument('--start-stamp', type=int, help='leave out leg measurements before this stamp [ns]')
    parser.add_argument('--settling', type=_seconds, default=20.0, help='seconds left out of the errors (default: 20)')
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        '--smooth', action='store_true',
        help='take later measurements into account, too: smaller errors, at a third of the speed',
    )  # fmt: skip
    way.add_argument(
        '--compare-live', action='store_true',
        help='start where the recorded platform/odometry starts and require the same numbers bit by bit',
    )  # fmt: skip
    return parser


def _seconds(text: str) -> float:
    value = float(text)
    if not 0.0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f'{text}: must be a number of seconds, not negative')
    return value


def _run(options: argparse.Namespace) -> int:
    machine = machine_of_options(options)
    config = load_config(options.config)
    data = read_bag(options.bag, namespace=options.namespace, as_recorded=True, driver=machine.driver)
    start, baseline_start = options.start_stamp, None
    if options.compare_live:
        live = data.require(data.platform_odometry, 'platform/odometry')
        start = int(live.stamps[0])
        if data.baseline_odometry is not None:
            baseline_start = int(data.baseline_odometry.stamps[0])
    began = time.monotonic()
    result = estimate_recording(machine, data, config, start, baseline_start, _progress('estimating'), options.smooth)
    spent = time.monotonic() - began
    summary = describe(result, data, options.settling, config, machine.position_units)
    print(summary)
    seconds = result.motion.duration
    print(
        f'{len(result)} estimates: {seconds:.1f} s of recording in {spent:.1f} s ({seconds / spent:.1f} x real time)'
    )
    if options.output is not None:
        report = report_text(result, data, machine, config, options.settling)
        for path in write_result(result, options.output, summary, report, machine.actuated_joint_names):
            print(f'wrote {path}')
    return _compare(result, data, machine.actuated_joint_names) if options.compare_live else 0


def describe(
    result: EstimationResult,
    data: RecordedData,
    settling: float,
    config: EstimatorConfig,
    position_units: Sequence[str],
) -> str:
    """Summary as text: events, biases, consistency, and errors if the recording contains ground truth."""
    lines = [f'{data.path}: {summarise(result.health, result.innovation.shape[1])[1]}']
    lines += [f'{name}, found by the motion: {mend}' for name, mend in result.health.found.items()]
    if result.is_smoothed:
        lines.append('smoothed: errors are those of the smoothed motion; events, biases and NIS are the filter\'s')
    for name, count in sorted(result.health.counters.items()):
        if name not in NORMAL:
            lines.append(f'  {name}: {count}')
    for name, (values, deviations) in result.health.estimated.items():
        pairs = ', '.join(f'{value:.6f} +- {sigma:.1e}' for value, sigma in zip(values, deviations, strict=True))
        lines.append(f'{name.replace("_", " ")} at the end [{units(position_units)[name]}]: {pairs}')
    late = result.motion.stamps >= result.motion.stamps[0] + round(settling * 1e9)
    if np.isfinite(result.nis[late]).any():
        lines.append(f'mean NIS after {settling:g} s: {np.nanmean(result.nis[late]):.2f}')
    if data.ground_truth is None:
        lines.append('no ground_truth/odometry in the recording: no errors to show')
    else:
        truth = poses_of_truth(data.ground_truth, config.reference_point)
        try:
            lines.append(error_table(result, truth, settling).text())
        except PkmError as error:  # the estimate is there nevertheless
            lines.append(f'no errors to show: {error}')
    return '\n'.join(lines)


def _compare(result: EstimationResult, data: RecordedData, drives: Sequence[str]) -> int:
    code = 0
    comparisons = {
        topic: compare_with_live(ours, live)
        for topic, ours, live in (
            ('platform/odometry', result.motion, data.platform_odometry),
            ('baseline/odometry', result.baseline, data.baseline_odometry),
        )
        if live is not None
    }
    if data.platform_innovations is not None:
        rows = innovation_rows(result.innovation, result.innovation_std, result.nis)
        comparisons['platform/innovations'] = compare_innovations(
            result.motion.stamps, innovation_names(drives), rows, data.platform_innovations
        )
    for topic, comparison in comparisons.items():
        shared = comparison.recorded - comparison.only_live
        if comparison.identical:
            print(f'{topic}: all {shared} recorded messages reproduced bit by bit')
        elif not shared:
            print(f'{topic}: {comparison.difference}')
            code = 2
        else:
            apart = '' if topic == 'platform/innovations' else (
                f'; positions that both have differ by at most {1e6 * comparison.largest:.3g} um'
            )
            print(f'{topic}: {comparison.reproduced} of {shared} reproduced, then {comparison.difference}{apart}')
            code = 2
        if shared and comparison.only_live:
            print(
                f'{topic}: {comparison.only_live} of {comparison.recorded} recorded messages come before the first '
                'estimate offline: the sensor data for them were not recorded, and the filter started later'
            )
        if comparison.only_offline:
            print(f'{topic}: {comparison.only_offline} estimates between them were not recorded')
    return code


def _progress(what: str) -> Callable[[float], None]:
    """Print progress at most once a second; quiet for short work."""
    last = time.monotonic()

    def show(part: float) -> None:
        nonlocal last
        if time.monotonic() - last >= 1.0:
            last = time.monotonic()
            print(f'{what}: {100 * part:.0f} %', flush=True)

    return show


if __name__ == '__main__':
    raise SystemExit(main())
