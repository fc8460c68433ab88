"""R2-21 to R2-25: a recording of slider positions and drive signals, derivatives, noise, raw and filtered forces.

Synthetic: the recordings of the paper are not public, nor are its sampling rate, gains and filter settings. Positions
have the printed uncertainty of the encoders, forces that of the force signal; gains are invented.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import yaml
from pkm_bringup.robot_check.wiring import with_driver
from pkm_description.arrays import Array
from pkm_description.kinematics import joint_motion
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_identification.estimator.constrained import bounded_least_squares
from pkm_identification.judgement.force_error import force_error
from pkm_identification.motion_source.by_name import SavitzkyGolay
from pkm_identification.recording.recording import Recording, recording_from_joint_states

from verification.check import Check, at_least, at_most, equal, near, near_each, within
from verification.drive_data import DriveData
from verification.rosyid_2020.data import (
    FINE_RATE,
    FRICTION_LIMITS,
    NOISE,
    RATE,
    SENSOR_NOISE,
    Experiment,
    excitation,
    fine_run,
    library_experiment,
    measured,
    true_machine,
    truth,
)
from verification.rosyid_2020.table import geometry_of

#: A per V, N per A of each axis (invented)
AMPLIFIERS, GAINS = [2.0, 1.9, 2.1], [72.0, 70.5, 73.0]

#: degree, s: window of velocities and accelerations, and of forces. The paper gives none; chosen of nine by the error
#: of the friction against the truth, which nobody knows of a real recording: that error flatters
DEGREE, WINDOW, FORCE_WINDOW = 5, 0.05, 0.01

#: samples at either end, where the windows are one-sided, and to either side of a reversal: where a slider reverses,
#: friction and acceleration jump, which no filter follows
EDGE, REVERSAL = 60, 32


@cache
def recorded(path: str) -> Recording:
    """A recording at 1 kHz, as a driver tells it: positions and voltages."""
    machine, noisy = load_machine(path), fine_run(path).with_noise(SENSOR_NOISE, 11)
    voltages = noisy.efforts / (np.array(AMPLIFIERS) * np.array(GAINS))
    stamps = 10**9 + np.round(noisy.time * 1e9).astype(np.int64)
    return recording_from_joint_states(
        with_voltages(machine), stamps, machine.actuated_joint_names, noisy.positions, voltages
    )


def with_voltages(machine: Machine) -> Machine:
    """The machine with a driver that tells the controller's output voltages."""
    content = {'effort': {'quantity': 'voltage', 'amplifier': AMPLIFIERS, 'gain': GAINS}}
    return with_driver(machine, yaml.safe_dump({'driver': content}))


@cache
def differentiated(path: str) -> tuple[list[Array], list[Array]]:
    """Positions, velocities, accelerations by central differences, and by Savitzky-Golay with smoothed forces."""
    recording = recorded(path)
    time, raw = recording.time, recording.drive_positions
    rough = [raw, np.gradient(raw, time, axis=0)]
    rough.append(np.gradient(rough[1], time, axis=0))
    smooth = SavitzkyGolay(DEGREE, WINDOW).curve(time, raw, 0.0)
    forces = SavitzkyGolay(DEGREE, FORCE_WINDOW).curve(time, recording.forces, 0.0).values
    # positions stay as measured
    return rough, [raw, smooth.first, smooth.second, forces]


@cache
def experiment_of(path: str, filtered: bool = True) -> Experiment:
    """Rows of the measured motion at the rate of the fits, with filtered or raw forces."""
    recording, (_, smooth) = recorded(path), differentiated(path)
    efforts = smooth[3] if filtered else recording.forces
    data = DriveData(recording.time, smooth[0], smooth[1], smooth[2], efforts)
    return rows_of(path, data)


