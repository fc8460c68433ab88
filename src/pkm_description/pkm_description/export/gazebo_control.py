"""Gazebo's plugin that runs ros2_control inside of the simulation (gz_ros2_control)."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element, SubElement

#: file and class of the plugin: of Fortress, of all later versions
_FORTRESS = {'filename': 'ign_ros2_control-system', 'name': 'ign_ros2_control::IgnitionROS2ControlPlugin'}
_LATER = {'filename': 'gz_ros2_control-system', 'name': 'gz_ros2_control::GazeboSimROS2ControlPlugin'}


def add_gazebo_control(
    parent: Element,
    gazebo: str,
    controllers: str,
    namespace: str = '',
    remappings: Mapping[str, str] | None = None,
) -> None:
    """Add the plugin to a ``<model>`` of an SDF, or to a ``<gazebo>`` of a URDF.

    Parameters
    ----------
    gazebo : version, such as ``fortress`` or ``harmonic``
    controllers : path of the controllers' YAML file
    namespace : of controller manager and controllers
    remappings : of the names of their topics
    """
    plugin = SubElement(parent, 'plugin', _FORTRESS if gazebo == 'fortress' else _LATER)
    SubElement(plugin, 'parameters').text = controllers
    # driven joints that no controller commands stand still, so that the machine waits at home
    SubElement(plugin, 'hold_joints').text = 'true'
    if namespace or remappings:
        ros = SubElement(plugin, 'ros')
        if namespace:
            SubElement(ros, 'namespace').text = namespace
        for source, target in (remappings or {}).items():
            SubElement(ros, 'remapping').text = f'{source}:={target}'
