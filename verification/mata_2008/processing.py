"""Mata et al. (2008), M21 and M22: repetitions averaged, filtered and thinned out; three ways to find derivatives.

Synthetic: several periods of the excitation by forward dynamics, at 100 Hz, with the noise of the file's sensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduced_models import MATA_MODELS
from pkm_description.machine import Machine
from pkm_identification.estimator.least_squares import ordinary
from pkm_identification.motion_source.by_name import CentralDifferences, Fourier, LocalRegression
from pkm_identification.motion_source.filters import low_pass
from pkm_identification.motion_source.interface import Curve, Repeatability, repeatability
from pkm_identification.motion_source.periods import PeriodMean
from pkm_identification.recording.recording import Recording
from pkm_identification.validation.other_motions import relative_absolute_error
from scipy.signal import butter, sosfiltfilt

from verification.check import Check, at_most, equal, holds, within
from verification.drive_data import DriveData
from verification.mata_2008.data import NOISE, fine_run
from verification.mata_2008.excitation import PERIOD, POINTS
from verification.mata_2008.ladder import Ladder

#: Hz: of control and measurement; cut-offs of forces (Butterworth of second order) and of positions before differences
RATE, FORCE_CUTOFF, CUTOFF = 100.0, 20.0, 8.0

#: periods, of which the sensors' noise differs
PERIODS, HARMONICS = 8, 11

#: degree and s of the local regression
DEGREE, WINDOW = 3, 0.2


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Averages and derivatives."""
    clean = fine_run(str(machine.path))
    mean = averaged(clean)
    yield from average_checks(clean, mean)
    yield from derivative_checks(machine, clean, mean)


def averaged(clean: DriveData) -> Repeatability:
    """Mean of the periods; the motion repeats, the noise does not."""
    noise = replace(NOISE, velocities=0.0, accelerations=0.0)
    runs = [clean.with_noise(noise, seed) for seed in range(PERIODS)]
    time = np.arange(PERIODS * len(clean.time)) / RATE
    positions, efforts = (np.concatenate([getattr(run, name) for run in runs]) for name in ('positions', 'efforts'))
    return repeatability(Recording(time, positions, efforts), 1.0 / PERIOD, PERIODS, False)


def filtered(forces: Array) -> Array:
    """Forces (N, A) of one period through the paper's filter, forwards and backwards, periodic at the ends."""
    sections = butter(2, FORCE_CUTOFF, fs=RATE, output='sos')
    three = sosfiltfilt(sections, np.concatenate([forces] * 3), axis=0)
    return np.asarray(three[len(forces) : 2 * len(forces)], dtype=float)


def average_checks(clean: DriveData, mean: Repeatability) -> Iterator[Check]:
    """M21: average, Butterworth filter, 75 points."""
    for name, exact, found, level in (
        ('positions', clean.positions, mean.positions, 1e-5), ('efforts', clean.efforts, mean.efforts, 50.0)
    ):  # fmt: skip
        ratio = float(np.std(found - exact)) / (level / np.sqrt(PERIODS))
        what = f'noise of the mean {name} over that of one period by the root of {PERIODS}'
        yield within('M21', what, 0.9, 1.1, ratio)
    told = mean.effort_noise / 50.0
    yield within('M21', 'noise of the efforts found from the scatter, over the true one', 0.9, 1.1, float(told.mean()))
    smooth = filtered(mean.efforts)
    rough = float(np.sqrt(np.mean((mean.efforts - clean.efforts) ** 2)))
    what = 'noise after the filter of second order over that before'
    yield at_most('M21', what, 0.8, float(np.sqrt(np.mean((smooth - filtered(clean.efforts)) ** 2))) / rough)
    lines = np.abs(np.fft.rfft(smooth[:, 0]) / np.fft.rfft(mean.efforts[:, 0]))
    frequency = np.fft.rfftfreq(len(smooth), 1.0 / RATE)
    # forwards and backwards: the square of a Butterworth filter, warped by the bilinear transformation
    warped = np.tan(np.pi * frequency / RATE) / np.tan(np.pi * FORCE_CUTOFF / RATE)
    expected = 1.0 / (1.0 + warped**4)
    used = frequency < 15.0
    yield at_most('M21', 'gain of the filter against that of a Butterworth filter', 1e-6, (lines - expected)[used])
    thin = smooth[:: round(RATE * PERIOD / POINTS)]
    yield equal('M21', 'points, one every 0.1 s', POINTS, len(thin))


def derivative_checks(machine: Machine, clean: DriveData, mean: Repeatability) -> Iterator[Check]:
    """M22: filter and central difference, Fourier series, local cubic regression; spread of the estimates."""
    ladder, time = Ladder(machine), mean.time
    three = np.concatenate([mean.positions] * 3)
    long, middle = np.arange(len(three)) / RATE, slice(len(time), 2 * len(time))

    def cut(curve: Curve) -> Curve:
        return Curve(*(values[middle] for values in curve))

    ways = {
        'D1, filter and central differences': cut(CentralDifferences().curve(long, low_pass(three, RATE, CUTOFF), 0.0)),
        'D2, Fourier series': Fourier(1.0 / PERIOD, HARMONICS).curve(time, mean.positions, 0.0),
        'D3, local cubic regression': cut(LocalRegression(DEGREE, WINDOW).curve(long, three, 0.0)),
    }
    own = PeriodMean(1.0 / PERIOD, HARMONICS).curve(long, three, CUTOFF)
    error = np.abs(own.first[middle] - ways['D2, Fourier series'].first).max() / np.abs(own.first).max()
    yield at_most('M22', 'series of the mean over the periods by the motion source of this name, relative', 1e-9, error)
    forces = filtered(mean.efforts)
    estimates = []
    for word, curve in ways.items():
        size = [float(np.sqrt(np.mean(exact**2))) for exact in (clean.velocities, clean.accelerations)]
        errors = [
            float(np.sqrt(np.mean((found - exact) ** 2))) / whole
            for found, exact, whole in zip(
                (curve.first, curve.second), (clean.velocities, clean.accelerations), size, strict=True
            )
        ]
        yield at_most('M22', f'{word}: error of the velocities, relative rms', 0.02, errors[0])
        data = DriveData(time, mean.positions, curve.first, curve.second, forces)[:: round(RATE * PERIOD / POINTS)]
        _, truth, rows = ladder.rows(MATA_MODELS[3], data)
        found = ordinary(rows, data.efforts)
        estimates.append(found.parameters)
        error = relative_absolute_error(data.efforts, rows @ found.parameters)
        yield at_most('M22', f'{word}: eps_RA of model 4', 0.08, error)
        off = found.parameters[3:] / truth[3:] - 1.0
        yield at_most('M22', f'{word}: friction and rotors against the truth, relative', 0.25, off)
    spread = np.ptp(estimates, axis=0) / np.abs(np.mean(estimates, axis=0))
    names, _, _ = ladder.rows(MATA_MODELS[3], data)
    shown = ', '.join(f'{name} {100.0 * part:.1f}' for name, part in zip(names, spread, strict=True))
    what = 'spread of the estimates of the three ways, in % of their mean'
    yield holds('M22', what, 'all <= 5', shown, bool((spread <= 0.05).all()))
