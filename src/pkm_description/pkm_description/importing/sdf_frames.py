"""Poses of an SDF in the model's frame: ``relative_to`` and frames of the model resolved."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from pkm_description.arrays import Array
from pkm_description.importing.graph import ImportMachineError
from pkm_description.importing.placement import HERE, Placement
from pkm_description.importing.xml_values import numbers, rpy_placement

_MODEL = '__model__'


def text_of(element: Element, key: str) -> str | None:
    """Text of a child element; None where there is none."""
    child = element.find(key)
    return None if child is None or child.text is None else child.text.strip()


def pose_of(element: Element, where: str) -> Placement:
    """Pose of an element in the frame that it is given in."""
    pose = element.find('pose')
    if pose is None or not (pose.text or '').strip():
        return HERE
    if pose.get('degrees') == 'true' or pose.get('rotation_format') == 'quat_xyzw':
        raise ImportMachineError(
            f'{where}: poses in degrees or as quaternions cannot be imported; give x y z roll pitch yaw'
        )
    values = numbers(pose.text, 6, f'{where}: pose')
    return rpy_placement(values[:3], values[3:])


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

    def place(self, name: str) -> Placement:
        """Pose of a frame in the model.

        Raises
        ------
        ImportMachineError
            No such frame, or frames that are given in each other.
        """
        return self._place(name, ())

    def _place(self, name: str, behind: tuple[str, ...]) -> Placement:
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
        outer = self._place(given_in, (*behind, name))
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

    def axis_in_joint(self, axis: Element, direction: Array, joint: Placement) -> Array:
        """Return a joint's axis (3,) in its frame; the file may give it in another one."""
        given_in = axis.find('xyz')
        name = None if given_in is None else given_in.get('expressed_in')
        in_model = text_of(axis, 'use_parent_model_frame') in ('1', 'true')
        if not name and not in_model:
            return direction
        turn = np.eye(3) if in_model else self.place(name or '').rotation
        turned: Array = joint.rotation.T @ turn @ direction
        return turned
