"""Joint friction and its share of the drive forces, linear in its parameters (Heimann & Abdellatif, Eqs. 2-4).

Every joint has a law: the one that its machine file names, else viscous and Coulomb friction (see
:mod:`pkm_description.friction_laws`). The regressor's columns are the law's linear parameters; its nonlinear
ones keep the values of the machine file.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import FrictionLawError, ShapeError
from pkm_description.friction_laws.law import FrictionLaw
from pkm_description.friction_laws.sign import EXACT_SIGN, Sign
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.joint_motion import JointMotion, require_joint_motion
from pkm_description.kinematics.leg_motion import close_legs
from pkm_description.kinematics.overall_jacobian import twist_from_leg_rates
from pkm_description.machine import Joint, Machine

JointSelection = Literal['actuated', 'all', 'class']


def joint_friction_law(joint: Joint, sign_smoothing: float = 0.0) -> FrictionLaw:
    """Law of a joint.

    Parameters
    ----------
    sign_smoothing : velocity [m/s or rad/s] of a tanh in place of the law's own sign; 0 keeps that
    """
    law = joint.friction.law
    return law.with_sign(Sign('tanh', sign_smoothing)) if sign_smoothing > 0.0 else law


def friction_regressor(
    machine: Machine,
    joint_motion: JointMotion,
    joints: JointSelection = 'actuated',
    sign_smoothing: float = 0.0,
    loads: Array | None = None,
) -> Array:
    """Regressor (N, A, F): friction's share of the drive forces [N, N m] = regressor @ ``friction_parameters``.

    The friction of a passive joint reaches the drives by virtual power, so its share depends on the pose.

    Parameters
    ----------
    joint_motion : N samples
    joints : ``'actuated'``: driven joints, leg by leg; ``'all'``: every joint; ``'class'``: every joint, and joints of
        the same place share one set of linear parameters over all legs (each keeps its own nonlinear ones)
    sign_smoothing : velocity [m/s or rad/s] of a tanh in place of the sign; 0 keeps the sign
    loads : (N, L, J) N, normal forces in the joints as :func:`pkm_description.dynamics.friction_loads` gives them; for
        laws that depend on them

    Raises
    ------
    SingularPoseError
        With passive joints, where the drives do not determine the platform's motion.
    FrictionLawError
        A law depends on the load, and there are no loads.
    ValueError
        With ``'class'``, if joints of one place have laws of different kinds.
    """
    require_machine(machine)
    require_joint_motion(machine, joint_motion)
    selected = _selected(machine, joints)
    velocities = joint_motion.velocities.reshape(-1, machine.leg_count, machine.joint_count)
    if loads is not None and np.shape(loads) != velocities.shape:
        raise ShapeError('loads', f'{velocities.shape}: samples, legs, joints', np.shape(loads))
    samples = len(velocities)
    shares = None
    if joints != 'actuated':
        legs = close_legs(machine, joint_motion.position, joint_motion.rotation_base_platform)
        shares = legs.joint_map @ twist_from_leg_rates(machine, legs)[:, None]  # joint rate per drive rate
    blocks: dict[tuple[int, int], Array] = {}
    # joint by joint, because each may have its own law
    for leg, place in selected:
        joint = machine.legs[leg].joints[place]
        law = joint_friction_law(joint, sign_smoothing)
        columns = law.regressor(velocities[:, leg, place], _load(law, joint, loads, leg, place))
        if shares is None:
            block = np.zeros((samples, machine.actuated_count, columns.shape[-1]))
            block[:, leg] = columns
        else:
            block = shares[:, leg, place, :, None] * columns[:, None]
        key = (0, place) if joints == 'class' else (leg, place)
        blocks[key] = blocks[key] + block if key in blocks else block
    return np.concatenate(list(blocks.values()), axis=-1)


def friction_torques(
    machine: Machine, velocities: Array, sign_smoothing: float = 0.0, loads: Array | None = None
) -> Array:
    """Friction torques and forces (N, L, J) that the machine file gives for joint velocities (N, L, J).

    Parameters
    ----------
    sign_smoothing, loads : as in :func:`friction_regressor`
    """
    sign = Sign('tanh', sign_smoothing) if sign_smoothing > 0.0 else EXACT_SIGN
    # all joints at once; where this is not the law, what it gives is replaced
    torques = machine.leg_viscous * velocities + machine.leg_coulomb * sign(velocities)
    for leg, place in joints_with_other_laws(machine):
        joint = machine.legs[leg].joints[place]
        law = joint_friction_law(joint, sign_smoothing)
        torques[:, leg, place] = law.force(velocities[:, leg, place], _load(law, joint, loads, leg, place))
    return torques


def joints_with_other_laws(machine: Machine) -> list[tuple[int, int]]:
    """Leg and place of the joints whose friction is more than viscous and Coulomb friction."""
    return [
        (leg, place)
        for leg, chain in enumerate(machine.legs)
        for place, joint in enumerate(chain.joints)
        if not joint.friction.is_viscous_coulomb
    ]


def friction_needs_loads(machine: Machine) -> bool:
    """True if the friction of a joint depends on the normal force in it."""
    return any(joint.friction.law.needs_load for leg in machine.legs for joint in leg.joints)


def friction_parameters(machine: Machine, joints: JointSelection = 'actuated') -> Array:
    """Linear friction parameters (F,), joint by joint, leg by leg (``'class'``: place by place).

    Raises
    ------
    ValueError
        With ``'class'``, if joints of one place have different parameters; names the joint.
    """
    require_machine(machine)
    found: dict[tuple[int, int], Array] = {}
    for leg, place in _selected(machine, joints):
        joint = machine.legs[leg].joints[place]
        values = joint.friction.law.linear_parameters()
        key = (0, place) if joints == 'class' else (leg, place)
        first = found.setdefault(key, values)
        if not np.allclose(values, first, rtol=1e-9, atol=0.0):
            raise ValueError(
                f'{machine.name}: friction of {joint.name} is {values.tolist()}, of '
                f"{machine.legs[0].joints[place].name} {first.tolist()}; use joints='all'"
            )
    return np.concatenate(list(found.values()))


def friction_parameter_names(machine: Machine, joints: JointSelection = 'actuated') -> list[str]:
    """Names (F,) such as ``leg1_prismatic.viscous``; with ``'class'`` ``leg_prismatic.viscous``."""
    require_machine(machine)
    names = []
    for leg, place in _selected(machine, joints):
        chain = machine.legs[leg]
        joint = chain.joints[place]
        if joints == 'class' and leg:
            continue
        name = f'leg_{joint.name.removeprefix(chain.name + "_")}' if joints == 'class' else joint.name
        names += [f'{name}.{parameter}' for parameter in joint_friction_law(joint).linear_parameter_names]
    return names


def _load(law: FrictionLaw, joint: Joint, loads: Array | None, leg: int, place: int) -> Array | None:
    if law.needs_load and loads is None:
        raise FrictionLawError(
            'loads', None, f'friction of {joint.name} depends on the force in the joint; give loads=friction_loads(...)'
        )
    return None if loads is None else loads[:, leg, place]


def _selected(machine: Machine, joints: str) -> list[tuple[int, int]]:
    """Leg and place of the selected joints, leg by leg."""
    if joints not in ('actuated', 'all', 'class'):
        raise ValueError(f"joints = {joints!r}: choose 'actuated', 'all' or 'class'")
    selected = [
        (leg, place)
        for leg, chain in enumerate(machine.legs)
        for place, joint in enumerate(chain.joints)
        if joint.actuated or joints != 'actuated'
    ]
    if joints == 'class':
        for leg, place in selected:
            first, joint = machine.legs[0].joints[place], machine.legs[leg].joints[place]
            if type(joint_friction_law(first)) is not type(joint_friction_law(joint)):
                raise ValueError(
                    f'{machine.name}: the friction law of {joint.name} differs from that of {first.name}; '
                    "use joints='all'"
                )
    return selected
