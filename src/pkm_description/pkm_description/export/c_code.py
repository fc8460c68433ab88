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
    if machine.leg_count != 6 or not machine.has_closed_form:
        raise KinematicsError(
            f'{machine.name}: C code is written for six legs of universal joint and strut on a ball joint; '
            f'this machine has {machine.leg_count} of {" - ".join(machine.joint_kinds)}'
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
    closed = machine.universal_prismatic
    tables = {
        'GRAVITY': machine.gravity,
        'BASE_POINT': machine.base_points,
        'PLATFORM_POINT': machine.platform_points,
        # columns of the basis as rows: coordinates of a vector are scalar products with them
        'LEG_BASIS': np.swapaxes(closed.basis, 1, 2),
        'LEG_SIDE': closed.side,
        'LEG_ANGLE_AT_ZERO': closed.angle_at_zero,
        'LENGTH_AT_ZERO': machine.lengths_at_zero,
        'TIP': machine.tips,
        'TRANSLATION': machine.joint_translations,
        'AXIS_IN_PARENT': machine.axes_in_parent,
        'TURN': machine.joint_rotations,
        'TURN_SINE': machine.sine_factors,
        'TURN_VERSINE': machine.versine_factors,
        'LEG_BODY': machine.leg_parameters,
        'PLATFORM_BODY': machine.platform_parameters,
        'ROTOR': machine.leg_rotor_inertia,
        'VISCOUS': machine.leg_viscous,
        'COULOMB': machine.leg_coulomb,
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
