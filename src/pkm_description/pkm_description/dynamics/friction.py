"""Joint friction and its share of the drive forces, linear in its parameters (Heimann & Abdellatif, Eqs. 2-4).

Every joint has a law: the one that its machine file names, else viscous and Coulomb friction (see
:mod:`pkm_description.friction_laws`). The regressor's columns are the law's linear parameters; its nonlinear
ones keep the values of the machine file.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array, packed
from pkm_description.dynamics.body_blocks import alike_legs, shared_name
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.errors import FrictionLawError, ShapeError
from pkm_description.friction_laws.law import FrictionLaw, Sign
from pkm_description.kernels import friction as kernels
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import twist_per_drive
from pkm_description.kinematics.joint_motion import JointMotion, require_joint_motion
from pkm_description.machine import Joint, Machine, PlatformMotion

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
        the same place share one set of linear parameters over all legs that are built alike (each keeps its own
        nonlinear ones)
    sign_smoothing : velocity [m/s or rad/s] of a tanh in place of the sign; 0 keeps the sign
    loads : (N, J) N, normal forces in the joints as :func:`pkm_description.dynamics.friction` gives them; for
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
    sets = _selected(machine, joints)
    velocities = joint_motion.velocities
    if loads is not None and np.shape(loads) != velocities.shape:
        raise ShapeError('loads', f'{velocities.shape}: samples, joints', np.shape(loads))
    shares = joint_shares(machine, joint_motion, np.concatenate(sets))
    blocks, first = [], 0
    for members in sets:
        total: Array | float = 0.0
        # joint by joint, because each may have its own law
        for own, place in enumerate(members, first):
            joint = machine.joints[place]
            law = joint_friction_law(joint, sign_smoothing)
            columns = law.regressor(velocities[:, place], _load(law, joint, loads, place))
            total = total + shares[:, own, :, None] * columns[:, None]
        blocks.append(total)
        first += len(members)
    return np.concatenate(blocks, axis=-1)


def friction_torques(
    machine: Machine, velocities: Array, sign_smoothing: float = 0.0, loads: Array | None = None
) -> Array:
    """Friction torques and forces (N, J) that the machine file gives for joint velocities (N, J).

    Parameters
    ----------
    sign_smoothing, loads : as in :func:`friction_regressor`
    """
    for joint in machine.joints:
        _load(joint.friction.law, joint, loads, 0)
    torques = np.empty(np.shape(velocities))
    kernels.friction_torques(
        machine.compiled_model, machine.scratch[1], packed(velocities), torques if loads is None else packed(loads),
        float(sign_smoothing), torques,
    )  # fmt: skip
    return torques


def friction_needs_loads(machine: Machine) -> bool:
    """True if the friction of a joint depends on the normal force in it."""
    return any(joint.friction.law.needs_load for joint in machine.joints)


def friction_parameters(machine: Machine, joints: JointSelection = 'actuated') -> Array:
    """Linear friction parameters (F,), joint by joint, leg by leg (``'class'``: place by place).

    Raises
    ------
    ValueError
        With ``'class'``, if joints of one place have different parameters; names the joint.
    """
    require_machine(machine)
    found = []
    for members in _selected(machine, joints):
        first = machine.joints[members[0]]
        for place in members:
            joint = machine.joints[place]
            values, expected = joint.friction.law.linear_parameters(), first.friction.law.linear_parameters()
            if not np.allclose(values, expected, rtol=1e-9, atol=0.0):
                raise ValueError(
                    f'{machine.name}: friction of {joint.name} is {values.tolist()}, of {first.name} '
                    f"{expected.tolist()}; use joints='all'"
                )
        found.append(first.friction.law.linear_parameters())
    return np.concatenate(found)


def friction_parameter_names(machine: Machine, joints: JointSelection = 'actuated') -> list[str]:
    """Names (F,) such as ``leg1_prismatic.viscous``; with ``'class'`` ``leg_prismatic.viscous``."""
    require_machine(machine)
    names = []
    for members in _selected(machine, joints):
        joint = machine.joints[members[0]]
        name = joint.name
        if joints == 'class':
            leg = next(leg for leg, part in enumerate(machine.leg_slices) if members[0] < part.stop)
            alike = next(legs for legs in alike_legs(machine) if leg in legs)
            name = shared_name(machine, alike, name)
        names += [f'{name}.{parameter}' for parameter in joint_friction_law(joint).linear_parameter_names]
    return names


def _load(law: FrictionLaw, joint: Joint, loads: Array | None, place: int) -> Array | None:
    if law.needs_load and loads is None:
        raise FrictionLawError(
            'loads', None, f'friction of {joint.name} depends on the force in the joint; give loads=friction_loads(...)'
        )
    return None if loads is None else loads[:, place]


def _selected(machine: Machine, joints: str) -> list[list[int]]:
    """Places of the selected joints among all joints; joints of one set share their parameters."""
    if joints not in ('actuated', 'all', 'class'):
        raise ValueError(f"joints = {joints!r}: choose 'actuated', 'all' or 'class'")
    if joints != 'class':
        return [[place] for place, joint in enumerate(machine.joints) if joint.actuated or joints == 'all']
    sets = []
    for alike in alike_legs(machine):
        starts = [machine.leg_slices[leg].start for leg in alike]
        for place in range(len(machine.legs[alike[0]].joints)):
            members = [start + place for start in starts]
            first = machine.joints[members[0]]
            for other in members:
                joint = machine.joints[other]
                if type(joint_friction_law(first)) is not type(joint_friction_law(joint)):
                    raise ValueError(
                        f'{machine.name}: the friction law of {joint.name} differs from that of {first.name}; '
                        "use joints='all'"
                    )
            sets.append(members)
    return sets


def joint_shares(machine: Machine, joint_motion: JointMotion, columns: NDArray[np.int64]) -> Array:
    """Drive forces (N, C, A) per unit of force in each of C joints, ``columns`` among all joints.

    The rates of these joints per rate of the drives. The force in a driven joint is its own drive's, but for redundant
    drives, which share it.
    """
    samples, drives = len(joint_motion.positions), machine.actuated_count
    if drives == machine.model.degrees_of_freedom[0] and np.isin(columns, machine.drive_columns).all():
        own = (columns[:, None] == machine.drive_columns).astype(float)
        return np.broadcast_to(own, (samples, len(columns), drives))
    legs = close_legs(
        machine, joint_motion.position, joint_motion.rotation_base_platform, joint_motion.positions
    )
    return np.asarray(legs.joint_map[:, columns] @ twist_per_drive(legs))


def friction_loads(
    machine: Machine,
    motion: PlatformMotion,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> Array:
    """Normal forces (N, J) [N] in all joints during a motion: what load-dependent friction laws take.

    The size of the joint force across the axis: on a prismatic joint what its guide carries, on a revolute joint the
    radial force on its bearing. On planar machines the part in the plane of motion; how the joints share forces across
    the plane is not determined by the model (``additional_load`` of the law). Where passive joints rub, friction and
    the forces that it depends on are iterated to a fixed point.

    Parameters
    ----------
    motion : N samples; with zero velocities and accelerations the loads at rest
    sign_smoothing, external_wrench : as in :func:`pkm_description.dynamics.inverse_dynamics`

    Raises
    ------
    SingularPoseError, KinematicsError, ConvergenceError
        As :func:`pkm_description.dynamics.inverse_dynamics`.
    """
    return joint_reactions(machine, motion, True, sign_smoothing, external_wrench).loads


def friction_forces(
    machine: Machine,
    motion: PlatformMotion,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> Array:
    """Friction's share (N, A) of the drive forces [N, N m] of a motion; parameters as of :func:`friction_loads`."""
    return joint_reactions(machine, motion, True, sign_smoothing, external_wrench).friction_forces
