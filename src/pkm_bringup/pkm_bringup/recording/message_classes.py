"""Python classes of message types by name."""

from __future__ import annotations

from importlib import import_module

from pkm_estimation.bags import BagError


def message_class(message_type: str) -> type:
    """Return the class of e.g. ``sensor_msgs/msg/Imu``; raises BagError if its package is not installed."""
    package, _, name = message_type.split('/')
    try:
        return getattr(import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError) as error:
        raise BagError(f'message type {message_type} is not installed: {error}') from error
