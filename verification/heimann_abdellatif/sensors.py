"""Heimann & Abdellatif, R4-29 and R4-45: forces from currents, and Hall sensors of linear drives compensated.

The paper prints that PaLiDA's drives are controlled by current, that Hall sensors measure their positions, and that
compensation made the drives ten times as accurate; it prints neither force constants nor the sensors' errors. Those
here are invented, of usual size; that the compensation is found from one motion and judged on another is not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.driver import Driver, HallSensor, fit_periodic_error
from pkm_description.dynamics import inverse_dynamics
from pkm_description.joint_states import DriverStreams, JointStateReader
from pkm_description.kinematics import drive_positions, forward_kinematics
from pkm_description.loading.read_driver import read_driver
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_identification.recording.recording import recording_from_joint_states

from verification.check import Check, at_least, at_most, equal

#: N per A of each drive; m, pitch of the magnets
GAINS, PITCH = [68.0, 70.5, 69.0, 71.0, 67.5, 70.0], 0.032

#: harmonics of the compensation
HARMONICS = 6

#: what the printed accuracy of the drives improved by
PRINTED_FACTOR = 10.0


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
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
    fit = fit_periodic_error(_readings(sensors, stroke), reference, PITCH, HARMONICS)
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
    driver: Driver = read_driver(machine, Section(Path('driver.yaml'), 'driver', content))
    return dataclasses.replace(machine, driver=driver)
