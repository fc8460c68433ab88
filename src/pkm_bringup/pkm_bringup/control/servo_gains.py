"""Servo gains for a control loop with delay."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import mass_matrix
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import reduced_jacobian
from pkm_description.machine import Machine, ServoGains
from scipy.linalg import eigvalsh

#: rad, phase that the delay may take at the crossover of the rate loop
_DELAY_PHASE = 0.5


def gains_for_delay(machine: Machine, gains: ServoGains, delay: float) -> ServoGains:
    """Lower the gains until a loop with this delay has a sound phase margin in every direction.

    The rate loop's crossover is damping / (smallest mass that the drives feel at home, an eigenvalue of the mass matrix
    in the drives' coordinates). Where delay * crossover exceeds 0.5 rad, damping is lowered by a factor and stiffness
    by its square, which keeps the damping ratio.

    Parameters
    ----------
    gains : as in the machine file, for a loop without delay
    delay : s, from measurement to force, half a hold period included

    """
    if not delay >= 0.0:
        raise ValueError(f'delay = {delay} s, expected zero or more')
    crossover = gains.damping / float(_felt_masses(machine).min())
    factor = min(1.0, _DELAY_PHASE / max(crossover * delay, 1e-12))
    return ServoGains(gains.stiffness * factor**2, gains.damping * factor)


def largest_integral_rate(machine: Machine, gains: ServoGains) -> float:
    """Half the integral rate [1/s] at which a PID loop on the machine at home becomes unstable in some direction.

    Mass m with m s^3 + damping s^2 + stiffness s + stiffness * rate: stable below rate = damping / m (Routh). The
    heaviest direction decides.
    """
    return 0.5 * gains.damping / float(_felt_masses(machine).max())


def _felt_masses(machine: Machine) -> Array:
    """Masses (D,) kg or kg m^2 that the drives feel at home in the principal directions of their motion."""
    home = machine.home
    position, rotation = home.position[None], home.rotation_base_platform[None]
    legs = close_legs(machine, position, rotation)
    drives, admitted = reduced_jacobian(legs)[0], legs.admitted[0]
    mass = admitted.T @ mass_matrix(machine, position, rotation)[0] @ admitted
    # of the admitted motions x: kinetic energy x' M x / 2 over the squares of the drives' rates x' J' J x / 2
    return np.asarray(eigvalsh(mass, drives.T @ drives))
