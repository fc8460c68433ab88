"""Evaluation of a finished run: run the estimator again on the bag, read the identification, check the limits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pkm_description.bounded_yaml import bounded_file
from pkm_description.machine import Machine
from pkm_estimation.bags import RecordedData, read_bag
from pkm_estimation.offline.comparison import compare_with_live
from pkm_estimation.offline.estimate import estimate_recording
from pkm_estimation.stream import EstimatorConfig
from pkm_identification.columns.observation import ObservationModel, legs_agree
from pkm_identification.compare import ComparisonRow
from pkm_identification.configuration import IdentificationConfig

from pkm_bringup.demo.criteria import (
    SHORTEST_JUDGED,
    Criterion,
    DemoError,
    IdentificationFigures,
    bias_errors,
    estimation_errors,
    judge_identification,
    judge_payload,
    payload_of,
)
from pkm_bringup.demo.report import DemoOutcome
from pkm_bringup.demo.run import Timeline

#: s after which the filter counts as settled, and after which the biases do
SETTLED, BIASES_SETTLED = 20.0, 60.0

#: machine whose sensors the limits are for
JUDGED_MACHINE = 'srs'
#: s of excitation below which the identification's limits are not judged
SHORTEST_JUDGED_EXCITATION = 20.0


def assess(
    output: Path,
    true_machine: Machine,
    timeline: Timeline,
    config: EstimatorConfig,
    namespace: str,
    machine_file: str,
    say: Callable[[str], None],
) -> DemoOutcome:
    """Judge a finished run from the files that it left.

    Parameters
    ----------
    output : directory of the run with ``bag`` and ``identification``
    true_machine : as it is simulated; the estimator uses its geometry and sensors only
    timeline : of the run
    config : settings of the live estimator
    namespace : of the recorded topics
    machine_file : path that the machine was loaded from, empty for one of the suite
    say : takes lines of progress

    Raises
    ------
    PkmError
        If the bag or the identification's result cannot be read.
    """
    bag = output / 'bag'
    say('  reading the bag ...')
    data = read_bag(
        bag, namespace, require=('joint_states', 'imu/data_raw', 'ground_truth/odometry', 'platform/odometry')
    )
    tracking, excitation, payload = (timeline.phase(name) for name in ('tracking', 'excitation', 'payload'))
    estimation, (start, end) = judge_estimation(data, true_machine, tracking.end)
    figures = identification_figures(output / 'identification', true_machine)
    excuse = 'excitation too short' if excitation.duration < SHORTEST_JUDGED_EXCITATION else ''
    too_short = 'motion too short' if excuse or payload.end - payload.drop < SHORTEST_JUDGED else ''
    return DemoOutcome(
        machine=true_machine.name,
        groups={
            f'estimation, {start:.0f} s to {end:.0f} s, worst axis': estimation,
            'identification': judge_identification(figures, excuse),
            'a payload on the platform': judge_payload(
                output / 'online', payload_of(true_machine), payload.drop, too_short
            ),
            'consistency': [
                _recomputed(true_machine, data, config, say), _completeness(data, timeline, true_machine)
            ],
        },
        figures=figures,
        bag=bag,
        notes=data.warnings,
        machine_file=machine_file,
        namespace=namespace,
    )  # fmt: skip


def _recomputed(
    machine: Machine, data: RecordedData, config: EstimatorConfig, say: Callable[[str], None]
) -> Criterion:
    """Run the estimator over the bag; count the live messages that it does not reproduce to the last bit."""
    say('  recomputing the estimator from the bag ...')
    live = data.require(data.platform_odometry, 'platform/odometry')
    offline = estimate_recording(machine, data, config, start_stamp_ns=int(live.stamps[0]))
    comparison = compare_with_live(offline.motion, live)
    say(
        f'  {comparison.reproduced} of {comparison.recorded} live estimates recomputed bit by bit'
        + (f'; first difference: {comparison.difference}' if comparison.difference else '')
    )
    return Criterion('live estimates that differ offline', comparison.recorded - comparison.reproduced, 0)


def _completeness(data: RecordedData, timeline: Timeline, machine: Machine) -> Criterion:
    """Part of the sensor samples that the bag lacks."""
    expected = timeline.end * (machine.leg_sensors.rate + machine.imu.rate)
    legs, imu = (
        data.require(data.joint_states, 'joint_states'),
        data.require(data.imu_data_raw, 'imu/data_raw'),
    )
    found = sum(int((stream.stamps <= round(timeline.end * 1e9)).sum()) for stream in (legs, imu))
    return Criterion('sensor samples missing in the bag', max(0.0, 1.0 - found / expected), 1e-3, '%', 100.0)


def identification_figures(directory: Path, true_machine: Machine) -> IdentificationFigures:
    """Read the output of the identification node and compare it with the true values.

    Raises
    ------
    DemoError
        If a file is missing or not as expected.
    """
    path = directory / 'parameters.yaml'
    try:
        content = bounded_file(path)
        config = IdentificationConfig.from_mapping(content['settings']).columns
        identical = config.identical_legs and legs_agree(true_machine)
        model = ObservationModel(true_machine, identical, config.friction, config.fixed)
        true_values = dict(zip(model.names, model.parameters(true_machine).tolist(), strict=True))
        # a machine file does not state offsets and ripples of sensors: their true values are not known
        stated = np.array([name in true_values for name in content['parameters']])
        combination = np.array(content['combination'])
        full = np.array([true_values.get(name, 0.0) for name in content['parameters']])
        is_open = np.any(combination[:, ~stated], axis=1).tolist()
        compared = zip(content['base_parameters'], combination @ full, is_open, strict=True)
        rows = [_row(entry, true) for entry, true, unknown in compared if not unknown]
        overlay = directory / 'overlay.yaml'
        return IdentificationFigures(
            base=tuple(row for row in rows if row.status == 'identified'),
            physical=tuple(
                _row(entry, true_values[entry['name']])
                for entry in content['physical_parameters'] if entry['name'] in true_values
            ),
            held_out_force_error=float(content['force_error']['validation']['relative_to_force_rms']),
            report=str(directory / 'report.html'),
            overlay=str(overlay) if overlay.exists() else '',
        )
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise DemoError(f'{path}: the result of the identification cannot be read: {error!r}') from error


def _row(entry: dict[str, Any], truth: float) -> ComparisonRow:
    status = str(entry.get('status', ''))
    return ComparisonRow(str(entry['name']), float(entry['value']), float(entry['std']), float(truth), status)


def judge_estimation(
    data: RecordedData, machine: Machine, end: float
) -> tuple[list[Criterion], tuple[float, float]]:
    """Judge the motion that ends at ``end`` s: root mean squares per axis, the worst axis counts.

    Returns
    -------
    criteria, and the window [s] that the errors were taken over

    Raises
    ------
    MissingTopicError
        If the bag lacks truth, estimate, baseline or the IMU streams.
    """
    truth = data.require(data.ground_truth, 'ground_truth/odometry')
    short = f'needs {SETTLED:.0f} s to settle' if end < 1.5 * SETTLED else ''
    window = (SETTLED if not short else end / 2, end)
    other = '' if machine.name == JUDGED_MACHINE else f'the limits are for the sensors of {JUDGED_MACHINE}'
    estimate, baseline = (
        estimation_errors(truth, data.require(stream, topic), *window)
        for stream, topic in (
            (data.platform_odometry, 'platform/odometry'), (data.baseline_odometry, 'baseline/odometry'),
        )
    )  # fmt: skip
    criteria = [
        Criterion(
            name, float(getattr(estimate, field).max()), limit, unit, scale,
            baseline=float(getattr(baseline, field).max()), excuse=short or other,
        )
        for name, field, limit, unit, scale in (
            ('position error, rms', 'position', 1e-5, 'um', 1e6),
            ('velocity error, rms', 'velocity', 2e-4, 'mm/s', 1e3),
            ('attitude error, rms (quaternion)', 'attitude', 5e-6, 'e-6', 1e6),
        )
    ]  # fmt: skip
    gain = float(np.divide(baseline.velocity.max(), estimate.velocity.max()))
    what = 'velocity, baseline error / estimator error'
    criteria.append(Criterion(what, gain, 2.0, at_least=True, excuse=short or other))
    raw, corrected = data.require(data.imu_data_raw, 'imu/data_raw'), data.require(data.imu_data, 'imu/data')
    excuse = f'needs {BIASES_SETTLED:.0f} s' if end < BIASES_SETTLED else ''
    errors = bias_errors(machine.imu, raw, corrected, BIASES_SETTLED if not excuse else end / 2, end)
    criteria += [
        Criterion(f'{name} bias error, rms', error, 1e-4, unit, excuse=excuse or other)
        for error, name, unit in zip(errors, ('accelerometer', 'gyroscope'), ('m/s2', 'rad/s'), strict=True)
    ]
    return criteria, window
