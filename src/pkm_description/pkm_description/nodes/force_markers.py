"""Node: drive forces as arrows along the legs, for rviz."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from pkm_description.errors import PkmError
from pkm_description.ros.conversions import nanoseconds
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.frames import declare_frames
from pkm_description.ros.markers import force_markers
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.ros.qos import SENSOR_QOS
from pkm_description.settings import Settings, setting
from pkm_description.viewing.coupled_pose import JointReader
from pkm_description.viewing.force_arrows import ForceArrows


@dataclass(frozen=True)
class ForceMarkersSettings(Settings):
    """Rate and size of the arrows."""

    rate: float = setting(10.0, 'highest rate of the markers [Hz]', 0.1, 1000.0)
    scale: float = setting(0.0, 'length of the arrows [m per N or N m]; 0: chosen at home', 0.0, 1e3)


class ForceMarkers(Node):
    """Shows the efforts of the machine's driver; where a joint has none, the force that holds the machine at rest."""

    def __init__(self) -> None:
        super().__init__('force_markers')
        machine = declare_machine(self)
        settings = declare_settings(self, ForceMarkersSettings)
        self._frames = declare_frames(self, machine)
        self._arrows = ForceArrows(machine, settings.scale)
        self._reader = JointReader(machine, self._arrows.joint_names)
        self._period = int(1e9 / settings.rate)
        self._shown_at: int | None = None
        self._problem, self._source = '', 'no joint states yet'
        self._markers = self.create_publisher(MarkerArray, 'leg_forces', 10)
        self._diagnostics = DiagnosticsPublisher(self)
        self.create_subscription(JointState, machine.driver.joint_topic, self._on_joint_states, SENSOR_QOS)
        self.create_timer(1.0, self._report)

    def _on_joint_states(self, message: JointState) -> None:
        time = nanoseconds(message.header.stamp)
        # a stamp before the last one begins a new run
        if self._shown_at is not None and 0 <= time - self._shown_at < self._period:
            return
        self._shown_at = time
        try:
            reading = self._reader.read(message.name, message.position, message.effort)
            static = np.isnan(reading.efforts)
            forces = reading.efforts
            if static.any():
                held = self._arrows.static_forces(
                    reading.joint_positions, reading.position, reading.rotation_base_platform
                )
                forces = np.where(static, held, forces)
        except PkmError as error:
            self._problem = f'no leg forces shown: {str(error).removeprefix("sample 0: ")}'
            self.get_logger().warning(self._problem, throttle_duration_sec=5.0)
            return
        self._source = (
            'static forces' if static.all() else 'measured and static forces' if static.any() else 'measured forces'
        )
        arrows = self._arrows.arrows(reading.joint_positions, forces)
        self._markers.publish(force_markers(arrows, self._arrows.size, time, self._frames.base))

    def _report(self) -> None:
        level = Level.WARN if self._problem else Level.OK
        self._diagnostics.publish({'forces': (level, self._problem or self._source, {})})
        self._problem = ''


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is interrupted."""
    return run_node(ForceMarkers, args)
