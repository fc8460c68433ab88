"""The energy (integral) model: the work of the drives is the change of the machine's energy.

One scalar equation per step, without accelerations: the change of the machine's energy is the work of the drives
less friction (Oh 2003, Eqs. 2.56 and 2.57, after Bhattacharya, Hatwal & Ghosh).
"""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.energy import energy_regressor
from pkm_description.machine import Machine, PlatformMotion


def energy_equations(
    machine: Machine, motion: PlatformMotion, drive_positions: Array, forces: Array, identical_legs: bool = True
) -> tuple[Array, Array]:
    """Equations of the integral model between neighbouring samples of one motion.

    Parameters
    ----------
    motion : N samples, close together
    drive_positions : (N, A) m or rad
    forces : (N, A), of the drives less friction and rotors: their work goes into the rigid bodies

    Returns
    -------
    differences : (N - 1, P), ``differences @ parameters = work``
    work : (N - 1,) J, by the trapezoidal rule (the left end alone, as printed, is a hundred times worse)
    """
    regressor = energy_regressor(machine, motion, identical_legs)
    work = np.sum(0.5 * (forces[1:] + forces[:-1]) * np.diff(drive_positions, axis=0), axis=1)
    return np.diff(regressor, axis=0), work
