"""The URDF from the machine object against ``pkm.urdf.xacro``, which reads the machine file itself."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import xacro
from exported_machines import FOR_XACRO, NOT_FOR_XACRO, exported_machine
from pkm_description.export.urdf import urdf_text
from pkm_description.export.urdf_loops import link_poses, urdf_joints
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, Pose
from pkm_description.machine.machine import with_payload
from pkm_description.skeleton import KINDS, skeleton_text
from scipy.spatial.transform import Rotation
from urdf_trees import urdf_tree, xacro_text


@pytest.mark.parametrize('name', FOR_XACRO)
def test_both_give_the_same_tree(name: str, tmp_path: Path) -> None:
    machine = exported_machine(name, tmp_path)
    texts = urdf_text(machine), xacro_text(machine_file=machine.path.resolve())
    ours, other = (_comparable(machine, text) for text in texts)
    assert list(ours) == list(other)
    for key, content in other.items():
        assert ours[key] == content, key


@pytest.mark.parametrize('name', NOT_FOR_XACRO)
def test_other_legs_are_refused_by_xacro_which_says_what_to_do(name: str) -> None:
    with pytest.raises(xacro.XacroException, match='ros2 run pkm_description export_machine MACHINE urdf'):
        xacro_text(machine_file=load_machine(name).path.resolve())


@pytest.mark.parametrize('kind', KINDS)
def test_skeletons_too(kind: str, tmp_path: Path) -> None:
    """Planar ones have home in the origin, which must not shrink the drawing to nothing."""
    path = tmp_path / 'machine.yaml'
    path.write_text(skeleton_text(kind))
    text = urdf_text(load_machine(path))
    assert urdf_tree(text) == urdf_tree(xacro_text(machine_file=path.resolve()))
    shapes = [shape[0].attrib for shape in ElementTree.fromstring(text).iter('geometry')]
    sizes = [float(size) for shape in shapes for size in shape.values() if ' ' not in size]
    assert min(sizes) > 1e-3


def _comparable(machine: Machine, text: str) -> dict[str, Any]:
    """Without what xacro does not know (friction laws), or the machine object (where the leg's base frame was)."""
    tree = urdf_tree(text)
    for leg in machine.legs:
        for joint in leg.joints:
            if not joint.friction.is_viscous_coulomb:
                del tree[f'joint {joint.name}']['dynamics']
        if machine.name == 'uneven':  # the first joint's frame is turned in the leg's base frame
            poses = link_poses(urdf_joints(text), {}, 'base_link')
            place = poses[leg.joints[0].body.name]
            del tree[f'joint {leg.name}_mount'], tree[f'joint {leg.joints[0].name}']['origin']
            tree[leg.name] = tuple(np.round(np.concatenate([place[0], place[1].ravel()]), 9).tolist())
    return tree


def test_changes_of_a_machine_in_memory_show() -> None:
    """What no file says: a payload, another home, another place of the IMU."""
    machine = load_machine('srs')
    turned = Rotation.from_euler('xyz', [0.1, -0.2, 0.3]).as_matrix()
    home = Pose(machine.home.position + np.array([0.01, 0.0, 0.05]), turned)
    changed = dataclasses.replace(
        with_payload(machine, dataclasses.replace(machine.platform, mass=250.0)),
        home=home, imu=dataclasses.replace(machine.imu, position=np.array([0.1, 0.2, 0.3])),
    )  # fmt: skip
    root = ElementTree.fromstring(urdf_text(changed))
    assert float(root.find("link[@name='platform_link']/inertial/mass").get('value')) == 3250.0
    joints = {joint.name: joint for joint in urdf_joints(urdf_text(changed))}
    assert joints['platform_link_pose'].first_frame.position.tolist() == home.position.tolist()
    assert joints['platform_link_pose'].first_frame.rotation == pytest.approx(home.rotation_base_platform, abs=1e-15)
    assert joints['imu_link_mount'].first_frame.position.tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize('pitch', [np.pi / 2, -np.pi / 2, 1.5707963267949, 1.5708, np.pi / 2 - 1e-9])
def test_frames_that_stand_upright_keep_all_digits(pitch: float) -> None:
    """Where roll and yaw are hardly determined by themselves, they must still fit each other."""
    machine = load_machine('srs')
    rotation = Rotation.from_euler('xyz', [0.7, pitch, -1.1]).as_matrix()
    changed = dataclasses.replace(machine, imu=dataclasses.replace(machine.imu, rotation_platform_imu=rotation))
    joints = {joint.name: joint for joint in urdf_joints(urdf_text(changed))}
    assert joints['imu_link_mount'].first_frame.rotation == pytest.approx(rotation, abs=2e-15)
