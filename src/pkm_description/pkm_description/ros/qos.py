"""Quality of service (QoS) of the suite's topics."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from pkm_description.ros.node_settings import SubscriptionSettings
from pkm_description.ros.parameters import declare_settings

#: messages of a stream that the middleware holds where some are too long to be read. Its memory for each is as large as
#: the largest that was ever there: with the usual depth it would hold gigabytes of joint states of a megabyte
HELD_OF_LONG = 100

#: subscriptions to sensor streams: best effort, so that every driver connects
SENSOR_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT
)

#: publishers of streams: reliable, which serves reliable and best-effort subscribers alike
RELIABLE_STREAM_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=2000, reliability=ReliabilityPolicy.RELIABLE
)

#: messages that late subscribers must get, too (several motions may be sent in advance)
LATCHED_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)

#: motion references: several may be sent in advance, and late subscribers must get them all
REFERENCE_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=20,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)

#: subscriptions that must not lose a message, however busy the computer is: recorders, runs to be reproduced bit by bit
LOSSLESS_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=5000, reliability=ReliabilityPolicy.RELIABLE
)


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
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=HELD_OF_LONG, reliability=qos.reliability)
