"""Servo gains for simulators without rotor inertia."""

from __future__ import annotations

import numpy as np

from pkm_description.dynamics import forward_dynamics
from pkm_description.dynamics.open_chain import open_chain_mass_matrix
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.machine import Machine, ServoGains
from pkm_description.machine.variants import with_gravity, without_rotors


def gains_without_rotors(machine: Machine) -> ServoGains:
    """Gains with which the machine without rotors has the bandwidth and damping of the one with them.

    Where rotors are most of the inertia, the machine file's gains would make the lighter machine unstable at the
    sampling of a simulator. Compared is the lightest direction of the drives at home.
    """
    if not machine.rotor_inertia.any():
        return machine.servo
    share = _lightest_inertia(without_rotors(machine)) / _lightest_inertia(machine)
    return ServoGains(share * machine.servo.stiffness, share * machine.servo.damping)


def _lightest_inertia(machine: Machine) -> float:
    """Smallest inertia that the drives feel at home, all of them moving together, kg or kg m^2."""
    weightless = with_gravity(machine, np.zeros(3))
    if not machine.has_platform:
        mass, driven = open_chain_mass_matrix(weightless, weightless.home_positions[None])[0], weightless.drive_columns
        return float(1.0 / np.linalg.inv(mass)[driven, driven].max())
    position, rotation = machine.home.position[None], machine.home.rotation_base_platform[None]
    jacobian = close_legs(weightless, position, rotation).drive_map[0]
    drives = len(jacobian)
    accelerations = forward_dynamics(
        weightless, np.repeat(position, drives, axis=0), np.repeat(rotation, drives, axis=0), np.zeros((drives, 6)),
        np.eye(drives), friction=False,
    )  # fmt: skip
    mobility = accelerations @ jacobian.T
    return float(1.0 / np.linalg.eigvalsh(0.5 * (mobility + mobility.T))[-1])
