"""Inverse dynamics of a machine as one C file without dependencies, for controllers in real time.

The numbers of the machine are tables, the code around them is the same for every hexapod of U-P legs: closed-form
joint angles, Newton-Euler recursions along the legs, virtual power (Heimann & Abdellatif, Eqs. 1 to 3). No memory
is allocated, no loop depends on data.
"""

from __future__ import annotations

from importlib import resources

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.machine import Machine


def c_text(machine: Machine) -> str:
    """C99 source with ``int NAME_inverse_dynamics(...)``; its comment says what goes in and what comes out.

    Friction is viscous plus Coulomb; for joints with another law the nearest such pair, as in MJCF.

    Raises
    ------
    KinematicsError
        For other machines than hexapods of universal joint and strut on a ball joint.
    """
    if machine.leg_count != 6 or not machine.has_platform or not machine.model.closed_form.all():
        kinds = {' - '.join(joint.kind for joint in leg.joints) for leg in machine.legs}
        raise KinematicsError(
            f'{machine.name}: C code is written for six legs of universal joint and strut on a ball joint; '
            f'this machine has {machine.leg_count} of {" and ".join(sorted(kinds))}'
        )
    template = resources.files('pkm_description.export').joinpath('inverse_dynamics.c.in').read_text(encoding='utf-8')
    replacements = {
        '@NAME@': machine.name,
        '@TABLES@': '\n'.join(_tables(machine)),
        '@LEGS@': str(machine.leg_count),
    }
    for mark, text in replacements.items():
        template = template.replace(mark, text)
    return template


def _tables(machine: Machine) -> list[str]:
    """Every number of the machine as C constants."""
    model, legs = machine.model, machine.leg_count

    def by_leg(values: Array) -> Array:
        return values.reshape(legs, 3, *values.shape[1:])

    crossed = np.cross(np.eye(3), model.axis[:, None])  # rows: e_i x axis, the matrices of the cross products
    sine = model.rotation @ crossed
    tables = {
        'GRAVITY': machine.gravity,
        'BASE_POINT': model.translation[::3],
        'PLATFORM_POINT': model.closure_other_point,
        # columns of the basis as rows: coordinates of a vector are scalar products with them
        'LEG_BASIS': np.swapaxes(model.universal_basis, 1, 2),
        'LEG_SIDE': model.universal_side,
        'LEG_ANGLE_AT_ZERO': model.universal_angle,
        'LENGTH_AT_ZERO': model.strut_length,
        'TIP': model.closure_point,
        'TRANSLATION': by_leg(model.translation),
        'AXIS_IN_PARENT': by_leg((model.rotation @ model.axis[..., None])[..., 0]),
        # a revolute turned by q has the rotation TURN + sin(q) TURN_SINE + (1 - cos(q)) TURN_VERSINE
        'TURN': by_leg(model.rotation),
        'TURN_SINE': by_leg(sine),
        'TURN_VERSINE': by_leg(sine @ crossed),
        'LEG_BODY': by_leg(model.parameters[:-1]),
        'PLATFORM_BODY': model.parameters[-1],
        'ROTOR': by_leg(machine.rotor_inertia),
        'VISCOUS': by_leg(machine.viscous),
        'COULOMB': by_leg(machine.coulomb),
    }
    return [_table(name, np.asarray(values, dtype=float)) for name, values in tables.items()]


def _table(name: str, values: Array) -> str:
    sizes = ''.join(f'[{size}]' for size in values.shape)
    return f'static const double {name}{sizes} = {_braces(values)};'


def _braces(values: Array) -> str:
    """Nested initialiser; ``repr`` of a float reads back exactly."""
    if values.ndim == 1:
        return '{' + ', '.join(repr(float(value)) for value in values) + '}'
    return '{' + ',\n    '.join(_braces(row) for row in values) + '}'
