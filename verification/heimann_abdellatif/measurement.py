"""Heimann & Abdellatif, R4-15, R4-29 to R4-33, R4-39, R4-45: noisy positions, currents and Hall sensors to rows.

Synthetic: the paper prints neither its excitation nor its recordings; encoders have 20 um of noise. Force constants and
errors of Hall sensors are invented, of usual size; that their compensation is found from one motion and judged on
another is not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np
import yaml
from pkm_bringup.robot_check.wiring import with_driver
from pkm_bringup.simulation.sensors import Encoder
from pkm_description.arrays import Array
from pkm_description.driver import HallSensor, fit_periodic_error
from pkm_description.dynamics import inverse_dynamics
from pkm_description.joint_states import DriverStreams, JointStateReader
from pkm_description.kinematics import drive_positions, forward_kinematics
from pkm_description.kinematics.pose_solver import PoseSolver
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import motion_from_coordinates, pose_coordinates
from pkm_description.motion.profiles import profile
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.estimator.least_squares import ordinary
from pkm_identification.motion_source.by_name import CentralDifferences, Fourier
from pkm_identification.motion_source.filters import fourier_basis
from pkm_identification.motion_source.interface import repeatability
from pkm_identification.recording.recording import Recording, recording_from_joint_states

from pkm_bringup import simulate
from verification.check import Check, at_least, at_most, equal, within

#: s, harmonics, Hz, m of noise of the encoders
PERIOD, HARMONICS, RATE, ENCODER = 4.0, 5, 1000.0, 20e-6

#: rms of velocity and acceleration to which errors are compared: m/s, m/s^2
VELOCITY, ACCELERATION = 0.17, 0.96

#: N of noise of the forces
FORCE_NOISE = 1.0


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Checks along one periodic motion."""
    motion = periodic_motion(machine, 1)
    yield from pose_checks(machine, motion)
    yield from average_checks(machine, motion, 9)
    yield from filter_checks(machine, motion)
    yield from indirect_checks(machine, 40 if quick else 400)
    yield from sensor_checks(machine)


def periodic_motion(machine: Machine, periods: int) -> PlatformMotion:
    """A series of the platform's coordinates around home, with the velocities of the reference figures."""
    random = np.random.default_rng(3)
    time = np.arange(round(periods * PERIOD * RATE)) / RATE
    value, rate, second = (fourier_basis(time, 1.0 / PERIOD, HARMONICS, order) for order in range(3))
    factors = random.normal(size=(2 * HARMONICS + 1, 6))
    factors[0] = 0.0
    # falling amplitudes: all harmonics have about the same part in the velocity
    factors[1:] /= np.repeat(np.arange(1, HARMONICS + 1), 2)[:, None]
    size = VELOCITY / np.sqrt(3.0) / np.sqrt(np.mean((rate @ factors) ** 2, axis=0))
    factors *= np.where(np.arange(6) < 3, size, 0.25 / np.abs(value @ factors).max(axis=0))
    return motion_from_coordinates(time, value @ factors, rate @ factors, second @ factors, machine.home)


def pose_checks(machine: Machine, motion: PlatformMotion) -> Iterator[Check]:
    """R4-30 and R4-31: forward kinematics of every sample, then the Fourier series of the pose."""
    exact = drive_positions(machine, motion)
    noisy = exact + ENCODER * np.random.default_rng(0).normal(size=exact.shape)
    begins = np.zeros(len(noisy), dtype=bool)
    solved = PoseSolver(machine, 1e-12, 20).series(noisy, begins)
    yield equal('R4-30', f'samples without a pose, of {len(noisy)}', 0, len(solved.errors))
    # the first one, from home, is at place 0
    steps = solved.found.iterations[1:]
    yield at_most('R4-30', 'steps of a sample that starts from the pose before, mean', 3.0, float(np.mean(steps)))
    cold = forward_kinematics(machine, noisy).require()
    gap = np.abs(cold.position - solved.found.position).max()
    yield at_most('R4-30', 'warm start against a search from home for every sample', 1e-10, gap, 'm')
    gap = np.abs(drive_positions(machine, solved.found.position, solved.found.rotation) - noisy).max()
    yield at_most('R4-30', 'drives of the poses against the measured ones', 1e-11, gap, 'm')

    coordinates = pose_coordinates(solved.found.position, solved.found.rotation, machine.home)
    fitted = Fourier(1.0 / PERIOD, HARMONICS).curve(motion.time, coordinates, 0.0)
    plain = CentralDifferences().curve(motion.time, coordinates, 0.0)
    told = motion_from_coordinates(motion.time, *fitted, machine.home)
    for name, size in (('velocity', VELOCITY), ('acceleration', ACCELERATION)):
        true = getattr(motion, f'linear_{name}')
        found = getattr(told, f'linear_{name}')
        rough = (plain.first if name == 'velocity' else plain.second)[:, :3]
        signal = float(np.sqrt(np.mean(np.sum(true**2, axis=1))))
        errors = [float(np.sqrt(np.mean((one - true) ** 2))) for one in (found, rough)]
        unit = 'm/s' if name == 'velocity' else 'm/s^2'
        what = f'{name} by the Fourier series, error of a component over {size:g} {unit} (signal here {signal:.2f})'
        yield at_most('R4-31', what, 1e-4, errors[0] / size)
        what = f'{name}: error of central differences over that of the series'
        yield at_least('R4-31', what, 100.0, errors[1] / errors[0])


