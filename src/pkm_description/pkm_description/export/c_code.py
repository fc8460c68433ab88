"""Inverse dynamics of a machine as one C file without dependencies, for controllers in real time.

The numbers of the machine are tables, the code around them is the same for every hexapod of U-P legs: closed-form
joint angles, Newton-Euler recursions along the legs, virtual power (Heimann & Abdellatif, secs. 2.1 to 2.3). No memory
is allocated, no loop depends on data.
"""

from __future__ import annotations

from importlib import resources

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import KinematicsError
from pkm_description.machine.model import Machine
from pkm_description.mechanism import Mechanism

Array = NDArray[np.float64]


def c_text(machine: Machine) -> str:
    """C99 source with ``int NAME_inverse_dynamics(...)``; its comment says what goes in and what comes out.

    Friction is viscous plus Coulomb; for joints with another law the nearest such pair, as in MJCF.

    Raises
    ------
    KinematicsError
        For other machines than hexapods of universal joint and strut on a ball joint.
    """
    mechanism = Mechanism(machine)
    if mechanism.leg_count != 6 or not mechanism.has_closed_form:
        raise KinematicsError(
            f'{machine.name}: C code is written for six legs of universal joint and strut on a ball joint; '
            f'this machine has {mechanism.leg_count} of {" - ".join(mechanism.joint_kinds)}'
        )
    template = resources.files('pkm_description.export').joinpath('inverse_dynamics.c.in').read_text(encoding='utf-8')
    replacements = {
        '@NAME@': machine.name,
        '@TABLES@': '\n'.join(_tables(mechanism)),
        '@LEGS@': str(mechanism.leg_count),
    }
    for mark, text in replacements.items():
        template = template.replace(mark, text)
    return template


def _tables(mechanism: Mechanism) -> list[str]:
    """Every number of the machine as C constants."""
    closed = mechanism.universal_prismatic
    tables = {
        'GRAVITY': mechanism.gravity,
        'BASE_POINT': mechanism.base_points,
        'PLATFORM_POINT': mechanism.platform_points,
        # columns of the basis as rows: coordinates of a vector are scalar products with them
        'LEG_BASIS': np.swapaxes(closed.basis, 1, 2),
        'LEG_SIDE': closed.side,
        'LEG_ANGLE_AT_ZERO': closed.angle_at_zero,
        'LENGTH_AT_ZERO': mechanism.lengths_at_zero,
        'TIP': mechanism.tips,
        'TRANSLATION': mechanism.joint_translations,
        'AXIS_IN_PARENT': mechanism.axes_in_parent,
        'TURN': mechanism.joint_rotations,
        'TURN_SINE': mechanism.sine_factors,
        'TURN_VERSINE': mechanism.versine_factors,
        'LEG_BODY': mechanism.leg_parameters,
        'PLATFORM_BODY': mechanism.platform_parameters,
        'ROTOR': mechanism.rotor_inertia,
        'VISCOUS': mechanism.viscous,
        'COULOMB': mechanism.coulomb,
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
