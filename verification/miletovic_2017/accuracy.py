"""S3-19 to S3-31: errors of the estimates, covariance, forms, white innovations, consistency, observability."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from pkm_estimation.filters import CovarianceError, ScaledUnscentedTransform
from pkm_estimation.models import STATE_SIZE
from pkm_estimation.sensors import imu_truth
from pkm_estimation.stream import EstimatorConfig, PlatformFilter
from scipy.stats import chi2

from verification.check import Check, at_least, at_most, equal, holds, refused, within
from verification.consistency.monte_carlo import Normalised, at_all_times_check
from verification.miletovic_2017 import filter_run
from verification.miletovic_2017.pipeline_run import Laboratory
from verification.miletovic_2017.scenario import (
    DEFAULT,
    INTERVAL,
    PRINTED,
    RATE,
    Scenario,
    machine_named,
    profile_named,
)

FILTERS = (('printed filter', PRINTED), ('default filter', DEFAULT))


def each_filter(lab: Laboratory) -> Iterator[tuple[str, list[filter_run.FilterRun]]]:
    """Runs of both filters with every seed, motion by motion, with a title."""
    for motion in ('mp1', 'mp2'):
        for name, config in FILTERS:
            yield f'{motion}, {name}', lab.monte_carlo(Scenario(motion=motion, config=config))


#: id, quantity, rows of the state, printed order, limit from an independent prototype, unit
LIMITS = (
    ('S3-19', 'position', slice(0, 3), 1e-5, 6e-6, 'm'),
    ('S3-20', 'velocity', slice(3, 6), 1e-4, 5e-5, 'm/s'),
    ('S3-21', 'quaternion', slice(6, 9), None, 2e-6, ''),
)

#: frequencies of MP1, Hz
MP1_LINES = (0.2, 0.4)


def errors(lab: Laboratory) -> Iterator[Check]:
    """S3-19 to S3-23, pooled over the seeds, largest of the three axes."""
    end = lab.duration if lab.quick else 60.0
    for name, runs in each_filter(lab):
        rms = filter_run.pooled_rms(runs, lab.settling)
        for id, quantity, rows, order, limit, unit in LIMITS:
            what = f'{name}: {quantity}, rms'
            if order is not None:
                yield at_most(id, f'{what} (printed order)', order, rms[rows], unit)
            yield at_most(id, what, limit, rms[rows], unit)
        yield from bias_checks(('S3-22', 'S3-23'), name, runs, end)


def bias_checks(ids: tuple[str, str], name: str, runs: list[filter_run.FilterRun], end: float) -> Iterator[Check]:
    """Errors of the biases of accelerometer and gyroscope at the end [s]."""
    last = np.sqrt(np.mean([run.error[run.time >= end - INTERVAL][0] ** 2 for run in runs], axis=0))
    yield at_most(ids[0], f'{name}: accelerometer biases after {end:g} s, rms', 5e-5, last[9:12], 'm/s^2')
    yield at_most(ids[1], f'{name}: gyroscope biases after {end:g} s, rms', 1e-5, last[12:15], 'rad/s')


def corrected_signals(lab: Laboratory) -> Iterator[Check]:
    """S3-24: the error of corrected rate and force is the sensor's noise."""
    scenario = Scenario('srs', duration=lab.duration, config=replace(DEFAULT, baseline=True))
    run = lab.pipelines([scenario])[0]
    machine = machine_named('srs')
    motion = profile_named('srs', 'mp1')(scenario.time[0] + run.time)
    imu = machine.imu
    true = imu_truth(motion, machine.gravity, imu.position, imu.rotation_platform_imu)
    late = run.time >= lab.settling
    for quantity, found, exact, sigma in (
        ('specific force', run.result.specific_force, true[0], imu.accelerometer_noise),
        ('angular rate', run.result.angular_rate, true[1], imu.gyroscope_noise),
    ):
        ratio = np.sqrt(np.mean((found - exact)[late] ** 2, axis=0)) / sigma
        for axis, value in zip('xyz', ratio, strict=True):
            yield within('S3-24', f'{quantity} {axis}: rms error over sensor noise', 0.95, 1.05, float(value))


