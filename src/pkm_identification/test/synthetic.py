"""Analytic recordings: inverse dynamics along an excitation, with the sensor noise of the machine file."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import drive_positions
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion import profiles
from pkm_identification.recording.recording import Recording, recording_from_joint_states

NOMINAL = Path(__file__).parents[1] / 'config'


@cache
def clean_signals(
    machine: Machine, profile: str, duration: float, rate: float, seed: int
) -> tuple[PlatformMotion, np.ndarray, np.ndarray]:
    """Motion, drive positions and forces (N, A) without noise, computed once for all tests of a process."""
    motion = profiles.profile(profile, machine, duration, rate, seed)
    positions = drive_positions(machine, motion.position, motion.rotation_base_platform)
    forces = inverse_dynamics(machine, motion)
    for array in (positions, forces):  # others see the same
        array.flags.writeable = False
    return motion, positions, forces


def with_force(signals: tuple, force: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> tuple:
    """Signals with one more force of positions, velocities and forces."""
    motion, positions, forces = signals
    velocities = np.gradient(positions, motion.time, axis=0)
    return motion, positions, forces + force(positions, velocities, forces)


def recording(
    machine: Machine,
    signals: tuple[PlatformMotion, np.ndarray, np.ndarray],
    noise_seed: int | None,
    source: str = 'synthetic',
) -> Recording:
    """Recording of clean signals with noise; ``None`` leaves them clean."""
    motion, positions, forces = signals
    if noise_seed is not None:
        random = np.random.default_rng(noise_seed)
        positions = positions + machine.leg_sensors.position_noise * random.normal(size=positions.shape)
        forces = forces + machine.leg_sensors.effort_noise * random.normal(size=forces.shape)
    names = [joint.name for joint in machine.actuated_joints]
    stamps = np.round(motion.time * 1e9).astype(np.int64) + 1_000_000_000
    return recording_from_joint_states(machine, stamps, names, positions, forces, source)
