"""Read SDF: links, joints and frames of a model; a joint whose child has a parent already closes a loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.importing.formats.urdf import EARTH, driven_joints, number, numbers, rpy_placement, unit
from pkm_description.importing.graph import HERE, Graph, ImportMachineError, JointValues, Link, Placement
from pkm_description.machine import RigidBody
from pkm_description.machine.parts import INERTIA_ENTRIES, inertia_tensor

_MODEL = '__model__'
_KINDS = {
    'revolute': 'revolute', 'continuous': 'revolute', 'prismatic': 'prismatic', 'fixed': 'fixed', 'ball': 'ball',
    'universal': 'universal', 'revolute2': 'universal',
}  # fmt: skip

#: rotor inertia of a joint in the SDF of export_machine, kg or kg m^2
_ROTOR = '{urn:pkm-suite:sdf:1}rotor_inertia'

#: names of plugins that drive joints contain one of these
_DRIVING = ('Controller', 'ApplyJointForce')

#: what stands for no limit in SDF
_NO_LIMIT = 1e15


def sdf_graph(root: Element, path: Path) -> Graph:
    """Bodies, joints and loops of the only model of an SDF.

    Raises
    ------
    ImportMachineError
        Several models, an element that cannot be read, or a type of joint that cannot be imported.
    """
    world = root.find('world')
    models = [*root.findall('model'), *(world.findall('model') if world is not None else [])]
    if len(models) != 1:
        raise ImportMachineError(f'{path}: expected one model, found {len(models)}')
    model = models[0]
    if model.find('include') is not None or model.find('model') is not None:
        raise ImportMachineError(f'{path}: models inside models cannot be imported; write them out as one')
    frames = SdfFrames(model, path)
    links = {element.get('name', ''): element for element in model.findall('link')}
    bodies = {'world': RigidBody('world')} | {name: _body(element, path) for name, element in links.items()}
    places = {'world': HERE} | {name: frames.place(name) for name in links}
    joints = [_joint(element, frames, places, path) for element in model.findall('joint')]
    joints, base = _on_base(joints, bodies, model, path)
    if base != 'world' and not any('world' in (joint.first, joint.second) for joint in joints):
        del bodies['world'], places['world']
    places = {name: place.seen_from(places[base]) for name, place in places.items()}
    motors, notes = _driven(model, root), []
    gravity = EARTH
    if text_of(world, 'gravity') is not None:
        gravity = numbers(text_of(world, 'gravity'), 3, f'{path}: gravity')
    else:
        notes.append('gravity is assumed to be 9.81 m/s^2 along -z of the model: the file has no world')
    return Graph(
        name=model.get('name', path.stem), source=path.name, bodies=bodies, base=base, places=places,
        links=tuple(replace(joint, driven=joint.name in motors) for joint in joints), gravity=gravity,
        frames={name: (name, HERE) for name in bodies}, link_frames=frozenset(bodies), notes=tuple(notes),
    )  # fmt: skip


def _body(element: Element, path: Path) -> RigidBody:
    name, inertial = element.get('name', ''), element.find('inertial')
    where = f'{path}: link {name!r}'
    tensor = None if inertial is None else inertial.find('inertia')
    # SDF has a ball where the file is silent
    mass = number(text_of(inertial, 'mass'), f'{where}: mass', 1.0)
    moments = [
        number(text_of(tensor, key), f'{where}: {key}', float(row == column))
        for key, (row, column) in INERTIA_ENTRIES.items()
    ]
    place = HERE if inertial is None else pose_of(inertial, where)
    return RigidBody(name, mass, np.zeros(3), inertia_tensor(moments)).moved(place)


def _joint(element: Element, frames: SdfFrames, places: dict[str, Placement], path: Path) -> Link:
    name, kind = element.get('name', ''), element.get('type', '')
    where = f'{path}: joint {name!r}'
    if kind not in _KINDS:
        raise ImportMachineError(f'{where}: type {kind!r} cannot be imported; known: {", ".join(_KINDS)}')
    parent, child = (frames.link_of((text_of(element, key) or '').strip(), where) for key in ('parent', 'child'))
    place = frames.place(name)
    axes = [frames.axis(element, key, place, where) for key in ('axis', 'axis2')]
    if _KINDS[kind] == 'universal' and abs(axes[0] @ axes[1]) > 1e-6:
        raise ImportMachineError(f'{where}: the axes of a universal joint must be perpendicular')
    first, second = (place.seen_from(places[end]) for end in (parent, child))
    return Link(name, _KINDS[kind], parent, child, first, second, axes[0], axes[1], values=_values(element, where))


def _values(element: Element, where: str) -> JointValues:
    axis = element.find('axis')

    def value(group: str, key: str, default: float) -> float:
        part = None if axis is None else axis.find(group)
        if not text_of(part, key):
            return default
        found = number(text_of(part, key), f'{where}: {key}', default)
        is_none = abs(found) >= _NO_LIMIT or (key in ('velocity', 'effort') and found < 0)
        return default if is_none else found

    return JointValues(
        lower=value('limit', 'lower', -np.inf),
        upper=value('limit', 'upper', np.inf),
        velocity=value('limit', 'velocity', np.inf),
        effort=value('limit', 'effort', np.inf),
        viscous=value('dynamics', 'damping', 0.0),
        coulomb=value('dynamics', 'friction', 0.0),
        stiffness=value('dynamics', 'spring_stiffness', 0.0),
        rotor_inertia=number(text_of(element, _ROTOR), f'{where}: rotor_inertia', 0.0),
    )


def _on_base(joints: list[Link], bodies: dict[str, RigidBody], model: Element, path: Path) -> tuple[list[Link], str]:
    """Mark the joints that close loops, and find the base: the world, or the first link that no joint carries."""
    static = [joint for joint in joints if 'world' in (joint.first, joint.second)]
    children = {joint.second for joint in joints}
    roots = [name for name in bodies if name not in children and name != 'world']
    named = model.get('canonical_link')
    base = 'world' if static else named if named in bodies else (roots or [next(iter(bodies))])[0]
    if base == 'world' and not static:
        raise ImportMachineError(f'{path}: the model has no links')
    # a joint that the tree passes from its child to its parent is turned round
    ordered, loops, placed, waiting = [], [], {base}, list(joints)
    while ready := next((joint for joint in waiting if {joint.first, joint.second} & placed), None):
        waiting.remove(ready)
        if {ready.first, ready.second} <= placed:
            loops.append(replace(ready, is_loop=True))
        else:
            ordered.append(ready if ready.first in placed else ready.from_side(ready.second))
            placed.add(ordered[-1].second)
    return [*ordered, *loops, *waiting], base


def _driven(model: Element, root: Element) -> set[str]:
    """Joints that plugins name, which drive joints or are ros2_control's."""
    names = {
        name.text.strip()
        for plugin in model.iter('plugin')
        for name in plugin.iter('joint_name')
        if name.text and any(word in plugin.get('name', '') for word in _DRIVING)
    }
    for control in [model, root]:
        names |= driven_joints(control)
    return names


