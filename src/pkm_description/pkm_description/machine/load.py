"""Read a machine file into a :class:`Machine`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from pkm_description.errors import MachineFileError
from pkm_description.machine.checks import check_inertia, check_machine, check_provenance
from pkm_description.machine.friction import read_friction
from pkm_description.machine.model import (
    NO_IMU,
    Freedom,
    ImuSensor,
    Joint,
    JointFriction,
    JointLimits,
    Leg,
    LegSensors,
    Machine,
    Pose,
    RigidBody,
    ServoGains,
)
from pkm_description.machine.overlay import apply_overlay, blame_overlay
from pkm_description.machine.yaml_reader import Section, read_yaml

Array = NDArray[np.float64]

SCHEMA = 1
_BODY_KEYS = ('mass', 'center_of_mass', 'inertia')
_INERTIA_KEYS = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')

#: rad; what is larger was meant in degrees
_LARGEST_ANGLE = 2.0 * np.pi


def config_directory() -> Path:
    """Folder of the machine files: of the installed package, or of the source tree."""
    try:
        from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

        try:
            return Path(get_package_share_directory('pkm_description')) / 'config'
        except (PackageNotFoundError, LookupError, OSError):  # OSError: no AMENT_PREFIX_PATH
            pass
    except ImportError:
        pass
    return Path(__file__).parents[2] / 'config'


def machine_names() -> list[str]:
    """Names of the machines that come with the package."""
    return sorted(path.parent.name for path in config_directory().glob('*/machine.yaml'))


def machine_file(name_or_path: str | Path) -> Path:
    """Path of a machine file, given the name of a machine of the package, or a path.

    Raises
    ------
    MachineFileError
        There is no such machine and no such file.
    """
    text = os.fspath(name_or_path)
    named = config_directory() / text / 'machine.yaml'
    if os.sep not in text and named.is_file():
        return named
    path = Path(text).expanduser()  # launch arguments reach us with their ~
    if path.is_dir():
        path = path / 'machine.yaml'
    if not path.is_file():
        known = ', '.join(machine_names())
        raise MachineFileError(path, '(file)', None, f'no such machine and no such file; machines here: {known}')
    return path


def load_machine(name_or_path: str | Path, overlay: str | Path | None = None) -> Machine:
    """Read and check a machine file.

    Parameters
    ----------
    name_or_path : machine of the package (``'srs'``) or path of a machine file
    overlay : path of an overlay whose values replace those of the file

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    path = machine_file(name_or_path)
    content, keys = machine_content(path, overlay)
    try:
        machine = _machine(path, content)
        check_provenance(path, content)
        check_machine(machine)
    except MachineFileError as error:
        if overlay is None:
            raise
        raise blame_overlay(error, Path(overlay), keys) from None
    return machine


def machine_content(path: Path, overlay: str | Path | None = None) -> tuple[dict[str, Any], list[str]]:
    """Content of a machine file with the overlay's values, not checked, and the dotted keys of the overlay."""
    content = read_yaml(path)
    if overlay is None:
        return content, []
    return apply_overlay(content, str(content.get('name')), Path(overlay))


def _machine(path: Path, content: dict[str, Any]) -> Machine:
    top = Section(path, '', content)
    if 'schema' in content and content['schema'] != SCHEMA:
        raise top.error('schema', content['schema'], f'this version reads schema {SCHEMA}')
    needed = ['schema', 'name', 'description', 'gravity', 'leg_chain', 'legs', 'sensors', 'servo']
    if 'platform' in content:
        top.expect_keys([*needed, 'platform', 'leg_tip'], ['provenance', 'ball_joint'])
    else:
        top.expect_keys(needed, ['provenance'])
    freedom, home, platform = _platform(top)
    legs = _legs(top)
    sensors = top.section('sensors')
    sensors.expect_keys(['legs', 'imu'] if freedom != 'none' else ['legs'])
    servo = top.section('servo')
    servo.expect_keys(['stiffness', 'damping'])
    return Machine(
        name=top.identifier('name'),
        path=path,
        description=top.text('description'),
        gravity=top.vector('gravity', 3),
        home=home,
        platform=platform,
        legs=legs,
        imu=_imu(sensors.section('imu')) if freedom != 'none' else NO_IMU,
        leg_sensors=_leg_sensors(sensors.section('legs'), len(legs)),
        servo=ServoGains(servo.number('stiffness', above=0.0), servo.number('damping', least=0.0)),
        provenance=dict(top.section('provenance').content) if 'provenance' in content else {},
        freedom=freedom,
    )


