"""Refuse machines whose bodies cannot exist, where that leaves a motion without inertia.

Least squares can give a body a negative mass (Mata et al. 2008, Table 5). Inverse dynamics goes on with it; forward
dynamics would push such a machine against its own forces, faster and faster.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.energy import mass_matrix
from pkm_description.errors import InfeasibleMachineError
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.machine import Machine, RigidBody

#: least eigenvalue of second moments, over the largest, that counts as zero: flat and slender bodies have one
ROUNDING = 1e-9

_KNOWN: WeakKeyDictionary[Machine, bool] = WeakKeyDictionary()


def bodies_exist(machine: Machine) -> bool:
    """Whether every body has a mass and second moments of mass that are not negative, and so has every rotor."""
    if machine not in _KNOWN:
        bodies = [joint.body for leg in machine.legs for joint in leg.joints]
        if machine.has_platform:
            bodies.append(machine.platform)
        _KNOWN[machine] = bool(np.all(machine.rotor_inertia >= 0.0)) and all(map(_exists, bodies))
    return _KNOWN[machine]


def require_definite(machine: Machine, position: Array, rotation_base_platform: Array) -> None:
    """Refuse poses (N, 3) m, (N, 3, 3) where some admitted motion has no positive kinetic energy.

    Machines whose bodies can exist pass without a look at the poses.

    Raises
    ------
    InfeasibleMachineError
        Naming the sample and the least eigenvalue of the mass matrix over the largest.
    """
    if bodies_exist(machine):
        return
    legs = close_legs(machine, position, rotation_base_platform)
    basis = np.nan_to_num(legs.admitted)
    reduced = np.swapaxes(basis, 1, 2) @ mass_matrix(machine, position, rotation_base_platform) @ basis
    values = np.linalg.eigvalsh(reduced)
    bad = np.flatnonzero(~(values[:, 0] > 0.0))
    if len(bad):
        sample = int(bad[0])
        part = values[sample, 0] / max(abs(values[sample, 0]), values[sample, -1])
        raise InfeasibleMachineError(
            f'{machine.name}: the mass matrix is not positive definite in sample {sample} (least eigenvalue '
            f'{part:.3g} of the largest): its bodies cannot exist, and it cannot be simulated; identify it with '
            'physical constraints, or look at the masses and inertias of its file'
        )


def _exists(body: RigidBody) -> bool:
    moments = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
    values = np.linalg.eigvalsh(moments)
    return bool(body.mass >= 0.0 and values[0] >= -ROUNDING * max(float(values[-1]), 0.0))
