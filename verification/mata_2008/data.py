"""Data of a simulated 3-RPS, the stand-in for the paper's ADAMS model and its robot, whose recordings are not public.

The machine file is the robot. It follows a designed excitation of 11 harmonics and 7.5 s, integrated by forward
dynamics, and is measured at 75 points with the noise of the file's sensors.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
from pkm_description.friction_laws import Stribeck, ViscousCoulomb
from pkm_description.kinematics import motion_from_drives
from pkm_description.kinematics.joint_motion import drive_positions
from pkm_description.loading import load_machine
from pkm_description.machine import Joint, JointFriction, Machine, PlatformMotion
from pkm_description.machine.machine import with_friction
from pkm_description.motion.fourier import FourierCoordinates
from pkm_identification.excitation.design import ExcitationDesign, design_excitation

from verification.drive_data import DriveData, DriveNoise, forward_run
from verification.mata_2008.excitation import PERIOD, POINTS, SETTINGS

#: steps of the integration per period; m/s of the smooth sign
STEPS, SMOOTHING = 15000, 2e-4

#: noise of the file's sensors: N, m, m/s; m/s^2 assumed
NOISE = DriveNoise(1e-5, 1e-4, 3e-3, 50.0)

#: N, m/s of the truth with Stribeck friction (assumed): static level over 228 N of Coulomb friction, and velocity
STATIC, STRIBECK = 420.0, 0.03


@cache
def excitation(path: str, seed: int = 0) -> ExcitationDesign:
    """An excitation with about the condition number of the paper's example (595)."""
    settings = replace(SETTINGS, starts=1, draws=3, iterations=15, seed=seed)
    return design_excitation(load_machine(path), settings, ThreadPoolExecutor(1))


def periodic_motion(machine: Machine, series: FourierCoordinates, rate: float) -> PlatformMotion:
    """One period of a series of drive coordinates; ``rate`` in Hz."""
    time = np.arange(round(rate * series.period)) / rate
    value, first, second = series.periodic(time)
    home = drive_positions(machine, machine.home.position, machine.home.rotation_base_platform)
    return motion_from_drives(machine, time, home + value, first, second)


def truth_run(path: str, friction: str = 'file', seed: int = 0) -> DriveData:
    """Clean data (75, 3) of one period: every tenth sample of :func:`fine_run`."""
    return fine_run(path, friction, seed)[::10]


@cache
def fine_run(path: str, friction: str = 'file', seed: int = 0) -> DriveData:
    """Clean data (750, 3) of one period at 100 Hz, by forward dynamics.

    Parameters
    ----------
    friction : ``'file'``: Coulomb and viscous as printed; ``'stribeck'``: Eq. 32 in the drives
    seed : of the excitation
    """
    machine = robot(path, friction)
    motion = periodic_motion(machine, excitation(path, seed).series, STEPS / PERIOD)
    return forward_run(machine, motion, len(motion) // (10 * POINTS), SMOOTHING)


@cache
def robot(path: str, friction: str = 'file') -> Machine:
    """The machine of a file with the friction of the truth."""
    machine = load_machine(path)
    if friction == 'file':
        return machine

    def stribeck(joint: Joint) -> JointFriction:
        law = joint.friction.law
        if not isinstance(law, ViscousCoulomb) or not joint.actuated:
            return joint.friction
        return JointFriction(
            Stribeck(viscous=law.viscous, coulomb=law.coulomb, static=STATIC, stribeck_velocity=STRIBECK)
        )

    return with_friction(machine, stribeck)
