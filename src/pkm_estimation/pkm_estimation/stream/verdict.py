"""Summary of a health report for /diagnostics: level, message and key-value pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.exchange.health import HealthReport
from pkm_estimation.exchange.output import EstimatorOutput
from pkm_estimation.models.extra_states import extra_state_units

#: per leg: measured minus predicted [m, rad], its standard deviation, and the square of their ratio
PARTS = ('innovation', 'sigma', 'nis')
#: normalised innovation squared of all legs together
TOTAL = 'nis'
#: counters of a run in which all is well
WELL = ('imu_received', 'legs_received', 'imu_accepted', 'legs_accepted', 'estimates', 'started')
#: warn if the mean NIS exceeds this many times its expected value, or a smaller fraction of innovations is in 2 sigma
NIS_FACTOR, LEAST_IN_BAND = 2.0, 0.8

#: what an estimate is asked for; the biases of an IMU that may be turned are not known before it has moved
MOTION = frozenset(('position', 'velocity', 'attitude'))
#: counters that belong to normal running
NORMAL = (*WELL, 'reset', 'foreign_joints')


def summarise(report: HealthReport, drive_count: int) -> tuple[str, str]:
    """Level (``ok``, ``warn``, ``error``) and message for one report window."""
    trouble, last = _trouble(report)
    if report.samples == 0:
        return 'error', f'no estimate: {_missing(report)}{last}'
    if 'unknown_joint' in report.event_counts:
        return 'error', f'{trouble}{last}'
    if report.mode_doubt:
        return 'warn', f'assembly mode unknown: {report.mode_doubt}'
    if report.lasting:
        return 'warn', f'over-confident: {report.lasting}'
    if report.left_out:
        left_out = '; '.join(f'{leg}: {why}' for leg, why in report.left_out.items())
        return 'warn', f'left out: {left_out}' + (f'; {report.imu_because}' if report.imu_because else '')
    if report.imu_because:
        return 'warn', f'the IMU was left out: {report.imu_because}'
    if trouble:
        return 'warn', f'{trouble}{last}'
    if report.nis_mean > NIS_FACTOR * drive_count or np.nanmin(report.in_band, initial=1.0) < LEAST_IN_BAND:
        return 'warn', (
            'innovations are larger than their covariance '
            f'(mean NIS {report.nis_mean:.3g}, expected about {drive_count}): '
            'check lever arm, mounting and delay of the IMU, leg offsets, or raise q_scale'
        )
    unconverged = ', '.join(report.unconverged).replace('_', ' ')
    if MOTION.intersection(report.unconverged):
        return 'warn', f'converging: {unconverged}'
    return 'ok', 'estimating' + (f'; not known yet: {unconverged}' if unconverged else '')


def units(position_units: Sequence[str]) -> dict[str, str]:
    """Units of what is estimated beside the motion, by name; ``position_units`` (A,) of the drives."""
    return {'accelerometer_bias': 'm/s^2', 'gyroscope_bias': 'rad/s'} | extra_state_units(position_units)


def values(
    report: HealthReport, drives: Sequence[str], position_units: Sequence[str] = ('m',)
) -> dict[str, object]:
    """Key-value pairs of one report window; ``drives`` (A,) names, and the units of their positions."""
    unit = units(position_units)
    result: dict[str, object] = {
        'estimates': report.samples,
        'imu rate [Hz]': report.imu_rate,
        'leg rate [Hz]': report.leg_rate,
        'mean NIS': report.nis_mean,
    }
    for drive, normalised, band in zip(drives, report.normalised_innovation, report.in_band, strict=True):
        result[f'{drive} normalised innovation rms'] = float(normalised)
        result[f'{drive} innovations within 2 sigma'] = float(band)
    for name in ('position', 'velocity', 'attitude', 'accelerometer_bias', 'gyroscope_bias'):
        if name in report.unconverged:
            state = 'not converged'
        else:
            state = f'converged {report.convergence_time.get(name, 0.0):.3g} s after the start'
        result[name.replace('_', ' ')] = state
    for name, (numbers, deviations) in report.estimated.items():
        pairs = zip(numbers, deviations, strict=True)
        result[f'estimated {name} [{unit[name]}]'] = ', '.join(f'{value:.6g} +- {sigma:.2g}' for value, sigma in pairs)
    if report.mode_doubt:
        result['assembly mode'] = f'unknown: {report.mode_doubt}'
    if report.noise_factors != (1.0, 1.0):
        result['adapted factor on the IMU noise'], result['adapted factor on the leg noise'] = report.noise_factors
    for name, (count, nis, size) in report.user_measurements.items():
        result[f'{name} mean NIS'] = f'{nis:.3g} of {count}, expected {size}'
    result |= {f'{leg} left out': why for leg, why in report.left_out.items()}
    result |= {f'{name}, found': mend for name, mend in report.found.items()}
    result |= {f'count {name}': count for name, count in sorted(report.counters.items())}
    return result


def summarise_baseline(report: HealthReport) -> tuple[str, str]:
    """Level and message of a baseline that runs alone."""
    trouble, last = _trouble(report)
    if report.samples == 0:
        return 'error', f'no estimate: {"no usable leg samples" if report.leg_rate == 0.0 else "no pose fits"}{last}'
    if trouble:
        return 'warn', f'{trouble}{last}'
    return 'ok', 'estimating'


def baseline_values(report: HealthReport) -> dict[str, object]:
    """Key-value pairs of a baseline that runs alone."""
    result: dict[str, object] = {'estimates': report.samples, 'leg rate [Hz]': report.leg_rate}
    return result | {f'count {name}': count for name, count in sorted(report.counters.items())}


def _trouble(report: HealthReport) -> tuple[str, str]:
    """Number and names of the events of trouble, and the last one as text; both empty if there were none."""
    counts = {name: count for name, count in report.event_counts.items() if name not in NORMAL}
    last = next((event for event in reversed(report.events) if event.name in counts), None)
    told = '' if last is None else f'; last: {last.name}: {last.detail}'
    return f'{sum(counts.values())} problems ({", ".join(sorted(counts))})' if counts else '', told


def _missing(report: HealthReport) -> str:
    if report.imu_rate == 0.0 and report.leg_rate == 0.0:
        return 'no usable IMU and leg samples'
    if report.imu_rate == 0.0:
        return 'no usable IMU samples'
    if report.leg_rate == 0.0:
        return 'no usable leg samples'
    return 'stamps of IMU and leg samples do not overlap'


def innovation_names(drives: Sequence[str]) -> list[str]:
    """Names of the numbers of a row, e.g. ``leg1_prismatic/sigma``; the last is that of all legs."""
    return [*(f'{drive}/{part}' for drive in drives for part in PARTS), TOTAL]


def innovation_rows(innovation: Array, std: Array, nis: Array) -> Array:
    """Numbers (N, 3 A + 1) in the order of the names; NaN at starts and for legs that were not used.

    Parameters
    ----------
    innovation, std : (N, A) m or rad
    nis : (N,)
    """
    per_leg = np.stack([innovation, std, np.square(innovation / std)], axis=2)
    return np.concatenate([per_leg.reshape(len(nis), -1), nis[:, None]], axis=1)


def innovation_row(output: EstimatorOutput) -> Array:
    """Numbers (3 A + 1,) of one estimate."""
    innovation = output.innovation
    if innovation is None:
        return np.full(len(PARTS) * len(output.drive_positions) + 1, np.nan)
    row: Array = innovation_rows(innovation.residual[None], innovation.std[None], np.array([innovation.nis]))[0]
    return row
