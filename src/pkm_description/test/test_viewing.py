"""Sliders and postures of every kind of machine, and rviz's look at it, without ROS."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import yaml
from changed_machines import unlimited
from closing_points import closing_gap
from other_machines import cart_with_pendulum, planar_prr, six_pus, three_prs, three_rps, with_limits
from pkm_description.errors import JointStateError, KinematicsError, SingularPoseError
from pkm_description.export.urdf import slider_urdf
from pkm_description.kinematics.closed_legs import body_poses
from pkm_description.kinematics.rotation import matrix_from_rpy
from pkm_description.loading import load_machine
from pkm_description.loading.load import config_directory
from pkm_description.machine import Joint, JointLimits, Machine, Pose
from pkm_description.machine.machine import with_joints
from pkm_description.viewing.coupled_pose import COORDINATES, JointReader, coordinates_of_pose, pose_of_coordinates
from pkm_description.viewing.posing import Poser
from pkm_description.viewing.rviz_view import ForceArrows, ShownRobot, machine_extent, rviz_config
from pkm_description.viewing.sliders import Slider, SliderBoard

MACHINES: dict[str, tuple[Callable[[], Machine], tuple[str, ...]]] = {
    'palida': (lambda: load_machine('palida'), COORDINATES),
    '6-PUS': (lambda: with_limits(six_pus(), 0.1), COORDINATES),
    'five-bar': (lambda: load_machine('five_bar'), ('x', 'yaw')),
    'planar 3-PRR': (lambda: with_limits(planar_prr(), 0.05), ('x', 'y', 'yaw')),
    '3-RPS': (lambda: with_limits(three_rps(), 0.1), ('z', 'roll', 'pitch')),
    '3-PRS': (lambda: with_limits(three_prs(), 0.1), ('z', 'roll', 'pitch')),
}


@pytest.mark.parametrize('name', MACHINES)
def test_sliders_reach_as_far_as_the_joints_and_no_farther(name: str) -> None:
    make, coordinates = MACHINES[name]
    machine = make()
    poser = Poser(machine)
    sliders = poser.sliders()
    assert tuple(slider.coordinate for slider in sliders) == coordinates == poser.coordinates
    lower, upper = machine.position_lower, machine.position_upper
    for slider in sliders:
        span = slider.upper - slider.lower
        for end, outward in ((slider.lower, -1.0), (slider.upper, 1.0)):
            posture = poser.from_coordinates({slider.coordinate: end})
            assert ((posture.joint_positions >= lower) & (posture.joint_positions <= upper)).all()
            assert poser.coordinates_of(posture)[slider.coordinate] == pytest.approx(end, abs=1e-9)
            if slider.coordinate == 'pitch' and abs(end) == 1.5:
                continue  # its angle ends before the machine does
            with pytest.raises(KinematicsError):
                poser.from_coordinates({slider.coordinate: end + 0.01 * outward * span})


@pytest.mark.parametrize('name', MACHINES)
def test_all_loops_close_where_the_sliders_put_the_platform(name: str) -> None:
    machine = MACHINES[name][0]()
    poser = Poser(machine)
    values = {slider.coordinate: 0.3 * slider.upper for slider in poser.sliders()[-3:]}
    posture = poser.from_coordinates(values)
    assert posture.position is not None and posture.rotation_base_platform is not None
    pose = posture.position[None], posture.rotation_base_platform[None]
    assert closing_gap(machine, posture.joint_positions[None], *pose) < 1e-9
    found = coordinates_of_pose(posture.position, posture.rotation_base_platform, machine.home)
    chosen = [COORDINATES.index(name) for name in values]
    np.testing.assert_allclose(found[chosen], list(values.values()), atol=1e-9)


def test_a_3rps_platform_drifts_as_its_hinges_dictate() -> None:
    """Each ball stays in the plane of its hinge: x, y and yaw follow from roll and pitch (Carretero et al. 2000)."""
    machine = three_rps()
    poser = Poser(machine)
    for roll, pitch in ((0.2, 0.0), (0.0, 0.25), (0.2, -0.3)):
        posture = poser.from_coordinates({'roll': roll, 'pitch': pitch, 'z': 0.05})
        for number, leg in enumerate(machine.legs):
            angle = np.radians(120.0 * number)
            normal = np.array([-np.sin(angle), np.cos(angle), 0.0])
            anchor = posture.position + posture.rotation_base_platform @ leg.platform_point
            assert abs(normal @ anchor) < 1e-10
        drift = coordinates_of_pose(posture.position, posture.rotation_base_platform, machine.home)
        r11, r21, r12, r22 = posture.rotation_base_platform[[0, 1, 0, 1], [0, 0, 1, 1]]
        # closed form for three points on a circle of radius 0.3 m, from the same planes
        assert r21 == pytest.approx(r12, abs=1e-10)
        assert drift[0] == pytest.approx(0.5 * 0.3 * (r11 - r22), abs=1e-10)
        assert drift[1] == pytest.approx(-0.3 * r12, abs=1e-10)
        assert np.abs(drift[[0, 1, 5]]).max() > 1e-3


def test_open_chains_are_moved_by_their_joints() -> None:
    machine = cart_with_pendulum()
    poser = Poser(machine)
    names = ('chain_joint0', 'chain_joint1', 'chain_joint2')
    assert tuple(slider.name for slider in poser.sliders()) == poser.coordinates == names
    posture = poser.from_coordinates({'chain_joint1': 0.4})
    assert posture.position is None
    assert posture.joint_positions.tolist() == [0.0, 0.4, 0.0]
    limits = {'chain_joint1': JointLimits(-0.5, 0.5)}
    limited = with_joints(machine, lambda one: dataclasses.replace(one, limits=limits.get(one.name, one.limits)))
    assert [(s.lower, s.upper) for s in Poser(limited).sliders()][1] == (-0.5, 0.5)
    with pytest.raises(
        KinematicsError, match=r'chain_joint1: position 0\.6000 rad exceeds the upper limit 0\.5000 rad'
    ):
        Poser(limited).from_coordinates({'chain_joint1': 0.6})


@pytest.mark.parametrize(
    ('make', 'values', 'words'),
    [
        (three_rps, {'x': 0.1}, "cannot be moved by 'x' but by z, roll, pitch"),
        (planar_prr, {'z': 0.1}, "cannot be moved by 'z' but by x, y, yaw"),
        (cart_with_pendulum, {'yaw': 0.1}, "cannot be moved by 'yaw' but by chain_joint0"),
        (three_rps, {'roll': np.nan}, 'roll = nan: not a finite number'),
        (lambda: with_limits(three_rps(), 0.1), {'z': 0.5}, 'leg1_joint1: position'),
        (lambda: load_machine('palida'), {'yaw': 2.0}, 'yaw|beyond a singular|singular pose|exceeds'),
    ],
)
def test_what_a_machine_cannot_do_is_named(make: Callable[[], Machine], values: dict[str, float], words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        Poser(make()).from_coordinates(values)


def test_poses_that_the_legs_do_not_admit_are_refused_with_advice() -> None:
    machine = three_rps()
    shifted = machine.home.position + np.array([0.05, 0.0, 0.0])
    with pytest.raises(KinematicsError, match=r'leg. misses its platform joint .* only z, roll, pitch are free'):
        Poser(machine).from_pose(shifted, machine.home.rotation_base_platform)


def test_poses_beyond_a_singular_one_are_refused() -> None:
    """A hexapod turned by more than a quarter about z has passed its singular pose, although every leg reaches."""
    poser = Poser(unlimited(load_machine('palida')))
    poser.from_coordinates({'yaw': 1.2})
    with pytest.raises(SingularPoseError):
        poser.from_coordinates({'yaw': 1.9})


@pytest.mark.parametrize('chosen', [COORDINATES, ('x', 'y', 'yaw')])
def test_the_slider_description_ends_in_the_platform_pose(chosen: tuple[str, ...]) -> None:
    pinocchio = pytest.importorskip('pinocchio')
    home = Pose(np.array([0.1, -0.2, 0.7]), matrix_from_rpy(np.array([0.3, -0.2, 0.5])))
    sliders = [Slider(name, 'revolute' if n >= 3 else 'prismatic', -1.0, 1.5) for n, name in enumerate(COORDINATES)]
    sliders = [slider for slider in sliders if slider.coordinate in chosen]
    model = pinocchio.buildModelFromXML(slider_urdf('any', sliders, home))
    coordinates = np.array([0.1, 0.2, -0.3, 0.4, -0.5, 0.6]) * [name in chosen for name in COORDINATES]
    q = np.empty(model.nq)
    for name, value in zip(COORDINATES, coordinates, strict=True):
        if name in chosen:
            q[model.joints[model.getJointId(f'platform_{name}')].idx_q] = value
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, q)
    frame = data.oMf[model.getFrameId('platform_pose')]
    position, rotation = pose_of_coordinates(coordinates, home)
    np.testing.assert_allclose(frame.translation, position, atol=1e-12)
    np.testing.assert_allclose(frame.rotation, rotation, atol=1e-12)
    assert (model.lowerPositionLimit, model.upperPositionLimit) == (
        pytest.approx(np.full(len(chosen), -1.0)),
        pytest.approx(np.full(len(chosen), 1.5)),
    )


def test_only_sliders_that_move_count() -> None:
    board = SliderBoard(
        [Slider('x', 'prismatic', -0.5, 0.5), Slider('chain_joint1', 'revolute', -3.0, 3.0, rest=0.3)], {'x': 0.1}
    )
    names = ['platform_x', 'chain_joint1']
    assert board.moved(names, [0.1, 0.3]) == {}
    assert board.moved(names, [0.09991, 0.2995]) == {}  # the places of a window's sliders next to the start
    assert board.moved(names, [0.09991, 0.2995]) == {}
    assert board.moved(names, [0.1001, 0.2995]) == {}
    assert board.moved(names, [0.10011, 0.2995]) == {'x': 0.10011, 'chain_joint1': 0.2995}
    assert board.moved(names, [0.1001, 0.2995]) == {'x': 0.1001, 'chain_joint1': 0.2995}
    assert board.moved(['platform_x'], [0.1001]) == {}
    assert board.moved(['chain_joint1'], [0.4]) == {'x': 0.1001, 'chain_joint1': 0.4}
    assert np.isnan(board.moved(['platform_x'], [np.nan])['x'])
    with pytest.raises(KinematicsError, match="no slider 'wheel'; there are platform_x, chain_joint1"):
        board.moved(['wheel'], [1.0])
    with pytest.raises(KinematicsError, match='2 names and 1 positions'):
        board.moved(names, [1.0])


@pytest.mark.parametrize('name', ['srs', 'palida', 'khalifa_3prr', 'double_pendulum'])
def test_rviz_looks_at_the_whole_machine(name: str) -> None:
    machine = load_machine(name)
    text = (config_directory().parent / 'rviz' / 'pkm.rviz').read_text()
    fitted, plain = yaml.safe_load(rviz_config(text, ShownRobot(machine))), yaml.safe_load(text)
    view = fitted['Visualization Manager']['Views']['Current']
    # every joint lies in a cone of 45 degrees, the field of view, around the line of sight from the camera
    points = body_poses(machine, machine.model.home_joints[None])[1][0]
    focus = np.array([view['Focal Point'][axis] for axis in 'XYZ'])
    pitch, yaw = view['Pitch'], view['Yaw']
    outward = np.array([np.cos(pitch) * np.cos(yaw), np.cos(pitch) * np.sin(yaw), np.sin(pitch)])
    seen = points - (focus + view['Distance'] * outward)
    cosine = -(seen @ outward) / np.linalg.norm(seen, axis=1)
    assert np.degrees(np.arccos(cosine.min())) < 22.5
    assert np.degrees(np.arccos(cosine.min())) > 4.0  # and not as a dot
    # nothing else is changed: same displays on the same topics
    for one, other in zip(
        fitted['Visualization Manager']['Displays'], plain['Visualization Manager']['Displays'], strict=True
    ):
        sizes = {'Cell Size': 0, 'Marker Scale': 0, 'Shape': 0}
        assert {**one, **sizes} == {**other, **sizes}
        if 'Shape' in one:  # as large as the machine, in the same proportions
            shape, drawn = one['Shape'], other['Shape']
            lengths = [key for key in drawn if key.endswith(('Length', 'Radius'))]
            wanted = machine_extent(machine)[1] / 4.0
            np.testing.assert_allclose([shape[key] / drawn[key] for key in lengths], wanted, atol=0.01)


def massless(joint: Joint) -> Joint:
    return dataclasses.replace(joint, body=dataclasses.replace(joint.body, mass=0.0, inertia=np.zeros((3, 3))))


def test_arrows_of_massless_legs_balance_the_platform() -> None:
    """The arrows are forces on the platform: together they are its weight, with its moment."""
    machine = with_joints(load_machine('palida'), massless)
    arrows = ForceArrows(machine)
    posture = Poser(machine).from_coordinates({'x': 0.1, 'roll': 0.3, 'yaw': 0.4})
    pose = posture.position, posture.rotation_base_platform
    drawn = arrows.arrows(posture.joint_positions, arrows.static_forces(posture.joint_positions, *pose))
    assert [arrow.joint for arrow in drawn] == list(machine.actuated_joint_names)
    force, moment = np.zeros(3), np.zeros(3)
    for arrow, leg in zip(drawn, machine.legs, strict=True):
        anchor = pose[0] + pose[1] @ leg.platform_point
        along = arrow.end - arrow.start
        push = abs(arrow.force) * along / np.linalg.norm(along)
        force, moment = force + push, moment + np.cross(anchor, push)
        # pushing arrows end in the platform joint, pulling ones begin there
        np.testing.assert_allclose(arrow.end if arrow.force > 0.0 else arrow.start, anchor, atol=1e-9)
        assert arrow.text == f'{arrow.force:.4g} N'
    center = pose[0] + pose[1] @ machine.platform.center_of_mass
    weight = machine.platform.mass * machine.gravity
    np.testing.assert_allclose(force, -weight, atol=1e-9)
    np.testing.assert_allclose(moment, -np.cross(center, weight), atol=1e-9)
    lengths = [np.linalg.norm(arrow.end - arrow.start) for arrow in drawn]
    ratios = np.array(lengths) / np.abs([arrow.force for arrow in drawn])
    np.testing.assert_allclose(ratios, ratios[0])


def test_arrows_of_other_drives() -> None:
    # sliders at the base hand their force on at the hinge, along the rail
    limited = with_limits(three_prs(), 0.1)
    posture = Poser(limited).from_coordinates({})
    (first, *_) = ForceArrows(limited, scale=1e-3).arrows(posture.joint_positions, np.array([200.0, -100.0, np.nan]))
    leg = limited.legs[0]
    rail = leg.joints[0].rotation_parent_joint @ leg.joints[0].axis
    np.testing.assert_allclose(first.end - first.start, 0.2 * rail, atol=1e-12)
    np.testing.assert_allclose(first.end, leg.base_point + rail * posture.joint_positions[0], atol=1e-12)
    # every joint of an open chain must be held; the pendulum's torque is its weight's about the hinge
    machine = cart_with_pendulum()
    arrows = ForceArrows(machine)
    positions = np.array([0.2, 0.5, 0.3])
    torques = arrows.static_forces(positions, None, None)
    drawn = arrows.arrows(positions, torques)
    assert [arrow.text.split(' ', 1)[1] for arrow in drawn] == ['N', 'N m', 'N m']
    assert torques[0] == pytest.approx(0.0, abs=1e-9)
    outer = machine.legs[0].joints[2].body
    lever = matrix_from_rpy(np.array([0.0, 0.8, 0.0])) @ outer.center_of_mass
    assert torques[2] == pytest.approx(-np.cross(lever, outer.mass * machine.gravity)[1], rel=1e-9)
    along = drawn[2].end - drawn[2].start
    np.testing.assert_allclose(along / np.linalg.norm(along), [0.0, np.sign(torques[2]), 0.0], atol=1e-12)


def test_arrows_stay_of_the_machine_s_size() -> None:
    """A machine that moves across gravity has no static forces: its drives' strength is the measure."""
    machine = with_limits(dataclasses.replace(planar_prr(), gravity=np.array([0.0, 0.0, -9.8])), 0.1)
    arrows = ForceArrows(machine)
    posture = Poser(machine).from_coordinates({})
    drawn = arrows.arrows(posture.joint_positions, np.array([100.0, 10.0, 1e9]))
    lengths = [np.linalg.norm(arrow.end - arrow.start) for arrow in drawn]
    assert lengths[0] == pytest.approx(0.35 * arrows.size)
    assert lengths[1] == pytest.approx(0.035 * arrows.size)
    assert lengths[2] < 2.0 * arrows.size


