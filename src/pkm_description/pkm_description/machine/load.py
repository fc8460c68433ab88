"""Read a machine file into a :class:`Machine`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from pkm_description.errors import MachineFileError
from pkm_description.machine.checks import check_inertia, check_machine
from pkm_description.machine.model import (
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
from pkm_description.machine.overlay import apply_overlay
from pkm_description.machine.yaml_reader import Section, read_yaml

Array = NDArray[np.float64]

SCHEMA = 1
_INERTIA_KEYS = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


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
    path = Path(text)
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
    content = read_yaml(path)
    if overlay is not None:
        content = apply_overlay(content, str(content.get('name')), Path(overlay))
    machine = _machine(path, content)
    check_machine(machine)
    return machine


def _machine(path: Path, content: dict[str, Any]) -> Machine:
    top = Section(path, '', content)
    top.expect_keys(
        ['schema', 'name', 'description', 'gravity', 'platform', 'leg_chain', 'leg_tip', 'legs', 'sensors', 'servo'],
        ['provenance'],
    )
    if content['schema'] != SCHEMA:
        raise top.error('schema', content['schema'], f'this version reads schema {SCHEMA}')
    platform = top.section('platform')
    platform.expect_keys(['link', 'home', 'body'])
    legs = _legs(top)
    sensors = top.section('sensors')
    sensors.expect_keys(['imu', 'legs'])
    servo = top.section('servo')
    servo.expect_keys(['stiffness', 'damping'])
    home_position, home_rotation = _pose(platform.section('home'))
    return Machine(
        name=top.text('name'),
        path=path,
        description=top.text('description'),
        gravity=top.vector('gravity', 3),
        home=Pose(home_position, home_rotation),
        platform=_body(platform.section('body'), platform.text('link'), 0, 1),
        legs=legs,
        imu=_imu(sensors.section('imu')),
        leg_sensors=_leg_sensors(sensors.section('legs'), len(legs)),
        servo=ServoGains(servo.number('stiffness', above=0.0), servo.number('damping', least=0.0)),
        provenance=dict(top.section('provenance').content) if 'provenance' in content else {},
    )


def _legs(top: Section) -> tuple[Leg, ...]:
    instances, chain = top.section('legs'), top.section('leg_chain')
    count = len(instances.content)
    if count == 0:
        raise instances.error('', {}, 'a parallel machine needs legs')
    if not chain.content:
        raise chain.error('', {}, 'a leg needs joints')
    tip = top.vector('leg_tip', 3)
    legs = []
    for index, name in enumerate(instances.content):
        instance = instances.section(name)
        instance.expect_keys(['base_point', 'base_rpy', 'platform_point'])
        base_rotation = _rotation(instance, 'base_rpy')
        joints = []
        for place, joint_name in enumerate(chain.content):
            translation, rotation = _pose(chain.section(joint_name).section('origin'))
            if place == 0:
                translation = instance.vector('base_point', 3) + base_rotation @ translation
                rotation = base_rotation @ rotation
            joints.append(_joint(chain.section(joint_name), name, joint_name, index, count, translation, rotation))
        # base joint to tip along the chain, all joints at zero
        reach, turn = np.zeros(3), np.eye(3)
        for joint in joints[1:]:
            reach = reach + turn @ joint.translation
            turn = turn @ joint.rotation_parent_joint
        legs.append(
            Leg(
                name=name,
                joints=tuple(joints),
                tip=tip,
                platform_point=instance.vector('platform_point', 3),
                length_at_zero=float(np.linalg.norm(reach + turn @ tip)),
            )
        )
    return tuple(legs)


def _joint(
    section: Section, leg: str, name: str, index: int, count: int, translation: Array, rotation: Array
) -> Joint:
    section.expect_keys(['type', 'axis', 'origin', 'body'], ['actuated', 'limits', 'friction'])
    kind = section.text('type')
    if kind not in ('revolute', 'prismatic'):
        raise section.error('type', kind, "choose 'revolute' or 'prismatic'")
    axis = section.vector('axis', 3)
    if abs(np.linalg.norm(axis) - 1.0) > 1e-9:
        raise section.error('axis', axis.tolist(), f'must be a unit vector, its length is {np.linalg.norm(axis):.6g}')
    limits = JointLimits()
    if 'limits' in section.content:
        part = section.section('limits')
        part.expect_keys([], ['lower', 'upper', 'velocity', 'effort'])
        limits = JointLimits(
            lower=float(part.per_leg('lower', count, -np.inf)[index]),
            upper=float(part.per_leg('upper', count, np.inf)[index]),
            velocity=float(part.per_leg('velocity', count, np.inf, above=0.0)[index]),
            effort=float(part.per_leg('effort', count, np.inf, above=0.0)[index]),
        )
        if not limits.lower < limits.upper:
            raise part.error('upper', limits.upper, f'must be greater than lower = {limits.lower}')
    friction = JointFriction()
    if 'friction' in section.content:
        part = section.section('friction')
        part.expect_keys([], ['viscous', 'coulomb'])
        friction = JointFriction(
            viscous=float(part.per_leg('viscous', count, 0.0, least=0.0)[index]),
            coulomb=float(part.per_leg('coulomb', count, 0.0, least=0.0)[index]),
        )
    body = section.section('body')
    return Joint(
        name=f'{leg}_{name}',
        kind=kind,
        axis=axis,
        translation=translation,
        rotation_parent_joint=rotation,
        actuated=section.flag('actuated', False),
        limits=limits,
        friction=friction,
        body=_body(body, f'{leg}_{body.text("name")}' if 'name' in body.content else '', index, count, named=True),
    )


def _body(section: Section, name: str, index: int, count: int, named: bool = False) -> RigidBody:
    section.expect_keys([*(['name'] if named else []), 'mass', 'center_of_mass', 'inertia'])
    inertia = section.section('inertia')
    inertia.expect_keys(_INERTIA_KEYS)
    xx, xy, xz, yy, yz, zz = (float(inertia.per_leg(key, count)[index]) for key in _INERTIA_KEYS)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    check_inertia(section, tensor)
    # lighter bodies are dropped or refused by simulators that read the exports
    mass = float(section.per_leg('mass', count, least=1e-3)[index])
    return RigidBody(name, mass, section.vector('center_of_mass', 3), tensor)


def _imu(section: Section) -> ImuSensor:
    section.expect_keys(['link', 'xyz', 'rpy', 'rate', 'accelerometer', 'gyroscope'])
    accelerometer, gyroscope = section.section('accelerometer'), section.section('gyroscope')
    for sensor in (accelerometer, gyroscope):
        sensor.expect_keys(['noise', 'bias'])
    return ImuSensor(
        frame=section.text('link'),
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
    if np.abs(angles).max() > 2.0 * np.pi:
        raise section.error(key, angles.tolist(), 'looks like degrees; roll, pitch, yaw are given in rad')
    rotation: Array = Rotation.from_euler('xyz', angles).as_matrix()
    return rotation