def rows_of(path: str, data: DriveData) -> Experiment:
    """Rows away from the ends and from reversals of any slider."""
    rates = differentiated(path)[1][1]
    turning = np.flatnonzero(np.any(rates[1:] * rates[:-1] <= 0.0, axis=1))
    places = np.arange(EDGE, len(rates) - EDGE, round(FINE_RATE / RATE))
    kept = places[np.abs(places[:, None] - turning).min(axis=1) > REVERSAL]
    chosen = data[kept]
    return library_experiment(load_machine(path), chosen, chosen.efforts)


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Checks of one recording."""
    path = str(machine.path)
    yield from signal_checks(machine, path)
    yield from filter_checks(path)
    yield from noise_checks(machine, path)
    yield from fit_checks(machine, path)


def signal_checks(machine: Machine, path: str) -> Iterator[Check]:
    """R2-21: voltage to current to force, a gain per axis."""
    recording, noisy = recorded(path), fine_run(path).with_noise(SENSOR_NOISE, 11)
    error = np.abs(recording.forces - noisy.efforts).max() / np.abs(noisy.efforts).max()
    yield at_most('R2-21', 'forces of a recording of voltages against the measured ones, relative', 1e-13, error)
    yield equal('R2-21', 'positions of the recording are the measured ones', True, bool(
        np.array_equal(recording.drive_positions, noisy.positions)))  # fmt: skip
    volt = with_voltages(machine).driver.command_of_forces(np.array(AMPLIFIERS) * np.array(GAINS))
    yield near_each('R2-21', 'volts commanded for the force of one volt, by axis', [1.0, 1.0, 1.0], volt, 1e-12)


def filter_checks(path: str) -> Iterator[Check]:
    """R2-22: Savitzky-Golay with window and order of choice, no phase shift, positions as measured."""
    time = np.arange(2001) / FINE_RATE
    wave = np.sin(2.0 * np.pi * 2.0 * time)[:, None]
    inner = slice(EDGE, -EDGE)
    for degree, window in ((5, 0.1), (DEGREE, WINDOW)):
        found = SavitzkyGolay(degree, window).curve(time, wave, 0.0)
        # least squares over the window of the middle sample, by another library function
        half, middle = round(0.5 * window * FINE_RATE), 1000
        part = slice(middle - half, middle + half + 1)
        factors = np.polynomial.polynomial.polyfit(time[part] - time[middle], wave[part, 0], degree)
        told = [float(values[middle, 0]) for values in found]
        expected = [factors[0], factors[1], 2.0 * factors[2]]
        size = [1.0, 2.0 * np.pi * 2.0, (2.0 * np.pi * 2.0) ** 2]
        error = (np.array(told) - expected) / size
        yield at_most('R2-22', f'degree {degree}, window {window:g} s: against a polynomial fit, relative', 1e-7, error)
        cosine = np.cos(2.0 * np.pi * 2.0 * time[inner])
        lag = float(np.sum(found.first[inner, 0] * wave[inner, 0]) / np.sum(found.first[inner, 0] * cosine))
        what = f'degree {degree}, window {window:g} s: phase of the velocity of a sine'
        yield at_most('R2-22', what, 1e-7, lag, 'rad')
    rough, smooth = differentiated(path)
    clean = fine_run(path)
    same = bool(np.array_equal(smooth[0], recorded(path).drive_positions))
    yield equal('R2-22', 'positions stay as measured', True, same)
    for order, name in ((1, 'velocities'), (2, 'accelerations')):
        exact = (clean.velocities, clean.accelerations)[order - 1]
        errors = [np.sqrt(np.mean((every[order] - exact)[inner] ** 2)) for every in (rough, smooth)]
        what = f'{name}: rms error of differences over that of Savitzky-Golay'
        yield at_least('R2-22', what, 2.0 if order == 2 else 1.0, errors[0] / errors[1])


def noise_checks(machine: Machine, path: str) -> Iterator[Check]:
    """R2-24: printed uncertainties in the machine file, in simulated noise and in the weights."""
    yield near('R2-24', 'noise of positions in the machine file, um (0.5 um, uniform)', 0.5 / np.sqrt(3.0),
               1e6 * float(np.max(machine.leg_sensors.position_noise)), 5e-3)  # fmt: skip
    yield near('R2-24', 'noise of forces in the machine file, N (0.0381 N, uniform)', NOISE / np.sqrt(3.0),
               float(np.max(machine.leg_sensors.effort_noise)), 5e-4)  # fmt: skip
    clean, told = fine_run(path), recorded(path)
    for what, error, limit, unit in (
        ('position', 1e6 * (told.drive_positions - clean.positions), 0.5, 'um'),
        ('force', told.forces - clean.efforts, NOISE, 'N'),
    ):
        largest = float(np.abs(error).max())
        yield within('R2-24', f'largest error of a recorded {what}', 0.99 * limit, limit, largest, unit)
    data, level = measured(path), NOISE / np.sqrt(3.0)
    plain = data.fit(FRICTION_LIMITS)
    weighted = replace(
        plain, residuals=lambda x: plain.residuals(x) / level, jacobian=lambda x: plain.jacobian(x) / level
    )
    found = bounded_least_squares(weighted)
    freedom = data.forces.size - 17
    what = 'known motion: sum of squares weighted by the uncertainty of the force, over the degrees of freedom'
    yield within('R2-24', what, 0.85, 1.15, found.cost / freedom)


def fit_checks(machine: Machine, path: str) -> Iterator[Check]:
    """R2-23 and R2-25: measured against commanded motion; residuals of raw and of filtered forces."""
    recording = recorded(path)
    position, rate, second, efforts = differentiated(path)[1]
    motion = DriveData(recording.time, position, rate, second, efforts).motion(machine)
    joints = joint_motion(machine, motion)
    geometry = geometry_of(machine)
    rotation = motion.rotation_base_platform
    pose = np.column_stack([motion.position[:, :2], np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])])
    yield equal('R2-23', 'coordinates with each sample', [len(recording.time), 6], list(joints.positions.shape))
    error = np.abs(geometry.coordinates(pose)[:, :3] - recording.drive_positions).max()
    yield at_most('R2-23', 'sliders of the poses by forward kinematics against the measured ones', 1e-10, error, 'm')
    results = {}
    commanded = joint_motion(machine, excitation(true_machine(path))[:: round(2000.0 / FINE_RATE)])
    drives = machine.drive_columns
    told = DriveData(
        recording.time, commanded.positions[:, drives], commanded.velocities[:, drives],
        commanded.accelerations[:, drives], efforts,
    )  # fmt: skip
    cases = (('measured', experiment_of(path)), ('commanded', rows_of(path, told)))
    for word, data in cases:
        found = bounded_least_squares(data.fit(FRICTION_LIMITS))
        results[word] = float(np.sqrt(found.cost / data.forces.size)), found
    ratio = results['commanded'][0] / results['measured'][0]
    yield at_least('R2-23', 'rms error with the commanded over that with the measured motion', 2.0, ratio)
    friction = np.abs(results['measured'][1].values[13:] / truth()[13:] - 1.0)
    what = 'friction parameters from the recording, relative (window chosen of nine by this error)'
    yield at_most('R2-23', what, 0.02, friction)
    values = results['measured'][1].values
    filtered, raw = (experiment_of(path, which) for which in (True, False))
    errors = [force_error(one.forces, one.predicted(values)) for one in (filtered, raw)]
    sizes = [float(np.sqrt(np.mean(error.rms**2))) for error in errors]
    yield at_most('R2-25', f'rms error of the filtered forces ({sizes[0]:.4f} N) over that of the raw ones', 1.0,
                  sizes[0] / sizes[1])  # fmt: skip
    level = NOISE / np.sqrt(3.0)
    what = f'rms error of the raw forces ({sizes[1]:.4f} N) over their noise; accelerations add that of the encoders'
    yield within('R2-25', what, 0.9, 10.0, sizes[1] / level)
    kept = np.abs(raw.forces - filtered.forces).max()
    yield at_most('R2-25', 'raw and filtered forces differ by at most', 0.5, kept, 'N')
