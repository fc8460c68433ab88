"""Base parameters of a machine, from its regressor at random states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.body_blocks import Groups, identical_leg_groups
from pkm_description.dynamics.friction import (
    JointSelection,
    friction_loads,
    friction_needs_loads,
    friction_parameter_names,
    friction_parameters,
    friction_regressor,
)
from pkm_description.dynamics.open_chain import open_chain_regressor
from pkm_description.dynamics.parameter_reduction.forms import BodyForm, body_form_map
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, reduce_parameters
from pkm_description.dynamics.parameters import (
    ParameterMap,
    rigid_body_parameters,
    rotor_parameter_names,
    rotor_parameters,
    rotor_regressor,
    sharing_matrix,
)
from pkm_description.dynamics.regressor import rigid_body_regressor
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.joint_motion import joint_motion
from pkm_description.kinematics.workspace import random_joint_states, random_states
from pkm_description.machine import Machine

Forms = Mapping[str, BodyForm]

#: relative norm of columns that are rounding of zero: legs closed by iterations leave more than others
_ABSENCE = 1e-11

#: equations per parameter that the random states give at least
_OVERSAMPLING = 3


def base_parameters(
    machine: Machine,
    groups: Groups | None = None,
    forms: Forms | None = None,
    friction: JointSelection | None = None,
    rotors: bool = False,
    seed: int = 1,
    tolerance: float = 1e-8,
    preferred: Sequence[str] = (),
    eliminated: Sequence[str] = (),
) -> BaseParameters:
    """Base parameters of any machine.

    A property of the machine, not of a recording: the drive forces of random states all around home, of open chains
    the forces in all joints.

    Parameters
    ----------
    groups : bodies that share parameters, see :func:`pkm_description.dynamics.sharing_matrix`; default: bodies of
        different legs are alike; ``{}``: each body has its own
    forms : assumptions on bodies, see :func:`pkm_description.dynamics.body_form_map`
    friction : joints whose friction takes part, see :func:`pkm_description.dynamics.friction_regressor`
    rotors : inertia of rotors and screws takes part
    seed : of the random states
    tolerance, preferred, eliminated : see :func:`pkm_description.dynamics.reduce_parameters`

    Raises
    ------
    ValueError
        Friction or rotors of an open chain, where each acts in its own joint and nothing is to be reduced.
    """
    bodies = _body_map(machine, groups, forms)
    names = list(bodies.names)
    if not machine.has_platform:
        if friction or rotors:
            raise ValueError(f'{machine.name} is an open chain: friction and rotors act in their own joints only')
        states = random_joint_states(machine, _sample_count(machine), seed)
        matrix = bodies.columns(open_chain_regressor(machine, *states))
        return _reduced(matrix, names, tolerance, preferred, eliminated)
    motion = random_states(machine, _sample_count(machine), seed)
    blocks = [bodies.columns(rigid_body_regressor(machine, motion, identical_legs=False))]
    joints = joint_motion(machine, motion)
    if friction:
        loads = friction_loads(machine, motion) if friction_needs_loads(machine) else None
        blocks.append(friction_regressor(machine, joints, friction, loads=loads))
        names += friction_parameter_names(machine, friction)
    if rotors:
        blocks.append(rotor_regressor(machine, joints))
        names += rotor_parameter_names(machine)
    return _reduced(np.concatenate(blocks, axis=-1), names, tolerance, preferred, eliminated)


def machine_parameters(
    machine: Machine,
    groups: Groups | None = None,
    forms: Forms | None = None,
    friction: JointSelection | None = None,
    rotors: bool = False,
) -> Array:
    """Full parameters (P,) of a machine in the order of :func:`base_parameters` with the same arguments.

    Raises
    ------
    ValueError
        If the machine's bodies do not agree with groups or forms; names the parameter.
    """
    parts = [_body_map(machine, groups, forms).values(rigid_body_parameters(machine, identical_legs=False))]
    if friction:
        parts.append(friction_parameters(machine, friction))
    if rotors:
        parts.append(rotor_parameters(machine))
    return np.concatenate(parts)


def _body_map(machine: Machine, groups: Groups | None, forms: Forms | None) -> ParameterMap:
    require_machine(machine)
    sharing = sharing_matrix(machine, identical_leg_groups(machine) if groups is None else groups)
    return sharing.then(body_form_map(sharing.names, forms or {}))


def _sample_count(machine: Machine) -> int:
    joints = len(machine.joints)
    equations = machine.actuated_count if machine.has_platform else joints
    # ten parameters of each body, two and more of friction of each joint
    return 20 + _OVERSAMPLING * (10 * (joints + 1) + 3 * joints) // equations


def _reduced(
    regressor: Array, names: Sequence[str], tolerance: float, preferred: Sequence[str], eliminated: Sequence[str]
) -> BaseParameters:
    matrix = regressor.reshape(-1, len(names))
    return reduce_parameters(matrix, names, tolerance, preferred=preferred, eliminated=eliminated, absence=_ABSENCE)