def average_checks(machine: Machine, motion: PlatformMotion, periods: int) -> Iterator[Check]:
    """R4-32: mean over the periods, and the variance."""
    positions, forces = drive_positions(machine, motion), inverse_dynamics(machine, motion)
    random = np.random.default_rng(5)
    many = Recording(
        np.arange(periods * len(positions)) / RATE,
        np.tile(positions, (periods, 1)) + ENCODER * random.normal(size=(periods * len(positions), 6)),
        np.tile(forces, (periods, 1)) + FORCE_NOISE * random.normal(size=(periods * len(forces), 6)),
    )
    mean = repeatability(many, 1.0 / PERIOD, periods, False)
    for name, found, exact, level, noise in (
        ('positions', mean.positions, positions, ENCODER, mean.position_noise),
        ('forces', mean.efforts, forces, FORCE_NOISE, mean.effort_noise),
    ):
        gain = level / np.sqrt(np.mean((found - exact) ** 2, axis=0))
        for drive in (int(np.argmin(gain)), int(np.argmax(gain))):
            what = f'{name}: noise falls by, {periods} periods, drive {drive + 1}'
            root = float(np.sqrt(periods))
            yield within('R4-32', what, 0.9 * root, 1.1 * root, float(gain[drive]))
        what = f'{name}: standard deviation from the scatter against the true one, relative'
        yield at_most('R4-32', what, 0.05, noise / level - 1.0)


def line_filter(values: Array, lines: Iterable[int]) -> Array:
    """Keep harmonics of one period of samples (N, ...), without a phase shift; 0 is the mean."""
    spectrum = np.fft.rfft(values, axis=0)
    kept = np.zeros_like(spectrum)
    kept[list(lines)] = spectrum[list(lines)]
    return np.fft.irfft(kept, len(values), axis=0)


def filter_checks(machine: Machine, motion: PlatformMotion) -> Iterator[Check]:
    """R4-33: the same lines of forces and regressor kept, the others zero, no phase shift."""
    model = ObservationModel(machine)
    structure = model.base_parameters()
    step = 10
    every = motion[slice(None, None, step)]
    regressor, _ = model.regressor(every)
    truth = model.parameters(machine)
    rows, forces = structure.columns(regressor), regressor @ truth
    lines = range(4 * HARMONICS)
    kept_rows, kept_forces = (line_filter(values, lines) for values in (rows, forces))
    error = np.abs(kept_rows @ structure.values(truth) - kept_forces).max() / np.abs(kept_forces).max()
    yield at_most('R4-33', 'filtered regressor times parameters = filtered forces, relative', 1e-10, error)
    before, after = (np.abs(np.fft.rfft(values, axis=0)) for values in (forces, kept_forces))
    inside = np.arange(len(before)) < len(lines)
    yield at_most('R4-33', 'lines that are kept, relative', 1e-10, after[inside] / before[inside] - 1.0)
    yield at_most('R4-33', 'lines that are not, over the largest', 1e-12, after[~inside].max() / before.max())
    spectra = [np.fft.rfft(values, axis=0)[inside] for values in (kept_forces, forces)]
    angle = np.angle(spectra[0] / spectra[1])
    yield at_most('R4-33', 'phase of the lines that are kept', 1e-9, angle, 'rad')
    noisy = forces + 20.0 * np.random.default_rng(7).normal(size=forces.shape)
    plain = ordinary(rows, noisy)
    found = ordinary(kept_rows, line_filter(noisy, lines))
    expected = structure.values(truth)
    errors = [float(np.sqrt(np.mean(((one.parameters - expected) / plain.std) ** 2))) for one in (found, plain)]
    yield at_most('R4-33', 'errors of parameters with noise, in standard deviations without the filter', 3.0, errors)
    left = float(np.sqrt(np.mean(found.residuals**2))) / 20.0
    share = np.sqrt(len(lines) / (0.5 * len(forces)))
    what = 'noise of the rows that the filter leaves, over that of its share of the lines'
    yield within('R4-33', what, 0.7, 1.2, left / share)


