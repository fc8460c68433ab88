"""Gazebo systems (plugins) of the SDF, with the names of Fortress or of Harmonic and later."""

from __future__ import annotations

from typing import Literal
from xml.etree.ElementTree import Element, SubElement

from pkm_description.export.home import HomeConfiguration
from pkm_description.export.numbers_text import numbers
from pkm_description.export.servo import gains_without_rotors
from pkm_description.machine import Machine

Gazebo = Literal['fortress', 'harmonic']
Drive = Literal['position', 'force']


def add_system(parent: Element, gazebo: Gazebo, file: str, name: str, **settings: str) -> Element:
    """One plugin; ``file`` as in ``apply-joint-force``, ``name`` as in ``ApplyJointForce``."""
    if gazebo == 'fortress':
        names = {'filename': f'libignition-gazebo-{file}-system.so', 'name': f'ignition::gazebo::systems::{name}'}
    else:
        names = {'filename': f'gz-sim-{file}-system', 'name': f'gz::sim::systems::{name}'}
    plugin = SubElement(parent, 'plugin', names)
    for key, value in settings.items():
        SubElement(plugin, key).text = value
    return plugin


def add_world_systems(world: Element, gazebo: Gazebo) -> None:
    """What belongs to the world: physics, commands, scene, and the system that computes IMU data."""
    for file, name in (
        ('physics', 'Physics'),
        ('user-commands', 'UserCommands'),
        ('scene-broadcaster', 'SceneBroadcaster'),
        ('imu', 'Imu'),
    ):
        add_system(world, gazebo, file, name)


def add_weld(model: Element, gazebo: Gazebo, machine: Machine, leg: str, tip: str) -> None:
    """Weld of a leg's tip to the platform, made when the simulation starts, where both stand then."""
    topic = {'fortress': 'topic', 'harmonic': 'detach_topic'}[gazebo]
    settings = {
        'parent_link': machine.platform.name,
        'child_model': '__model__',
        'child_link': tip,
        topic: f'/model/{machine.name}/{leg}_closure/detach',
    }
    add_system(model, gazebo, 'detachable-joint', 'DetachableJoint', **settings)


def add_model_systems(model: Element, gazebo: Gazebo, drive: Drive, machine: Machine, home: HomeConfiguration) -> None:
    """Joint states, commands of the driven joints, pose of the platform."""
    states = add_system(model, gazebo, 'joint-state-publisher', 'JointStatePublisher')
    # named, because the closing joints have positions that the publisher cannot express
    for joint_name in machine.joint_names:
        SubElement(states, 'joint_name').text = joint_name
    # positions need the servo's gains, forces nothing
    gains = gains_without_rotors(machine) if drive == 'position' else None
    for joint, weight in zip(machine.actuated_joints, home.drive_forces, strict=True):
        if gains is None:
            add_system(model, gazebo, 'apply-joint-force', 'ApplyJointForce', joint_name=joint.name)
            continue
        add_system(
            model,
            gazebo,
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
            # carries the weight at home, so that the machine rests there without error
            cmd_offset=numbers([weight]),
        )
    if machine.has_platform:
        add_system(
            model,
            gazebo,
            'pose-publisher',
            'PosePublisher',
            publish_link_pose='true',
            publish_model_pose='false',
            publish_sensor_pose='false',
            use_pose_vector_msg='true',
            update_frequency='100.0',
        )