def _platform(top: Section) -> tuple[Freedom, Pose, RigidBody]:
    """Freedom, home and body of the platform; of an open chain, which has none, a body without mass."""
    if 'platform' not in top.content:
        return 'none', Pose(np.zeros(3), np.eye(3)), RigidBody('', 0.0, np.zeros(3), np.zeros((3, 3)))
    platform = top.section('platform')
    platform.expect_keys(['link', 'home', 'body'], ['freedom'])
    freedom = platform.text('freedom') if 'freedom' in platform.content else 'free'
    if freedom not in ('free', 'planar'):
        raise platform.error('freedom', freedom, "choose 'free' or 'planar'")
    body = platform.section('body')
    body.expect_keys(_BODY_KEYS)
    home = Pose(*_pose(platform.section('home')))
    return cast(Freedom, freedom), home, _body(body, platform.identifier('link'), 0, 1)


def _legs(top: Section) -> tuple[Leg, ...]:
    instances, chain = top.section('legs').named_sections(), top.section('leg_chain').named_sections()
    count = len(instances)
    if count == 0:
        raise top.error('legs', {}, 'a parallel machine needs legs; add leg1, leg2, ...')
    if not chain:
        raise top.error('leg_chain', {}, 'a leg needs joints; add them from base to platform')
    for section in chain.values():
        section.expect_keys(
            ['type', 'axis', 'origin', 'body'], ['actuated', 'limits', 'friction', 'home', 'rotor_inertia']
        )
    closed = 'platform' in top.content
    tips = top.vector_per_leg('leg_tip', 3, count) if closed else np.zeros((count, 3))
    cones = _ball_cones(top, count)
    legs = []
    for index, (name, instance) in enumerate(instances.items()):
        instance.expect_keys(['base_point', 'base_rpy', *(['platform_point'] if closed else [])])
        base_rotation = _rotation(instance, 'base_rpy')
        joints = []
        for place, (joint_name, section) in enumerate(chain.items()):
            origin = section.section('origin')
            origin.expect_keys(['xyz', 'rpy'])
            translation, rotation = origin.vector_per_leg('xyz', 3, count)[index], _rotation(origin, 'rpy')
            if place == 0:
                translation = instance.vector('base_point', 3) + base_rotation @ translation
                rotation = base_rotation @ rotation
            joints.append(_joint(section, name, joint_name, index, count, translation, rotation))
        # base joint to tip along the chain, all joints at zero
        reach, turn = np.zeros(3), np.eye(3)
        for joint in joints[1:]:
            reach = reach + turn @ joint.translation
            turn = turn @ joint.rotation_parent_joint
        legs.append(
            Leg(
                name=name,
                joints=tuple(joints),
                tip=tips[index],
                platform_point=instance.vector('platform_point', 3) if closed else np.zeros(3),
                length_at_zero=float(np.linalg.norm(reach + turn @ tips[index])),
                ball_cone=float(cones[index]),
            )
        )
    return tuple(legs)


def _ball_cones(top: Section, count: int) -> Array:
    """Largest tilt of the ball joints (count,) rad; infinite where the file gives none."""
    if 'ball_joint' not in top.content:
        return np.full(count, np.inf)
    section = top.section('ball_joint')
    section.expect_keys(['cone'])
    if top.section('platform').content.get('freedom') == 'planar':
        raise top.error('ball_joint', section.content, 'planar machines end in pins, not in ball joints; leave it out')
    cones = section.per_leg('cone', count, above=0.0)
    if cones.max() > np.pi:
        raise section.error('cone', float(cones.max()), 'looks like degrees; give rad, at most pi')
    return cones


def _joint(
    section: Section, leg: str, name: str, index: int, count: int, translation: Array, rotation: Array
) -> Joint:
    kind = section.text('type')
    if kind not in ('revolute', 'prismatic'):
        raise section.error('type', kind, "choose 'revolute' or 'prismatic'")
    axis = section.vector('axis', 3)
    if abs(np.linalg.norm(axis) - 1.0) > 1e-9:
        raise section.error('axis', axis.tolist(), f'must be a unit vector; its length is {np.linalg.norm(axis):.6g}')
    actuated = section.flag('actuated', False)
    if actuated and 'limits' not in section.content:
        raise section.error('limits', None, 'is missing; a driven joint needs lower, upper, velocity and effort')
    body = section.section('body')
    body.expect_keys(['name', *_BODY_KEYS])
    limits = _limits(section, index, count, actuated) if 'limits' in section.content else JointLimits()
    friction = JointFriction()
    if 'friction' in section.content:
        friction = read_friction(section.section('friction'), index, count, limits.velocity)
    return Joint(
        name=f'{leg}_{name}',
        kind=kind,
        axis=axis,
        translation=translation,
        rotation_parent_joint=rotation,
        actuated=actuated,
        limits=limits,
        friction=friction,
        body=_body(body, f'{leg}_{body.identifier("name")}', index, count),
        home=_home(section, kind, limits, index, count),
        rotor_inertia=float(section.per_leg('rotor_inertia', count, 0.0, least=0.0)[index]),
    )


