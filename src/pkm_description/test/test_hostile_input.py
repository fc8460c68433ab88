"""Files and messages that are no such thing, or fill the memory, are refused in one short sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pkm_description.bounded_yaml import UnreadableYamlError, bounded_yaml
from pkm_description.errors import ConfigurationError, JointStateError, MachineFileError, PkmError
from pkm_description.export.ros2_control import read_hardware_parameters
from pkm_description.importing.importer import with_loops_of
from pkm_description.joint_states import JointStateReader
from pkm_description.loading import load_machine
from pkm_description.loading.yaml_reader import read_yaml
from pkm_description.motion.recorded_poses import MotionFileError, RecordedPoses
from pkm_description.ros.serialized import LONGEST_SAMPLE, read_imu, read_joint_state
from pkm_description.settings import Settings
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState

HEADER = b'time,x,y,z,roll,pitch,yaw\n'
ROWS = b''.join(b'%d,0,0,1,0,0,0\n' % second for second in range(8))


@pytest.mark.parametrize(
    ('content', 'reason'),
    [
        (HEADER + ROWS + b'8,0,0,1,0,0,\xe4\n', 'is no UTF-8 text'),
        (HEADER + ROWS + b'8,"' + b'1' * 140_000 + b'",0,1,0,0,0\n', 'field larger than field limit'),
        (HEADER + ROWS + b'8,' + b'x' * 100_000 + b',0,1,0,0,0\n', r"line 10: x = 'x+'\.\.\. is not a finite number"),
        (HEADER + ROWS + b'1e9,0,0,1,0,0,0\n', 'lasts 1e[+]09 s, at most 14400 s'),
    ],
)
def test_motion_files_that_are_none(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / 'motion.csv'
    file.write_bytes(content)
    with pytest.raises(MotionFileError, match=f'^{file}: .*{reason}') as caught:
        RecordedPoses.from_csv(file)
    assert len(str(caught.value)) < 300


def test_motion_file_of_a_spreadsheet_begins_with_a_mark(tmp_path: Path) -> None:
    (tmp_path / 'motion.csv').write_bytes(b'\xef\xbb\xbf' + HEADER + ROWS)
    assert RecordedPoses.from_csv(tmp_path / 'motion.csv').time[-1] == 7.0


def test_files_without_end_are_not_read_to_it() -> None:
    """Before: all of the memory, then the end of the process."""
    endless = Path('/dev/zero')
    with pytest.raises(MachineFileError, match='more than 4000000 characters'):
        read_yaml(endless)
    with pytest.raises(ConfigurationError, match='more than 4000000 characters'):
        Settings.from_file(endless, 'estimator')


def test_joint_states_of_a_broken_driver_are_told_in_short() -> None:
    reader = JointStateReader(('a', 'b'))
    with pytest.raises(JointStateError, match='100000 joints, at most 2000 .*: joint0, joint1, joint2 and') as caught:
        reader.order([f'joint{index}' for index in range(100_000)])
    assert caught.value.reason == 'too_many_joints'
    order = reader.order(['x' * 1_000_000, *(f'joint{index}' for index in range(100))])
    assert len(order.missing_text()) < 500
    assert len(order.unknown_text()) < 500
    with pytest.raises(JointStateError, match='named twice') as caught:
        reader.order(['a', 'a', *['y' * 10_000] * 100])
    assert len(str(caught.value)) < 1000


def test_samples_that_would_take_the_time_of_others_are_not_read() -> None:
    names = [f'joint{index:03}' for index in range(1000)]
    numbers = [0.5] * 1000
    large = bytes(serialize_message(JointState(name=names, position=numbers, velocity=numbers, effort=numbers)))
    assert len(large) < LONGEST_SAMPLE
    assert read_joint_state(large).names == tuple(names)
    message = Imu()
    message.header.frame_id = 'f' * 10**6
    for read, sample in ((read_joint_state, JointState(name=['n' * 10**6], position=[0.0])), (read_imu, message)):
        with pytest.raises(ValueError, match='longer than the 65536 bytes'):
            read(bytes(serialize_message(sample)))


#: nine lists in each other, of nine each: 9^9 values in 400 characters
BOMB = 'a0: &a0 [x, x, x, x, x, x, x, x, x]\n' + ''.join(
    f'a{k}: &a{k} [{", ".join([f"*a{k - 1}"] * 9)}]\n' for k in range(1, 9)
)
TEXTS = {
    'values, by aliases': BOMB,
    'contains itself': 'q_scale: &a\n  inside: *a\n',
    'inside each other': 'a: ' + '[' * 5000 + ']' * 5000,
    'too many brackets': '- ' * 5000 + 'x',
    'characters, at most': 'a: ' + 'x' * 5_000_000,
}


@pytest.mark.parametrize('words', TEXTS)
def test_what_cannot_be_read_is_refused(words: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableYamlError, match=words):
        bounded_yaml(TEXTS[words])
    path = tmp_path / 'own.yaml'
    path.write_text(TEXTS[words])
    for read in (
        load_machine,
        lambda one: load_machine('srs', one),
        lambda one: load_machine('srs', driver=one),
        lambda one: Settings.from_file(one, 'estimator'),
        lambda one: read_hardware_parameters(str(one)),
        lambda one: with_loops_of(None, one),  # type: ignore[arg-type]
    ):
        with pytest.raises(PkmError, match=words) as refused:
            read(path)
        assert str(path) in str(refused.value)
        assert len(str(refused.value)) < 500


def test_what_is_usual_is_read() -> None:
    text = 'base: &base {a: 1}\nboth: [*base, *base]\nmerged: {<<: *base, b: 2}\n# 0 < x <= 1 in (0, 1] [m]\n'
    assert bounded_yaml(text)['merged'] == {'a': 1, 'b': 2}
    assert bounded_yaml('') is None
    rows = yaml.safe_dump([[1.0, 2.0]] * 1000, default_flow_style=True)
    assert len(bounded_yaml(rows)) == 1000
    assert bounded_yaml('a: "' + '[' * 200 + '"') == {'a': '[' * 200}
    with pytest.raises(yaml.YAMLError):
        bounded_yaml('a: [1')
