"""URDF with closed loops, in the two forms that other tools read; and transforms of a URDF's links.

``urdf_loops``: a tree, and a YAML file with the cut loops (``closed_loop``, ``type``, ``name_mot``), the form of
example-parallel-robots and toolbox-parallel-robots (arXiv 2504.04767). ``urdf_constraints``: one URDF with the elements
``<constraint>`` proposed for urdfdom_headers (pull request 108), the form of joint_state_transformer.

In both the platform is a branch of its own with a floating joint, and the positions at home stand as initial values of
a ``<ros2_control>`` block: loops close there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml

from pkm_description.arrays import Array
from pkm_description.export.texts import filled, xml_text
from pkm_description.export.urdf import home_place, urdf_values
from pkm_description.importing.formats.urdf import joint_of, parsed, tree_places
from pkm_description.importing.graph import Link
from pkm_description.kinematics.arguments import require_machine, require_platform
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import Machine
from pkm_description.writing import make_folder, write_text

_CONSTRAINT_TYPES = {'ball': 'spherical', 'pin': 'revolute', 'universal': 'universal', 'fixed': 'link'}

#: hinges that a closure is made of besides a rigid connection, as axes of the closure frame
_HINGES = {'pin': ('0 0 1',), 'universal': ('1 0 0', '0 1 0')}


def urdf_with_loops(machine: Machine) -> tuple[str, str]:
    """Write a machine as a URDF tree, and the YAML text with its cut loops.

    Balls are loops of type ``3d``. Pins and universal joints are hinges of the tree, without mass, that end in a loop
    of type ``6d``.
    """
    text = _text(machine, constraints=False)
    content = {
        'closed_loop': [[f'{closure.name}_a', f'{closure.name}_b'] for closure in machine.closures],
        'type': ['3d' if closure.kind == 'ball' else '6d' for closure in machine.closures],
        'name_mot': [joint.name for joint in machine.actuated_joints],
    }
    head = f'# Cut loops of {machine.name}, written by export_machine: frames that coincide, and driven joints\n'
    return text, head + yaml.safe_dump(content, sort_keys=False, width=110)


def urdf_with_constraints(machine: Machine) -> str:
    """Write a machine as a URDF whose loops are closed by ``<constraint>`` elements."""
    return _text(machine, constraints=True)


def _text(machine: Machine, constraints: bool) -> str:
    """Base, legs, and the platform on a floating joint at home; driven joints and initial values; loops."""
    require_machine(machine)
    require_platform(machine, 'urdf_text')
    root = filled(
        'urdf_loops.xml.j2', machine=machine, home=home_place(machine), hinges=_HINGES, constraints=constraints,
        constraint_types=_CONSTRAINT_TYPES, **urdf_values(),
    )  # fmt: skip
    return xml_text(root)


def write_urdf_with_loops(machine: Machine, directory: Path) -> tuple[Path, Path]:
    """Write ``robot.urdf`` and ``robot.yaml`` into a directory; returns both paths."""
    make_folder(directory)
    paths = directory / 'robot.urdf', directory / 'robot.yaml'
    for path, text in zip(paths, urdf_with_loops(machine), strict=True):
        write_text(path, text)
    return paths


class JointTransforms:
    """Transforms of K moving joints at once.

    Parameters
    ----------
    joints : revolute or prismatic
    """

    def __init__(self, joints: Sequence[Link]) -> None:
        self._origins = np.reshape([joint.first_frame.position for joint in joints], (-1, 3))
        turns = np.array([quaternion_from_matrix(joint.first_frame.rotation) for joint in joints]).reshape(-1, 4)
        axes = np.reshape([joint.axis for joint in joints], (-1, 3))
        slides = np.array([joint.kind == 'prismatic' for joint in joints], dtype=bool)[:, None]
        rotations = np.reshape([joint.first_frame.rotation for joint in joints], (-1, 3, 3))
        self._slides = np.where(slides, np.einsum('kij,kj->ki', rotations, axes), 0.0)
        self._half = np.where(slides[:, 0], 0.0, 0.5)
        # product of quaternions: (turn, w) (axis sin, cos) = still cos + turned sin
        self._still, vector, scalar = turns, turns[:, :3], turns[:, 3:]
        self._turned = np.hstack([
            scalar * axes + np.cross(vector, axes), -np.einsum('ki,ki->k', vector, axes)[:, None],
        ])  # fmt: skip

    def __call__(self, positions: Array) -> Array:
        """Translation [m] and quaternion (x, y, z, w >= 0) of each child link in its parent link (K, 7)."""
        half = self._half * positions
        result = np.empty((len(half), 7))
        result[:, :3] = self._origins + self._slides * positions[:, None]
        result[:, 3:] = self._still * np.cos(half)[:, None] + self._turned * np.sin(half)[:, None]
        result[result[:, 6] < 0.0, 3:] *= -1.0
        return result


def urdf_joints(text: str) -> list[Link]:
    """Joints of a URDF text, in its order, planar ones left out.

    Raises
    ------
    ImportMachineError
        Not XML, a joint without parent or child, or something else than three numbers for a vector.
    """
    source = 'robot_description'
    elements = parsed(text, source).findall('joint')
    return [joint_of(element, source) for element in elements if element.get('type') != 'planar']


def moving_joints(joints: list[Link]) -> list[Link]:
    """Joints whose transform follows from one joint position (a floating joint's does not)."""
    return [joint for joint in joints if joint.kind in ('revolute', 'prismatic')]


def link_poses(joints: list[Link], positions: Mapping[str, float], root: str) -> dict[str, tuple[Array, Array]]:
    """Poses in ``root`` of all links below it: translation (3,) m and rotation (3, 3).

    Parameters
    ----------
    positions : joint name -> rad or m, 0 where not given; floating joints stay at their origin
    """
    places = tree_places([replace(joint, position=positions.get(joint.name, 0.0)) for joint in joints], root)
    return {link: (place.position, place.rotation) for link, place in places.items()}
