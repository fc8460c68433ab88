"""Gazebo model (SDF 1.9) of a machine, written from the machine file's data.

SDF places links by their poses, and joint position zero is where they are placed. Loops can only be closed between
links that stand right, so the links stand where the machine starts, at home or elsewhere: **Gazebo's joint positions
count from there**. Each joint carries its own position at the start as ``pkm:start_position``; limits are shifted
accordingly.

Gazebo's physics gives a link one parent joint. Two ways to close the loops all the same:

- ``detachable`` (Fortress with ignition-physics 5.2 or newer, and all later releases): the first leg carries the
  platform, every other leg ends in a small link that the DetachableJoint system welds to the platform when the
  simulation starts. Mass and inertia of the small links are taken from the platform, so that the closed machine is
  the file's.
- ``native``: the platform is the child of every leg's last joint. Valid SDF, but engines refuse it up to gz-physics 9
  (gz-physics pull request 987 will take it).
"""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Comment, Element, SubElement

import numpy as np

from pkm_description.arrays import Array
from pkm_description.export.drawing import drawing_size, leg_bars, rail, ring
from pkm_description.export.numbers_text import numbers
from pkm_description.export.rest import RestConfiguration, start_configuration
from pkm_description.export.sdf_names import unused_name, with_unique_links
from pkm_description.export.sdf_options import SdfOptions
from pkm_description.export.sdf_parts import (
    PKM_NAMESPACE,
    add_axis,
    add_frame,
    add_imu,
    add_inertial,
    add_joint,
    add_link,
    add_pose,
    add_visuals,
)
from pkm_description.export.sdf_systems import add_model_systems, add_weld, add_world_systems
from pkm_description.export.sdf_tips import split_platform
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.rotation_formats import rotation_from_rpy
from pkm_description.machine import Leg, Machine, RigidBody


def sdf_text(machine: Machine, options: SdfOptions | None = None) -> str:
    """Write the machine as SDF.

    Raises
    ------
    KinematicsError
        The loops cannot be closed where the machine shall start.
    ExportError
        The platform is too light for the links that detachable joints need.
    """
    require_machine(machine)
    options = options or SdfOptions()
    machine = with_unique_links(machine)
    root = Element('sdf', {'version': '1.9', 'xmlns:pkm': PKM_NAMESPACE})
    if options.world:
        parent = SubElement(root, 'world', name=options.world_name)
        _add_physics(parent, machine, options)
        add_world_systems(parent, options.version)
    else:
        parent = root
        root.append(Comment(' the world needs the systems physics and imu, and the pgs solver: see option world '))
    _add_model(parent, machine, options)
    ElementTree.indent(root)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(root, encoding='unicode') + '\n'


def _add_physics(world: Element, machine: Machine, options: SdfOptions) -> None:
    taken = [options.model_name_of(machine)]
    physics = SubElement(world, 'physics', name=unused_name('dart', taken, '_engine'), type='dart')
    SubElement(physics, 'max_step_size').text = numbers([options.time_step])
    SubElement(physics, 'real_time_factor').text = '1.0'
    # the default solver (dantzig) crashes on redundant loops, gz-physics issue 719
    SubElement(SubElement(SubElement(physics, 'dart'), 'solver'), 'solver_type').text = 'pgs'
    # the file's gravity is in axes of the base
    rotation_world_base = rotation_from_rpy(np.array(options.base_pose[3:]))
    SubElement(world, 'gravity').text = numbers(rotation_world_base @ machine.gravity)
    light = SubElement(world, 'light', name=unused_name('sun', taken, '_light'), type='directional')
    SubElement(light, 'pose').text = '0 0 10 0 0 0'
    SubElement(light, 'direction').text = '-0.4 0.2 -0.9'


def _add_model(parent: Element, machine: Machine, options: SdfOptions) -> None:
    model = SubElement(parent, 'model', name=options.model_name_of(machine))
    if any(options.base_pose):
        SubElement(model, 'pose').text = numbers(options.base_pose)
    SubElement(model, 'self_collide').text = 'false'
    start = start_configuration(machine, options.start)
    radius = 0.01 * drawing_size(machine)

    # base_link stands still, its inertia has no effect; but a link without one is not accepted
    base = add_link(model, 'base_link', None)
    add_inertial(base, RigidBody('base_link', 1.0, np.zeros(3), np.eye(3)))
    rails = [bar for leg in machine.legs for bar in rail(leg, radius)]
    add_visuals(base, ring(machine.base_points, 1.2 * radius, 'base') + rails)
    add_joint(model, 'base_mount', 'fixed', 'world', 'base_link')
    for leg in machine.legs:
        _add_leg(model, leg, start, radius)
    if machine.has_platform:
        _add_platform(model, machine, start, options)
    add_model_systems(model, options, machine, start)


def _add_leg(model: Element, leg: Leg, start: RestConfiguration, radius: float) -> None:
    bars, parent = leg_bars(leg, radius), 'base_link'
    for joint in leg.joints:
        name = joint.body.name
        link = add_link(model, name, start.link_poses[name])
        add_inertial(link, joint.body)
        add_visuals(link, [bars[name]] if name in bars else [])
        add_axis(add_joint(model, joint.name, joint.kind, parent, name), joint, start.joint_positions[joint.name])
        parent = name
    add_frame(model, f'{leg.name}_tip', parent, leg.tip)


def _add_platform(model: Element, machine: Machine, start: RestConfiguration, options: SdfOptions) -> None:
    name = machine.platform.name
    body, tips = split_platform(machine) if options.loop == 'detachable' else (machine.platform, {})
    link = add_link(model, name, start.link_poses[name])
    add_inertial(link, body)
    add_visuals(link, ring(machine.platform_points, 0.02 * drawing_size(machine), 'platform'))
    if machine.has_imu:
        add_frame(model, machine.imu.frame, name, machine.imu.position, machine.imu.rotation_platform_imu)
        add_imu(link, machine.imu, options.topic(machine, 'imu'), options.version, options.frame_prefix)
    for number, leg in enumerate(machine.legs, start=1):
        child = name
        if leg.name in tips:
            tip = tips[leg.name]
            child = tip.name
            add_inertial(add_link(model, child, (leg.platform_point, np.eye(3)), relative_to=name), tip)
            add_weld(model, options, machine, leg.name, child)
        _add_closing_joint(model, machine, leg, child, leg.platform_point if child == name else np.zeros(3))
        add_frame(model, f'platform_anchor{number}', name, leg.platform_point)


def _add_closing_joint(model: Element, machine: Machine, leg: Leg, child: str, point: Array) -> None:
    """Ball joint, or pin about z of ``base_link``, in a point (3,) m of the child."""
    planar = machine.freedom == 'planar'
    parent = leg.joints[-1].body.name
    joint = add_joint(model, f'{leg.name}_closure', 'revolute' if planar else 'ball', parent, child)
    add_pose(joint, point)
    if planar:
        SubElement(SubElement(joint, 'axis'), 'xyz', expressed_in='base_link').text = '0.0 0.0 1.0'
