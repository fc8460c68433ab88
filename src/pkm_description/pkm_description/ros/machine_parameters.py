"""The parameters by which a node is told its machine."""

from __future__ import annotations

from rclpy.node import Node

from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.ros.parameters import declare


def declare_machine_files(node: Node) -> tuple[str, str | None]:
    """Declare ``machine``, ``machine_file`` and ``overlay``; returns name or path, and the overlay's path."""
    name = declare(node, 'machine', 'srs', 'name of a machine of pkm_description', read_only=True)
    file = declare(node, 'machine_file', '', 'path of a machine file; takes the place of the name', read_only=True)
    overlay = declare(node, 'overlay', '', 'path of a parameter overlay, e.g. from an identification', read_only=True)
    return file or name, overlay or None


def declare_machine(node: Node) -> Machine:
    """Declare ``machine``, ``machine_file`` and ``overlay`` and load the machine that they name."""
    return load_machine(*declare_machine_files(node))
