"""Recordings in which a load is put on the platform."""

from __future__ import annotations

import dataclasses

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import drive_positions
from pkm_description.machine import Machine, PlatformMotion


def with_point_mass(machine: Machine, mass: float, place: Array) -> Machine:
    """The same machine with a point mass at a place of its platform, m."""
    body = machine.platform
    total = body.mass + mass
    center = (body.mass * body.center_of_mass + mass * place) / total
    inertia = body.inertia.copy()
    for part, at in ((body.mass, body.center_of_mass), (mass, place)):
        arm = at - center
        inertia = inertia + part * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    heavier = dataclasses.replace(body, mass=total, center_of_mass=center, inertia=inertia)
    return dataclasses.replace(machine, platform=heavier)


def loaded_signals(
    machine: Machine, motion: PlatformMotion, since: float, mass: float, place: Array, seed: int = 0
) -> tuple[Array, Array]:
    """Positions and forces (N, A) of the drives, with a load from a time on, sensor noise, bias and ripple.

    Bias is 0.5 to 1 % and ripple 0.3 % of a typical force.
    """
    random = np.random.default_rng(seed)
    positions = drive_positions(machine, motion)
    plain, heavy = (inverse_dynamics(one, motion) for one in (machine, with_point_mass(machine, mass, place)))
    forces = np.where(motion.time[:, None] >= since, heavy, plain)
    typical = float(np.sqrt(np.mean(plain**2)))
    count = forces.shape[1]
    ripple = 0.003 * np.sin(2.0 * np.pi * 7.0 * positions / np.ptp(positions))
    forces = forces + typical * (np.linspace(-0.01, 0.005, count) + ripple + random.normal(0.0, 0.003, forces.shape))
    return positions + random.normal(0.0, 2e-6, positions.shape), forces
