"""The inertial parameters of a machine as one vector, with names, in the order of the regressor's columns."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_maps import body_names, inertial_names, sharing_matrix
from pkm_description.dynamics.parameter_maps import identical_legs as groups_of_identical_legs
from pkm_description.kinematics.arguments import require_machine
from pkm_description.machine import Machine


def rigid_body_parameters(machine: Machine, identical_legs: bool = True) -> Array:
    """Ten parameters per body (P,): the platform's, then those of each leg body from base to platform.

    Parameters
    ----------
    identical_legs : True: one set of leg bodies, P = 10 (1 + J); False: leg by leg, P = 10 (1 + J L); 10 fewer for an
        open chain. Other sharing: :func:`pkm_description.dynamics.sharing_matrix`

    Raises
    ------
    ValueError
        If the legs' parameters differ although ``identical_legs`` is asked for; names the body.
    """
    require_machine(machine)
    platform = [machine.platform] if machine.has_platform else []
    bodies = platform + [joint.body for leg in machine.legs for joint in leg.joints]
    full = np.concatenate([body.parameters for body in bodies])
    if not identical_legs:
        return full
    try:
        return sharing_matrix(machine, groups_of_identical_legs(machine)).values(full)
    except ValueError as error:
        raise ValueError(f'{machine.name}: legs differ, {error}; use identical_legs=False') from None


def rigid_body_parameter_names(machine: Machine, identical_legs: bool = True) -> list[str]:
    """Names (P,) such as ``platform_link.m`` and ``leg_rod.Ixx`` (identical legs) or ``leg1_rod.Ixx``."""
    require_machine(machine)
    if identical_legs:
        return list(sharing_matrix(machine, groups_of_identical_legs(machine)).names)
    return list(inertial_names(body_names(machine)))
