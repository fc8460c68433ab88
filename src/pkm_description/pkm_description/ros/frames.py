"""Frame ids of one robot among several: a prefix before every name, as robot_state_publisher's ``frame_prefix``.

URDF, machine files and joint names know no prefix; tf, the headers of messages and rviz do. A prefix that ends in a
slash (``left/``) is what rviz's RobotModel can show: it puts a slash after its own "TF Prefix".
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from pkm_description.kinematics.rotation import matrix_from_rpy
from pkm_description.machine import Machine
from pkm_description.ros.diagnostics import Level
from pkm_description.ros.node_settings import FrameSettings
from pkm_description.ros.parameters import declare_settings

try:
    from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster
except ImportError:

    class TransformBroadcaster:  # type: ignore[no-redef]
        """Publishes transforms on ``/tf``, as tf2_ros does."""

        def __init__(self, node: Node) -> None:
            self._publisher = node.create_publisher(TFMessage, '/tf', 100)

        def sendTransform(self, transform: TransformStamped | Iterable[TransformStamped]) -> None:  # noqa: N802
            """Publish one or several transforms."""
            several = [transform] if isinstance(transform, TransformStamped) else list(transform)
            self._publisher.publish(TFMessage(transforms=several))

    class StaticTransformBroadcaster:  # type: ignore[no-redef]
        """Publishes transforms that never change on ``/tf_static``, latched; later calls add to earlier ones."""

        def __init__(self, node: Node) -> None:
            qos = QoSProfile(
                history=HistoryPolicy.KEEP_LAST, depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL
            )
            self._publisher = node.create_publisher(TFMessage, '/tf_static', qos)
            self._transforms: dict[str, TransformStamped] = {}

        def sendTransform(self, transform: TransformStamped | Iterable[TransformStamped]) -> None:  # noqa: N802
            """Publish these and all earlier transforms."""
            several = [transform] if isinstance(transform, TransformStamped) else list(transform)
            self._transforms.update({one.child_frame_id: one for one in several})
            self._publisher.publish(TFMessage(transforms=list(self._transforms.values())))


__all__ = ['StaticTransformBroadcaster', 'TransformBroadcaster']
BASE_LINK = 'base_link'


def checked_prefix(prefix: str) -> str:
    """Return a prefix for frame ids that tf2 takes.

    Raises
    ------
    ConfigurationError
        It begins with a slash, which tf2 refuses in frame ids, or has white space in it.
    """
    if prefix.startswith('/') or any(letter.isspace() for letter in prefix):
        raise ConfigurationError(
            f'frame_prefix = {prefix!r}: tf2 takes no frame id that begins with a slash or has white space; '
            "give for example 'left/'"
        )
    return prefix


def pose_numbers(text: str) -> Array:
    """Six numbers (6,) of ``'x y z roll pitch yaw'`` in m and rad; commas may stand between them, too.

    Raises
    ------
    ConfigurationError
        These are not six finite numbers.
    """
    try:
        numbers = np.array([float(word) for word in text.replace(',', ' ').split()])
    except ValueError:
        numbers = np.empty(0)
    if numbers.shape != (6,) or not np.isfinite(numbers).all():
        raise ConfigurationError(f"base_pose = {text!r}: expected six numbers 'x y z roll pitch yaw' in m and rad")
    return numbers


def pose_of_text(text: str) -> tuple[Array, Array]:
    """Position (3,) m and rotation parent <- child (3, 3) of ``'x y z roll pitch yaw'``, see :func:`pose_numbers`.

    The angles are those of URDF: about the fixed axes x, y, z of the parent in this order.
    """
    numbers = pose_numbers(text)
    return numbers[:3], matrix_from_rpy(numbers[3:])


class Frames:
    """Frame ids of one machine.

    Parameters
    ----------
    machine : its links
    prefix : put before every name; empty for a robot that has the tf tree for itself

    Attributes
    ----------
    platform_link : name of the platform's link, without prefix
    base, platform : ids of the base's and of the platform's frame
    imu : id of the IMU's frame; that of the platform for a machine without IMU

    Raises
    ------
    ConfigurationError
        See :func:`checked_prefix`.
    """

    def __init__(self, machine: Machine, prefix: str = '') -> None:
        self.prefix = checked_prefix(prefix)
        self.platform_link = machine.platform.name
        self.base, self.platform = self.id_of(BASE_LINK), self.id_of(self.platform_link)
        self.imu = self.id_of(machine.imu.frame) if machine.has_imu else self.platform

    def id_of(self, link: str) -> str:
        """Frame id of a link."""
        return self.prefix + link

    def problem(self, frame_id: str, wanted: str) -> str:
        """Say what is wrong with the frame id of an incoming message; empty if nothing is.

        Right are the wanted id, the same without the prefix (drivers do not know it), and no id at all.

        Parameters
        ----------
        frame_id : of the message
        wanted : one of :attr:`base`, :attr:`platform`, :attr:`imu`, or of :meth:`id_of`
        """
        if frame_id in ('', wanted, wanted.removeprefix(self.prefix)):
            return ''
        return f'frame_id {frame_id!r} is not {wanted!r}'


def declare_frames(node: Node, machine: Machine) -> Frames:
    """Declare the parameter ``frame_prefix`` and return the frame ids that it makes."""
    return Frames(machine, declare_settings(node, FrameSettings).frame_prefix)


class FrameCheck:
    """Compares the frame ids of incoming messages with this robot's.

    Each foreign one is said once in the log, and in every diagnostic report as long as it comes.
    """

    def __init__(self, node: Node, frames: Frames) -> None:
        self._node, self._frames = node, frames
        self._seen: dict[str, str] = {}
        self._problems: dict[str, str] = {}

    def is_ours(self, topic: str, frame_id: str, wanted: str, remedy: str) -> bool:
        """Whether a message of ``topic`` has the frame id ``wanted``, see :meth:`Frames.problem`.

        ``remedy`` is what to do if not.
        """
        if self._seen.get(topic) != frame_id:  # a stream has one frame id: compared once
            self._seen[topic] = frame_id
            self._problems.pop(topic, None)
            if problem := self._frames.problem(frame_id, wanted):
                self._problems[topic] = f'{topic}: {problem}: {remedy}'
                self._node.get_logger().warning(self._problems[topic])
        return topic not in self._problems

    def statuses(self) -> dict[str, tuple[Level, str, dict[str, object]]]:
        """Status for :class:`DiagnosticsPublisher`, none if all is well."""
        if not self._problems:
            return {}
        return {'frames': (Level.WARN, '; '.join(self._problems.values()), dict(self._seen))}