def indirect_checks(machine: Machine, count: int) -> Iterator[Check]:
    """R4-39: N configurations with velocities and accelerations of their own, in place of one trajectory."""
    model = ObservationModel(machine)
    structure, truth = model.base_parameters(), model.parameters(machine)
    expected = structure.values(truth)
    states = random_states(machine, count, seed=39)
    matrix, _ = model.regressor(states)
    exact = ordinary(structure.columns(matrix), matrix @ truth)
    error = np.abs(exact.parameters - expected).max() / np.abs(expected).max()
    yield at_most('R4-39', f'base parameters of {count} single configurations without noise, relative', 1e-8, error)
    motion = profile('fourier', machine, 12.0, 50.0, 2)
    direct, _ = model.regressor(motion)
    noisy = []
    for rows in (matrix, direct):
        forces = rows @ truth + FORCE_NOISE * np.random.default_rng(1).normal(size=rows.shape[:2])
        found = ordinary(structure.columns(rows), forces)
        noisy.append(np.abs(found.parameters - expected) / found.std)
    for word, errors in zip(('single configurations', 'one trajectory'), noisy, strict=True):
        rms = float(np.sqrt(np.mean(errors**2)))
        yield within('R4-39', f'{word}, same estimator: errors in standard deviations, rms', 0.6, 1.4, rms)


def sensor_checks(machine: Machine) -> Iterator[Check]:
    """R4-15: noise and resolution of the encoders in the simulated machine, friction in its forces."""
    level = np.full_like(machine.leg_sensors.position_noise, ENCODER)
    sensors = dataclasses.replace(machine.leg_sensors, position_noise=level)
    rough = dataclasses.replace(machine, leg_sensors=sensors)
    motion = profile('fourier', machine, 6.0, 100.0, 4)
    clean, noisy = simulate(rough, motion, noise=False), simulate(rough, motion, seed=15)
    error = noisy.joint_positions - clean.joint_positions
    yield within('R4-15', 'noise of simulated positions over 20 um', 0.9, 1.1, float(np.std(error)) / ENCODER)
    yield equal('R4-15', 'positions repeat with the seed', True, bool(
        np.array_equal(noisy.joint_positions, simulate(rough, motion, seed=15).joint_positions)))  # fmt: skip
    truth = clean.truth
    there = np.searchsorted(clean.truth_stamps, clean.joint_stamps)
    states = PlatformMotion(*(getattr(truth, name)[there] for name in PlatformMotion.__dataclass_fields__))
    moving = np.abs(clean.joint_velocities).min(axis=1) > 0.02
    forces = [inverse_dynamics(machine, states[moving], friction=rub) for rub in (True, False)]
    errors = [float(np.sqrt(np.mean((clean.joint_efforts[moving] - one) ** 2))) for one in forces]
    yield at_least('R4-15', 'simulated forces: error of inverse dynamics without friction over that with it', 3.0,
                   errors[1] / errors[0])  # fmt: skip
    encoder = Encoder(machine.leg_sensors, 1, ENCODER)
    read = np.array([encoder.measure(position, position)[0] for position in clean.joint_positions])
    steps = read / ENCODER
    off = steps - np.round(steps)
    yield at_most('R4-15', 'readings of an encoder of 20 um, off a whole number of steps', 1e-6, off)
    noise = float(np.max(machine.leg_sensors.position_noise))
    spread = float(np.std(read - clean.joint_positions)) / np.hypot(noise, ENCODER / np.sqrt(12.0))
    yield within('R4-15', 'errors of these readings over those of its noise and resolution', 0.9, 1.1, spread)


#: N per A of each drive; m, pitch of the magnets
GAINS, PITCH = [68.0, 70.5, 69.0, 71.0, 67.5, 70.0], 0.032

#: harmonics of the compensation
HALL_HARMONICS = 6

#: what the printed accuracy of the drives improved by
PRINTED_FACTOR = 10.0


