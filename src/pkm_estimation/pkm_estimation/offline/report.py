"""HTML report of an estimated recording: one file, no links; the verdict first, then the motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from scipy.special import chdtri

from pkm_estimation.bags import RecordedData
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline import plots
from pkm_estimation.offline.metrics import ErrorTable, error_table, matching, pose_error_squared, poses_of_truth
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.stream.verdict import NORMAL, innovation_names, innovation_rows, summarise
from pkm_estimation.stream.verdict import units as units_of

#: s of a window, fewest estimates in one, and what is left out after each start
WINDOW, LEAST_ESTIMATES, AFTER_START = 1.0, 20, 1.0
#: probability that a right filter has a window above the bound anywhere, and the least ratio that matters
FALSE_ALARM, MATTERS = 1e-3, 1.3
#: of the windows after the first bad one, the part from which on it is "from ... on"
LASTING = 0.8
#: ratio of how much the input changes in bad windows and in others from which on that is named
FASTER = 2.0


@dataclass(frozen=True)
class Windows:
    """Innovations of W windows.

    Attributes
    ----------
    begin : (W,) s after the first estimate
    ratio : (W,) sum of NIS by what is expected
    upper, lower : (W,) bounds of the ratio for a filter that is right
    quickness : (W, 6) rms change of the corrected samples from one to the next
    rows : of the estimates in each window
    """

    begin: Array
    ratio: Array
    upper: Array
    lower: Array
    quickness: Array
    rows: tuple[NDArray[np.intp], ...]

    @property
    def too_large(self) -> NDArray[np.bool_]:
        """Windows whose innovations are larger than claimed, in earnest."""
        return (self.ratio > self.upper) & (self.ratio > MATTERS)


@dataclass(frozen=True)
class Judgement:
    """Verdict.

    Attributes
    ----------
    sentence : in words
    is_good : whether claims hold
    """

    sentence: str
    is_good: bool


def judge(result: EstimationResult, truth: MotionEstimate | None = None) -> Judgement:
    """Verdict by the innovations, and by the errors where the true motion is known."""
    windows = windows_of(result)
    known, by_truth = (True, '') if truth is None else _by_truth(result, truth)
    alone = float(result.by_legs_alone.mean())
    if not len(windows.begin):
        if not alone:
            text = f'{len(result)} estimates are too few to say whether they are consistent'
            return Judgement(f'Not judged: {text}.', False)
        parts = [f'Without the IMU nearly all the time{_why_alone(result)}: legs alone, whose noise adapts', by_truth]
        return Judgement(f'{"; ".join(filter(None, parts))}.', False)
    bad = windows.too_large
    nis = f'innovations {_mean(windows.ratio[~bad] if (~bad).any() else windows.ratio):.3g} times as claimed (squares)'
    parts = []
    if bad.any():
        reason = _reason(result, windows, bad)
        parts.append(f'Over-confident {_when(windows, bad)}: {reason}')
        if (~bad).any():
            parts.append(f'otherwise {nis}')
    elif _mean(windows.ratio) < 1.0 / MATTERS and np.mean(windows.ratio < windows.lower) > 0.5:
        parts.append(f'Too cautious: {nis}; noise is set larger than it is')
    else:
        parts.append(f'Consistent: {nis}, in none of {len(bad)} windows of {WINDOW:g} s too large')
    is_good = not bad.any() and not parts[0].startswith('Too') and known
    if not known and parts[0].startswith('Consistent'):
        parts[0] = f'Over-confident by the recorded truth, though innovations are consistent ({nis})'
    if alone:
        parts.append(f'the IMU was left out in {100.0 * alone:.3g} % of the estimates{_why_alone(result)}')
    parts.append(by_truth)
    return Judgement(f'{"; ".join(filter(None, parts))}.', is_good)


def windows_of(result: EstimationResult) -> Windows:
    """Windows of all estimates that are settled and have innovations."""
    time = (result.motion.stamps - result.motion.stamps[0]) * 1e-9
    begins = time[result.started]
    since = time - begins[np.clip(np.searchsorted(begins, time, side='right') - 1, 0, None)]
    degrees = np.isfinite(result.innovation).sum(axis=1)
    usable = np.isfinite(result.nis) & (since >= AFTER_START) & (degrees > 0) & ~result.by_legs_alone
    samples = np.hstack([result.specific_force, result.angular_rate])
    change = np.zeros_like(samples)
    change[1:] = np.diff(samples, axis=0)
    number = np.floor(time / WINDOW).astype(np.intp)
    rows = [np.flatnonzero(usable & (number == window)) for window in np.unique(number[usable])]
    rows = [chosen for chosen in rows if len(chosen) >= LEAST_ESTIMATES]
    freedom = np.array([degrees[chosen].sum() for chosen in rows], dtype=float)
    tail = FALSE_ALARM / max(len(rows), 1)
    return Windows(
        np.array([time[chosen[0]] for chosen in rows]),
        np.array([result.nis[chosen].sum() for chosen in rows]) / freedom,
        chdtri(freedom, tail) / freedom,
        chdtri(freedom, 1.0 - tail) / freedom,
        np.array([np.sqrt(np.mean(change[chosen] ** 2, axis=0)) for chosen in rows]).reshape(-1, samples.shape[1]),
        tuple(rows),
    )


def _why_alone(result: EstimationResult) -> str:
    """Why the IMU was left out, in brackets."""
    told = [event for event in result.health.events if event.name.startswith('imu_') and event.name != 'imu_returned']
    return f' ({told[0].detail})' if told else ''


def _when(windows: Windows, bad: NDArray[np.bool_]) -> str:
    """From when on, or from when to when, in words."""
    first, last = int(np.flatnonzero(bad)[0]), int(np.flatnonzero(bad)[-1])
    begin, end = windows.begin[first], windows.begin[last] + WINDOW
    if bad.all():
        return 'all the time'
    if last == len(bad) - 1 and bad[first:].mean() >= LASTING:
        return f'from {begin:.0f} s on'
    if bad[first : last + 1].mean() >= LASTING:
        return f'from {begin:.0f} to {end:.0f} s'
    return f'in {bad.sum()} of {len(bad)} windows of {WINDOW:g} s, the first at {begin:.0f} s, the last at {end:.0f} s'


def _reason(result: EstimationResult, windows: Windows, bad: NDArray[np.bool_]) -> str:
    """What is wrong, as far as it can be told: a ranked cause, or what goes together with it."""
    size = f'innovations {_mean(windows.ratio[bad]):.3g} times as claimed (squares)'
    findings = result.health.findings
    if findings:
        return f'{size}; likeliest {findings[0].name} ({findings[0].size}): {findings[0].mend}'
    told = {event.name: event.detail for event in result.health.events if event.name == 'over_confident_because'}
    if told:
        return f'{size}; likeliest {told["over_confident_because"]}'
    squares = _leg_squares(result, np.concatenate([windows.rows[k] for k in np.flatnonzero(bad)]))
    worst = int(np.nanargmax(squares))
    others = np.delete(squares, worst)
    if squares[worst] > 3.0 * np.nanmax(others, initial=0.0):
        return f'{size}; drive {worst + 1} alone is {squares[worst]:.3g} times'
    if (~bad).any():
        usual = windows.quickness[~bad].mean(axis=0)
        times = float(np.max(windows.quickness[bad].mean(axis=0) / np.where(usual > 0.0, usual, np.inf)))
        if times > FASTER:
            return f'fast motion, samples of the IMU change {times:.2g} times as much as otherwise; {size}'
    return f'{size}; nothing recorded goes together with it'


def _leg_squares(result: EstimationResult, rows: NDArray[np.intp]) -> Array:
    ratios = (result.innovation / result.innovation_std)[rows]
    seen = np.isfinite(ratios)
    count = np.where(seen.any(axis=0), seen.sum(axis=0), np.nan)
    squares: Array = np.square(np.where(seen, ratios, 0.0)).sum(axis=0) / count
    return squares


def _by_truth(result: EstimationResult, truth: MotionEstimate) -> tuple[bool, str]:
    """Whether the pose's errors are as claimed, and by how much not; empty without a common stamp."""
    begin, end = int(result.motion.stamps[0]) + round(1e9 * AFTER_START), int(result.motion.stamps[-1])
    ours, true = matching(result.motion.stamps, truth.stamps, begin, end)
    if len(ours) < LEAST_ESTIMATES:
        return True, ''
    times = float(np.sqrt(np.mean(pose_error_squared(result.motion, ours, truth, true)) / 6.0))
    return times < MATTERS, f'errors of the pose against the recorded truth {times:.3g} times as claimed'


def _mean(values: Array) -> float:
    return float(np.mean(values))


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
    changed = [f'{name} = {getattr(config, name)!r}' for name in config.changed()]
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
    } | {f'{name}, found': mend for name, mend in result.health.found.items()}


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
