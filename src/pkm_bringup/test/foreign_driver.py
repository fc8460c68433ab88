"""Recordings of a driver in which everything is foreign, and the clean streams that they stand for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pkm_description.dynamics import inverse_dynamics
from pkm_description.joint_states import DriverStreams
from pkm_description.loading import load_machine, machine_file
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_description.ros.conversions import StandardStreams
from pkm_estimation.bags import BagWriter
from pkm_estimation.bags.decoding import TYPESTORE
from pkm_estimation.bags.messages import open_bag
from pkm_estimation.bags.writer import RawBagWriter
from pkm_estimation.sensors import measure
from rclpy.serialization import serialize_message

#: Hz
RATE = 100


#: actuators backwards, absolute lengths in mm, currents, other topics
DRIVER = machine_file('srs').with_name('driver_example.yaml')


def foreign_machine() -> Machine:
    """Machine srs whose driver has all that is foreign."""
    return load_machine('srs', driver=DRIVER)


def write_foreign_bag(machine: Machine, path: Path, duration: float = 6.0) -> Path:
    """Bag of the driver's own topics, 100 Hz, with noise and an excitation for identification."""
    motion = profile('fourier', machine, duration, float(RATE), 0)
    random = np.random.default_rng(4)
    data = measure(machine, motion, seed=4)
    efforts = inverse_dynamics(machine, motion) + random.normal(size=data.drive_positions.shape)
    velocities = np.gradient(data.drive_positions, 1.0 / RATE, axis=0)
    streams = DriverStreams(machine)
    joints = streams.joint_states(data.drive_positions, velocities, efforts)
    names = ('gripper_left', *joints.names, 'gripper_right')
    values = [np.pad(part, ((0, 0), (1, 1)), constant_values=0.02) for part in joints[1:]]
    with BagWriter(path) as bag:
        bag.write_joint_states(data.stamps, names, *values, topic=machine.driver.joint_topic)
        bag.write_imu(data.stamps, *streams.imu(data.specific_force, data.angular_rate), topic=machine.driver.imu_topic)
    return path


def write_clean_bag(machine: Machine, foreign: Path, path: Path) -> Path:
    """The same recording after conversion, message by message as driver_bridge would publish it."""
    streams = StandardStreams(machine)
    topics = {
        '/drives/state': ('/joint_states', 'sensor_msgs/msg/JointState', streams.joint_state),
        '/xsens/imu': ('/imu/data_raw', 'sensor_msgs/msg/Imu', streams.imu),
    }
    with open_bag(foreign) as bag, RawBagWriter(path, typestore=TYPESTORE) as clean:
        for topic, kind, _ in topics.values():
            clean.add_topic(topic, kind)
        for topic, time, data in bag.read():
            target, _, convert = topics[topic]
            clean.write(target, time, bytes(serialize_message(convert(data))))
    return path