@pytest.mark.parametrize('make', [lambda: load_machine('srs'), three_rps, planar_prr])
def test_readings_of_the_drives_are_completed(make: Callable[[], Machine]) -> None:
    machine = make()
    poser = Poser(machine)
    names = list(machine.actuated_joint_names)
    reader = JointReader(machine, names)
    for part in (0.02, 0.04, -0.06):
        posture = poser.from_coordinates(dict.fromkeys(poser.coordinates, part))
        drives = posture.joint_positions[machine.drive_columns]
        efforts = np.arange(1.0, 1.0 + len(names))
        reading = reader.read([*names, 'wheel'], [*drives, 0.0], [*efforts, 9.0])
        np.testing.assert_allclose(reading.joint_positions, posture.joint_positions, atol=1e-9)
        np.testing.assert_allclose(reading.position, posture.position, atol=1e-9)
        assert reading.efforts.tolist() == efforts.tolist()
    assert np.isnan(reader.read(names, drives, []).efforts).all()
    with pytest.raises(JointStateError, match=f'no position of {names[1]}'):
        reader.read([names[0], *names[2:]], [drives[0], *drives[2:]], [])
    with pytest.raises(JointStateError, match=f'position of {names[2]} is not a finite number'):
        reader.read(names, [*drives[:2], np.nan, *drives[3:]], [])
    with pytest.raises(KinematicsError):
        reader.read(names, drives + 50.0 * np.eye(len(names))[0], [])
    # the reader goes on after what it could not close
    assert np.isfinite(reader.read(names, drives, []).joint_positions).all()
