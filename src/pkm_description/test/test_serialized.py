"""Serialised messages, against rclpy's own serialisation."""

from __future__ import annotations

import struct

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')

from nav_msgs.msg import Odometry  # noqa: E402
from pkm_description.ros.conversions import array3, nanoseconds, point, quaternion, stamp, vector3  # noqa: E402
from pkm_description.ros.serialized import (  # noqa: E402
    UNREADABLE,
    OdometryWriter,
    read_imu,
    read_joint_state,
    read_stamp,
    with_stamp,
)
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from sensor_msgs.msg import Imu, JointState  # noqa: E402

TIME = 1_795_265_722_279_995_249
#: texts of every length modulo eight: what follows is aligned
TEXTS = ['x' * length for length in range(9)]


def numbers(seed, count):
    return np.random.default_rng(seed).normal(size=count)


@pytest.mark.parametrize('frame', TEXTS)
def test_imu(frame):
    message = Imu(
        linear_acceleration=vector3(numbers(1, 3)),
        angular_velocity=vector3(numbers(2, 3)),
        orientation=quaternion(numbers(3, 4)),
        orientation_covariance=numbers(4, 9),
        angular_velocity_covariance=numbers(5, 9),
        linear_acceleration_covariance=numbers(6, 9),
    )
    message.header.stamp, message.header.frame_id = stamp(TIME), frame
    sample = read_imu(bytes(serialize_message(message)))
    assert sample.stamp == TIME
    assert list(sample.specific_force) == array3(message.linear_acceleration).tolist()
    assert list(sample.angular_rate) == array3(message.angular_velocity).tolist()
    stated = [*message.linear_acceleration_covariance, *message.angular_velocity_covariance]
    assert list(sample.covariances) == stated


def joint_state(names, positions, velocities=(), efforts=(), frame=''):
    message = JointState(name=names, position=positions, velocity=velocities, effort=efforts)
    message.header.stamp, message.header.frame_id = stamp(TIME), frame
    return bytes(serialize_message(message))


@pytest.mark.parametrize('frame', TEXTS)
@pytest.mark.parametrize('last_name', TEXTS)
def test_joint_state(frame, last_name):
    names = ['leg_1_slider', 'Bein_zwei_ä', last_name]
    data = joint_state(names, numbers(1, 3), numbers(2, 3), numbers(3, 3), frame)
    sample = read_joint_state(data)
    assert sample.stamp == TIME
    assert sample.names == tuple(names)
    assert sample.positions.tolist() == numbers(1, 3).tolist()
    assert sample.velocities.tolist() == numbers(2, 3).tolist()
    assert sample.efforts.tolist() == numbers(3, 3).tolist()


@pytest.mark.parametrize(
    ('names', 'positions', 'efforts'),
    [([], [], []), (['a', 'b'], [1.0], [3.0, 4.0]), (['a'], [5.0, 6.0], []), (['a', 'b', 'c'], [], [8.0])],
)
def test_joint_state_whose_lengths_do_not_fit(names, positions, efforts):
    sample = read_joint_state(joint_state(names, positions, efforts=efforts))
    assert sample.names == tuple(names)
    assert sample.positions.tolist() == positions
    assert sample.velocities.tolist() == []
    assert sample.efforts.tolist() == efforts


@pytest.mark.parametrize('wrong', [b'le\xff_1', b'\xc3\x28xyz', b'le\0_1', b'\0eg_1'])
def test_names_that_are_no_utf_8_or_hold_a_zero_are_what_rclpy_makes_of_them(wrong):
    data = joint_state(['leg_1', 'leg_2'], [1.0, 2.0]).replace(b'leg_1', wrong)
    assert read_joint_state(data).names == tuple(deserialize_message(data, JointState).name)


def test_what_is_cut_off_is_unreadable():
    joints, imu = joint_state(['leg_1'], [1.0], [2.0], [3.0]), bytes(serialize_message(Imu()))
    for read, data, not_read in ((read_joint_state, joints, 0), (read_imu, imu, 72)):  # an Imu's last covariance
        for length in range(len(data) - not_read):
            with pytest.raises(UNREADABLE):
                read(data[:length])


def test_stamp_that_no_message_can_carry_on():
    data = joint_state(['a'], [1.0])
    with pytest.raises(UNREADABLE, match='2147483647 s'):
        read_stamp(data[:4] + struct.pack('=iI', 2**31 - 1, 10**9) + data[12:])


@pytest.mark.parametrize('child_frame', TEXTS)
def test_odometry(child_frame):
    values = [numbers(1, 3), numbers(2, 4), numbers(3, (6, 6)), numbers(4, 3), numbers(5, 3), numbers(6, (6, 6)).T]
    message = Odometry(child_frame_id=child_frame)
    message.header.stamp, message.header.frame_id = stamp(TIME), 'base_link'
    message.pose.pose.position, message.pose.pose.orientation = point(values[0]), quaternion(values[1])
    message.twist.twist.linear, message.twist.twist.angular = vector3(values[3]), vector3(values[4])
    message.pose.covariance, message.twist.covariance = values[2].ravel(), values[5].ravel()
    data = OdometryWriter('base_link', child_frame)(TIME, *values)
    assert len(data) == len(serialize_message(message))
    assert deserialize_message(data, Odometry) == message


def test_message_of_another_order_of_bytes():
    """As a big-endian computer sends it: representation, stamp, frame '', one name, one position, nothing more."""
    data = b''.join(
        (
            bytes([0, 0, 0, 0]),
            struct.pack('>iI', 7, 9),
            struct.pack('>I4s', 1, b''),
            struct.pack('>II4s', 1, 2, b'a'),
            struct.pack('>Id', 1, 0.5),
            struct.pack('>II', 0, 0),
        )
    )
    sample = read_joint_state(data)
    assert (sample.stamp, sample.names, sample.positions.tolist()) == (7 * 10**9 + 9, ('a',), [0.5])


def test_stamps():
    data = joint_state(['a'], [1.0])
    assert read_stamp(data) == TIME
    moved = deserialize_message(with_stamp(data, 5 * 10**9 + 3), JointState)
    assert nanoseconds(moved.header.stamp) == 5 * 10**9 + 3
    assert moved.position.tolist() == [1.0]
