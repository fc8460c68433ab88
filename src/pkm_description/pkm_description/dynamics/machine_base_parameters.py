"""Base parameters of a machine: its regressor over random states, reduced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pkm_description.dynamics.base_parameters import BaseParameters, reduce_parameters
from pkm_description.dynamics.body_forms import BodyForm, body_form_map
from pkm_description.dynamics.open_chain import open_chain_regressor
from pkm_description.dynamics.parameter_maps import identical_legs as groups_of_identical_legs
from pkm_description.dynamics.parameter_maps import sharing_matrix
from pkm_description.dynamics.regressor import rigid_body_regressor
from pkm_description.mechanism import Mechanism
from pkm_description.motion.random_states import random_joint_states, random_states

Array = NDArray[np.float64]

#: equations per parameter that the random states give at least
_OVERSAMPLING = 3


def machine_base_parameters(
    mechanism: Mechanism,
    groups: Mapping[str, Sequence[str]] | None = None,
    forms: Mapping[str, BodyForm] | None = None,
    seed: int = 1,
    tolerance: float = 1e-8,
    preferred: Sequence[str] = (),
    eliminated: Sequence[str] = (),
) -> BaseParameters:
    """Base parameters of the rigid bodies of any machine.

    A property of the machine, not of a recording: the drive forces of random states all around home, of open chains
    the forces in all joints.

    Parameters
    ----------
    groups : bodies that share parameters, see :func:`pkm_description.dynamics.sharing_matrix`; default: bodies of
        different legs are alike; ``{}``: each body has its own
    forms : assumptions on bodies, see :func:`pkm_description.dynamics.body_form_map`
    seed : of the random states
    tolerance, preferred, eliminated : see :func:`pkm_description.dynamics.reduce_parameters`
    """
    machine = mechanism.machine
    sharing = sharing_matrix(machine, groups_of_identical_legs(machine) if groups is None else groups)
    assumed = sharing.then(body_form_map(sharing.names, forms or {}))
    regressor = assumed.columns(_full_regressor(mechanism, seed))
    return reduce_parameters(regressor, assumed.names, tolerance, preferred=preferred, eliminated=eliminated)


def _full_regressor(mechanism: Mechanism, seed: int) -> Array:
    """Regressor (M, P) of all bodies, one by one."""
    bodies = mechanism.leg_count * mechanism.joint_count + int(mechanism.has_platform)
    equations = mechanism.actuated_count if mechanism.has_platform else mechanism.leg_count * mechanism.joint_count
    count = 20 + _OVERSAMPLING * 10 * bodies // equations
    if mechanism.has_platform:
        regressor = rigid_body_regressor(mechanism, random_states(mechanism, count, seed), identical_legs=False)
    else:
        regressor = open_chain_regressor(mechanism, *random_joint_states(mechanism, count, seed))
    return regressor.reshape(-1, 10 * bodies)
