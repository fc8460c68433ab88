"""Units of parameters and forces, for tables."""

from __future__ import annotations

from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.machine import Machine

#: units of a body's parameters
_OF_BODIES = {'m': 'kg', 'mx': 'kg m', 'my': 'kg m', 'mz': 'kg m'} | dict.fromkeys(
    ('Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz'), 'kg m^2'
)
#: units of a drive's parameters, where it pushes and where it turns
_OF_DRIVES = {
    'viscous': ('N s/m', 'N m s/rad'),
    'quadratic': ('N s^2/m^2', 'N m s^2/rad^2'),
    'stiffness': ('N/m', 'N m/rad'),
    'rotor_inertia': ('kg', 'kg m^2'),
    'stribeck_velocity': ('m/s', 'rad/s'),
    'ripple_period': ('m', 'rad'),
    'presliding_stiffness': ('N/m', 'N m/rad'),
    'load_friction': ('', ''),
    'transverse_friction': ('', 'm'),
    'thrust_friction': ('', 'm'),
    'exponent': ('', ''),
    'gain_error': ('', ''),
}
#: of what is not in the table: forces
_FORCE = 'N', 'N m'


def unit_of(machine: Machine, name: str) -> str:
    """Unit of a parameter such as ``leg_rod.Ixx`` or ``leg1_prismatic.viscous``; empty where it has none."""
    owner, _, kind = name.rpartition('.')
    if kind in _OF_BODIES:
        return _OF_BODIES[kind]
    if kind == 'effort_delay':
        return 's'
    if kind.endswith('coefficient'):
        return ''
    # what belongs to no joint belongs to all drives
    own = [joint for joint in machine.joints if joint.name == owner] or machine.actuated_joints
    units = {_OF_DRIVES.get(kind, _FORCE)[joint.kind != 'prismatic'] for joint in own}
    return ' or '.join(sorted(units))


def units_of_base(machine: Machine, base: BaseParameters) -> tuple[str, ...]:
    """Units of base parameters: those of the parameters that head the combinations."""
    return tuple(unit_of(machine, base.full_names[place]) for place in base.independent)
