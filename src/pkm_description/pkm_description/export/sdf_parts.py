"""Elements of an SDF file: links, joints, frames, sensors, visuals."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.export.drawing import COLORS, Bar
from pkm_description.export.gazebo_versions import GazeboVersion
from pkm_description.export.numbers_text import numbers
from pkm_description.export.sdf_names import unused_name
from pkm_description.kinematics.rotation_formats import quaternion_from_rotation
from pkm_description.machine import ImuSensor, Joint, RigidBody

#: of our own elements in the SDF, which Gazebo hands on without looking at them
PKM_NAMESPACE = 'urn:pkm-suite:sdf:1'


def add_pose(element: Element, position: Array, rotation: Array | None = None, relative_to: str = '') -> None:
    """Pose with a quaternion: exact where roll, pitch and yaw lose digits."""
    attributes = {'relative_to': relative_to} if relative_to else {}
    if rotation is None:
        SubElement(element, 'pose', attributes).text = numbers(position, [0.0, 0.0, 0.0])
    else:
        attributes['rotation_format'] = 'quat_xyzw'
        SubElement(element, 'pose', attributes).text = numbers(position, quaternion_from_rotation(rotation))


def add_link(model: Element, name: str, pose: tuple[Array, Array] | None, relative_to: str = 'base_link') -> Element:
    """Link at a pose (position (3,) m, rotation (3, 3)) in another frame."""
    link = SubElement(model, 'link', name=name)
    if pose is not None:
        add_pose(link, *pose, relative_to=relative_to)
    return link


def add_frame(model: Element, name: str, link: str, position: Array, rotation: Array | None = None) -> None:
    """Named frame fixed to a link."""
    add_pose(SubElement(model, 'frame', name=name, attached_to=link), position, rotation)


def add_inertial(link: Element, body: RigidBody) -> None:
    """Mass, centre of mass and inertia about it, in link axes."""
    inertial = SubElement(link, 'inertial')
    add_pose(inertial, body.center_of_mass)
    SubElement(inertial, 'mass').text = numbers([body.mass])
    inertia = SubElement(inertial, 'inertia')
    for row, column, key in ((0, 0, 'xx'), (0, 1, 'xy'), (0, 2, 'xz'), (1, 1, 'yy'), (1, 2, 'yz'), (2, 2, 'zz')):
        SubElement(inertia, f'i{key}').text = numbers([body.inertia[row, column]])


def add_joint(model: Element, name: str, kind: str, parent: str, child: str) -> Element:
    """Joint in the origin of the child's frame."""
    joint = SubElement(model, 'joint', name=name, type=kind)
    SubElement(joint, 'parent').text = parent
    SubElement(joint, 'child').text = child
    return joint


def add_axis(element: Element, joint: Joint, start: float) -> None:
    """Axis, limits and friction of a leg joint whose zero in Gazebo is its position at the start [rad, m]."""
    axis = SubElement(element, 'axis')
    SubElement(axis, 'xyz').text = numbers(joint.axis)
    limits, losses = joint.limits, joint.friction
    limit = SubElement(axis, 'limit')
    # both are always written: some versions take absent bounds for zero
    SubElement(limit, 'lower').text = numbers([max(limits.lower - start, -1e16)])
    SubElement(limit, 'upper').text = numbers([min(limits.upper - start, 1e16)])
    if np.isfinite(limits.effort):
        SubElement(limit, 'effort').text = numbers([limits.effort])
    if np.isfinite(limits.velocity):
        SubElement(limit, 'velocity').text = numbers([limits.velocity])
    dynamics = SubElement(axis, 'dynamics')
    SubElement(dynamics, 'damping').text = numbers([losses.viscous])
    SubElement(dynamics, 'friction').text = numbers([losses.coulomb])
    SubElement(element, 'pkm:start_position').text = numbers([start])
    if joint.rotor_inertia:
        SubElement(element, 'pkm:rotor_inertia').text = numbers([joint.rotor_inertia])


def add_imu(link: Element, imu: ImuSensor, topic: str, version: GazeboVersion, frame_prefix: str = '') -> None:
    """Inertial measurement unit with its noise and bias, without the orientation that a real one does not know.

    The bias is written as mean of the noise: that of Gazebo's ``bias_mean`` gets a random sign in every run.
    """
    visuals = [str(visual.get('name')) for visual in link.findall('visual')]
    sensor = SubElement(link, 'sensor', name=unused_name(imu.frame, visuals, '_sensor'), type='imu')
    add_pose(sensor, imu.position, imu.rotation_platform_imu)
    SubElement(sensor, 'always_on').text = '1'
    SubElement(sensor, 'update_rate').text = numbers([imu.rate])
    SubElement(sensor, 'topic').text = topic
    SubElement(sensor, version.sensor_frame).text = f'{frame_prefix}{imu.frame}'
    element = SubElement(sensor, 'imu')
    SubElement(element, 'enable_orientation').text = '0'
    for key, noise, bias in (
        ('angular_velocity', imu.gyroscope_noise, imu.gyroscope_bias),
        ('linear_acceleration', imu.accelerometer_noise, imu.accelerometer_bias),
    ):
        quantity = SubElement(element, key)
        for axis, std, offset in zip('xyz', noise, bias, strict=True):
            one = SubElement(SubElement(quantity, axis), 'noise', type='gaussian')
            SubElement(one, 'mean').text = numbers([offset])
            SubElement(one, 'stddev').text = numbers([std])


def add_visuals(link: Element, bars: list[Bar]) -> None:
    """Bars as cylinders; nothing collides."""
    for number, bar in enumerate(bars, start=1):
        visual = SubElement(link, 'visual', name=f'bar{number}')
        along = bar.end - bar.start
        length = float(np.linalg.norm(along))
        turn = Rotation.align_vectors(along[None] / length, [[0.0, 0.0, 1.0]])[0].as_matrix()
        add_pose(visual, 0.5 * (bar.start + bar.end), turn)
        cylinder = SubElement(SubElement(visual, 'geometry'), 'cylinder')
        SubElement(cylinder, 'radius').text = numbers([bar.radius])
        SubElement(cylinder, 'length').text = numbers([length])
        material = SubElement(visual, 'material')
        for key in ('ambient', 'diffuse'):
            SubElement(material, key).text = COLORS[bar.color]
