"""S3-19 to S3-24 and S3-28, S3-29: errors of the estimates, and whether the innovations are white."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_estimation.sensors import imu_truth

from verification.check import Check, at_most, within
from verification.miletovic_2017.filter_run import FilterRun, in_band, pooled_rms
from verification.miletovic_2017.laboratory import Laboratory
from verification.miletovic_2017.scenario import DEFAULT, INTERVAL, PRINTED, Scenario, machine_named, profile_named

FILTERS = (('printed filter', PRINTED), ('default filter', DEFAULT))

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
    for motion in ('mp1', 'mp2'):
        for name, config in FILTERS:
            runs = lab.monte_carlo(Scenario(motion=motion, config=config))
            rms = pooled_rms(runs, lab.settling)
            for id, quantity, rows, order, limit, unit in LIMITS:
                what = f'{motion}, {name}: {quantity}, rms'
                if order is not None:
                    yield at_most(id, f'{what} (printed order)', order, rms[rows], unit)
                yield at_most(id, what, limit, rms[rows], unit)
            last = np.sqrt(np.mean([run.error[run.time >= end - INTERVAL][0] ** 2 for run in runs], axis=0))
            for id, quantity, rows, limit, unit in (
                ('S3-22', 'accelerometer biases', slice(9, 12), 5e-5, 'm/s^2'),
                ('S3-23', 'gyroscope biases', slice(12, 15), 1e-5, 'rad/s'),
            ):
                yield at_most(id, f'{motion}, {name}: {quantity} after {end:g} s, rms', limit, last[rows], unit)


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


def spectral_line(runs: list[FilterRun], row: int, frequency: float, begin: float) -> float:
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
    for motion in ('mp1', 'mp2'):
        for name, config in FILTERS:
            runs = lab.monte_carlo(Scenario(motion=motion, config=config))
            yield from innovation_checks('S3-29', f'{motion}, {name}', runs, lab.settling)


def innovation_checks(id: str, name: str, runs: list[FilterRun], begin: float) -> Iterator[Check]:
    """Innovations of runs: share in band, mean and autocorrelation."""
    band = in_band(runs, begin)
    for word, share in (('least', band.min()), ('greatest', band.max())):
        yield within(id, f'{name}: share within 2 sigma, {word} of the legs', 0.94, 0.98, float(share))
    ratios = [run.standardised(begin) for run in runs]
    mean = np.mean([ratio.mean(axis=0) for ratio in ratios], axis=0)
    yield at_most(id, f'{name}: mean over sigma', 0.05, mean)
    lagged = np.mean([np.mean(ratio[1:] * ratio[:-1], axis=0) for ratio in ratios], axis=0)
    square = np.mean([np.mean(ratio**2, axis=0) for ratio in ratios], axis=0)
    yield at_most(id, f'{name}: autocorrelation at one sample', 0.05, lagged / square)
