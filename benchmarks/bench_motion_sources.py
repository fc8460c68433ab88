"""Errors of velocity and acceleration of every motion source, for one noisy motion with known derivatives.

The motion is periodic: three periods of 5 s, five harmonics, in the machine's own coordinates, sampled at 1 kHz. The
noise on the drives' positions is that of the machine file. Errors are of the drives, rms over the inner samples, of
the rms of the velocity or acceleration itself.
"""

# ruff: noqa: E402
from __future__ import annotations

import os

for _library in ('OMP', 'OPENBLAS', 'MKL'):
    os.environ.setdefault(f'{_library}_NUM_THREADS', '1')

import sys
from collections.abc import Sequence
from time import process_time

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import drive_positions, joint_motion
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.fourier import FourierCoordinates
from pkm_identification.configuration import MOTION_SOURCES, MotionSettings
from pkm_identification.excitation.coordinates import coordinates_of
from pkm_identification.motion_source.bands import choose_bands
from pkm_identification.motion_source.by_name import motion_source
from pkm_identification.recording.recording import PlatformPoses, Recording

MACHINES = ('srs', 'valencia_3rps', 'khalifa_3prr')
RATE, BASE, HARMONICS, PERIODS = 1000.0, 0.2, 5, 3
#: times by which the default must be better than central differences in acceleration
TARGET = 1000.0
#: s at either end that are not compared
END = 1.0


def known_motion(machine: Machine, rate: float = RATE, periods: int = PERIODS, part: float = 0.3) -> PlatformMotion:
    """Periodic motion whose speeds are ``part`` of what the scale of the coordinates suggests."""
    coordinates = coordinates_of(machine)
    random = np.random.default_rng(0)
    size = part * coordinates.scale[:, None] * 2.0 * np.pi * BASE / HARMONICS
    sine, cosine = (size * random.uniform(-1.0, 1.0, (len(coordinates), HARMONICS)) for _ in range(2))
    time = np.arange(round(periods / BASE * rate)) / rate
    return coordinates.motion(time, *FourierCoordinates(sine, cosine, BASE, periods).periodic(time))


def noisy_recording(machine: Machine, motion: PlatformMotion, seed: int = 0) -> Recording:
    """Positions of the drives and of an estimator with the noise of the machine file; efforts are all zero."""
    random, sensors = np.random.default_rng(seed), machine.leg_sensors
    positions = drive_positions(machine, motion.position, motion.rotation_base_platform)
    noisy = positions + sensors.position_noise * random.normal(size=positions.shape)
    poses = PlatformPoses(motion.time, motion.position, motion.rotation_base_platform)
    return Recording(motion.time, noisy, np.zeros_like(noisy), poses=poses)


def errors(machine: Machine, motion: PlatformMotion, found: PlatformMotion) -> tuple[float, float]:
    """Errors of the drives' velocities and accelerations, rms of all drives, of their own rms."""
    inner = (motion.time > END) & (motion.time < motion.time[-1] - END)

    def drives(one: PlatformMotion) -> tuple[Array, Array]:
        joints, columns = joint_motion(machine, one), machine.drive_columns
        return joints.velocities[inner][:, columns], joints.accelerations[inner][:, columns]

    pairs = zip(drives(found), drives(motion), strict=True)
    velocity, acceleration = (float(np.sqrt(np.mean((ours - true) ** 2) / np.mean(true**2))) for ours, true in pairs)
    return velocity, acceleration


def main(machines: Sequence[str] = MACHINES) -> int:
    """Print the table; 0 if the default is far better than central differences."""
    worse = False
    for name in machines:
        machine = load_machine(name)
        motion = known_motion(machine)
        recording = noisy_recording(machine, motion)
        bands = choose_bands(machine, recording)
        print(f'{name}: noise {np.max(machine.leg_sensors.position_noise):.2g} m or rad, {RATE:g} Hz, '
              f'cut-off {bands.motion_cutoff:.3g} Hz')  # fmt: skip
        found = {}
        for source in MOTION_SOURCES:
            if source == 'estimator':  # its poses have the noise of the estimator
                continue
            settings = MotionSettings(source)
            if source == 'fourier':
                settings = MotionSettings(source, base_frequency=BASE, harmonics=3 * HARMONICS)
            start = process_time()
            made = motion_source(settings).motion(machine, recording, bands)
            took = process_time() - start
            found[source] = errors(machine, motion, made.smooth)
            velocity, acceleration = found[source]
            print(f'  {source:<20s} velocity {velocity:8.1e}  acceleration {acceleration:8.1e}  {took:5.2f} s')
        worse |= found['low_pass'][1] * TARGET > found['central_differences'][1]
    return int(worse)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:] or MACHINES))
