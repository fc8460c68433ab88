"""URDF of a machine, written from the machine's data; and of its sliders.

A URDF is a tree, so the loops are cut at every closure, between ``legN_tip`` and ``platform_anchorN`` (see
:func:`~pkm_description.machine.machine.closure_ends`), whose origins coincide on a closed machine. The platform
is a branch of its own with a floating joint: robot_state_publisher leaves its transform (``base_link`` to
``platform_link``) to whoever knows the pose, i.e. the estimator. ``urdf/pkm.urdf.xacro`` describes the same tree for
users of xacro, of machines whose legs are chains alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, hypot, isfinite
from typing import NamedTuple

import numpy as np

from pkm_description.arrays import Array
from pkm_description.export.drawing import base_joint_points, next_joints, platform_joint_points
from pkm_description.export.ros2_control import ControlOptions, control_values
from pkm_description.export.texts import add_provenance, filled, xml_text
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.rotation import rpy_from_matrix
from pkm_description.machine import Joint, Leg, Machine, Pose, RigidBody
from pkm_description.machine.machine import closure_ends, closure_points
from pkm_description.machine.parts import HERE, Placement
from pkm_description.viewing.coupled_pose import COORDINATES
from pkm_description.viewing.sliders import Slider

#: what a URDF says where the machine file gives no limit: position, velocity, effort
NO_LIMIT, NO_EFFORT_LIMIT = 1e3, 1e6

#: name -> red, green, blue, opacity
MATERIALS = {
    'steel': '0.80 0.82 0.85 1',
    'casing': '0.35 0.40 0.47 1',
    'plate': '0.10 0.45 0.70 1',
    'dark': '0.25 0.27 0.30 1',
}
#: joints from base to platform such that R = Rz(yaw) Ry(pitch) Rx(roll)
_CHAIN = ('x', 'y', 'z', 'yaw', 'pitch', 'roll')
#: of links that never move: the numbers have no effect, but sdformat (Gazebo) silently drops links without mass and all
#: that hangs on them
RESTING = RigidBody('resting', 1.0, np.zeros(3), np.eye(3))


class Shape(NamedTuple):
    """A visual.

    Attributes
    ----------
    kind : ``box``, ``cylinder`` or ``sphere``
    material : one of :data:`MATERIALS`
    sizes : m, by the names of attributes
    place : (3,) m and roll, pitch, yaw (3,) rad in the link; ``None``: in its origin
    """

    kind: str
    material: str
    sizes: dict[str, float | list[float]]
    place: tuple[Array, Array] | None = None


def urdf_values() -> dict[str, object]:
    """What the templates of both kinds of URDF use."""

    def finite(value: float, default: float) -> float:
        return value if isfinite(value) else default

    # adding 0.0 turns -0.0 into 0.0
    return {
        'rpy': lambda rotation: rpy_from_matrix(rotation) + 0.0, 'finite': finite, 'no_limit': NO_LIMIT,
        'no_effort_limit': NO_EFFORT_LIMIT, 'resting': RESTING, 'here': HERE,
    }  # fmt: skip


def home_place(machine: Machine) -> Placement:
    """Where the platform is at home."""
    return Placement(machine.home.position, machine.home.rotation_base_platform)


def urdf_text(machine: Machine, control: ControlOptions | None = None) -> str:
    """Write the machine as URDF.

    Friction laws appear as the nearest viscous and Coulomb friction. ``legN_base`` has the frame of the leg's first
    joint at zero position.

    Parameters
    ----------
    machine : all numbers come from it
    control : hardware of a ``<ros2_control>`` block; without it there is none
    """
    require_machine(machine)
    reach, ends = drawing_reach(machine), closure_ends(machine)
    shapes = {'base_link': balls(base_joint_points(machine), 0.05 * reach)}
    for leg in machine.legs:
        shapes[f'{leg.name}_base'] = rail(leg.joints[0], reach)
        shapes |= {joint.body.name: leg_body(leg, place, reach) for place, joint in enumerate(leg.joints)}
    values = urdf_values() | ({} if control is None else control_values(machine, control))
    if machine.has_platform:
        points = platform_joint_points(machine)
        disc = float(np.linalg.norm(points[:, :2], axis=1).max()) or 0.2 * reach
        middle = np.array([0.0, 0.0, 0.03 * disc]), np.zeros(3)
        plate = Shape('cylinder', 'plate', {'radius': disc, 'length': 0.04 * disc}, middle)
        shapes[machine.platform.name] = [plate, *balls(points, 0.05 * reach)]
        values['home'] = home_place(machine)
        if machine.has_imu:
            size = [0.08 * disc, 0.06 * disc, 0.03 * disc]
            shapes[machine.imu.frame] = [Shape('box', 'dark', {'size': size})]
            values['imu_place'] = Placement(machine.imu.position, machine.imu.rotation_platform_imu)
    root = filled(
        'urdf.xml.j2', machine=machine, ends=ends, shapes=shapes, materials=MATERIALS, control=control, **values
    )
    add_provenance(root, machine, 'urdf')
    return xml_text(root)


def drawing_reach(machine: Machine) -> float:
    """Length that scales the drawing [m]: half the distance of home from the base, or an open chain's longest link.

    Planar machines may have home in the origin of the base: then half the distance of the farthest base joint from it.
    """
    if machine.has_platform:
        distance = float(np.linalg.norm(machine.home.position))
        return 0.5 * (distance or float(np.linalg.norm(base_joint_points(machine), axis=1).max()))
    links = [float(np.abs(joint.translation).max()) for joint in machine.legs[0].joints[1:]]
    return 0.5 * max(0.1, *links)


def rail(slider: Joint, reach: float) -> list[Shape]:
    """Rail of a leg that starts with a slider, from limit to limit, in the frame of its first joint."""
    limits = slider.limits
    if slider.kind != 'prismatic' or not np.isfinite([limits.lower, limits.upper]).all():
        return []
    return bar(limits.lower * slider.axis, limits.upper * slider.axis, 0.02 * reach, 'dark')


def leg_body(leg: Leg, place: int, reach: float) -> list[Shape]:
    """Body of the joint at ``place``: to the next joints, to its closures; a free end beyond its centre of mass."""
    joint, origin, shapes = leg.joints[place], np.zeros(3), list[Shape]()
    following, points = next_joints(leg, place), closure_points(leg, leg.joints[place].body.name)
    for one in following:
        # thick where the next body slides out of this one
        thickness = 0.045 if one.kind == 'prismatic' else 0.025
        shapes += bar(origin, one.translation, thickness * reach, 'casing')
    if following and joint.kind == 'prismatic':
        shapes.append(Shape('box', 'casing', {'size': [0.12 * reach] * 3}))
    for point in points:
        # a sliding rod reaches from the tip back into its cylinder
        is_rod = joint.kind == 'prismatic' and not following
        start, stop = (point, point - np.linalg.norm(joint.translation) * joint.axis) if is_rod else (origin, point)
        shapes += bar(start, stop, 0.025 * reach, 'steel')
    if not following and not points:
        shapes += bar(origin, 2.0 * joint.body.center_of_mass, 0.025 * reach, 'steel')
    return shapes


def bar(start: Array, stop: Array, radius: float, material: str) -> list[Shape]:
    """Round bar between two points (3,) m of the link; none where they coincide."""
    x, y, z = (stop - start).tolist()
    flat = hypot(x, y)
    length = hypot(flat, z)
    if length <= 0.1 * radius:
        return []
    angles = np.array([0.0, atan2(flat, z), atan2(y, x)])
    return [Shape('cylinder', material, {'radius': radius, 'length': length}, (0.5 * (start + stop), angles))]


def balls(points: Array, radius: float) -> list[Shape]:
    """Balls where joints are, at points (L, 3) m of the link."""
    return [Shape('sphere', 'dark', {'radius': radius}, (point, np.zeros(3))) for point in points]


def slider_urdf(machine_name: str, sliders: Sequence[Slider], home: Pose) -> str:
    """URDF whose moving joints are the sliders, for joint_state_publisher_gui; it has no geometry.

    Platform coordinates form a chain from ``base_link`` that ends in the platform's pose: R = Rz Ry Rx R_home. Joints
    of open chains stand side by side, as only their names and limits matter.

    Parameters
    ----------
    home : pose of the platform with all sliders at rest
    """
    by_coordinate = {slider.coordinate: slider for slider in sliders}
    chain = [by_coordinate[name].name for name in _CHAIN if name in by_coordinate]
    links = ['home_position', *(f'{name}_link' for name in chain)]
    root = filled(
        'sliders.xml.j2', name=machine_name, sliders=sliders, parents=dict(zip(chain, links, strict=False)),
        end=links[-1], moved=Placement(home.position), turned=Placement(rotation=home.rotation_base_platform),
        axes=dict(zip(COORDINATES, np.vstack([np.eye(3), np.eye(3)]), strict=True)), **urdf_values(),
    )  # fmt: skip
    return xml_text(root)
