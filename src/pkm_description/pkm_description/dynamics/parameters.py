"""The inertial parameters of a machine as one vector, with names, in the order of the regressor's columns."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.body_blocks import body_names, identical_leg_groups
from pkm_description.dynamics.parameter_maps import inertial_names, sharing_matrix
from pkm_description.kinematics.arguments import require_machine
from pkm_description.machine import Machine


def rigid_body_parameters(machine: Machine, identical_legs: bool = True) -> Array:
    """Ten parameters per body (P,): the platform's, then those of each leg body from base to platform.

    Parameters
    ----------
    identical_legs : True: legs that are built alike share one set of leg bodies; False: leg by leg, P = 10 (1 + J) with
        the J joints of all legs; 10 fewer for an open chain. Other sharing:
        :func:`pkm_description.dynamics.sharing_matrix`

    Raises
    ------
    ValueError
        If the legs' parameters differ although ``identical_legs`` is asked for; names the body.
    """
    require_machine(machine)
    platform = [machine.platform] if machine.has_platform else []
    bodies = platform + [joint.body for joint in machine.joints]
    full = np.concatenate([body.parameters for body in bodies])
    if not identical_legs:
        return full
    try:
        return sharing_matrix(machine, identical_leg_groups(machine)).values(full)
    except ValueError as error:
        raise ValueError(f'{machine.name}: legs differ, {error}; use identical_legs=False') from None


def rigid_body_parameter_names(machine: Machine, identical_legs: bool = True) -> list[str]:
    """Names (P,) such as ``platform_link.m`` and ``leg_rod.Ixx`` (identical legs) or ``leg1_rod.Ixx``."""
    require_machine(machine)
    if identical_legs:
        return list(sharing_matrix(machine, identical_leg_groups(machine)).names)
    return list(inertial_names(body_names(machine)))
