"""HTML report of an estimated recording: one file, no links; the verdict first, then the motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.machine import Machine
from pkm_description.report.page import render
from pkm_description.report.words import now_in_words, scale_of, time_of_data
from pkm_description.writing import replacing_together

from pkm_estimation.bags import RecordedData
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline import plots
from pkm_estimation.offline.judgement import judge
from pkm_estimation.offline.metrics import ErrorTable, error_table, poses_of_truth
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.stream.verdict import NORMAL, innovation_names, innovation_rows, summarise
from pkm_estimation.stream.verdict import units as units_of

_CSV_COLUMNS = (
    ('position', ('x', 'y', 'z')),
    ('orientation', ('x', 'y', 'z', 'w')),
    ('linear_velocity', ('x', 'y', 'z')),
    ('angular_velocity', ('x', 'y', 'z')),
)
#: events that the report lists, the last ones
_MOST_EVENTS = 200

Row = dict[str, object]


def report_text(
    result: EstimationResult, data: RecordedData, machine: Machine, config: EstimatorConfig, settling: float = 20.0
) -> str:
    """HTML text of the report; errors if the recording holds the truth, ``settling`` [s] left out of their table."""
    level, sentence = summarise(result.health, result.innovation.shape[1])
    legs, units = list(machine.drive_labels), machine.position_units
    judged = np.isfinite(result.nis)
    used = np.isfinite(result.innovation).sum(axis=1)
    first = int(result.motion.stamps[0])
    truth = None
    if data.ground_truth is not None:
        truth = poses_of_truth(data.ground_truth, config.reference_point)
    judgement = judge(result, truth)
    table, without = _errors(result, truth, settling)
    return render(
        'pkm_estimation',
        'report.html.j2',
        machine=machine.name,
        judgement=judgement,
        diagnostics=f'Diagnostics at the end: {level}: {sentence}.',
        warnings=data.warnings,
        provenance=_provenance(result, data, machine, config),
        motion_plot=plots.motion_plot(result),
        error_plot='' if truth is None else plots.error_plot(result, truth),
        errors=table,
        error_text=without,
        innovation_plot=plots.innovation_plot(result, legs, units),
        legs=_leg_rows(result, legs, units),
        nis_plot=plots.nis_plot(result),
        nis_mean=float(result.nis[judged].mean()) if judged.any() else float('nan'),
        nis_expected=float(used[judged].mean()) if judged.any() else float('nan'),
        bias_plot=plots.bias_plot(result, legs, units),
        extra=bool(result.extra_states),
        estimated=_estimated_rows(result, units),
        rate_plot=plots.rate_plot(result),
        counters=sorted(result.health.counters.items()),
        normal=NORMAL,
        events=[
            {'time': (event.stamp - first) * 1e-9, 'name': event.name, 'detail': event.detail}
            for event in result.health.events[-_MOST_EVENTS:]
        ],
    )


def _provenance(
    result: EstimationResult, data: RecordedData, machine: Machine, config: EstimatorConfig
) -> dict[str, object]:
    default = EstimatorConfig()
    changed = [
        f'{entry.name} = {getattr(config, entry.name)!r}'
        for entry in fields(config)
        if getattr(config, entry.name) != getattr(default, entry.name)
    ]
    return {
        'this report': f'made on {now_in_words()} (wall clock)',
        'recording': data.path,
        'time of the recording': f'{time_of_data(int(result.motion.stamps[0]))}, {result.motion.duration:.2f} s',
        'machine': f'{machine.name}: {machine.description}',
        'tolerances of the machine': f'{machine.tolerances}; covariances claim {config.claim}',
        'settings that are not defaults': ', '.join(changed) or 'none',
        'estimates': len(result),
        'rates of accepted samples': f'IMU {result.health.imu_rate:.5g} Hz, legs {result.health.leg_rate:.5g} Hz',
        'starts': int(result.started.sum()),
        'later measurements': 'in motion, biases and states (smoothed), not in innovations and NIS'
        if result.is_smoothed
        else 'not used: what the filter knew at each instant',
    }


def _errors(result: EstimationResult, truth: MotionEstimate | None, settling: float) -> tuple[Row, str]:
    """Rms errors in a readable unit, and what to say of them, or why there are none."""
    if truth is None:
        return {}, 'The recording holds no ground_truth/odometry.'
    try:
        table = error_table(result, truth, settling)
    except PkmError as error:
        return {}, str(error)
    return {'rows': _error_rows(table), 'note': table.note()}, ''


def _error_rows(table: ErrorTable) -> list[Row]:
    rows: list[Row] = []
    for name, unit, factor in (
        ('position', 'm', 1.0),
        ('velocity', 'm/s', 1.0),
        ('attitude', 'rad', 2.0),  # in the table half the angle
        ('angular_velocity', 'rad/s', 1.0),
    ):
        ours, theirs = (factor * getattr(errors, name) for errors in (table.estimate, table.baseline))
        scale = scale_of(unit, ours, plots.LEAST[unit])
        rows.append({
            'name': name.replace('_', ' '), 'unit': scale.unit,
            'ours': [float(value) for value in scale.factor * ours],
            'theirs': [float(value) for value in scale.factor * theirs],
        })  # fmt: skip
    return rows


def _leg_rows(result: EstimationResult, legs: list[str], units: tuple[str, ...]) -> list[Row]:
    rows: list[Row] = []
    for leg, (name, unit) in enumerate(zip(legs, units, strict=True)):
        values, std = result.innovation[:, leg], result.innovation_std[:, leg]
        used = np.isfinite(values)
        ratio = values[used] / std[used]
        nothing, scale = not used.any(), plots.innovation_scale(result, unit)
        rows.append(
            {
                'name': name,
                'unit': scale.unit,
                'used': float(used.mean()),
                'rms': float('nan') if nothing else scale.factor * float(np.sqrt(np.mean(values[used] ** 2))),
                'normalised': float('nan') if nothing else float(np.sqrt(np.mean(ratio**2))),
                'within': float('nan') if nothing else float(np.mean(np.abs(ratio) <= 2.0)),
            }
        )
    return rows


def _estimated_rows(result: EstimationResult, units: tuple[str, ...]) -> list[Row]:
    return [
        {
            'name': f'{name.replace("_", " ")} {index + 1 if name == "leg_offsets" else _axis(index, values)}'.rstrip(),
            'unit': units_of(units)[name],
            'value': float(value),
            'sigma': float(sigma),
        }
        for name, (values, deviations) in result.health.estimated.items()
        for index, (value, sigma) in enumerate(zip(values, deviations, strict=True))
    ]


def _axis(index: int, values: np.ndarray) -> str:
    return 'xyz'[index] if len(values) == 3 else ''


def write_result(
    result: EstimationResult, folder: Path, summary: str, report: str, drives: Sequence[str]
) -> list[Path]:
    """Write report, arrays, motion, innovations and summary; returns their paths.

    Parameters
    ----------
    drives : names, in the order of the result's columns

    Raises
    ------
    UnwritableError
        The files of an earlier run stay as they were.
    """
    with replacing_together(folder) as beside:
        arrays: dict[str, Any] = {
            f'{prefix}{name}': value
            for prefix, part in (('', result.motion), ('baseline_', result.baseline), ('', result))
            for name, value in vars(part).items()
            if isinstance(value, np.ndarray)
        }
        np.savez_compressed(beside / 'estimate.npz', **arrays)
        names = ['stamp_ns'] + [f'{field}_{axis}' for field, axes in _CSV_COLUMNS for axis in axes] + ['nis']
        table = np.column_stack([*(getattr(result.motion, field) for field, _ in _CSV_COLUMNS), result.nis])
        _write_table(beside / 'estimate.csv', names, result.motion.stamps, table)
        rows = innovation_rows(result.innovation, result.innovation_std, result.nis)
        _write_table(beside / 'innovations.csv', ['stamp_ns', *innovation_names(drives)], result.motion.stamps, rows)
        (beside / 'summary.txt').write_text(summary + '\n', encoding='utf-8')
        (beside / 'report.html').write_text(report, encoding='utf-8')
    files = ('report.html', 'estimate.npz', 'estimate.csv', 'innovations.csv', 'summary.txt')
    return [folder / name for name in files]


def _write_table(path: Path, names: Sequence[str], stamps: NDArray[np.int64], table: Array) -> None:
    """Write a row of numbers for each stamp; their digits give the same doubles again."""
    with path.open('w', encoding='utf-8') as file:
        file.write(','.join(names) + '\n')
        for stamp, row in zip(stamps, table.tolist(), strict=True):
            file.write(f'{stamp},' + ','.join(map(repr, row)) + '\n')
