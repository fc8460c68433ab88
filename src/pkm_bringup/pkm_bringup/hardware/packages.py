"""Packages that ros2_control takes, and the command that installs those that are missing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from pkm_description.export.ros2_control import ControlOptions

#: packages whose name is not the one before the slash of their plugin
_PACKAGE_OF_PLUGIN = {'mock_components': 'hardware_interface'}

#: packages of ros2_control and ros2_controllers, and of the simulators; others are the user's own
_RELEASED = {
    'controller_manager', 'forward_command_controller', 'gz_ros2_control', 'hardware_interface', 'ign_ros2_control',
    'imu_sensor_broadcaster', 'joint_state_broadcaster', 'joint_trajectory_controller', 'mujoco_ros2_control',
}  # fmt: skip


def needed_packages(options: ControlOptions, controllers: Iterable[str]) -> list[str]:
    """Packages of controller manager, hardware plugin and controllers (classes such as ``package/Class``)."""
    plugin = options.plugin_class.split('/')[0]
    packages = ['controller_manager', _PACKAGE_OF_PLUGIN.get(plugin, plugin)]
    packages += [controller.split('/')[0] for controller in controllers]
    return list(dict.fromkeys(packages))


def missing_packages(needed: Iterable[str], is_installed: Callable[[str], bool]) -> str:
    """One line that names the packages that are not there and how to get them; empty if all are."""
    missing = [package for package in needed if not is_installed(package)]
    if not missing:
        return ''
    released = [package for package in missing if package in _RELEASED]
    own = [package for package in missing if package not in _RELEASED]
    ways = []
    if released:
        names = ' '.join(f'ros-{_distribution()}-{package.replace("_", "-")}' for package in released)
        ways.append(f'sudo apt install {names}')
    if own:
        ways.append(f'build {", ".join(own)} in this workspace and source it again')
    noun = 'package is' if len(missing) == 1 else 'packages are'
    return f'{len(missing)} {noun} not installed: {", ".join(missing)}. To install: {"; ".join(ways)}'


def _distribution() -> str:
    return os.environ.get('ROS_DISTRO') or '$ROS_DISTRO'
