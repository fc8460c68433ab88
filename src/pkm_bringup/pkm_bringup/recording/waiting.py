"""Messages that have arrived and wait in the subscriptions of a node that had no time for them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from rclpy.subscription import Subscription


def in_order_of_sending(subscriptions: Sequence[Subscription[Any]]) -> Iterator[tuple[int, Any]]:
    """Take all that waits, as place of the subscription and message.

    Topic after topic would tear samples apart that belong together: who reads the recording in its order would get
    seconds of one sensor before the first sample of the other.
    """
    streams = [_waiting(place, subscription) for place, subscription in enumerate(subscriptions)]
    for _, place, message in heapq.merge(*streams, key=itemgetter(0)):
        yield place, message


def _waiting(place: int, subscription: Subscription[Any]) -> Iterator[tuple[int, int, Any]]:
    """What waits in one subscription, with the time of sending [ns]."""
    with subscription.handle:
        while (found := subscription.handle.take_message(subscription.msg_type, subscription.raw)) is not None:
            message, info = found
            yield info['source_timestamp'], place, message
