"""Transform broadcasters: those of tf2_ros, or replacements where it is not installed."""

from __future__ import annotations

from collections.abc import Iterable

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

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
