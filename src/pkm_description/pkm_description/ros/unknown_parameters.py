"""Parameters that were given to a node and that it does not have: ROS ignores them without a word."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from rclpy.node import Node

from pkm_description.ros.node_settings import FrameSettings, MachineSettings, SubscriptionSettings
from pkm_description.settings import settings_of

#: launch files give these to all of their nodes
_SHARED = {name for kind in (MachineSettings, FrameSettings, SubscriptionSettings) for name in settings_of(kind)}

#: as alike as a name must be to one that was meant, 0 to 1
_ALIKE = 0.6


def warn_of_unknown_parameters(node: Node) -> list[str]:
    """Warn of each parameter that was given by command line, file or launch and that the node has not declared.

    Called when a node has declared all of its own. A node may have an attribute ``parameters_of_others``: names that
    stand in a file which it shares with other nodes.

    Returns
    -------
    The sentences
    """
    others: Collection[str] = getattr(node, 'parameters_of_others', ())
    # rclpy has no public list of what was given
    given = getattr(node, '_parameter_overrides', {})
    own = sorted(node.get_parameters_by_prefix(''))
    said = []
    for name, parameter in sorted(given.items()):
        if node.has_parameter(name) or name in _SHARED or name in others:
            continue
        near = get_close_matches(name, own, 1, _ALIKE)
        meant = f'; did you mean {near[0]}?' if near else ''
        given_as = f'parameter {name} = {parameter.value!r}'
        said.append(f'{given_as} is ignored: {node.get_name()} has none of this name{meant}')
        node.get_logger().warning(said[-1])
    return said
