"""A driver's messages in the suite's convention, for tools that know nothing of the driver."""

from __future__ import annotations

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, JointState

from pkm_description.arrays import Array
from pkm_description.joint_states import JointOrder, JointStateReader
from pkm_description.machine import Machine
from pkm_description.ros.conversions import array3, stamp
from pkm_description.ros.serialized import read_joint_state


class StandardStreams:
    """Converts serialised messages of a machine's driver.

    Parameters
    ----------
    machine : with its driver
    """

    def __init__(self, machine: Machine) -> None:
        self._reader = JointStateReader.of_drives(machine)
        self._imu = machine.driver.imu

    def joint_state(self, data: bytes) -> JointState:
        """Joint state of the drives that the message has: their names in the machine file, its order and SI units.

        Raises
        ------
        JointStateError
            There are more or fewer values than names, or a joint is named twice.
        struct.error, ValueError, RuntimeError
            The bytes are no joint state.
        """
        reading = read_joint_state(data)
        order = self._reader.order(reading.names)
        message = JointState()
        message.header.stamp = stamp(reading.stamp)
        message.name = [order.wanted[joint] for joint in order.joints]
        message.position = self._values(order, reading.positions, 'position')
        message.velocity = self._values(order, reading.velocities, 'velocity', reading.positions)
        message.effort = self._values(order, reading.efforts, 'effort')
        return message

    def _values(self, order: JointOrder, values: Array, quantity: str, at: Array | None = None) -> list[float]:
        """Values of the joints that are there; none, if the message has none."""
        if not len(values):
            return []
        numbers: list[float] = order.by_joint(values, quantity, at)[order.joints].tolist()
        return numbers

    def imu(self, data: bytes) -> Imu:
        """IMU sample in m/s^2 and rad/s; frame, orientation and stamp stay.

        Raises
        ------
        RuntimeError
            The bytes are no IMU message.
        """
        message: Imu = deserialize_message(data, Imu)
        force, rate = message.linear_acceleration, message.angular_velocity
        force.x, force.y, force.z = self._imu.specific_force(array3(force)).tolist()
        rate.x, rate.y, rate.z = self._imu.angular_rate(array3(rate)).tolist()
        # a negative first entry says that there is no such measurement, zeros that nothing is known
        for covariance, scale in (
            (message.linear_acceleration_covariance, self._imu.acceleration_scale),
            (message.angular_velocity_covariance, self._imu.rate_scale),
        ):
            covariance[:] = np.where(covariance[0] < 0.0, covariance, covariance * scale**2)
        return message
