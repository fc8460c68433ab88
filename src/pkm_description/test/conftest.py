"""Fixtures of the description's tests that start nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from description_listener import Listener


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A node that hears the description's topics, in a ROS domain of its own."""
    # here, as most tests do without ROS
    from description_listener import Listener
    from node_processes import ros_domain

    with ros_domain():
        node = Listener()
        yield node
        node.destroy_node()
