"""The SDF for Gazebo: structure and poses by a reader of our own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import mujoco
import numpy as np
import pytest
from exported_machines import EXPORTED, KINDS, exported_machine
from pkm_description.dynamics import gravity_forces
from pkm_description.export.mjcf import mjcf_text
from pkm_description.export.sdf import (
    sdf_text,
    split_bodies,
    welded_ends,
    with_least_masses,
    with_unique_links,
)
from pkm_description.export.sdf_systems import SdfOptions, gains_without_rotors
from pkm_description.export.urdf import urdf_text
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.machine.machine import closure_ends
from scipy.linalg import eigh, null_space
from wrong_machines import changed, written

from verification.engines.sdf_reader import PKM, SdfModel, compose, shared_names

LOOPS = ['detachable', 'native']


@pytest.fixture(scope='module', params=EXPORTED)
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return exported_machine(request.param, tmp_path_factory.mktemp('machine'))


@pytest.fixture(scope='module', params=LOOPS)
def loop(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope='module')
def sdf(machine: Machine, loop: str) -> SdfModel:
    return SdfModel(sdf_text(machine, SdfOptions(loop=loop, world=True)))


def test_names_are_unique_and_joints_join_what_exists(sdf: SdfModel) -> None:
    named = [str(one.get('name')) for kind in ('link', 'joint', 'frame') for one in sdf.model.findall(kind)]
    assert len(set(named)) == len(named)
    for joint in sdf.joints:
        parent, child = sdf.ends(joint)
        assert child in sdf.links
        assert parent in sdf.links or (joint, parent) == ('base_mount', 'world')
        assert parent != child
    for frame in sdf.frames.values():
        assert frame.get('attached_to') in sdf.links
    assert all(sdf.inertial(link)[0] > 0.0 for link in sdf.links)


def test_siblings_have_different_names(sdf: SdfModel) -> None:
    assert shared_names(sdf.root) == []


def test_loops(machine: Machine, loop: str, sdf: SdfModel) -> None:
    """Gazebo needs a tree whose other legs are welded; SDF itself takes the platform as child of every leg."""
    children = [sdf.ends(joint)[1] for joint in sdf.joints]
    welds = sdf.plugins('DetachableJoint')
    if not machine.has_platform:
        assert (len(sdf.joints), len(welds)) == (len(sdf.links), 0)
        return
    ends = closure_ends(machine)
    kinds = {'ball': 'ball', 'pin': 'revolute', 'universal': 'universal', 'fixed': 'fixed'}
    assert {end.closure.name: kinds[end.closure.kind] for end in ends}.items() <= {
        name: joint.get('type') for name, joint in sdf.joints.items()
    }.items()
    if loop == 'native':
        assert children.count(machine.platform.name) == sum(len(leg.platform_closures) for leg in machine.legs)
        assert len(sdf.joints) - len(sdf.links) == len(ends) - 1
        assert welds == []
        return
    assert len(set(children)) == len(children) == len(sdf.links)
    # the first closure on the platform carries it, all others are welded
    carrier = next(end for end in ends if end.closure.other == machine.platform.name)
    welded = [(end.closure.other, end.link) for end in ends if end is not carrier]
    assert [(weld.findtext('parent_link'), weld.findtext('child_link')) for weld in welds] == welded
    assert {weld.findtext('child_model') for weld in welds} == {'__model__'}
    assert len({weld.findtext('detach_topic') for weld in welds}) == len(welds)


def as_written(machine: Machine) -> Machine:
    """With names that all differ, and no body without mass."""
    return with_least_masses(with_unique_links(machine))


def test_links_stand_at_the_start_positions_that_joints_carry(machine: Machine, sdf: SdfModel) -> None:
    """Every link's pose by our own steps along the leg, with each joint at its ``pkm:start_position``."""
    machine = as_written(machine)
    for leg in machine.legs:
        poses = {-1: ((np.zeros(3), np.eye(3)), 'base_link')}
        for place, joint in enumerate(leg.joints):
            pose, parent = poses[leg.parents[place]]
            element = sdf.joints[joint.name]
            assert (element.get('type'), sdf.ends(joint.name)) == (joint.kind, (parent, joint.body.name))
            home = float(element.findtext(f'{PKM}start_position', 'nan'))
            axis = np.array([float(word) for word in element.findtext('axis/xyz', '').split()])
            assert axis.tolist() == joint.axis.tolist()
            pose = compose(pose, (joint.translation, joint.rotation_parent_joint))
            step = (axis * home, np.eye(3)) if joint.kind == 'prismatic' else (np.zeros(3), _turn(axis, home))
            pose = compose(pose, step)
            poses[place] = pose, joint.body.name
            found = sdf.pose(joint.body.name)
            assert found[0] == pytest.approx(pose[0], abs=1e-12)
            assert found[1] == pytest.approx(pose[1], abs=1e-12)


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' formula."""
    cross = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross


def test_limits_and_friction_count_from_home(machine: Machine, sdf: SdfModel) -> None:
    for joint in (joint for leg in machine.legs for joint in leg.joints):
        element, limits = sdf.joints[joint.name], joint.limits
        home = float(element.findtext(f'{PKM}start_position', 'nan'))
        for key in ('lower', 'upper'):
            given = float(element.findtext(f'axis/limit/{key}', 'nan'))
            if np.isfinite(getattr(limits, key)):
                assert given + home == pytest.approx(getattr(limits, key), abs=1e-14)
            else:
                assert abs(given) == 1e16
        assert float(element.findtext('axis/limit/effort', 'inf')) == limits.effort
        assert float(element.findtext('axis/limit/velocity', 'inf')) == limits.velocity
        assert float(element.findtext('axis/dynamics/damping', 'nan')) == joint.friction.viscous
        assert float(element.findtext('axis/dynamics/friction', 'nan')) == joint.friction.coulomb
        assert float(element.findtext(f'{PKM}rotor_inertia', '0')) == joint.rotor_inertia


def test_imu(machine: Machine, sdf: SdfModel) -> None:
    """The bias stands in the mean of the noise: Gazebo gives its ``bias_mean`` a random sign."""
    sensors = sdf.model.findall('link/sensor')
    if not machine.has_platform:
        assert sensors == []
        return
    assert [sensor.get('type') for sensor in sensors] == ['imu']
    imu, sensor = machine.imu, sensors[0]
    origin, rotation = compose(sdf.pose(machine.platform.name), (imu.position, imu.rotation_platform_imu))
    assert sdf.pose(imu.frame)[0] == pytest.approx(origin, abs=1e-14)
    assert sdf.pose(imu.frame)[1] == pytest.approx(rotation, abs=1e-14)
    assert float(sensor.findtext('update_rate', 'nan')) == imu.rate
    assert sensor.findtext('topic') == f'/model/{machine.name}/imu'
    assert sensor.findtext('gz_frame_id') == imu.frame
    assert sensor.findtext('imu/enable_orientation') == '0'
    assert list(sensor.iter('bias_mean')) == []
    for quantity, stds, biases in (
        ('linear_acceleration', imu.accelerometer_noise, imu.accelerometer_bias),
        ('angular_velocity', imu.gyroscope_noise, imu.gyroscope_bias),
    ):
        for place, axis in enumerate('xyz'):
            noise = sensor.find(f'imu/{quantity}/{axis}/noise')
            assert noise is not None
            assert float(noise.findtext('stddev', 'nan')) == stds[place]
            assert float(noise.findtext('mean', 'nan')) == biases[place]


@pytest.mark.parametrize(
    ('gazebo', 'file', 'name', 'topic'),
    [
        ('fortress', 'libignition-gazebo-{}-system.so', 'ignition::gazebo::systems::{}', 'topic'),
        ('harmonic', 'gz-sim-{}-system', 'gz::sim::systems::{}', 'detach_topic'),
        ('ionic', 'gz-sim-{}-system', 'gz::sim::systems::{}', 'detach_topic'),
        ('jetty', 'gz-sim-{}-system', 'gz::sim::systems::{}', 'detach_topic'),
    ],
)
def test_systems_have_the_names_of_the_version(gazebo: str, file: str, name: str, topic: str) -> None:
    machine = load_machine('palida')
    sdf = SdfModel(sdf_text(machine, SdfOptions(gazebo=gazebo, drive='force', world=True)))
    expected = {
        'physics': 'Physics',
        'user-commands': 'UserCommands',
        'scene-broadcaster': 'SceneBroadcaster',
        'imu': 'Imu',
        'detachable-joint': 'DetachableJoint',
        'joint-state-publisher': 'JointStatePublisher',
        'apply-joint-force': 'ApplyJointForce',
        'pose-publisher': 'PosePublisher',
    }
    found = {(one.get('filename'), one.get('name')) for one in sdf.root.iter('plugin')}
    assert found == {(file.format(one), name.format(two)) for one, two in expected.items()}
    assert all(weld.find(topic) is not None for weld in sdf.plugins('DetachableJoint'))