def drive_sensor_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Forces from currents, and the compensation of Hall sensors."""
    yield from current_checks(machine, 6.0 if quick else 12.0)
    yield from hall_checks(machine, 1000 if quick else 10_000)


def current_checks(machine: Machine, duration: float) -> Iterator[Check]:
    """R4-29: a recording of positions and currents becomes one of positions and forces by one constant per drive."""
    motion = profile('fourier', machine, duration, 100.0, 3)
    positions = drive_positions(machine, motion)
    forces = inverse_dynamics(machine, motion)
    driven = _with_driver(machine, {'effort': {'quantity': 'current', 'gain': GAINS}})
    currents = forces / np.array(GAINS)
    stamps = 10**9 + np.round(motion.time * 1e9).astype(np.int64)
    names = machine.actuated_joint_names
    # in the order of another driver, too
    for order in ([0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 2, 4]):
        told = tuple(names[drive] for drive in order)
        recording = recording_from_joint_states(driven, stamps, told, positions[:, order], currents[:, order])
        what = f'force of a recording of currents against constant times current, drives {order}, relative'
        expected = np.array(GAINS) * currents
        yield at_most('R4-29', what, 1e-14, np.abs(recording.forces - expected).max() / np.abs(expected).max())
        yield equal('R4-29', 'samples whose positions are the recorded ones', len(stamps), int(
            (recording.drive_positions == positions).all(axis=1).sum()))  # fmt: skip
    command = driven.driver.command_of_forces(forces)
    what = 'currents commanded for these forces against force over constant [A]'
    yield at_most('R4-29', what, 1e-12, command - forces / np.array(GAINS), 'A')


def hall_sensors(count: int) -> list[HallSensor]:
    """Sensors of usual quality, each with errors of its own: some percent of offset, amplitude and angle."""
    random = np.random.default_rng(45)
    sensors = []
    for _ in range(count):
        first, second, ratio, angle, third = 0.02 * random.normal(size=5)
        sensors.append(HallSensor(PITCH, (first, second), 1.0 + ratio, angle, 0.2 * third, resolution=1e-6))
    return sensors


def hall_checks(machine: Machine, count: int) -> Iterator[Check]:
    """R4-45: fitted on a slow stroke against a reference of 2 um, judged on another motion of the whole machine."""
    sensors = hall_sensors(machine.leg_count)
    lower, upper = np.array([(joint.limits.lower, joint.limits.upper) for joint in machine.actuated_joints]).T
    stroke = lower + np.linspace(0.0, 1.0, count)[:, None] * (upper - lower)
    reference = stroke + 2e-6 * np.random.default_rng(7).normal(size=stroke.shape)
    fit = fit_periodic_error(_readings(sensors, stroke), reference, PITCH, HALL_HARMONICS)
    error = {'pitch': PITCH, 'cosine': fit.error.cosine.tolist(), 'sine': fit.error.sine.tolist()}
    compensated = _with_driver(
        machine, {'position': {'offset': fit.offset.tolist(), 'periodic_error': error}}
    )
    motion = profile('fourier_validation', machine, 8.0, 100.0, 5)
    true = drive_positions(machine, motion)
    readings = _readings(sensors, true)
    order = JointStateReader.of_drives(compensated).order(machine.actuated_joint_names)
    # what a sensor's zero is off counts on neither side
    raw = readings - true - (readings - true).mean(axis=0)
    left = order.by_joint(readings) - true
    factor = np.sqrt((raw**2).mean(axis=0) / (left**2).mean(axis=0))
    yield at_least('R4-45', 'improvement of each drive, rms on another motion (printed: 10)', PRINTED_FACTOR, factor)
    worst = np.abs(raw).max(axis=0) / np.abs(left).max(axis=0)
    yield at_least('R4-45', 'improvement of each drive, largest error', PRINTED_FACTOR, worst)
    what = 'error of a compensated drive, rms, against the printed repeatability of 20 um'
    yield at_most('R4-45', what, 20.0, 1e6 * np.sqrt((left**2).mean(axis=0)), 'um')
    poses = [forward_kinematics(machine, given).require().position for given in (true + raw, true + left)]
    before, after = (float(np.sqrt(((pose - motion.position) ** 2).sum(axis=1).mean())) for pose in poses)
    yield at_least('R4-45', 'improvement of the platform position by forward kinematics, rms', PRINTED_FACTOR,
                   before / after)  # fmt: skip
    yield at_most('R4-45', 'simulated driver with this error, read again: difference [m]', 1e-12,
                  _there_and_back(compensated, true) - true, 'm')  # fmt: skip


def _readings(sensors: list[HallSensor], positions: Array) -> Array:
    return np.column_stack([sensor.reading(column) for sensor, column in zip(sensors, positions.T, strict=True)])


def _there_and_back(machine: Machine, positions: Array) -> Array:
    """Positions (N, A) as the machine's driver would publish them, and read again."""
    nothing = np.zeros_like(positions)
    told = DriverStreams(machine).joint_states(positions, nothing, nothing)
    return JointStateReader.of_drives(machine).order(told.names).by_joint(told.positions)


def _with_driver(machine: Machine, content: dict[str, object]) -> Machine:
    """The machine with a driver of the sections that a settings file has."""
    return with_driver(machine, yaml.safe_dump({'driver': content}))
