"""URDF of a machine, written from the machine's data.

A URDF is a tree, so the loops are cut between ``legN_tip`` and ``platform_anchorN``, which coincide on a closed
machine. The platform is a branch of its own with a floating joint: robot_state_publisher leaves its transform
(``base_link`` to ``platform_link``) to whoever knows the pose, i.e. the estimator. ``urdf/pkm.urdf.xacro`` describes
the same tree for users of xacro.
"""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from pkm_description.export.numbers_text import numbers
from pkm_description.export.ros2_control import ControlOptions, add_ros2_control
from pkm_description.export.urdf_parts import (
    add_balls,
    add_box,
    add_chain_joint,
    add_inertial,
    add_joint,
    add_origin,
    add_visual,
)
from pkm_description.export.urdf_visuals import MATERIALS, add_leg_body, add_rail, drawing_reach
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.rotation_formats import rpy_from_rotation
from pkm_description.machine import ImuSensor, Leg, Machine, RigidBody

#: of links that never move: the numbers have no effect, but sdformat (Gazebo) silently drops links without mass and all
#: that hangs on them
_RESTING = RigidBody('resting', 1.0, np.zeros(3), np.eye(3))


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
    robot = Element('robot', name='pkm')
    robot.append(ElementTree.Comment(f' {machine.name}: written by export_machine from the machine file '))
    reach = drawing_reach(machine)
    for name, color in MATERIALS.items():
        SubElement(SubElement(robot, 'material', name=name), 'color', rgba=color)
    base = SubElement(robot, 'link', name='base_link')
    add_inertial(base, _RESTING)
    add_balls(base, machine.base_points, 0.05 * reach)
    for leg in machine.legs:
        _add_leg(robot, leg, reach, machine.has_platform)
    if machine.has_platform:
        _add_platform(robot, machine, reach)
    if control is not None:
        add_ros2_control(robot, machine, control)
    ElementTree.indent(robot)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(robot, encoding='unicode') + '\n'


def _add_leg(robot: Element, leg: Leg, reach: float, closed: bool) -> None:
    """Links and joints from ``base_link`` to ``legN_tip``."""
    first, parent = leg.joints[0], f'{leg.name}_base'
    base = SubElement(robot, 'link', name=parent)
    add_inertial(base, _RESTING)
    add_rail(base, first, reach)
    add_joint(
        robot, f'{leg.name}_mount', 'fixed', 'base_link', parent, first.translation, first.rotation_parent_joint
    )
    for place, joint in enumerate(leg.joints):
        at_base = place == 0
        position = np.zeros(3) if at_base else joint.translation
        add_chain_joint(robot, joint, parent, position, None if at_base else joint.rotation_parent_joint)
        link = SubElement(robot, 'link', name=joint.body.name)
        add_inertial(link, joint.body)
        add_leg_body(link, leg, place, reach, closed)
        parent = joint.body.name
    if closed:
        SubElement(robot, 'link', name=f'{leg.name}_tip')
        add_joint(robot, f'{leg.name}_end', 'fixed', parent, f'{leg.name}_tip', leg.tip)


def _add_platform(robot: Element, machine: Machine, reach: float) -> None:
    """The platform with its IMU and the points where the legs end."""
    name, home = machine.platform.name, machine.home
    pose = home.position, home.rotation_base_platform
    # origin: home, so a reader's zero configuration has the platform there. Floating on planar machines too:
    # robot_state_publisher would publish a planar joint as a fixed one.
    add_joint(robot, f'{name}_pose', 'floating', 'base_link', name, *pose)
    # sdformat knows no floating joints but places the platform relative to one: a frame of that name (issue 1282)
    frame = SubElement(SubElement(robot, 'gazebo'), 'frame', name=f'{name}_pose', attached_to='base_link')
    SubElement(frame, 'pose').text = numbers(pose[0], rpy_from_rotation(pose[1]) + 0.0)
    link = SubElement(robot, 'link', name=name)
    add_inertial(link, machine.platform)
    points = machine.platform_points
    disc = float(np.linalg.norm(points[:, :2], axis=1).max())
    add_origin(add_visual(link, 'cylinder', 'plate', radius=disc, length=0.04 * disc), [0.0, 0.0, 0.03 * disc])
    add_balls(link, points, 0.05 * reach)
    for number, point in enumerate(points, start=1):
        SubElement(robot, 'link', name=f'platform_anchor{number}')
        add_joint(robot, f'platform_anchor{number}_mount', 'fixed', name, f'platform_anchor{number}', point)
    if machine.has_imu:
        _add_imu(robot, machine.imu, name, disc)


def _add_imu(robot: Element, imu: ImuSensor, parent: str, size: float) -> None:
    """Frame of the IMU."""
    link = SubElement(robot, 'link', name=imu.frame)
    add_box(link, [0.08 * size, 0.06 * size, 0.03 * size], 'dark')
    add_joint(robot, f'{imu.frame}_mount', 'fixed', parent, imu.frame, imu.position, imu.rotation_platform_imu)