def periodic_errors(lab: Laboratory) -> Iterator[Check]:
    """S3-28: lines of the motion's frequencies in the errors of z, w and the bias along z."""
    for name, config in FILTERS:
        runs = lab.monte_carlo(Scenario(config=config))
        for quantity, row in (('z', 2), ('w', 5), ('bias along z', 11)):
            ratios = [spectral_line(runs, row, line, lab.settling) for line in MP1_LINES]
            yield at_most('S3-28', f'{name}: lines at 0.2, 0.4 Hz in {quantity} over their noise floor', 2.0, ratios)


def spectral_line(runs: list[filter_run.FilterRun], row: int, frequency: float, begin: float) -> float:
    """Amplitude of the errors' spectrum at a frequency over the mean of its neighbours, mean powers over runs."""
    power: Array = np.array(0.0)
    for run in runs:
        # differences: a slowly varying bias would leak into all lines; the ratio of line and floor stays the same
        error = np.diff(run.error[run.time >= begin, row])
        # whole periods of 5 s
        error = error[: len(error) // round(5.0 / INTERVAL) * round(5.0 / INTERVAL)]
        error = np.hanning(len(error)) * (error - error.mean())
        power = power + np.abs(np.fft.rfft(error)) ** 2
    count = 2 * (len(power) - 1)
    line = round(frequency * count * INTERVAL)
    # the window spreads a line over two neighbours
    around = [line + shift for shift in (-6, -5, -4, -3, 3, 4, 5, 6) if line + shift > 2]
    return float(np.sqrt(power[line] / np.mean(power[around])))


def innovations(lab: Laboratory) -> Iterator[Check]:
    """S3-29."""
    for name, runs in each_filter(lab):
        yield from innovation_checks('S3-29', name, runs, lab.settling)


def innovation_checks(id: str, name: str, runs: list[filter_run.FilterRun], begin: float) -> Iterator[Check]:
    """Innovations of runs: share in band, mean and autocorrelation."""
    band = filter_run.in_band(runs, begin)
    for word, share in (('least', band.min()), ('greatest', band.max())):
        yield within(id, f'{name}: share within 2 sigma, {word} of the legs', 0.94, 0.98, float(share))
    ratios = [run.standardised(begin) for run in runs]
    mean = np.mean([ratio.mean(axis=0) for ratio in ratios], axis=0)
    yield at_most(id, f'{name}: mean over sigma', 0.05, mean)
    lagged = np.mean([np.mean(ratio[1:] * ratio[:-1], axis=0) for ratio in ratios], axis=0)
    square = np.mean([np.mean(ratio**2, axis=0) for ratio in ratios], axis=0)
    yield at_most(id, f'{name}: autocorrelation at one sample', 0.05, lagged / square)


#: S3-25
STEPS = 1_000_000

#: of the unscented filter with process noise among the sigma points (21 dimensions)
_INPUTS = 6
_TRANSFORM = ScaledUnscentedTransform(STATE_SIZE + _INPUTS)
_MEAN = np.r_[_TRANSFORM.centre_mean_weight, np.full(2 * _TRANSFORM.size, _TRANSFORM.weight)]
_COVARIANCE = np.r_[_TRANSFORM.centre_covariance_weight, np.full(2 * _TRANSFORM.size, _TRANSFORM.weight)]


def covariance(lab: Laboratory) -> Iterator[Check]:
    """S3-25: the runs of the other rows, and a long one, 1e6 steps in all."""
    runs = [run for _, found in each_filter(lab) for run in found]
    lost = [run.lost for run in runs if run.lost]
    total = sum(len(run.time) for run in runs)
    steps = 20_000 if lab.quick else STEPS - total
    endless = _endless(steps)
    yield equal('S3-25', f'losses in {total} steps of MP1 and MP2, both filters', 0, len(lost))
    what = f'steps without loss: those, and MP1 repeated{" (quick: not the required 1e6)" * lab.quick}'
    yield at_least('S3-25', what, total + steps, total + endless[0])
    least = min([run.least_eigenvalue for run in runs] + [endless[1]])
    yield at_least('S3-25', 'smallest eigenvalue of the correlation matrix, checked every 0.5 s', 1e-6, least)
    yield refused('S3-25', 'alpha = 1e-4', ConfigurationError, lambda: EstimatorConfig(alpha=1e-4))
    broken = filter_run.make_filter(Scenario(config=DEFAULT))
    broken.start_at(machine_named('centred').home)
    broken.ukf.covariance[4, 4] = -1e-9
    imu = np.concatenate([-machine_named('centred').gravity, np.zeros(3)])
    what = 'covariance set indefinite on purpose'
    yield refused('S3-25', what, CovarianceError, lambda: broken.predict(imu, imu, INTERVAL))


def unit_sphere(lab: Laboratory) -> Iterator[Check]:
    """S3-26."""
    for name, runs in each_filter(lab):
        yield equal('S3-26', f'{name}: sigma points with q.q > 1', 0, sum(run.outside for run in runs))
    filter_ = filter_run.make_filter(Scenario())
    filter_.start_at(machine_named('centred').home)
    states = np.zeros((3, STATE_SIZE))
    states[:, 6] = (0.5, 1.01, -1.2)
    lengths = filter_.legs.observe(states)
    yield equal('S3-26', 'two of three attitudes outside: counted', 2, filter_.outside_unit_sphere)
    yield equal('S3-26', 'and their lengths are finite', True, bool(np.isfinite(lengths).all()))


def augmented_form(lab: Laboratory) -> Iterator[Check]:
    """S3-27."""
    duration = 12.0 if lab.quick else 40.0
    scenario = Scenario(begin=10.0, duration=duration, seed=3)
    signals = filter_run.signals_of(scenario)
    errors: list[list[Array]] = [[], []]
    filters: list[PlatformFilter] = [filter_run.make_filter(scenario), filter_run.make_filter(scenario)]
    for filter_ in filters:
        filter_run.start(scenario, filter_, signals)
    for k in range(1, len(signals.inputs)):
        filters[0].predict(signals.inputs[k - 1], signals.inputs[k], INTERVAL)
        predict_augmented(filters[1], signals.inputs[k - 1], signals.inputs[k])
        for filter_, log in zip(filters, errors, strict=True):
            filter_.update(signals.positions[k])
            log.append(filter_.state - signals.states[k])
    rms = [np.sqrt(np.mean(np.array(log)[round(5.0 * RATE) :] ** 2, axis=0)) for log in errors]
    what = f'rms of all 15 states over {duration:g} s of MP1, augmented over additive, minus 1'
    yield at_most('S3-27', what, 0.01, rms[1] / rms[0] - 1.0)


def predict_augmented(filter_: PlatformFilter, imu_start: Array, imu_end: Array) -> None:
    """Predict over one interval with sigma points of state and input noise; the printed filter's chart only."""
    joint = np.zeros((_TRANSFORM.size, _TRANSFORM.size))
    joint[:STATE_SIZE, :STATE_SIZE] = filter_.ukf.covariance
    joint[STATE_SIZE:, STATE_SIZE:] = filter_.imu_covariance
    spread = np.sqrt(_TRANSFORM.spread) * np.linalg.cholesky(joint)
    centre = np.concatenate([filter_.ukf.state, np.zeros(_INPUTS)])
    points = centre + np.vstack([np.zeros(_TRANSFORM.size), spread.T, -spread.T])
    moved = points[:, :STATE_SIZE].copy()
    # each point has an input of its own, which the process model takes one at a time; equal inputs go together
    filter_.process.propagate(moved, imu_start, imu_end, INTERVAL)
    for row in np.flatnonzero(np.any(points[:, STATE_SIZE:] != 0.0, axis=1)):
        noise = points[row, STATE_SIZE:]
        one = points[row : row + 1, :STATE_SIZE].copy()
        moved[row] = filter_.process.propagate(one, imu_start + noise, imu_end + noise, INTERVAL)[0]
    mean = moved[0] + _MEAN @ (moved - moved[0])
    filter_.ukf.state = mean
    filter_.ukf.covariance = (moved - mean).T * _COVARIANCE @ (moved - mean)


def chi_square(lab: Laboratory) -> Iterator[Check]:
    """S3-30: over the seeds, at all times, start from forward kinematics, default filter."""
    seeds = len(lab.seeds)
    for motion in ('mp1', 'mp2', 'hold'):
        runs = lab.monte_carlo(Scenario(motion=motion, config=DEFAULT))
        yield from consistent('S3-30', motion, runs, 6, lab.settling, seeds)


def consistent(
    id: str, name: str, runs: list[filter_run.FilterRun], legs: int, begin: float, seeds: int
) -> Iterator[Check]:
    """Chi-square tests of runs with different seeds: of the states' errors at all times, and of the innovations."""
    nees = Normalised(np.array([run.nees for run in runs]).T, np.full(len(runs[0].nees), STATE_SIZE))
    every = filter_run.NEES_EVERY * INTERVAL
    yield at_all_times_check(id, f'NEES of 15 states, {name}, every {every:g} s from {every:g} s on,', nees)
    low, high = nees.bounds()
    what = f'{name}: share of all times whose mean NEES over {seeds} seeds lies in the 95 % region'
    note = f'{low:.3g} .. {high:.3g}; mean NEES {nees.mean:.2f} of 15'
    yield at_least(id, what, 0.95, nees.part_inside(), note=note)
    nis = np.mean([run.nis[run.time >= begin] for run in runs], axis=0)
    low, high = chi2.interval(0.95, legs * seeds) / np.array(seeds)
    share = float(np.mean((nis >= low) & (nis <= high)))
    # samples are independent: the share itself has a binomial spread
    spread = 3.0 * np.sqrt(0.95 * 0.05 / len(nis))
    yield holds(
        id,
        f'{name}: share of the samples whose mean NIS over the seeds lies in the 95 % region {low:.3g} .. {high:.3g}',
        f'95 % +- {100 * spread:.1f} (3 sigma of {len(nis)} samples)',
        f'{100 * share:.2f} %, mean NIS {np.mean(nis):.3f}',
        abs(share - 0.95) <= spread,
    )


def standstill(lab: Laboratory) -> Iterator[Check]:
    """S3-31: rank of the observability matrix, and biases found at rest."""
    ranks = observability_ranks()
    yield equal('S3-31', 'rank after 1, 2, 3 samples at rest', [6, 12, 15], ranks)
    runs = lab.monte_carlo(Scenario(motion='hold', config=DEFAULT))
    yield from bias_checks(('S3-31', 'S3-31'), 'at rest', runs, lab.duration if lab.quick else 60.0)


def observability_ranks() -> list[int]:
    """Ranks of the lengths' derivatives by the state after one, two, three samples at rest (section 3.1)."""
    machine = machine_named('centred')
    filter_ = filter_run.make_filter(Scenario())
    filter_.start_at(machine.home)
    state, step = filter_.state.copy(), 1e-6
    imu = np.concatenate([-machine.gravity, np.zeros(3)])
    pairs = state + np.vstack([step * np.eye(STATE_SIZE), -step * np.eye(STATE_SIZE)])
    rows, ranks = [], []
    for _ in range(3):
        lengths = filter_.legs.observe(pairs)
        rows.append((lengths[:STATE_SIZE] - lengths[STATE_SIZE:]).T / (2.0 * step))
        ranks.append(int(np.sum(np.linalg.svd(np.vstack(rows), compute_uv=False) > 1e-6)))
        filter_.process.propagate(pairs, imu, imu, INTERVAL)
    return ranks


def _endless(steps: int) -> tuple[int, float]:
    """Steps without loss of the default filter on one circle of MP1 repeated, and the smallest eigenvalue found."""
    scenario = Scenario(begin=20.0, duration=5.0, config=DEFAULT)
    filter_, signals = filter_run.started(scenario)
    period = len(signals.inputs) - 1
    least, done = np.inf, 0
    try:
        for done in range(1, steps + 1):
            k = (done - 1) % period
            filter_.predict(signals.inputs[k], signals.inputs[k + 1], INTERVAL)
            filter_.update(signals.positions[k + 1])
            if done % 50_000 == 0:
                least = min(least, filter_run.least_eigenvalue(filter_))
    except CovarianceError:
        done -= 1
    return done, least
