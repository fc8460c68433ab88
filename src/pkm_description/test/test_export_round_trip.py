"""The same machine from all formats: bodies, joints and named frames at home, in ``base_link``.

The numerical model, the URDF (our reader, which test_urdf checks against Pinocchio), the MJCF (compiled by MuJoCo) and
the SDF (a reader of its own) are written on different ways from the file, so they are each other's witnesses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
from exported_machines import EXPORTED, exported_machine
from pkm_description.export.mjcf import mjcf_text
from pkm_description.export.rest import home_configuration
from pkm_description.export.sdf import sdf_text, with_least_masses, with_unique_links
from pkm_description.export.sdf_systems import SdfOptions
from pkm_description.export.urdf import urdf_text
from pkm_description.export.urdf_loops import link_poses, urdf_joints
from pkm_description.kinematics.closed_legs import body_poses
from pkm_description.machine import Machine, RigidBody
from pkm_description.machine.machine import closure_ends

from verification.engines.sdf_reader import Pose, SdfModel, compose

FORMATS = ['urdf', 'mjcf', 'sdf']


@dataclass
class Reading:
    """What a format says about the machine at home; vectors and matrices in base axes, points in ``base_link``."""

    frames: dict[str, Pose] = field(default_factory=dict)
    masses: dict[str, float] = field(default_factory=dict)
    centers: dict[str, np.ndarray] = field(default_factory=dict)
    inertias: dict[str, np.ndarray] = field(default_factory=dict)
    axes: dict[str, np.ndarray] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)

    def add_body(self, name: str, pose: Pose, mass: float, center: np.ndarray, inertia: np.ndarray) -> None:
        """Body with centre of mass and inertia about it in its own frame."""
        self.frames[name], self.masses[name] = pose, mass
        self.centers[name] = pose[0] + pose[1] @ center
        self.inertias[name] = pose[1] @ inertia @ pose[1].T

    def add_joint(self, name: str, kind: str, parent: str, axis: np.ndarray) -> None:
        self.kinds[name], self.parents[name], self.axes[name] = kind, parent, axis


def numerical(machine: Machine) -> Reading:
    reading = Reading()
    positions = np.array(list(home_configuration(machine).joint_positions.values()))
    rotations, origins = (part[0] for part in body_poses(machine, positions[None]))

    def add(body: RigidBody, pose: Pose) -> None:
        reading.add_body(body.name, pose, body.mass, body.center_of_mass, body.inertia)

    home = machine.home.position, machine.home.rotation_base_platform
    frames = {'base_link': (np.zeros(3), np.eye(3)), machine.platform.name: home}
    for leg, part in zip(machine.legs, machine.leg_slices, strict=True):
        for place, joint in enumerate(leg.joints):
            pose = origins[part][place], rotations[part][place]
            frames[joint.body.name] = pose
            add(joint.body, pose)
            parent = leg.parents[place]
            link = leg.joints[parent].body.name if parent >= 0 else 'base_link'
            reading.add_joint(joint.name, joint.kind, link, pose[1] @ joint.axis)
    for end in closure_ends(machine):
        closure = end.closure
        reading.frames[end.tip] = compose(frames[closure.body], (closure.point, closure.rotation_body))
        reading.frames[end.anchor] = compose(frames[closure.other], (closure.other_point, closure.rotation_other))
    if machine.has_platform:
        add(machine.platform, home)
        imu = machine.imu
        reading.frames[imu.frame] = compose(home, (imu.position, imu.rotation_platform_imu))
    return reading


def from_urdf(machine: Machine) -> Reading:
    reading, text = Reading(), urdf_text(machine)
    joints = urdf_joints(text)
    poses = link_poses(joints, home_configuration(machine).joint_positions, 'base_link')
    for link in ElementTree.fromstring(text).findall('link'):
        name, inertial = str(link.get('name')), link.find('inertial')
        if inertial is None or name in ('base_link', *(f'{leg.name}_base' for leg in machine.legs)):
            reading.frames[name] = poses[name]
            continue
        center = [float(word) for word in inertial.find('origin').get('xyz').split()]
        tensor = {key: float(value) for key, value in inertial.find('inertia').attrib.items()}
        reading.add_body(
            name, poses[name], float(inertial.find('mass').get('value')), np.array(center),
            np.array([[tensor['i' + ''.join(sorted(a + b))] for a in 'xyz'] for b in 'xyz']),
        )  # fmt: skip
    for joint in joints:
        if joint.kind in ('prismatic', 'revolute'):
            parent = 'base_link' if joint.first.endswith('_base') else joint.first
            reading.add_joint(joint.name, joint.kind, parent, poses[joint.second][1] @ joint.axis)
    return reading


def from_mjcf(machine: Machine) -> Reading:
    reading = Reading()
    model = mujoco.MjModel.from_xml_string(mjcf_text(machine))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key('home').id)
    mujoco.mj_forward(model, data)
    for number in range(1, model.nbody):
        body, at = model.body(number), data.body(number)
        pose = at.xpos.copy(), at.xmat.reshape(3, 3).copy()
        if body.name != 'base_link':
            axes = np.empty(9)
            mujoco.mju_quat2Mat(axes, body.iquat)
            axes = axes.reshape(3, 3)
            reading.add_body(body.name, pose, body.mass[0], body.ipos, axes @ np.diag(body.inertia) @ axes.T)
    for joint in machine.joints:
        place = model.joint(joint.name)
        kind = {2: 'prismatic', 3: 'revolute'}[int(place.type[0])]  # mjJNT_SLIDE, mjJNT_HINGE
        parent = model.body(model.body(place.bodyid[0]).parentid[0]).name
        reading.add_joint(joint.name, kind, parent, data.joint(joint.name).xaxis.copy())
    for number in range(model.nsite):
        site = data.site(number)
        reading.frames[site.name] = site.xpos.copy(), site.xmat.reshape(3, 3).copy()
    return reading


def from_sdf(machine: Machine) -> Reading:
    reading, sdf = Reading(), SdfModel(sdf_text(machine, SdfOptions(loop='native')))
    for link in sdf.links:
        if link != 'base_link':
            reading.add_body(link, sdf.pose(link), *sdf.inertial(link))
    for frame in sdf.frames:
        reading.frames[frame] = sdf.pose(frame)
    for name, joint in sdf.joints.items():
        if name in machine.joint_names:
            axis = np.array([float(word) for word in joint.findtext('axis/xyz', '').split()])
            reading.add_joint(name, str(joint.get('type')), sdf.ends(name)[0], sdf.pose(name)[1] @ axis)
    return reading


READERS = {'urdf': from_urdf, 'mjcf': from_mjcf, 'sdf': from_sdf}


@pytest.fixture(scope='module', params=EXPORTED)
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return exported_machine(request.param, tmp_path_factory.mktemp('machine'))


@pytest.fixture(scope='module', params=FORMATS)
def pair(request: pytest.FixtureRequest, machine: Machine) -> tuple[Reading, Reading]:
    """What the machine is, as far as the format can say it, and what is read."""
    reading = READERS[request.param](machine)
    if request.param == 'sdf':  # all names differ there, and no body is without mass
        return numerical(with_least_masses(with_unique_links(machine))), reading
    expected = numerical(machine)
    if request.param == 'mjcf':
        for end in closure_ends(machine):  # crosses of universal joints are added, those of composed joints left out
            reading.masses.pop(end.link, None)
            if end.closure.kind == 'universal':
                del reading.frames[end.tip], expected.frames[end.tip]
        parents = {joint.body.name: expected.parents[joint.name] for joint in machine.joints}
        for joint in machine.joints:
            while (parent := expected.parents[joint.name]) not in ('base_link', *reading.frames):
                expected.parents[joint.name] = parents[parent]
        for joint in machine.joints:
            if joint.body.name not in reading.frames:
                assert joint.body.mass == 0.0
                del expected.masses[joint.body.name], expected.frames[joint.body.name]
    return expected, reading


@pytest.fixture(scope='module')
def expected(pair: tuple[Reading, Reading]) -> Reading:
    return pair[0]


@pytest.fixture(scope='module')
def reading(pair: tuple[Reading, Reading]) -> Reading:
    return pair[1]


def test_bodies(expected: Reading, reading: Reading) -> None:
    """The same bodies; base_link, which stands still, counts in none."""
    assert reading.masses == expected.masses
    for name in expected.masses:
        assert np.abs(reading.centers[name] - expected.centers[name]).max() < 1e-12, name
        inertia = expected.inertias[name]
        assert np.abs(reading.inertias[name] - inertia).max() <= 1e-9 * np.trace(inertia), name


def test_joints(expected: Reading, reading: Reading) -> None:
    assert reading.kinds == expected.kinds
    assert reading.parents == expected.parents
    for name, axis in expected.axes.items():
        assert np.abs(reading.axes[name] - axis).max() < 1e-12, name


def test_frames(expected: Reading, reading: Reading) -> None:
    """All links, legs' tips, platform joints and the IMU at home."""
    for name, (origin, rotation) in expected.frames.items():
        assert np.abs(reading.frames[name][0] - origin).max() < 1e-9, name
        # MuJoCo keeps quaternions, and sites round theirs twice
        assert np.abs(reading.frames[name][1] - rotation).max() < 1e-9, name


def test_loops_are_closed(machine: Machine, reading: Reading) -> None:
    if not machine.has_platform:
        assert not [name for name in reading.frames if 'anchor' in name]
        return
    for end in closure_ends(machine):
        if end.tip not in reading.frames:
            continue  # a cross of MJCF
        gap = reading.frames[end.tip][0] - reading.frames[end.anchor][0]
        assert np.abs(gap).max() < 1e-9
