"""Gazebo systems (plugins) of the SDF, with the names of the release."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

import numpy as np

from pkm_description.dynamics import forward_dynamics
from pkm_description.dynamics.open_chain import open_chain_mass_matrix
from pkm_description.export.gazebo_control import add_gazebo_control
from pkm_description.export.gazebo_versions import GazeboVersion
from pkm_description.export.numbers_text import numbers
from pkm_description.export.rest import RestConfiguration
from pkm_description.export.sdf_options import SdfOptions
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.machine import Machine, ServoGains
from pkm_description.machine.closure_ends import ClosureEnd
from pkm_description.machine.variants import with_gravity, without_rotors


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


def gains_without_rotors(machine: Machine) -> ServoGains:
    """Gains with which the machine without rotors has the bandwidth and damping of the one with them.

    Where rotors are most of the inertia, the machine file's gains would make the lighter machine unstable at the
    sampling of a simulator. Compared is the lightest direction of the drives at home.
    """
    if not machine.rotor_inertia.any():
        return machine.servo
    share = _lightest_inertia(without_rotors(machine)) / _lightest_inertia(machine)
    return ServoGains(share * machine.servo.stiffness, share * machine.servo.damping)


def _lightest_inertia(machine: Machine) -> float:
    """Smallest inertia that the drives feel at home, all of them moving together, kg or kg m^2."""
    weightless = with_gravity(machine, np.zeros(3))
    if not machine.has_platform:
        mass, driven = open_chain_mass_matrix(weightless, weightless.home_positions[None])[0], weightless.drive_columns
        return float(1.0 / np.linalg.inv(mass)[driven, driven].max())
    position, rotation = machine.home.position[None], machine.home.rotation_base_platform[None]
    jacobian = close_legs(weightless, position, rotation).drive_map[0]
    drives = len(jacobian)
    accelerations = forward_dynamics(
        weightless, np.repeat(position, drives, axis=0), np.repeat(rotation, drives, axis=0), np.zeros((drives, 6)),
        np.eye(drives), friction=False,
    )  # fmt: skip
    mobility = accelerations @ jacobian.T
    return float(1.0 / np.linalg.eigvalsh(0.5 * (mobility + mobility.T))[-1])
