"""Gazebo systems (plugins) of the SDF, with the names of the release."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from pkm_description.export.gazebo_control import add_gazebo_control
from pkm_description.export.gazebo_versions import GazeboVersion
from pkm_description.export.numbers_text import numbers
from pkm_description.export.rest import RestConfiguration
from pkm_description.export.sdf_options import SdfOptions
from pkm_description.export.servo import gains_without_rotors
from pkm_description.machine import Machine
from pkm_description.machine.closure_ends import ClosureEnd


def add_system(parent: Element, version: GazeboVersion, file: str, name: str, **settings: str) -> Element:
    """One plugin; ``file`` as in ``apply-joint-force``, ``name`` as in ``ApplyJointForce``."""
    names = {'filename': version.system_file.format(file), 'name': version.system_name.format(name)}
    plugin = SubElement(parent, 'plugin', names)
    for key, value in settings.items():
        SubElement(plugin, key).text = value
    return plugin


def add_world_systems(world: Element, version: GazeboVersion) -> None:
    """What belongs to the world: physics, commands, scene, and the system that computes IMU data."""
    for file, name in (
        ('physics', 'Physics'),
        ('user-commands', 'UserCommands'),
        ('scene-broadcaster', 'SceneBroadcaster'),
        ('imu', 'Imu'),
    ):
        add_system(world, version, file, name)


def add_weld(model: Element, options: SdfOptions, machine: Machine, held: str, end: ClosureEnd) -> None:
    """Weld of a closure's small link to the link that the leg holds, made when the simulation starts, as they stand."""
    settings = {
        'parent_link': held,
        'child_model': '__model__',
        'child_link': end.link,
        options.version.detach: options.topic(machine, f'{end.closure.name}/detach'),
    }
    add_system(model, options.version, 'detachable-joint', 'DetachableJoint', **settings)


def add_model_systems(model: Element, options: SdfOptions, machine: Machine, start: RestConfiguration) -> None:
    """Joint states, commands of the driven joints, pose of the platform."""
    version = options.version
    topic = options.topic(machine, 'joint_state')
    states = add_system(model, version, 'joint-state-publisher', 'JointStatePublisher', topic=topic)
    # named, because the closing joints have positions that the publisher cannot express
    for joint_name in machine.joint_names:
        SubElement(states, 'joint_name').text = joint_name
    _add_drives(model, options, machine, start)
    if machine.has_platform:
        add_system(
            model,
            version,
            'pose-publisher',
            'PosePublisher',
            publish_link_pose='true',
            publish_model_pose='false',
            publish_sensor_pose='false',
            use_pose_vector_msg='true',
            update_frequency='100.0',
        )


def _add_drives(model: Element, options: SdfOptions, machine: Machine, start: RestConfiguration) -> None:
    version = options.version
    if options.drive == 'ros2_control':
        add_gazebo_control(model, options.gazebo, options.controllers, options.namespace)
        return
    # positions need the servo's gains, forces nothing
    gains = gains_without_rotors(machine) if options.drive == 'position' else None
    for joint, weight in zip(machine.actuated_joints, start.drive_forces, strict=True):
        if gains is None:
            add_system(model, version, 'apply-joint-force', 'ApplyJointForce', joint_name=joint.name)
            continue
        add_system(
            model,
            version,
            'joint-position-controller',
            'JointPositionController',
            joint_name=joint.name,
            p_gain=numbers([gains.stiffness]),
            i_gain='0.0',
            d_gain=numbers([gains.damping]),
            i_max='0.0',
            i_min='0.0',
            cmd_max=numbers([joint.limits.effort]),
            cmd_min=numbers([-joint.limits.effort]),
            # carries the weight where the machine starts, so that it rests there without error
            cmd_offset=numbers([weight]),
        )
