"""Data of the online identification's own model: parameters that are drawn as it believes, and white noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import drive_positions
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_identification.online.observation import OnlineObservation
from pkm_identification.online.settings import OnlineSettings
from pkm_identification.online.sliding_polynomial import SlidingPolynomial

#: Hz
RATE = 100.0
#: white noise of efforts, of their typical size, and of positions, of their range
EFFORT_NOISE, POSITION_NOISE = 0.003, 2e-6
#: ns, of the first sample
BEGIN = 10**9


@dataclass(frozen=True)
class OwnData:
    """What the node would get, and the truth.

    Attributes
    ----------
    time : (N,) s
    positions, efforts : (N, A) measured
    parameters : (N, B) true base parameters
    matrices : (N, A, B) of the true motion
    file_forces : (N, A) of the machine as its file has it, along the true motion
    effort_noise : (A,) standard deviation
    """

    time: Array
    positions: Array
    efforts: Array
    parameters: Array
    matrices: Array
    file_forces: Array
    effort_noise: Array

    @property
    def stamps(self) -> list[int]:
        """Times in ns."""
        return [BEGIN + round(time * 1e9) for time in self.time.tolist()]


def own_data(observation: OnlineObservation, seed: int, duration: float, settings: OnlineSettings) -> OwnData:
    """Draw parameters from the prior of the settings, let friction and offsets walk as stated, add white noise.

    Nothing else is wrong: motion, friction laws and all that has no column are as the machine file says.
    """
    machine, random = observation.machine, np.random.default_rng(seed)
    kind = 'fourier' if machine.degrees_of_freedom == 6 else 'drives'
    motion = profile(kind, machine, duration, RATE, seed)
    positions = drive_positions(machine, motion)
    regressor, held = observation.model.regressor(motion)
    matrix = observation.base.columns(regressor)
    nominal = regressor @ observation.model.parameters(machine) + held
    count = len(observation.base)
    steps = random.normal(size=(len(motion), count)) * observation.walk(settings) / np.sqrt(RATE)
    steps[0] = settings.prior * observation.scale * random.normal(size=count)
    changes = np.cumsum(steps, axis=0)
    efforts = nominal + np.einsum('nab,nb->na', matrix, changes)
    noise = EFFORT_NOISE * observation.typical_force
    efforts += noise * random.normal(size=efforts.shape)
    positions = positions + POSITION_NOISE * np.ptp(positions) * random.normal(size=positions.shape)
    return OwnData(motion.time, positions, efforts, observation.nominal + changes, matrix, nominal, noise)


def online_rows(machine: Machine, data: OwnData) -> tuple[Array, Array, Array]:
    """Matrices (M, A, B), forces (M, A) beyond the file's, and which are used (M, A), as the node makes them."""
    settings, observation = OnlineSettings(), OnlineObservation(machine)
    window = SlidingPolynomial(machine.actuated_count, settings.window, settings.degree)
    matrices, forces, used = [], [], []
    for stamp, position, effort in zip(data.stamps, data.positions, data.efforts, strict=True):
        sample = window.add(stamp, position, effort)
        if sample is None:
            continue
        rows = observation.rows(sample)
        matrices.append(rows.matrix)
        forces.append(sample.efforts - rows.forces)
        used.append(sample.slowest)
    speeds = np.array(used)
    return np.array(matrices), np.array(forces), speeds > settings.slow * speeds.max(axis=0)
