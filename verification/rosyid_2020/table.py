"""Numbers of Rosyid & El-Khasawneh (2020): geometry, Table 1, and the robot that a machine file describes."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine, RigidBody

from verification.rosyid_2020.dynamics import PlanarDynamics
from verification.rosyid_2020.model import PlanarGeometry

#: m, section 5: legs, pins on the platform, centres of mass of the legs and of the platform
LENGTHS = (0.600, 0.475, 0.604)
PINS = (0.280, 0.0, 0.280)
LEG_CENTERS = (0.2401, 0.2071, 0.2728)
PLATFORM_CENTER = 0.2395

#: barycentric parameters of Table 1, in the order of :class:`PlanarDynamics`, a group a line: design values, estimates
DESIGN = np.array([
    6.2550, 6.2550, 6.2550, 11.1280, 9.0800, 13.3720,
    2.6718, 1.8805, 3.6474, 0.9765, 0.5937, 1.3898,
    30.3510, 7.2690, 0.0, 2.3986,
])  # fmt: skip
ESTIMATE = np.array([
    7.2614, 7.2614, 7.2614, 12.1299, 10.0817, 14.4665,
    3.3970, 2.4049, 3.6484, 1.2206, 0.7421, 1.5088,
    31.3359, 8.2238, 0.0, 2.9509,
])  # fmt: skip

#: names of the 13 inertial parameters of Table 1, first moments as ml
PRINTED_NAMES = ('ms', 'mL1', 'mL2', 'mL3', 'ml1', 'ml2', 'ml3', 'IL1', 'IL2', 'IL3', 'mp', 'mpx', 'Ip')

#: closed-form base parameters derived from them: M_1..3, J_1..3, m_p, mx, my, I_p
BASE_OF_DESIGN = np.array([12.9300, 11.3761, 13.5883, -0.6266, -0.2995, -0.8132, 44.8017, 10.2067, 0.0, 3.2212])
BASE_OF_ESTIMATE = np.array([13.7296, 12.2802, 15.6875, -0.8176, -0.4002, -0.6948, 48.1009, 11.5004, 0.0, 3.8683])

#: friction of Table 1: mu_c, f_v [N s/m], mu_s, v_s [m/s]
FRICTION = (0.1449, 83.1797, 0.3016, 0.3281)


def geometry_of(machine: Machine) -> PlanarGeometry:
    """Geometry of a planar P-R machine whose guides lie on the x axis of ``base_link``.

    Raises
    ------
    ValueError
        The machine is not of this kind.
    """
    for leg in machine.legs:
        slider, pivot = leg.joints
        on_axis = np.allclose(slider.translation[1:], 0.0) and np.allclose(slider.rotation_parent_joint, np.eye(3))
        straight = np.allclose(slider.axis, [1.0, 0.0, 0.0]) and np.allclose(pivot.axis, [0.0, 0.0, 1.0])
        plain = np.allclose(pivot.translation, 0.0) and np.allclose(pivot.rotation_parent_joint, np.eye(3))
        if not (on_axis and straight and plain and np.allclose(leg.tip[1:], 0.0)):
            raise ValueError(f'{machine.name}: {leg.name} is no slider on the x axis with a rod along x of its frame')
    if not np.allclose(machine.platform_points[:, 1:], 0.0):
        raise ValueError(f'{machine.name}: the pins do not lie on the x axis of the platform')
    sides = np.array([np.sign(np.cos(leg.joints[1].home)) for leg in machine.legs])
    return PlanarGeometry(np.array([leg.tip[0] for leg in machine.legs]), machine.platform_points[:, 0], sides)


def dynamics_of(machine: Machine) -> PlanarDynamics:
    """The paper's model with a machine's geometry, bodies and gravity."""
    return PlanarDynamics(geometry_of(machine), barycentric(machine), np.asarray(machine.gravity)[:2])


def barycentric(machine: Machine) -> Array:
    """Barycentric parameters (16,) of a machine's bodies, by Huygens-Steiner."""
    sliders = [leg.joints[0].body.mass for leg in machine.legs]
    rods = [_about_origin(leg.joints[1].body) for leg in machine.legs]
    platform = _about_origin(machine.platform)
    columns = np.array(rods)
    return np.concatenate([sliders, columns[:, 0], columns[:, 1], columns[:, 3], platform])


def _about_origin(body: RigidBody) -> Array:
    """Mass, first moments x and y, inertia about z through the frame's origin."""
    x, y = body.center_of_mass[:2]
    return np.array([body.mass, body.mass * x, body.mass * y, body.inertia[2, 2] + body.mass * (x**2 + y**2)])


def printed_parameters() -> Array:
    """Matrix (16, 13) from Table 1's parameters: one mass for all sliders, no y moment of the platform."""
    matrix = np.zeros((16, len(PRINTED_NAMES)))
    matrix[0:3, 0] = 1.0
    matrix[[*range(3, 14), 15], np.arange(1, 13)] = 1.0
    return matrix


def embedding(names: list[str], machine: Machine) -> Array:
    """Matrix (P, 16) that puts barycentric parameters among the library's P parameters (names)."""
    places = [f'{leg.joints[0].body.name}.m' for leg in machine.legs]
    for kind in ('m', 'mx', 'Izz'):
        places += [f'{leg.joints[1].body.name}.{kind}' for leg in machine.legs]
    places += [f'{machine.platform.name}.{kind}' for kind in ('m', 'mx', 'my', 'Izz')]
    matrix = np.zeros((len(names), len(places)))
    matrix[[names.index(place) for place in places], np.arange(len(places))] = 1.0
    return matrix
