"""Files that controller_manager and hardware plugins read, and the packages that ros2_control takes."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pkm_description.bounded_yaml import bounded_file
from pkm_description.errors import ConfigurationError
from pkm_description.export.mjcf import mjcf_text
from pkm_description.export.ros2_control import (
    PIDS_FILE,
    TRAJECTORIES,
    ControlOptions,
    controllers_text,
    default_update_rate,
    mujoco_pids_text,
)
from pkm_description.machine import Machine, ServoGains
from pkm_description.writing import write_text

from pkm_bringup.control import gains_for_delay

#: packages whose name is not the one before the slash of their plugin
_PACKAGE_OF_PLUGIN = {'mock_components': 'hardware_interface'}

#: packages of ros2_control and ros2_controllers, of the simulators and of what connects them; others are the user's own
_RELEASED = {
    'controller_manager', 'forward_command_controller', 'gz_ros2_control', 'hardware_interface', 'ign_ros2_control',
    'imu_sensor_broadcaster', 'joint_state_broadcaster', 'joint_trajectory_controller', 'mujoco_ros2_control',
    'ros_gz_bridge', 'ros_gz_sim',
}  # fmt: skip


class ControlFiles(NamedTuple):
    """What is ready to be started.

    Attributes
    ----------
    options : hardware with all its parameters
    path : parameter file of controller_manager and controllers
    controllers : name -> class, in the order in which they start
    """

    options: ControlOptions
    path: Path
    controllers: dict[str, str]


def write_control_files(
    machine: Machine,
    options: ControlOptions,
    folder: Path,
    controllers: Path | None = None,
    update_rate: int | None = None,
    frame_prefix: str = '',
) -> ControlFiles:
    """Write controllers, and for MuJoCo its model and the gains that hold the machine until a controller takes over.

    Parameters
    ----------
    folder : where they are written
    controllers : a file of the user's, taken as it is
    update_rate : Hz of the control loop; default: the rate of the machine file's leg sensors
    frame_prefix : put before the names of frames

    Raises
    ------
    ConfigurationError
        The user's file cannot be read, or has no section ``controller_manager`` with controllers.
    """
    rate = default_update_rate(machine) if update_rate is None else update_rate
    gains = _gains(machine, rate)
    if options.hardware == 'mujoco':
        options = _with_model(machine, options, folder, None if gains is None else mujoco_pids_text(machine, gains))
    if controllers is None:
        controllers = folder / 'controllers.yaml'
        text = controllers_text(machine, options, update_rate, frame_prefix, gains)
        write_text(controllers, text)
    return ControlFiles(options, controllers, _declared_controllers(controllers))


def _gains(machine: Machine, rate: int) -> ServoGains | None:
    """Of the machine file's servo, lowered where the control loop is slow."""
    if not machine.has_servo or not machine.has_platform:
        return machine.servo if machine.has_servo else None
    # a period passes from measurement to force, and half of the next one until the force has acted
    return gains_for_delay(machine, machine.servo, 1.5 / max(rate, 1))


def _with_model(machine: Machine, options: ControlOptions, folder: Path, pids: str | None) -> ControlOptions:
    """MuJoCo's model and gains as files, where the user has not named others."""
    texts = {'mujoco_model': ('model.xml', mjcf_text(machine)), PIDS_FILE: ('pids.yaml', pids)}
    parameters = dict(options.parameters)
    for name, (file, text) in texts.items():
        if name not in parameters and text is not None:
            write_text(folder / file, text)
            parameters[name] = str(folder / file)
    return dataclasses.replace(options, parameters=parameters)


def _declared_controllers(path: Path) -> dict[str, str]:
    try:
        content = bounded_file(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(f'controllers: {path}: {error}') from None
    found = {
        name: value['type']
        for declared in _sections(content, 'controller_manager')
        for name, value in declared.items()
        if isinstance(value, dict) and 'type' in value
    }
    if found:
        return found
    raise ConfigurationError(
        f'controllers: {path}: expected a section controller_manager with ros__parameters that name controllers and '
        'their type; export_machine MACHINE controllers --hardware HARDWARE writes such a file'
    )


def _sections(content: Any, node: str) -> Iterator[dict[str, Any]]:
    """Parameters of a node, whatever namespaces stand around it."""
    for name, inner in content.items() if isinstance(content, dict) else ():
        if str(name).split('/')[-1] == node and isinstance(inner, dict):
            yield inner.get('ros__parameters') or {}
        elif name != 'ros__parameters':
            yield from _sections(inner, node)


def chosen_controllers(declared: Iterable[str], active: str) -> tuple[list[str], list[str]]:
    """Controllers to activate and controllers only to load.

    Parameters
    ----------
    declared : names in the parameter file
    active : names with spaces or commas between them; empty: all but joint_trajectory_controller

    Raises
    ------
    ConfigurationError
        A name that the parameter file does not declare.
    """
    declared = list(declared)
    names = active.replace(',', ' ').split() or [name for name in declared if name != TRAJECTORIES]
    unknown = [name for name in names if name not in declared]
    if unknown:
        raise ConfigurationError(f'controllers_active: no controller {unknown[0]!r}; there are {", ".join(declared)}')
    return [name for name in declared if name in names], [name for name in declared if name not in names]


def needed_packages(options: ControlOptions, controllers: Iterable[str]) -> list[str]:
    """Packages of controller manager, hardware plugin and controllers (classes such as ``package/Class``)."""
    plugin = options.plugin_class.split('/')[0]
    packages = ['controller_manager', _PACKAGE_OF_PLUGIN.get(plugin, plugin)]
    packages += [controller.split('/')[0] for controller in controllers]
    return list(dict.fromkeys(packages))


def require_packages(needed: Iterable[str], is_installed: Callable[[str], bool]) -> None:
    """Refuse to go on where packages are missing.

    Raises
    ------
    ConfigurationError
        One line that names them and how to get them.
    """
    missing = [package for package in needed if not is_installed(package)]
    if not missing:
        return
    released = [package for package in missing if package in _RELEASED]
    own = [package for package in missing if package not in _RELEASED]
    ways = []
    if released:
        distribution = os.environ.get('ROS_DISTRO') or '$ROS_DISTRO'
        names = ' '.join(f'ros-{distribution}-{package.replace("_", "-")}' for package in released)
        ways.append(f'sudo apt install {names}')
    if own:
        ways.append(f'build {", ".join(own)} in this workspace and source it again')
    noun = 'package is' if len(missing) == 1 else 'packages are'
    raise ConfigurationError(
        f'{len(missing)} {noun} not installed: {", ".join(missing)}. To install: {"; ".join(ways)}'
    )
