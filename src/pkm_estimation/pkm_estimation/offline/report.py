"""HTML report of an estimated recording: one file, no links."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from pkm_description.errors import PkmError
from pkm_description.machine import Machine
from pkm_description.report.page import render

from pkm_estimation.bags import RecordedData
from pkm_estimation.offline import plots
from pkm_estimation.offline.metrics import error_table, poses_of_truth
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.stream.verdict import NORMAL, UNITS, summarise

#: events that the report lists, the last ones
_MOST_EVENTS = 200


def report_text(
    result: EstimationResult, data: RecordedData, machine: Machine, config: EstimatorConfig, settling: float = 20.0
) -> str:
    """HTML text of the report; errors if the recording holds the truth, ``settling`` [s] left out of their table."""
    level, sentence = summarise(result.health, result.innovation.shape[1])
    legs = list(machine.drive_labels)
    judged = np.isfinite(result.nis)
    used = np.isfinite(result.innovation).sum(axis=1)
    first = int(result.motion.stamps[0])
    return render(
        'pkm_estimation',
        'report.html.j2',
        machine=machine.name,
        level=level,
        sentence=sentence,
        warnings=data.warnings,
        provenance=_provenance(result, data, machine, config),
        error_plot=_error_plot(result, data, config),
        error_text=_error_text(result, data, config, settling),
        innovation_plot=plots.innovation_plot(result, legs),
        legs=_leg_rows(result, legs),
        nis_plot=plots.nis_plot(result),
        nis_mean=float(result.nis[judged].mean()) if judged.any() else float('nan'),
        nis_expected=float(used[judged].mean()) if judged.any() else float('nan'),
        bias_plot=plots.bias_plot(result, legs),
        extra=bool(result.extra_states),
        estimated=_estimated_rows(result),
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
        'recording': data.path,
        'machine': f'{machine.name}: {machine.description}',
        'settings that are not defaults': ', '.join(changed) or 'none',
        'estimates': f'{len(result)} in {result.motion.duration:.2f} s, from {result.motion.stamps[0]} ns',
        'rates of accepted samples': f'IMU {result.health.imu_rate:.5g} Hz, legs {result.health.leg_rate:.5g} Hz',
        'starts': int(result.started.sum()),
        'later measurements': 'in motion, biases and states (smoothed), not in innovations and NIS'
        if result.is_smoothed
        else 'not used: what the filter knew at each instant',
    }


def _error_plot(result: EstimationResult, data: RecordedData, config: EstimatorConfig) -> str:
    if data.ground_truth is None:
        return ''
    return plots.error_plot(result, poses_of_truth(data.ground_truth, config.reference_point))


def _error_text(result: EstimationResult, data: RecordedData, config: EstimatorConfig, settling: float) -> str:
    if data.ground_truth is None:
        return 'The recording holds no ground_truth/odometry.'
    try:
        truth = poses_of_truth(data.ground_truth, config.reference_point)
        return error_table(result, truth, settling).text()
    except PkmError as error:
        return str(error)


def _leg_rows(result: EstimationResult, legs: list[str]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for leg, name in enumerate(legs):
        values, std = result.innovation[:, leg], result.innovation_std[:, leg]
        used = np.isfinite(values)
        ratio = values[used] / std[used]
        nothing = not used.any()
        rows.append(
            {
                'name': name,
                'used': float(used.mean()),
                'rms': float('nan') if nothing else float(np.sqrt(np.mean(values[used] ** 2))),
                'normalised': float('nan') if nothing else float(np.sqrt(np.mean(ratio**2))),
                'within': float('nan') if nothing else float(np.mean(np.abs(ratio) <= 2.0)),
            }
        )
    return rows


def _estimated_rows(result: EstimationResult) -> list[dict[str, object]]:
    return [
        {'name': f'{name.replace("_", " ")} {index + 1} [{UNITS[name]}]', 'value': float(value), 'sigma': float(sigma)}
        for name, (values, deviations) in result.health.estimated.items()
        for index, (value, sigma) in enumerate(zip(values, deviations, strict=True))
    ]
