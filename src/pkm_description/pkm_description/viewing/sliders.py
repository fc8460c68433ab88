"""Sliders that move a machine, and their URDF for joint_state_publisher_gui."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.rotation import rpy_from_matrix
from pkm_description.machine import Pose
from pkm_description.viewing.coupled_pose import COORDINATES

_AXES = dict(zip(COORDINATES, np.vstack([np.eye(3), np.eye(3)]), strict=True))

#: joints from base to platform such that R = Rz(yaw) Ry(pitch) Rx(roll)
_CHAIN = ('x', 'y', 'z', 'yaw', 'pitch', 'roll')


#: a slider of joint_state_publisher_gui knows as many places, and takes the next one below its value
_PLACES = 10000


def slider_name(coordinate: str) -> str:
    """Name of a coordinate's slider: ``platform_yaw``; joints keep their names."""
    return f'platform_{coordinate}' if coordinate in COORDINATES else coordinate


@dataclass(frozen=True)
class Slider:
    """One value that a user sets.

    Attributes
    ----------
    coordinate : one of x, y, z, roll, pitch, yaw from home; the joint's name on open chains
    kind : ``'prismatic'`` or ``'revolute'``
    lower, upper : m or rad, range with all other sliders at rest
    rest : m or rad, where the machine is at home
    """

    coordinate: str
    kind: str
    lower: float
    upper: float
    rest: float = 0.0

    @property
    def name(self) -> str:
        """See :func:`slider_name`."""
        return slider_name(self.coordinate)


class SliderBoard:
    """Tells sliders that a user has moved from values that are only repeated.

    Programs with sliders publish all values all the time. Only a change counts, so that other inputs are not overruled.

    Parameters
    ----------
    sliders : all of the machine
    start : coordinate -> value [m, rad] that the sliders have at first, as far as their resolution allows
    """

    def __init__(self, sliders: Sequence[Slider], start: Mapping[str, float]) -> None:
        self._sliders = {slider.name: slider for slider in sliders}
        self._values = {slider.name: start.get(slider.coordinate, slider.rest) for slider in sliders}
        self._have_moved = False

    def moved(self, names: Sequence[str], positions: Sequence[float]) -> dict[str, float]:
        """Coordinates [m, rad] of all sliders if one has moved, else nothing.

        Raises
        ------
        KinematicsError
            Unequal lengths, or a name that is no slider of this machine.
        """
        if len(names) != len(positions):
            raise KinematicsError(f'sliders with {len(names)} names and {len(positions)} positions')
        has_moved = False
        for name, value in zip(names, positions, strict=True):
            if name not in self._sliders:
                raise KinematicsError(f'no slider {name!r}; there are {", ".join(self._sliders)}')
            slider = self._sliders[name]
            place = 0.0 if self._have_moved else 1.001 * (slider.upper - slider.lower) / _PLACES
            # not "difference > place": NaN is a change, to be refused
            has_moved |= not abs(value - self._values[name]) <= place
        if not has_moved:
            return {}
        self._have_moved = True
        self._values.update(zip(names, positions, strict=True))
        return {slider.coordinate: self._values[name] for name, slider in self._sliders.items()}


def slider_urdf(machine_name: str, sliders: Sequence[Slider], home: Pose) -> str:
    """URDF whose moving joints are the sliders, for joint_state_publisher_gui; it has no geometry.

    Platform coordinates form a chain from ``base_link`` that ends in the platform's pose: R = Rz Ry Rx R_home. Joints
    of open chains stand side by side, as only their names and limits matter.

    Parameters
    ----------
    home : pose of the platform with all sliders at rest
    """
    robot = ElementTree.Element('robot', name=f'{machine_name}_sliders')
    by_coordinate = {slider.coordinate: slider for slider in sliders}
    chain = [by_coordinate[name] for name in _CHAIN if name in by_coordinate]
    parents: dict[str, str] = {}
    parent = _link(robot, 'base_link')
    if chain:
        parent = _fixed(robot, 'home_position', parent, xyz=home.position)
    for slider in chain:
        parents[slider.name] = parent
        parent = _link(robot, f'{slider.name}_link')
    if chain:
        _fixed(robot, 'platform_pose', parent, rpy=rpy_from_matrix(home.rotation_base_platform))
    # the order of the joints is the order in which they are shown
    for slider in sliders:
        if slider.name not in parents:
            parents[slider.name] = 'base_link'
            _link(robot, f'{slider.name}_link')
        _moving(robot, slider, parents[slider.name])
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding='unicode', xml_declaration=True) + '\n'


def _link(robot: ElementTree.Element, name: str) -> str:
    ElementTree.SubElement(robot, 'link', name=name)
    return name


def _joint(robot: ElementTree.Element, name: str, kind: str, parent: str, child: str) -> ElementTree.Element:
    joint = ElementTree.SubElement(robot, 'joint', name=name, type=kind)
    ElementTree.SubElement(joint, 'parent', link=parent)
    ElementTree.SubElement(joint, 'child', link=child)
    return joint


def _fixed(robot: ElementTree.Element, name: str, parent: str, **origin: Array) -> str:
    joint = _joint(robot, f'{name}_joint', 'fixed', parent, _link(robot, name))
    ElementTree.SubElement(joint, 'origin', {key: _words(values) for key, values in origin.items()})
    return name


def _moving(robot: ElementTree.Element, slider: Slider, parent: str) -> None:
    joint = _joint(robot, slider.name, slider.kind, parent, f'{slider.name}_link')
    ElementTree.SubElement(joint, 'axis', xyz=_words(_AXES.get(slider.coordinate, np.array([0.0, 0.0, 1.0]))))
    limits = {'lower': slider.lower, 'upper': slider.upper, 'effort': 0.0, 'velocity': 1.0}
    ElementTree.SubElement(joint, 'limit', {key: repr(float(value)) for key, value in limits.items()})


def _words(values: Array) -> str:
    return ' '.join(repr(float(value)) for value in values)