def _home(section: Section, kind: str, limits: JointLimits, index: int, count: int) -> float:
    """Joint position at home; where the file is silent, zero, or the middle of a prismatic joint's stroke."""
    middle = 0.5 * (limits.lower + limits.upper)
    default = middle if kind == 'prismatic' and np.isfinite(middle) else 0.0
    home = float(section.per_leg('home', count, default)[index])
    if kind == 'revolute' and abs(home) > _LARGEST_ANGLE:
        raise section.error('home', home, 'looks like degrees; give rad')
    return home


def _limits(section: Section, index: int, count: int, actuated: bool) -> JointLimits:
    part, keys = section.section('limits'), ['lower', 'upper', 'velocity', 'effort']
    part.expect_keys(keys if actuated else [], [] if actuated else keys)
    limits = JointLimits(
        lower=float(part.per_leg('lower', count, -np.inf)[index]),
        upper=float(part.per_leg('upper', count, np.inf)[index]),
        velocity=float(part.per_leg('velocity', count, np.inf, above=0.0)[index]),
        effort=float(part.per_leg('effort', count, np.inf, above=0.0)[index]),
    )
    if not limits.lower < limits.upper:
        raise part.error('upper', limits.upper, f'must be greater than lower = {limits.lower}')
    if section.content['type'] == 'revolute':
        for key, value in (('lower', limits.lower), ('upper', limits.upper)):
            if np.isfinite(value) and abs(value) > _LARGEST_ANGLE:
                raise part.error(key, value, 'looks like degrees; give rad')
    return limits


def _body(section: Section, name: str, index: int, count: int) -> RigidBody:
    inertia = section.section('inertia')
    inertia.expect_keys(_INERTIA_KEYS)
    xx, xy, xz, yy, yz, zz = (float(inertia.per_leg(key, count)[index]) for key in _INERTIA_KEYS)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    check_inertia(section, tensor)
    # lighter bodies are dropped or refused by simulators that read the exports
    mass = float(section.per_leg('mass', count, least=1e-3)[index])
    return RigidBody(name, mass, section.vector_per_leg('center_of_mass', 3, count)[index], tensor)


def _imu(section: Section) -> ImuSensor:
    section.expect_keys(['link', 'xyz', 'rpy', 'rate', 'accelerometer', 'gyroscope'])
    accelerometer, gyroscope = section.section('accelerometer'), section.section('gyroscope')
    for sensor in (accelerometer, gyroscope):
        sensor.expect_keys(['noise', 'bias'])
    return ImuSensor(
        frame=section.identifier('link'),
        position=section.vector('xyz', 3),
        rotation_platform_imu=_rotation(section, 'rpy'),
        rate=section.number('rate', above=0.0),
        accelerometer_noise=accelerometer.vector('noise', 3, least=0.0),
        gyroscope_noise=gyroscope.vector('noise', 3, least=0.0),
        accelerometer_bias=accelerometer.vector('bias', 3),
        gyroscope_bias=gyroscope.vector('bias', 3),
    )


def _leg_sensors(section: Section, count: int) -> LegSensors:
    noise = ['position_noise', 'velocity_noise', 'effort_noise']
    section.expect_keys(['rate', *noise])
    return LegSensors(section.number('rate', above=0.0), *(section.per_leg(key, count, least=0.0) for key in noise))


def _pose(section: Section) -> tuple[Array, Array]:
    section.expect_keys(['xyz', 'rpy'])
    return section.vector('xyz', 3), _rotation(section, 'rpy')


def _rotation(section: Section, key: str) -> Array:
    angles = section.vector(key, 3)
    if np.abs(angles).max() > _LARGEST_ANGLE:
        raise section.error(key, angles.tolist(), 'looks like degrees; roll, pitch, yaw are given in rad')
    rotation: Array = Rotation.from_euler('xyz', angles).as_matrix()
    return rotation
