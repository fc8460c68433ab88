"""Create ``visualization_msgs`` markers."""

from __future__ import annotations

from collections.abc import Sequence

from builtin_interfaces.msg import Duration
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from pkm_description.ros.conversions import point, stamp, vector3
from pkm_description.ros.frames import BASE_LINK
from pkm_description.viewing.force_arrows import ForceArrow

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
