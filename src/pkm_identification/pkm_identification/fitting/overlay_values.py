"""The values of an overlay: bodies, friction and rotors of a machine under the dotted keys of its machine file."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.friction import joint_friction_law
from pkm_description.friction_laws.law import FrictionLaw
from pkm_description.friction_laws.load_dependent import LoadDependentStribeck
from pkm_description.loading.keys import joint_key
from pkm_description.machine import Joint, Machine, RigidBody

from pkm_identification.judgement.physical import body_from_parameters

#: keys of a body in a machine file, in the order of :func:`body_values`
BODY_KEYS = (
    'mass', 'center_of_mass.x', 'center_of_mass.y', 'center_of_mass.z',
    'inertia.ixx', 'inertia.ixy', 'inertia.ixz', 'inertia.iyy', 'inertia.iyz', 'inertia.izz',
)  # fmt: skip

#: coefficient of friction by load that stands for none, where a coefficient must stand
LEAST = 1e-12


def overlay_values(
    machine: Machine, identical_legs: bool, friction: str, rotors: bool = False
) -> dict[str, object]:
    """Dotted keys of the machine file with the machine's bodies and friction.

    With legs identified one by one, every number is a list with one entry per leg. Each axis of a joint that is made of
    several has a friction of its own.

    Parameters
    ----------
    friction : whose was identified: ``'actuated'``, ``'all'`` or ``'none'``
    rotors : whether the inertia of the drives was
    """
    values: dict[str, object] = {}
    _put_body(values, 'platform.body', [machine.platform])
    alike: dict[str, list[Joint]] = {}
    for joint in machine.joints:
        alike.setdefault(friction_key(machine, joint), []).append(joint)
    for place, joints in alike.items():
        joint, key = joints[0], joint_key(machine, joints[0])
        if joint.body.mass > 0.0:  # nothing is identified of what stands between the axes of a universal joint
            _put_body(values, f'{key}.body', [joint.body] if identical_legs else [one.body for one in joints])
        if friction == 'all' or (friction == 'actuated' and joint.actuated):
            _put_friction(values, place, [joint_friction_law(one) for one in joints])
        if rotors and joint.actuated:
            values[f'{key}.rotor_inertia'] = [one.rotor_inertia for one in joints]
    return values


def friction_key(machine: Machine, joint: Joint) -> str:
    """Dotted key of a joint's friction, of an axis of a joint that is made of several that of the axis."""
    axis = joint.name.removeprefix(joint.part_of) if joint.part_of else ''
    return f'{joint_key(machine, joint)}.friction{axis}'


def _put_friction(values: dict[str, object], key: str, legs: list[FrictionLaw]) -> None:
    """Laws of one joint of the file, or one axis of it, leg by leg; by their values, whichever kinds they are of."""
    laws = _of_one_kind(legs)
    law = laws[0]
    values[f'{key}.law'] = law.law  # the file may have another one, with other parameters
    for name in (*law.linear_parameter_names, *law.nonlinear_parameters):
        values[f'{key}.{name}'] = [float(getattr(one, name)) for one in laws]
    for name in law.parameter_names('option'):
        values[f'{key}.{name}'] = getattr(law, name)


def _of_one_kind(laws: list[FrictionLaw]) -> list[FrictionLaw]:
    """Laws of the same kind: where some depend on the load and some do not, all as such with a coefficient of zero."""
    loaded = next((law for law in laws if isinstance(law, LoadDependentStribeck)), None)
    if loaded is None or all(type(law) is type(laws[0]) for law in laws):
        return laws
    return [law if isinstance(law, LoadDependentStribeck) else _nearly_constant(law) for law in laws]


def _nearly_constant(law: FrictionLaw) -> LoadDependentStribeck:
    """A law that depends on the load by next to nothing, with viscous and Coulomb friction of another one."""
    coulomb = float(getattr(law, 'coulomb', 0.0))
    return LoadDependentStribeck(
        viscous=float(getattr(law, 'viscous', 0.0)), coulomb_coefficient=LEAST, static_coefficient=LEAST,
        stribeck_velocity=1.0, additional_load=coulomb / LEAST,
    )  # fmt: skip


def _put_body(values: dict[str, object], key: str, bodies: list[RigidBody]) -> None:
    numbers = np.array([body_values(body.parameters) for body in bodies])
    columns = [numbers[0, index] if len(bodies) == 1 else numbers[:, index] for index in range(10)]
    values[f'{key}.mass'] = columns[0]
    values[f'{key}.center_of_mass'] = columns[1:4]
    for name, column in zip(BODY_KEYS[4:], columns[4:], strict=True):
        values[f'{key}.{name}'] = column


def body_values(parameters: Array) -> Array:
    """Mass, centre of mass and inertia about it (10,) of the ten parameters (10,)."""
    body = body_from_parameters('', parameters)
    return np.concatenate([[body.mass], body.center_of_mass, body.inertia[np.triu_indices(3)]])
