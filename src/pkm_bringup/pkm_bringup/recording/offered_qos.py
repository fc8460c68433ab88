"""The QoS profile of a publisher, from rclpy's form to the bag's."""

from __future__ import annotations

from typing import Any

from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime


def offered_qos(profile: Any) -> Qos:
    """Convert an ``rclpy.qos.QoSProfile`` from the graph to what the bag's metadata holds.

    Policies are matched by name; what the graph does not tell (the history) stays unknown.
    """
    return Qos(
        history=QosHistory.__members__.get(profile.history.name, QosHistory.UNKNOWN),
        depth=profile.depth,
        reliability=QosReliability.__members__.get(profile.reliability.name, QosReliability.UNKNOWN),
        durability=QosDurability.__members__.get(profile.durability.name, QosDurability.UNKNOWN),
        deadline=_time(profile.deadline.nanoseconds),
        lifespan=_time(profile.lifespan.nanoseconds),
        liveliness=QosLiveliness.__members__.get(profile.liveliness.name, QosLiveliness.UNKNOWN),
        liveliness_lease_duration=_time(profile.liveliness_lease_duration.nanoseconds),
        avoid_ros_namespace_conventions=bool(profile.avoid_ros_namespace_conventions),
    )


def _time(nanoseconds: int) -> QosTime:
    return QosTime(nanoseconds // 10**9, nanoseconds % 10**9)