def test_drives(machine: Machine) -> None:
    """Position controllers have the servo's gains and carry the weight; forces have no controller."""
    sdf = SdfModel(sdf_text(machine))
    names = [joint.name for joint in machine.actuated_joints]
    drives = sdf.plugins('JointPositionController')
    assert [drive.findtext('joint_name') for drive in drives] == names
    gains = {(float(drive.findtext('p_gain', 'nan')), float(drive.findtext('d_gain', 'nan'))) for drive in drives}
    rotors = any(joint.rotor_inertia for leg in machine.legs for joint in leg.joints)
    if not rotors:
        assert gains == {(machine.servo.stiffness, machine.servo.damping)}
    if machine.has_platform:
        home = machine.home
        weight = gravity_forces(as_written(machine), home.position[None], home.rotation_base_platform[None])[0]
        offsets = [float(drive.findtext('cmd_offset', 'nan')) for drive in drives]
        np.testing.assert_allclose(offsets, weight, rtol=1e-12)
    (states,) = sdf.plugins('JointStatePublisher')
    assert [one.text for one in states.findall('joint_name')] == list(machine.joint_names)
    forces = SdfModel(sdf_text(machine, SdfOptions(drive='force')))
    assert [one.findtext('joint_name') for one in forces.plugins('ApplyJointForce')] == names
    assert forces.plugins('JointPositionController') == []


