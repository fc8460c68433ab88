"""What identification must reach in each case, and with which settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pkm_description.machine import Machine

from verification.identification_data.dataset import DURATIONS


@dataclass(frozen=True)
class Expectation:
    """Limits for a case of :data:`verification.identification_data.cases.CASES`.

    Attributes
    ----------
    held_out : largest force error on the validation motion, below the force cut-off, of the force
    coulomb : largest error of a Coulomb friction, of its value; 0: not asked for
    stribeck_velocity : largest error of the Stribeck velocity, of its value; 0: not asked for
    settings : of ``IdentificationConfig`` that a user who knows of these drives would choose
    motion, duration : of the training that such a user would record; s
    """

    held_out: float
    coulomb: float = 0.0
    stribeck_velocity: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)
    motion: str = 'excitation'
    duration: float = DURATIONS[0]


#: a motion that shows friction at low speed
_SLOW: dict[str, Any] = {'motion': 'fast_and_slow', 'duration': 50.0}

#: on SIMONA, by case
EXPECTATIONS: dict[str, Expectation] = {
    'plain': Expectation(0.0006),
    'bias_ripple': Expectation(0.001),
    'asymmetric': Expectation(0.001),
    'stribeck': Expectation(0.001, stribeck_velocity=0.1, **_SLOW),
    'axial': Expectation(0.0006, coulomb=0.01, **_SLOW),
    # seed 0: 3.5 %, values called identified are at most 1.7 standard deviations off
    'everything': Expectation(0.0015, coulomb=0.04, **_SLOW),
}

#: what the textbook's pipeline must be worse by
PEER_RATIO = 4.0
#: standard deviations that no value called identified may be off
SIGMAS = 4.0
#: held-out force error as a multiple of the noise floor, on machines with fewer degrees of freedom
NOISE_FLOORS = 2.0

#: cases that viscous and Coulomb friction alone do not describe
MIS_MODELLED = ('bias_ripple', 'asymmetric', 'stribeck', 'axial', 'everything')


def settings_for(machine: Machine, unlike_legs: bool, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a run: legs one by one where they are not alike."""
    return {'columns.identical_legs': not unlike_legs and legs_are_alike(machine), **settings}


def legs_are_alike(machine: Machine) -> bool:
    """Whether the bodies of all legs have the same parameters, as ``columns.identical_legs`` assumes."""
    first, *others = [[joint.body.parameters for joint in leg.joints] for leg in machine.legs]
    return all(len(own) == len(first) and np.allclose(own, first, rtol=1e-9, atol=0.0) for own in others)
