"""Units that drivers use, in SI units."""

from __future__ import annotations

import math

_DEGREE = math.pi / 180.0
_TURN = 2.0 * math.pi

#: by kind of the driven joint
POSITION = {
    'prismatic': {'m': 1.0, 'dm': 1e-1, 'cm': 1e-2, 'mm': 1e-3, 'um': 1e-6, 'nm': 1e-9, 'in': 0.0254},
    'revolute': {'rad': 1.0, 'mrad': 1e-3, 'deg': _DEGREE, 'turn': _TURN},
}
VELOCITY = {
    kind: {f'{unit}/s': scale for unit, scale in units.items()} for kind, units in POSITION.items()
}
VELOCITY['revolute']['rpm'] = _TURN / 60.0
VELOCITY['prismatic']['mm/min'] = 1e-3 / 60.0

#: by quantity
EFFORT = {
    'force': {'N': 1.0, 'kN': 1e3, 'lbf': 4.4482216152605},
    'torque': {'N m': 1.0, 'Nm': 1.0, 'N mm': 1e-3, 'Nmm': 1e-3, 'kN m': 1e3},
    'current': {'A': 1.0, 'mA': 1e-3},
    'voltage': {'V': 1.0, 'mV': 1e-3},
    'pressure': {'Pa': 1.0, 'kPa': 1e3, 'MPa': 1e6, 'bar': 1e5, 'psi': 6894.757293168},
}
EFFORT['pressure_difference'] = EFFORT['pressure']

ACCELERATION = {'m/s2': 1.0, 'm/s^2': 1.0, 'mm/s2': 1e-3, 'g': 9.80665, 'mg': 9.80665e-3}
ANGULAR_RATE = {'rad/s': 1.0, 'mrad/s': 1e-3, 'deg/s': _DEGREE, 'rpm': _TURN / 60.0}
TIME = {'s': 10**9, 'ms': 10**6, 'us': 10**3, 'ns': 1}