def text_of(element: Element | None, key: str) -> str | None:
    """Text of a child element; None where there is none, or no element."""
    child = None if element is None else element.find(key)
    return None if child is None or child.text is None else child.text.strip()


def pose_of(element: Element, where: str) -> Placement:
    """Pose of an element in the frame that it is given in."""
    pose = element.find('pose')
    if pose is None or not (pose.text or '').strip():
        return HERE
    if pose.get('rotation_format') == 'quat_xyzw':
        values = numbers(pose.text, 7, f'{where}: pose')
        return Placement(values[:3], Rotation.from_quat(values[3:]).as_matrix())
    values = numbers(pose.text, 6, f'{where}: pose')
    return rpy_placement(values[:3], np.radians(values[3:]) if pose.get('degrees') == 'true' else values[3:])


class SdfFrames:
    """Frames of a model: links, joints and frames.

    Parameters
    ----------
    model : element
    path : of the file, for messages
    """

    def __init__(self, model: Element, path: Path) -> None:
        self._path = path
        self._elements: dict[str, Element] = {}
        for kind in ('link', 'joint', 'frame'):
            for element in model.findall(kind):
                name = element.get('name', '')
                if name in self._elements:
                    raise ImportMachineError(f'{path}: two elements are called {name!r}')
                self._elements[name] = element
        self._found: dict[str, Placement] = {_MODEL: HERE, 'world': HERE}

    def place(self, name: str, behind: tuple[str, ...] = ()) -> Placement:
        """Pose of a frame in the model.

        Parameters
        ----------
        behind : frames that are given in this one, for the check

        Raises
        ------
        ImportMachineError
            No such frame, or frames that are given in each other.
        """
        if name in self._found:
            return self._found[name]
        if name not in self._elements:
            raise ImportMachineError(f'{self._path}: no frame {name!r}; there are {", ".join(self._elements)}')
        if name in behind:
            raise ImportMachineError(f'{self._path}: frames are given in each other: {" -> ".join((*behind, name))}')
        element = self._elements[name]
        pose = element.find('pose')
        given_in = None if pose is None else pose.get('relative_to')
        if not given_in:
            # joints in their child, frames in what they are attached to, links in the model
            own = text_of(element, 'child') if element.tag == 'joint' else element.get('attached_to')
            given_in = own or _MODEL
        outer = self.place(given_in, (*behind, name))
        self._found[name] = outer @ pose_of(element, f'{self._path}: {element.tag} {name!r}')
        return self._found[name]

    def link_of(self, name: str, where: str) -> str:
        """Link that a frame is attached to."""
        if name == 'world':
            return name
        element = self._elements.get(name)
        if element is None:
            raise ImportMachineError(f'{where}: there is no link {name!r}')
        if element.tag == 'frame':
            return self.link_of(element.get('attached_to', 'world'), where)
        return self.link_of(text_of(element, 'child') or '', where) if element.tag == 'joint' else name

    def axis(self, joint: Element, key: str, place: Placement, where: str) -> Array:
        """Axis (3,) of a joint in its frame, z where it says nothing; the file may give it in another frame."""
        part, axis = joint.find(key), np.array([0.0, 0.0, 1.0])
        if part is None:
            return axis
        axis = unit(numbers(text_of(part, 'xyz'), 3, f'{where}: {key}', axis), f'{where}: {key}')
        given_in = part.find('xyz')
        name = None if given_in is None else given_in.get('expressed_in')
        in_model = text_of(part, 'use_parent_model_frame') in ('1', 'true')
        if name or in_model:
            turn = np.eye(3) if in_model else self.place(name or '').rotation
            axis = place.rotation.T @ turn @ axis
        return axis
