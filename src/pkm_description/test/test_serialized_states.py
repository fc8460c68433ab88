"""Joint states and frames written in serialised form, against rclpy's own serialisation."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from pkm_description.export.urdf_loops import JointTransforms, moving_joints, urdf_joints
from pkm_description.importing.graph import motion_of
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.ros.conversions import stamp, transform_stamped
from pkm_description.ros.serialized import FramesWriter, JointStateWriter, read_joint_state
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

TIME = 1_795_265_722_279_995_249
#: texts of every length modulo eight: what follows is aligned
TEXTS = ['x' * length for length in range(9)]

#: an axis that is no unit vector, too
URDF = """<robot name="all"><link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="e"/>
<joint name="one" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.1 -0.2 0.3" rpy="0.4 -2 3"/>
<axis xyz="0.6 0 0.8"/></joint>
<joint name="two" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="1 2 3" rpy="3 1 -2"/>
<axis xyz="0 0.6 -0.8"/></joint>
<joint name="three" type="continuous"><parent link="c"/><child link="d"/><axis xyz="1 2 -1"/></joint>
<joint name="four" type="revolute"><parent link="d"/><child link="e"/><axis xyz="0 0 -1"/></joint></robot>"""


@pytest.mark.parametrize('frame', TEXTS)
@pytest.mark.parametrize('last_name', TEXTS)
@pytest.mark.parametrize('has_rates', [True, False])
def test_joint_state(frame: str, last_name: str, has_rates: bool) -> None:
    names, numbers = ['leg_1_slider', 'Bein_zwei_ä', last_name], np.random.default_rng(1).normal(size=(2, 3))
    message = JointState(name=names, position=numbers[0].tolist(), velocity=numbers[1].tolist() if has_rates else [])
    message.header.stamp, message.header.frame_id = stamp(TIME), frame
    write = JointStateWriter(names)
    for time in (5, TIME):  # again with what the first call has left
        written = write(time, frame, numbers[0], numbers[1] if has_rates else None)
    assert deserialize_message(written, JointState) == message
    assert read_joint_state(written).frame == frame


def _pose(joint, position):
    place = joint.first_frame @ motion_of(joint.kind, joint.axis, position)
    return place.position, place.rotation


@pytest.mark.parametrize('parent', TEXTS)
@pytest.mark.parametrize('child', TEXTS)
def test_frames(parent: str, child: str) -> None:
    random = np.random.default_rng(2)
    joints = moving_joints(urdf_joints(URDF))[:2]
    poses = [_pose(joint, position) for joint, position in zip(joints, random.normal(size=2), strict=True)]
    pairs = [(parent, child), ('Fuß', f'{child}_2')]
    message = TFMessage(transforms=[
        transform_stamped(TIME, *pair, *pose) for pair, pose in zip(pairs, poses, strict=True)
    ])  # fmt: skip
    numbers = np.array([[*position, *quaternion_from_matrix(rotation)] for position, rotation in poses])
    write = FramesWriter(pairs)
    for time, values in ((5, np.zeros((2, 7))), (TIME, numbers)):
        written = write(time, values)
    assert deserialize_message(written, TFMessage) == message


def test_no_frames() -> None:
    assert deserialize_message(FramesWriter([])(TIME, np.zeros((0, 7))), TFMessage) == TFMessage()


def test_transforms_of_all_joints_are_those_of_each() -> None:
    joints = moving_joints(urdf_joints(URDF))
    assert [joint.name for joint in joints] == ['one', 'two', 'three', 'four']
    transforms = JointTransforms(joints)
    for positions in np.random.default_rng(3).uniform(-6.0, 6.0, size=(20, 4)):
        for joint, position, found in zip(joints, positions, transforms(positions), strict=True):
            translation, rotation = _pose(joint, position)
            np.testing.assert_allclose(found[:3], translation, rtol=0.0, atol=1e-14)
            assert found[6] >= 0.0
            # a half turn has two quaternions
            assert abs(found[3:] @ quaternion_from_matrix(rotation)) == pytest.approx(1.0, abs=1e-14)
            np.testing.assert_allclose(np.linalg.norm(found[3:]), 1.0, rtol=0.0, atol=1e-14)
    assert JointTransforms([])(np.zeros(0)).shape == (0, 7)
