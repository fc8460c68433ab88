"""Node parameters that select the machine."""

from __future__ import annotations

from rclpy.node import Node

from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.ros.node_settings import MachineSettings
from pkm_description.ros.parameters import declare_settings


def declare_machine_files(node: Node) -> tuple[str, str | None]:
    """Declare ``machine``, ``machine_file`` and ``overlay``; returns name or path, and the overlay's path."""
    settings = declare_settings(node, MachineSettings, ('machine', 'machine_file', 'overlay'))
    return settings.machine_file or settings.machine, settings.overlay or None


def declare_machine(node: Node) -> Machine:
    """Declare the parameters of :class:`MachineSettings` and load the machine that they name, with its driver."""
    settings = declare_settings(node, MachineSettings)
    return load_machine(
        settings.machine_file or settings.machine,
        settings.overlay or None,
        settings.driver or None,
    ).on_topics(settings.joint_topic, settings.imu_topic)
