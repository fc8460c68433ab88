"""The program design_excitation and its files: each can be read again and gives the same motion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from known_machines import known_machine
from pkm_description.kinematics.rotation import matrix_from_quaternion
from pkm_description.motion.fourier import FourierCoordinates
from pkm_description.motion.limits import check_motion
from pkm_description.motion.recorded_poses import RecordedPoses
from pkm_estimation.bags.decoding import TYPESTORE
from pkm_identification.excitation.coordinates import coordinates_of
from pkm_identification.nodes.design_excitation import REFERENCE_TYPE, main
from rosbags.highlevel import AnyReader

MACHINE = 'valencia_3rps'


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the output of the program."""
    output = tmp_path_factory.mktemp('excitation') / 'out'
    config = output.parent / 'settings.yaml'
    config.write_text('draws: 2\niterations: 4\nperiods: 1\n')
    arguments = ['--machine', MACHINE, '--config', str(config), '--harmonics', '3', '--starts', '1', '--workers', '1']
    assert main([*arguments, '--rate', '50', '-o', str(output)]) == 0
    return output


def test_poses_can_be_played(folder: Path) -> None:
    """What the motion player reads is inside the limits, and on the series that the design wrote."""
    machine = known_machine(MACHINE)
    played = RecordedPoses.from_csv(folder / 'excitation_poses.csv', at_rest=True).sampled(50.0)
    assert check_motion(machine, played) == []
    content = yaml.safe_load((folder / 'excitation.yaml').read_text())['series']
    series = FourierCoordinates(
        np.array(content['sine']), np.array(content['cosine']), content['base_frequency'], content['periods'],
        content['fade_in'], content['fade_out'], np.array(content['offset']),
    )  # fmt: skip
    expected = coordinates_of(machine, 'drives').motion(played.time, *series.coordinates(played.time))
    assert np.abs(played.position - expected.position).max() < 1e-9
    # the spline's own error between samples
    assert np.abs(played.linear_acceleration - expected.linear_acceleration).max() < 1e-3


def test_message_and_bag_hold_the_same_motion(folder: Path) -> None:
    written = yaml.safe_load((folder / 'excitation_trajectory.yaml').read_text())
    poses = np.loadtxt(folder / 'excitation_poses.csv', delimiter=',', skiprows=1)
    with AnyReader([folder / 'excitation_bag'], default_typestore=TYPESTORE) as reader:
        messages = [(connection.topic, reader.deserialize(data, connection.msgtype))
                    for connection, _, data in reader.messages()]  # fmt: skip
    (reference,) = [message for topic, message in messages if topic == '/platform/reference']
    assert reference.__msgtype__ == REFERENCE_TYPE
    assert list(reference.joint_names) == written['joint_names'] == ['platform_link']
    assert len(reference.points) == len(written['points']) == len(poses)
    for row, point, plain in zip(poses, reference.points, written['points'], strict=True):
        place, turn = point.transforms[0].translation, point.transforms[0].rotation
        assert [place.x, place.y, place.z] == pytest.approx(row[1:4], abs=1e-11)
        assert place.x == plain['transforms'][0]['translation']['x']
        given = matrix_from_quaternion(np.array([turn.x, turn.y, turn.z, turn.w]))
        assert np.abs(given - matrix_from_quaternion(row[4:])).max() < 1e-10
        assert point.accelerations[0].linear.z == plain['accelerations'][0]['linear']['z']
    states = [message for topic, message in messages if topic == '/excitation/joint_setpoints']
    drives = np.loadtxt(folder / 'excitation_drives.csv', delimiter=',', skiprows=1)
    assert len(states) == len(drives)
    assert np.abs(np.array([state.position for state in states]) - drives[:, 1:4]).max() < 1e-11
    assert np.abs(np.array([state.effort for state in states]) - drives[:, 10:]).max() < 1e-6


def test_picture_and_result(folder: Path) -> None:
    assert (folder / 'excitation.png').read_bytes().startswith(b'\x89PNG')
    content = yaml.safe_load((folder / 'excitation.yaml').read_text())
    assert content['objective']['scaled_condition'] <= content['objective']['best_random']
    assert max(limit['use'] for limit in content['limits']) <= 0.95
    assert len(content['base_parameters']) == 24  # three of them rotors
    assert content['settings']['harmonics'] == 3


def test_errors_say_what_to_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['--machine', 'double_pendulum']) == 1
    assert 'open chain' in capsys.readouterr().err
    quick = ['--machine', 'five_bar', '--harmonics', '2', '--starts', '1', '--workers', '1']
    assert main([*quick, '--workers', '0']) == 1
    assert 'workers = 0' in capsys.readouterr().err
