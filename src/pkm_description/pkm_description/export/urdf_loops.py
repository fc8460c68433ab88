"""URDF with closed loops, in the two forms that other tools read.

``urdf_loops``: a tree, and a YAML file with the cut loops (``closed_loop``, ``type``, ``name_mot``), the form of
example-parallel-robots and toolbox-parallel-robots (arXiv 2504.04767). ``urdf_constraints``: one URDF with the elements
``<constraint>`` proposed for urdfdom_headers (pull request 108), the form of joint_state_transformer.

In both the platform is a branch of its own with a floating joint, and the positions at home stand as initial values of
a ``<ros2_control>`` block: loops close there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np
import yaml

from pkm_description.export.numbers_text import numbers
from pkm_description.export.urdf_parts import add_chain_joint, add_inertial, add_joint, add_origin
from pkm_description.kinematics.arguments import require_machine, require_platform
from pkm_description.machine import Closure, Machine, RigidBody
from pkm_description.writing import make_folder, write_text

#: of the link that stands still
_RESTING = RigidBody('resting', 1.0, np.zeros(3), np.eye(3))

_CONSTRAINT_TYPES = {'ball': 'spherical', 'pin': 'revolute', 'universal': 'universal', 'fixed': 'link'}

#: hinges that a closure is made of besides a rigid connection, as axes of the closure frame
_HINGES = {'pin': ('0 0 1',), 'universal': ('1 0 0', '0 1 0')}


@dataclass(frozen=True)
class UrdfWithLoops:
    """A URDF tree, and the YAML text with its cut loops."""

    urdf: str
    loops: str


def urdf_with_loops(machine: Machine) -> UrdfWithLoops:
    """Write a machine as a URDF tree and a YAML file with its cut loops.

    Balls are loops of type ``3d``. Pins and universal joints are hinges of the tree, without mass, that end in a loop
    of type ``6d``.
    """
    robot = _tree(machine)
    pairs, kinds = [], []
    for closure in _closures(machine):
        ends = [f'{closure.name}_a', f'{closure.name}_b']
        body = closure.body
        point, rotation = closure.point, closure.rotation_body
        for number, axis in enumerate(_HINGES.get(closure.kind, ()), start=1):
            hinge = f'{closure.name}_hinge{number}'
            joint = add_joint(robot, f'{hinge}_joint', 'continuous', body, hinge, point, rotation)
            SubElement(joint, 'axis', xyz=axis)
            SubElement(robot, 'link', name=hinge)
            body, point, rotation = hinge, np.zeros(3), np.eye(3)
        for name, link, place, turn in (
            (ends[0], body, point, rotation), (ends[1], closure.other, closure.other_point, closure.rotation_other)
        ):  # fmt: skip
            SubElement(robot, 'link', name=name)
            add_joint(robot, f'{name}_mount', 'fixed', link, name, place, turn)
        pairs.append(ends)
        kinds.append('3d' if closure.kind == 'ball' else '6d')
    content = {
        'closed_loop': pairs, 'type': kinds, 'name_mot': [joint.name for joint in machine.actuated_joints],
    }  # fmt: skip
    head = f'# Cut loops of {machine.name}, written by export_machine: frames that coincide, and driven joints\n'
    return UrdfWithLoops(_text(robot), head + yaml.safe_dump(content, sort_keys=False, width=110))


def urdf_with_constraints(machine: Machine) -> str:
    """Write a machine as a URDF whose loops are closed by ``<constraint>`` elements."""
    robot = _tree(machine)
    for closure in _closures(machine):
        element = SubElement(robot, 'constraint', name=closure.name, type=_CONSTRAINT_TYPES[closure.kind])
        axes = {'pin': ('0 0 1', '0 0 1'), 'universal': ('1 0 0', '0 1 0')}.get(closure.kind)
        for place, (side, link, point, rotation) in enumerate((
            ('parent', closure.body, closure.point, closure.rotation_body),
            ('child', closure.other, closure.other_point, closure.rotation_other),
        )):  # fmt: skip
            SubElement(element, side, link=link)
            add_origin(element, point, rotation)
            element[-1].tag = f'{side}_origin'
            if axes is not None:
                SubElement(element, f'{side}_axis', xyz=axes[place])
    return _text(robot)


def write_urdf_with_loops(machine: Machine, directory: Path) -> tuple[Path, Path]:
    """Write ``robot.urdf`` and ``robot.yaml`` into a directory; returns both paths."""
    files = urdf_with_loops(machine)
    make_folder(directory)
    paths = directory / 'robot.urdf', directory / 'robot.yaml'
    for path, text in zip(paths, (files.urdf, files.loops), strict=True):
        write_text(path, text)
    return paths


def _closures(machine: Machine) -> list[Closure]:
    return [closure for leg in machine.legs for closure in leg.closures]


def _tree(machine: Machine) -> Element:
    """Base, legs, and the platform on a floating joint at home; driven joints and initial values."""
    require_machine(machine)
    require_platform(machine, 'urdf_text')
    robot = Element('robot', name=machine.name)
    robot.append(ElementTree.Comment(f' {machine.name}: written by export_machine from the machine file '))
    base = SubElement(robot, 'link', name='base_link')
    add_inertial(base, _RESTING)
    for leg in machine.legs:
        links = ['base_link', *(joint.body.name for joint in leg.joints)]
        for joint, parent in zip(leg.joints, leg.parents, strict=True):
            add_chain_joint(robot, joint, links[parent + 1], joint.translation, joint.rotation_parent_joint)
            link = SubElement(robot, 'link', name=joint.body.name)
            if joint.body.mass > 0.0:
                add_inertial(link, joint.body)
    pose, name = machine.home, machine.platform.name
    add_joint(robot, f'{name}_pose', 'floating', 'base_link', name, pose.position, pose.rotation_base_platform)
    add_inertial(SubElement(robot, 'link', name=name), machine.platform)
    _add_start(robot, machine)
    return robot


def _add_start(robot: Element, machine: Machine) -> None:
    """Which joints are driven, and where all are at home."""
    control = SubElement(robot, 'ros2_control', name=machine.name, type='system')
    joints = [joint for leg in machine.legs for joint in leg.joints]
    for joint, position in zip(joints, machine.model.home_joints.tolist(), strict=True):
        element = SubElement(control, 'joint', name=joint.name)
        if joint.actuated:
            SubElement(element, 'command_interface', name='effort')
        state = SubElement(element, 'state_interface', name='position')
        SubElement(state, 'param', name='initial_value').text = numbers([position])


def _text(robot: Element) -> str:
    ElementTree.indent(robot)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(robot, encoding='unicode') + '\n'