def test_position_loops_of_machines_whose_rotors_are_lost_keep_their_bandwidth() -> None:
    """The lightest mass that drives feel, by an eigenvalue problem in the joint coordinates of MuJoCo."""
    machine = load_machine('valencia_3rps')
    gains = gains_without_rotors(machine)
    ratio = gains.stiffness / machine.servo.stiffness
    assert gains.damping / machine.servo.damping == pytest.approx(ratio, rel=1e-12)
    model = mujoco.MjModel.from_xml_string(mjcf_text(machine))
    data = mujoco.MjData(model)
    lightest = []
    for armature in (model.dof_armature.copy(), np.zeros(model.nv)):
        model.dof_armature[:] = armature
        mujoco.mj_resetDataKeyframe(model, data, model.key('home').id)
        mujoco.mj_forward(model, data)
        mass = np.zeros((model.nv, model.nv))
        for column, unit in zip(mass, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, column, unit)
        free = null_space(
            data.efc_J.reshape(data.nefc, model.nv)[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
        )
        driven = free[[model.joint(joint.name).dofadr[0] for joint in machine.actuated_joints]]
        lightest.append(eigh(free.T @ mass @ free, driven.T @ driven, eigvals_only=True)[0])
    assert ratio == pytest.approx(lightest[1] / lightest[0], rel=1e-9)
    assert ratio < 0.1


def test_world_has_the_solver_that_loops_need() -> None:
    machine = load_machine('palida')
    world = SdfModel(sdf_text(machine, SdfOptions(world=True))).root.find('world')
    assert world is not None
    assert world.findtext('physics/dart/solver/solver_type') == 'pgs'
    assert world.findtext('gravity') == '0.0 0.0 -9.80665'
    assert SdfModel(sdf_text(machine)).root.find('world') is None


@pytest.mark.parametrize('name', ['oct_com_above', 'rss6_stub'])
def test_flat_platforms_and_rods_between_balls(name: str) -> None:
    """A disc without thickness is split into bodies that can be; crosses get mass, though rods turn idly."""
    machine = load_machine(Path(__file__).parent / 'loops' / f'{name}.yaml')
    bodies, small = split_bodies(machine, welded_ends(machine))
    assert len(small) == machine.leg_count - 1
    for body in (bodies[machine.platform.name], *small.values()):
        moments = np.linalg.eigvalsh(body.inertia)
        assert moments[0] > 0.0
        assert moments[0] + moments[1] >= moments[2] * (1.0 - 1e-12)
    for loop in LOOPS:
        sdf = SdfModel(sdf_text(machine, SdfOptions(loop=loop)))
        assert {joint.body.name for joint in as_written(machine).joints} <= set(sdf.links)


needs_sdformat = pytest.mark.skipif(
    shutil.which('ign') is None, reason='ign (ignition-tools, libsdformat-dev) is not installed'
)


@pytest.fixture(params=KINDS)
def one_of_a_kind(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    return exported_machine(request.param, tmp_path)


@needs_sdformat
@pytest.mark.parametrize('loop', ['detachable', 'native'])
def test_sdformat_finds_it_valid(one_of_a_kind: Machine, loop: str, tmp_path: Path) -> None:
    """With welded legs in a world, with native loops alone."""
    path = tmp_path / 'machine.sdf'
    path.write_text(sdf_text(one_of_a_kind, SdfOptions(loop=loop, gazebo='fortress', world=loop == 'detachable')))
    done = subprocess.run(['ign', 'sdf', '-k', path], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, 'Valid.'), done.stderr


@needs_sdformat
def test_sdformat_keeps_every_body_of_the_urdf(one_of_a_kind: Machine, tmp_path: Path) -> None:
    """It drops links without mass, and what hangs on them, without a word; frames on fixed joints may go."""
    machine, path = one_of_a_kind, tmp_path / 'machine.urdf'
    path.write_text(urdf_text(machine))
    done = subprocess.run(['ign', 'sdf', '-p', path], capture_output=True, text=True, timeout=60, check=False)
    read = SdfModel(done.stdout)
    platform = [machine.platform.name] if machine.has_platform else []
    bodies = [joint.body.name for leg in machine.legs for joint in leg.joints] + platform
    assert set(read.links) == {'base_link', *bodies}
    assert set(read.joints) == set(machine.joint_names)
    assert 'Error' not in done.stderr


@pytest.mark.parametrize('loop', LOOPS)
@pytest.mark.parametrize('changes', [
    {'prismatic': 'prismatic'},
    {'universal_1': 'prismatic', 'universal_2': 'prismatic_link', 'prismatic': 'universal_2'},
    {'prismatic': 'ball', 'universal_2': 'ball_link'},
    {'prismatic': 'closure', 'universal_2': 'universal_2'},
    {'imu': 'bar1', 'name': 'sun'},
    {'imu': 'leg1_bar', 'name': 'dart'},
])  # fmt: skip
def test_names_that_only_sdf_refuses_are_made_unique(changes: dict[str, str], loop: str, tmp_path: Path) -> None:
    """Bodies called like joints, small links, the light of the world: joints keep their names."""
    content = changed('palida', {})
    for key, name in changes.items():
        if key == 'imu':
            content['sensors']['imu']['link'] = name
        elif key == 'name':
            content['name'] = name
        else:
            content['leg_chain'][key]['body']['name'] = name
    path = written(tmp_path, content)
    sdf, plain = (
        SdfModel(sdf_text(machine, SdfOptions(loop=loop, world=True)))
        for machine in (load_machine(path), load_machine('palida'))
    )
    assert shared_names(sdf.root) == []
    assert list(sdf.joints) == list(plain.joints)
    assert len(sdf.links) == len(plain.links)
    # links still stand where they stood, in the same tree
    for link, other in zip(sdf.links, plain.links, strict=True):
        np.testing.assert_array_equal(sdf.pose(link)[0], plain.pose(other)[0])
    order, plain_order = list(sdf.links), list(plain.links)
    for joint in list(sdf.joints)[1:]:
        ends = [order.index(end) for end in sdf.ends(joint)]
        assert ends == [plain_order.index(end) for end in plain.ends(joint)]
    for weld in sdf.plugins('DetachableJoint'):
        assert weld.findtext('child_link') in sdf.links
