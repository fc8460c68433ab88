"""Node: drive forces as arrows along the legs, for rviz."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from pkm_description.errors import PkmError
from pkm_description.ros.conversions import nanoseconds, point, stamp, vector3
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.frames import BASE_LINK, declare_frames
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.ros.qos import SENSOR_QOS
from pkm_description.settings import Settings, setting
from pkm_description.viewing.coupled_pose import JointReader
from pkm_description.viewing.rviz_view import ForceArrow, ForceArrows


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


#: red, green, blue, opacity
PUSHING = (0.90, 0.35, 0.10, 0.9)
PULLING = (0.10, 0.45, 0.90, 0.9)
_TEXT = (1.0, 1.0, 1.0, 1.0)

#: s, after which a viewer drops what is not renewed
_LIFETIME = 2


def force_markers(arrows: Sequence[ForceArrow], size: float, time_ns: int, frame: str = BASE_LINK) -> MarkerArray:
    """Arrow and label of every force, the joint being the namespace of both.

    Parameters
    ----------
    size : m, length scale of the machine; arrows and letters are in proportion to it
    frame : id of the base's frame, in which the arrows are given
    """
    result = MarkerArray()
    for arrow in arrows:
        shaft = _marker(frame, arrow.joint, 0, Marker.ARROW, PUSHING if arrow.force >= 0.0 else PULLING, time_ns)
        shaft.points = [point(arrow.start), point(arrow.end)]
        shaft.scale = vector3([0.025 * size, 0.05 * size, 0.05 * size])
        label = _marker(frame, arrow.joint, 1, Marker.TEXT_VIEW_FACING, _TEXT, time_ns)
        label.pose.position = point(arrow.text_position)
        label.scale = vector3([0.0, 0.0, 0.03 * size])
        label.text = arrow.text
        result.markers += [shaft, label]
    return result


def _marker(
    frame: str, namespace: str, number: int, kind: int, color: tuple[float, float, float, float], time_ns: int
) -> Marker:
    red, green, blue, opacity = color
    marker = Marker()
    marker.header.frame_id = frame
    marker.header.stamp = stamp(time_ns)
    marker.ns, marker.id, marker.type, marker.action = namespace, number, kind, Marker.ADD
    marker.pose.orientation.w = 1.0
    marker.color = ColorRGBA(r=red, g=green, b=blue, a=opacity)
    marker.lifetime = Duration(sec=_LIFETIME)
    marker.frame_locked = True
    return marker
