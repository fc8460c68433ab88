"""The inertial parameters of a machine as one vector, with names, in the order of the regressor's columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_description.machine.model import INERTIAL_PARAMETERS, Machine

Array = NDArray[np.float64]

#: relative difference up to which the parameters of two legs count as equal
EQUAL_LEGS_TOLERANCE = 1e-9


def rigid_body_parameters(machine: Machine, identical_legs: bool = True) -> Array:
    """Ten parameters per body (P,): the platform's, then those of each leg body from base to platform.

    Parameters
    ----------
    identical_legs : True: one set of leg bodies, P = 10 (1 + J); False: leg by leg, P = 10 (1 + J L)

    Raises
    ------
    ValueError
        If the legs' parameters differ although ``identical_legs`` is asked for; names leg and body.
    """
    legs = np.array([[joint.body.parameters for joint in leg.joints] for leg in machine.legs])
    if identical_legs:
        difference = np.abs(legs - legs[0]) / np.abs(legs[0]).max(axis=-1, keepdims=True).clip(1e-300)
        if difference.max() > EQUAL_LEGS_TOLERANCE:
            leg, body, parameter = np.unravel_index(difference.argmax(), difference.shape)
            raise ValueError(
                f'{machine.name}: {INERTIAL_PARAMETERS[parameter]} of '
                f'{machine.legs[leg].joints[body].body.name} is {legs[leg, body, parameter]:.6g}, '
                f'of {machine.legs[0].joints[body].body.name} '
                f'{legs[0, body, parameter]:.6g}; use identical_legs=False'
            )
        legs = legs[:1]
    return np.concatenate([machine.platform.parameters, legs.ravel()])


def rigid_body_parameter_names(machine: Machine, identical_legs: bool = True) -> list[str]:
    """Names (P,) such as ``platform_link.m`` and ``leg_rod.Ixx`` (identical legs) or ``leg1_rod.Ixx``."""
    bodies = [machine.platform.name]
    if identical_legs:
        first = machine.legs[0]
        bodies += [f'leg_{joint.body.name.removeprefix(first.name + "_")}' for joint in first.joints]
    else:
        bodies += [joint.body.name for leg in machine.legs for joint in leg.joints]
    return [f'{body}.{parameter}' for body in bodies for parameter in INERTIAL_PARAMETERS]
