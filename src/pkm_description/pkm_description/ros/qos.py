"""Quality of service (QoS) of the suite's topics."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from pkm_description.ros.node_settings import SubscriptionSettings
from pkm_description.ros.parameters import declare_settings

#: messages of a stream that the middleware holds where some are too long to be read. Its memory for each is as large as
#: the largest that was ever there: with the usual depth it would hold gigabytes of joint states of a megabyte
HELD_OF_LONG = 100


def _profile(depth: int, reliable: bool, latched: bool = False) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


#: subscriptions to sensor streams: best effort, so that every driver connects
SENSOR_QOS = _profile(2000, reliable=False)
#: publishers of streams: reliable, which serves reliable and best-effort subscribers alike
RELIABLE_STREAM_QOS = _profile(2000, reliable=True)
#: messages that late subscribers must get, too (several motions may be sent in advance)
LATCHED_QOS = _profile(10, reliable=True, latched=True)
#: motion references: several may be sent in advance, and late subscribers must get them all
REFERENCE_QOS = _profile(20, reliable=True, latched=True)
#: subscriptions that must not lose a message, however busy the computer is: recorders, runs to be reproduced bit by bit
LOSSLESS_QOS = _profile(5000, reliable=True)


def declare_stream_qos(node: Node) -> QoSProfile:
    """Declare the parameter ``reliability``; returns the profile that it chooses for subscriptions to sensor streams.

    Best effort connects to every driver and is the default; reliable waits for lost messages.

    Raises
    ------
    ParameterError
        It is neither ``best_effort`` nor ``reliable``.
    """
    reliability = declare_settings(node, SubscriptionSettings).reliability
    return LOSSLESS_QOS if reliability == 'reliable' else SENSOR_QOS


def with_few_held(qos: QoSProfile) -> QoSProfile:
    """Return the same profile of a subscription with few messages held."""
    return _profile(HELD_OF_LONG, qos.reliability == ReliabilityPolicy.RELIABLE)
