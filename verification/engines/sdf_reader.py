"""A reader of SDF files that owes nothing to the exporter: poses of links, frames and joints in ``base_link``."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from pkm_description.arrays import Array
from scipy.spatial.transform import Rotation

PKM = '{urn:pkm-suite:sdf:1}'

Pose = tuple[Array, Array]


def read_pose(element: Element) -> Pose:
    """Pose element as position (3,) and rotation (3, 3); identity where there is none."""
    pose = element.find('pose')
    if pose is None or not pose.text:
        return np.zeros(3), np.eye(3)
    values = np.array([float(word) for word in pose.text.split()])
    if pose.get('rotation_format') == 'quat_xyzw':
        assert len(values) == 7
        return values[:3], Rotation.from_quat(values[3:]).as_matrix()
    assert len(values) == 6
    return values[:3], Rotation.from_euler('xyz', values[3:]).as_matrix()


def compose(first: Pose, second: Pose) -> Pose:
    """The second pose, given in the first one's frame, in the frame in which the first is given."""
    return first[0] + first[1] @ second[0], first[1] @ second[1]


def shared_names(element: Element) -> list[str]:
    """Names that several siblings have, anywhere below an element: SDF 1.7 and later refuse them, of whatever kind."""
    found = []
    for one in element.iter():
        names = [str(child.get('name')) for child in one if child.get('name') is not None and child.tag != 'plugin']
        found += sorted({name for name in names if names.count(name) > 1})
    return found


class SdfModel:
    """The model of an SDF text, alone or in a world."""

    def __init__(self, text: str) -> None:
        root = ElementTree.fromstring(text)
        assert root.tag == 'sdf'
        found = root.find('.//model')
        assert found is not None
        self.root, self.model = root, found
        self.links = {str(link.get('name')): link for link in found.findall('link')}
        self.joints = {str(joint.get('name')): joint for joint in found.findall('joint')}
        self.frames = {str(frame.get('name')): frame for frame in found.findall('frame')}

    def pose(self, name: str) -> Pose:
        """Pose of a link, frame or joint in the model's frame, as the specification of SDF 1.9 resolves it."""
        if name == '':
            return np.zeros(3), np.eye(3)
        if name in self.joints:
            element, default = self.joints[name], self.joints[name].findtext('child', '')
        elif name in self.frames:
            element, default = self.frames[name], str(self.frames[name].get('attached_to'))
        else:
            element, default = self.links[name], ''
        pose = element.find('pose')
        relative_to = default if pose is None else pose.get('relative_to', default)
        return compose(self.pose(relative_to), read_pose(element))

    def ends(self, joint: str) -> tuple[str, str]:
        """Parent and child."""
        return self.joints[joint].findtext('parent', ''), self.joints[joint].findtext('child', '')

    def inertial(self, link: str) -> tuple[float, Array, Array]:
        """Mass, centre of mass (3,) and inertia (3, 3) about it, link axes."""
        element = self.links[link].find('inertial')
        assert element is not None, f'{link} has no inertial'
        center, rotation = read_pose(element)
        assert (rotation == np.eye(3)).all()
        inertia = np.empty((3, 3))
        for row, column, key in ((0, 0, 'xx'), (0, 1, 'xy'), (0, 2, 'xz'), (1, 1, 'yy'), (1, 2, 'yz'), (2, 2, 'zz')):
            inertia[row, column] = inertia[column, row] = float(element.findtext(f'inertia/i{key}', 'nan'))
        return float(element.findtext('mass', 'nan')), center, inertia

    def plugins(self, name: str) -> list[Element]:
        """Systems whose name ends so."""
        return [one for one in self.root.iter('plugin') if str(one.get('name')).endswith(f'::{name}')]
