"""Gazebo model (SDF 1.9) of a machine, written from the machine file's data.

SDF places links by their poses, and joint position zero is where they are placed. Loops can only be closed between
links that stand right, so the links stand where the machine starts, at home or elsewhere: **Gazebo's joint positions
count from there**. Each joint carries its own position at the start as ``pkm:start_position``; limits are shifted
accordingly.

Gazebo's physics gives a link one parent joint. Two ways to close the loops all the same:

- ``detachable`` (Fortress with ignition-physics 5.2 or newer, and all later releases): the first closure on the
  platform carries it, every other closure ends in a small link that the DetachableJoint system welds to the platform
  (or to what else the closure holds) when the simulation starts. Mass and inertia of the small links are taken from
  the bodies that they are welded to, so that the closed machine is the file's.
- ``native``: the platform is the child of every closing joint. Valid SDF, but engines refuse it up to gz-physics 9
  (gz-physics pull request 987 will take it).
"""

from __future__ import annotations

from xml.etree.ElementTree import Comment, Element, SubElement

import numpy as np

from pkm_description.arrays import Array
from pkm_description.export.drawing import (
    base_joint_points,
    drawing_size,
    leg_bars,
    platform_joint_points,
    rail,
    ring,
)
from pkm_description.export.rest import RestConfiguration, start_configuration
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
    moving_bodies,
    split_bodies,
    unused_name,
    welded_ends,
    with_least_masses,
    with_unique_links,
)
from pkm_description.export.sdf_systems import SdfOptions, add_model_systems, add_weld, add_world_systems
from pkm_description.export.texts import add_provenance, numbers, xml_text
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.rotation_formats import rotation_from_rpy
from pkm_description.machine import Closure, Leg, Machine, RigidBody
from pkm_description.machine.machine import ClosureEnd, closure_ends

_KINDS = {'ball': 'ball', 'pin': 'revolute', 'universal': 'universal', 'fixed': 'fixed'}


def sdf_text(machine: Machine, options: SdfOptions | None = None) -> str:
    """Write the machine as SDF.

    Raises
    ------
    KinematicsError
        The loops cannot be closed where the machine shall start.
    ExportError
        A body is too light for the links that detachable joints need.
    """
    require_machine(machine)
    options = options or SdfOptions()
    given, machine = machine, with_least_masses(with_unique_links(machine))
    root = Element('sdf', {'version': '1.9', 'xmlns:pkm': PKM_NAMESPACE})
    if options.world:
        parent = SubElement(root, 'world', name=options.world_name)
        _add_physics(parent, machine, options)
        add_world_systems(parent, options.version)
    else:
        parent = root
        root.append(Comment(' the world needs the systems physics and imu, and the pgs solver: see option world '))
    _add_model(parent, machine, options)
    add_provenance(root, given, 'sdf')
    return xml_text(root)


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
    add_visuals(base, ring(base_joint_points(machine), 1.2 * radius, 'base') + rails)
    add_joint(model, 'base_mount', 'fixed', 'world', 'base_link')
    bodies, welded = _bodies(machine, options)
    for leg in machine.legs:
        _add_leg(model, leg, bodies, start, radius)
    if machine.has_platform:
        _add_platform(model, machine, bodies[machine.platform.name], start, options)
    for end in closure_ends(machine):
        _add_closure(model, machine, end, welded.get(end.closure.name), start, options)
    add_model_systems(model, options, machine, start)


def _bodies(machine: Machine, options: SdfOptions) -> tuple[dict[str, RigidBody], dict[str, RigidBody]]:
    """Bodies by link name, with what is left of them; and the small links by the name of their closure."""
    if options.loop == 'detachable':
        return split_bodies(machine, welded_ends(machine))
    return {body.name: body for body in moving_bodies(machine)}, {}


def _add_leg(
    model: Element, leg: Leg, bodies: dict[str, RigidBody], start: RestConfiguration, radius: float
) -> None:
    bars = leg_bars(leg, radius)
    for joint, parent in zip(leg.joints, leg.parents, strict=True):
        name = joint.body.name
        link = add_link(model, name, start.link_poses[name])
        add_inertial(link, bodies[name])
        add_visuals(link, bars.get(name, []))
        carrier = leg.joints[parent].body.name if parent >= 0 else 'base_link'
        add_axis(add_joint(model, joint.name, joint.kind, carrier, name), joint, start.joint_positions[joint.name])


def _add_platform(
    model: Element, machine: Machine, body: RigidBody, start: RestConfiguration, options: SdfOptions
) -> None:
    name = machine.platform.name
    link = add_link(model, name, start.link_poses[name])
    add_inertial(link, body)
    add_visuals(link, ring(platform_joint_points(machine), 0.02 * drawing_size(machine), 'platform'))
    if machine.has_imu:
        add_frame(model, machine.imu.frame, name, machine.imu.position, machine.imu.rotation_platform_imu)
        add_imu(link, machine.imu, options.topic(machine, 'imu'), options.version, options.frame_prefix)


def _add_closure(
    model: Element, machine: Machine, end: ClosureEnd, small: RigidBody | None, start: RestConfiguration,
    options: SdfOptions,
) -> None:  # fmt: skip
    """Frames of a closure, the joint that closes it, and the small link with its weld where there is one."""
    closure = end.closure
    add_frame(model, end.tip, closure.body, closure.point, frame_rotation(closure.rotation_body))
    child, place = closure.other, (closure.other_point, frame_rotation(closure.rotation_other))
    if small is not None:
        child = small.name
        pose = closure.other_point, closure.rotation_other
        add_inertial(add_link(model, child, pose, relative_to=closure.other), small)
        add_weld(model, options, machine, closure.other, end)
        place = np.zeros(3), None
    add_closing_joint(model, machine, closure, child, place, start)
    add_frame(model, end.anchor, closure.other, closure.other_point, frame_rotation(closure.rotation_other))


def frame_rotation(rotation: Array) -> Array | None:
    """The rotation (3, 3), None where there is none."""
    return None if np.array_equal(rotation, np.eye(3)) else rotation


def add_closing_joint(
    model: Element, machine: Machine, closure: Closure, child: str, place: tuple[Array, Array | None],
    start: RestConfiguration,
) -> None:  # fmt: skip
    """Joint from a leg's body to a child, at a place of it: (3,) m and (3, 3); planar machines: pins about z.

    A universal joint's first axis stands in the leg's body: where it is when the simulation starts.
    """
    joint = add_joint(model, closure.name, _KINDS[closure.kind], closure.body, child)
    add_pose(joint, *place)
    if closure.kind == 'pin':
        attributes = {'expressed_in': 'base_link'} if machine.planar else {}
        SubElement(SubElement(joint, 'axis'), 'xyz', attributes).text = numbers([0.0, 0.0, 1.0])
    elif closure.kind == 'universal':
        here = start.link_poses[closure.body][1] @ closure.rotation_body
        there = _rotation(start, closure.other) @ closure.rotation_other
        for name, axis in (('axis', there.T @ here[:, 0]), ('axis2', np.array([0.0, 1.0, 0.0]))):
            SubElement(SubElement(joint, name), 'xyz').text = numbers(axis)


def _rotation(start: RestConfiguration, link: str) -> Array:
    return np.eye(3) if link == 'base_link' else start.link_poses[link][1]
